import assert from "node:assert/strict";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { createAgreedClock } from "../../src/lib/time.ts";
import {
  connect,
  type Harness,
  isAccepted,
  mount,
  obtainCode,
  postForm,
  redeem,
  refresh,
  register,
  resource,
  startHarness,
} from "./harness.ts";

const second = 1_000;
const day = 86_400 * second;

Deno.test("an old refresh token after the grace window revokes the family (RFC 9700 §4.14.2)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const renewed = await refresh(harness, client, tokens.refresh_token);
  harness.time.now += 121 * second;
  const reuse = await refresh(harness, client, tokens.refresh_token);
  assert.equal(reuse.status, 400);
  assert.equal(reuse.body.error, "invalid_grant");
  assert.equal((await refresh(harness, client, renewed.body.refresh_token)).body.error, "invalid_grant");
  assert.ok(!await isAccepted(harness, tokens.access_token));
  assert.ok(!await isAccepted(harness, renewed.body.access_token));
  assert.ok(harness.reasons().includes("reused_refresh_token"));
});

Deno.test("within the grace window the same old token gives the same successor, as often as it is sent", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const first = await refresh(harness, client, tokens.refresh_token);
  harness.time.now += 119 * second;
  const again = await refresh(harness, client, tokens.refresh_token);
  assert.equal(again.status, 200);
  assert.equal(again.body.refresh_token, first.body.refresh_token);
  assert.notEqual(again.body.access_token, first.body.access_token);
  assert.ok(await isAccepted(harness, first.body.access_token));
  assert.equal((await refresh(harness, client, first.body.refresh_token)).status, 200);
});

Deno.test("the grace window is not extended by using it", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  await refresh(harness, client, tokens.refresh_token);
  harness.time.now += 100 * second;
  assert.equal((await refresh(harness, client, tokens.refresh_token)).status, 200);
  harness.time.now += 21 * second;
  assert.equal((await refresh(harness, client, tokens.refresh_token)).body.error, "invalid_grant");
});

Deno.test("two rotations within one grace window: each old token still gives its own successor", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const two = await refresh(harness, client, tokens.refresh_token);
  const three = await refresh(harness, client, two.body.refresh_token);
  assert.equal((await refresh(harness, client, tokens.refresh_token)).body.refresh_token, two.body.refresh_token);
  assert.equal((await refresh(harness, client, two.body.refresh_token)).body.refresh_token, three.body.refresh_token);
});

Deno.test("a token that was never issued ends nothing, however much it looks like one", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const family = /^pcr_([0-9a-f]{32})_1_/.exec(tokens.refresh_token)?.[1] ?? "";
  const flipped = tokens.refresh_token.slice(0, -1) + (tokens.refresh_token.endsWith("A") ? "B" : "A");
  const forged = [
    `pcr_${family}_1_${"A".repeat(43)}`,
    `pcr_${family}_2_${"A".repeat(43)}`,
    `pcr_${family}_0_${"A".repeat(43)}`,
    tokens.refresh_token.replace("_1_", "_2_"),
    flipped,
    `${tokens.refresh_token}A`,
    `pcr_${"0".repeat(32)}_1_${"A".repeat(43)}`,
    "pcr_",
    "nonsense",
  ];
  harness.time.now += 240 * second;
  for (const token of forged) assert.equal((await refresh(harness, client, token)).body.error, "invalid_grant", token);
  assert.ok(await isAccepted(harness, tokens.access_token));
  assert.equal((await refresh(harness, client, tokens.refresh_token)).status, 200);
});

Deno.test("another client cannot use a refresh token, and its attempt changes nothing", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  await refresh(harness, client, tokens.refresh_token);
  harness.time.now += 240 * second;
  const stranger = await register(harness);
  const before = await harness.storage.changeCount();
  assert.equal((await refresh(harness, stranger, tokens.refresh_token)).body.error, "invalid_grant");
  assert.equal(await harness.storage.changeCount(), before);
});

Deno.test("a wider scope is invalid_scope and does not rotate; a narrower one narrows only the access token (RFC 6749 §6)", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const { body } = await redeem(harness, client, await obtainCode(harness, client, { scope: "files:write" }));
  assert.equal(body.scope, "files:write");
  const wider = await refresh(harness, client, body.refresh_token, { scope: "files:write llm:generate" });
  assert.equal(wider.body.error, "invalid_scope");
  const mixed = await refresh(harness, client, body.refresh_token, { scope: "llm:generate offline_access" });
  assert.equal(mixed.body.error, "invalid_scope");
  harness.time.now += 240 * second; // had it rotated, this would now be a reuse
  const narrower = await refresh(harness, client, body.refresh_token, { scope: "files:read" });
  assert.equal(narrower.body.scope, "files:read");
  const verified = await harness.server.verifier.verify(narrower.body.access_token);
  assert.deepEqual(verified.ok && [...verified.value.scopes], ["files:read"]);
  assert.equal((await refresh(harness, client, narrower.body.refresh_token)).body.scope, "files:write");
});

Deno.test("another resource is invalid_target and does not rotate (RFC 8707 §2.2)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const wrong = await refresh(harness, client, tokens.refresh_token, { resource: "https://other.test/mcp" });
  assert.equal(wrong.body.error, "invalid_target");
  assert.match(`${wrong.body["error_description"]}`, new RegExp(`must be ${resource}$`));
  harness.time.now += 240 * second;
  assert.equal((await refresh(harness, client, tokens.refresh_token, { resource })).status, 200);
});

Deno.test("access and refresh tokens never pass for each other", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  assert.equal((await refresh(harness, client, tokens.access_token)).body.error, "invalid_grant");
  const verified = await harness.server.verifier.verify(tokens.refresh_token);
  assert.deepEqual(verified, { ok: false, error: "refresh_token_as_bearer" });
  assert.equal((await refresh(harness, client, tokens.refresh_token)).status, 200);
});

Deno.test("a grant ends when it was idle for too long", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  harness.time.now += 13 * day;
  const renewed = await refresh(harness, client, tokens.refresh_token);
  assert.equal(renewed.status, 200);
  harness.time.now += 15 * day;
  assert.equal((await refresh(harness, client, renewed.body.refresh_token)).body.error, "invalid_grant");
});

Deno.test("a grant ends at its absolute lifetime, however often it is used", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  let current = tokens.refresh_token;
  for (let days = 0; days < 27; days += 9) {
    harness.time.now += 9 * day;
    current = (await refresh(harness, client, current)).body.refresh_token;
    assert.ok(current);
  }
  harness.time.now += 4 * day;
  assert.equal((await refresh(harness, client, current)).body.error, "invalid_grant");
});

Deno.test("a missing refresh token is invalid_request", async () => {
  await using harness = await startHarness();
  const { client_id } = await register(harness);
  const { body } = await postForm(harness, "/oauth/token", { grant_type: "refresh_token", client_id });
  assert.equal(body.error, "invalid_request");
});

Deno.test("a refresh token that reaches two instances, minutes apart by their clocks, has one successor", async () => {
  await using harness = await startHarness();
  const elapsed = (): number => harness.time.now;
  const ahead = (): number => harness.time.now + 180 * second;
  const server = createAuthorizationServer({
    ...harness.deps,
    clock: ahead,
    agreedClock: createAgreedClock(ahead, { elapsed }),
  });
  const endpoints = mount(server);
  const other: Harness = {
    ...harness,
    fetch: async (path: string, init?: RequestInit) =>
      await (endpoints[path] ?? assert.fail(path))(new Request(`${harness.deps.issuer}${path}`, init), {
        address: "::1",
      }),
  };
  const { client, tokens } = await connect(harness);
  const first = await refresh(other, client, tokens.refresh_token); // its stamp is what the first instance catches up with
  const there = await refresh(harness, client, first.body.refresh_token);
  const again = await refresh(other, client, first.body.refresh_token);
  assert.equal(again.status, 200);
  assert.equal(again.body.refresh_token, there.body.refresh_token);
  harness.time.now += 121 * second;
  for (const instance of [harness, other]) {
    assert.equal((await refresh(instance, client, first.body.refresh_token)).status, 400);
  }
});
