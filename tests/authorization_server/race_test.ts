import assert from "node:assert/strict";
import {
  connect,
  isAccepted,
  obtainCode,
  redeem,
  redirectUri,
  refresh,
  register,
  startHarness,
  verifier,
} from "./harness.ts";
import { spawnServer } from "./spawn_server.ts";

const many = 64;

Deno.test("64 parallel redemptions of one code: one winner, and the replays end what it got (RFC 6749 §4.1.2)", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const code = await obtainCode(harness, client);
  const answers = await Promise.all(Array.from({ length: many }, () => redeem(harness, client, code)));
  const winners = answers.filter(({ status }) => status === 200);
  assert.equal(winners.length, 1);
  assert.ok(answers.every(({ status, body }) => status === 200 || body.error === "invalid_grant"));
  assert.ok(!await isAccepted(harness, winners[0]?.body.access_token ?? ""));
});

Deno.test("64 parallel refreshes of one token: one rotation, the same successor for all", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const answers = await Promise.all(Array.from({ length: many }, () => refresh(harness, client, tokens.refresh_token)));
  assert.ok(answers.every(({ status }) => status === 200));
  assert.deepEqual([...new Set(answers.map(({ body }) => body.refresh_token))].length, 1);
  assert.equal(new Set(answers.map(({ body }) => body.access_token)).size, many);
  const next = await refresh(harness, client, answers[0]?.body.refresh_token ?? "");
  assert.match(next.body.refresh_token, /^pcr_[0-9a-f]{32}_3_/);
});

Deno.test("the same two races across two processes on one SQLite file", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const code = await obtainCode(harness, client);
  await using one = await spawnServer(harness);
  await using two = await spawnServer(harness);
  const race = (form: Record<string, string>) =>
    Promise.all(
      Array.from({ length: many }, (_, index) =>
        (index % 2 === 0 ? one : two).post("/oauth/token", { client_id: client.client_id, ...form })),
    );
  const refreshes = await race({ grant_type: "refresh_token", refresh_token: tokens.refresh_token });
  assert.ok(
    refreshes.every(({ status }) => status === 200),
    JSON.stringify(refreshes.find(({ status }) => status !== 200)),
  );
  assert.equal(new Set(refreshes.map(({ body }) => body["refresh_token"])).size, 1);
  assert.ok(await isAccepted(harness, refreshes.at(-1)?.body["access_token"] ?? ""));
  const redemptions = await race({
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  const winners = redemptions.filter(({ status }) => status === 200);
  assert.equal(winners.length, 1);
  assert.ok(!await isAccepted(harness, winners[0]?.body["access_token"] ?? ""));
});
