/**
 * Fifty people call through two instances of the server on one PostgreSQL, while tokens expire, rotate, are ended early
 * and are revoked: every answer is the caller's own. MANY_PEOPLE_CALLS sets how many calls.
 */
import assert from "node:assert/strict";
import { freePort } from "../fixtures/free_port.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { startServicenow } from "../fixtures/servicenow/instance.ts";
import { signIn } from "../fixtures/servicenow/server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";

const people = 50;
const revocable = 5;
const callsAtOnce = 24;
const calls = Number(Deno.env.get("MANY_PEOPLE_CALLS") ?? "1000");
const maxAttempts = 5;
const scope = "servicenow:read";
const found = findPostgres();
const whoAmI = [
  { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "servicenow://me" } },
  toolCall("servicenow_get_record", { id: "me" }),
];

Deno.test({
  ...skippedUnless(
    !("missing" in found),
    "missing" in found ? found.missing : "",
    `${calls} interleaved calls of ${people} people on two instances: each is answered with the caller's own token`,
  ),
  async fn() {
    if ("missing" in found) return;
    await using cluster = await startPostgresCluster(found.programs);
    const port = freePort();
    const redirectUri = `http://127.0.0.1:${port}/servicenow/callback`;
    await using instance = await startServicenow({ redirectUri, people });
    await using place = await makeServerPlace();
    const env = {
      DATABASE_URL: cluster.url,
      SERVER_URL: `http://127.0.0.1:${port}`,
      SERVICENOW_INSTANCE: instance.origin,
      SERVICENOW_CLIENT_ID: instance.client.clientId,
      SERVICENOW_CLIENT_SECRET: instance.client.clientSecret,
      SIGN_IN: "servicenow",
      OAUTH_RATE_LIMIT: "100000",
    };
    await using first = await startServer(place, { env, args: ["--port", String(port)] });
    await using second = await startServer(place, { env, args: ["--port", String(freePort())] });
    const names = Array.from({ length: people }, (_, index) => `p${String(index + 1).padStart(2, "0")}`);
    const tokens = new Map<string, string>();
    let signingIn = 0;
    const link = async (name: string): Promise<void> => {
      signingIn += 1;
      tokens.set(name, await signIn(first.url, instance, { userName: name, scope }));
      signingIn -= 1;
    };
    for (const name of names) await link(name);
    Object.assign(instance.oauth.habits, { accessTokenLifetimeSeconds: 5, refreshTokens: "rotate" });
    instance.oauth.endAccessTokens();

    const told = { own: 0, expired: 0, foreign: [] as string[] };
    const revoked = new Set<string>();
    const linking = new Map<string, Promise<void>>();
    const linkAgain = async (name: string): Promise<void> => {
      if (revoked.delete(name)) linking.set(name, link(name));
      await linking.get(name);
    };
    const ask = async (turn: number, name: string): Promise<"own" | "expired"> => {
      const { url } = turn % 2 === 0 ? first : second;
      const response = await postMcp(url, whoAmI[turn % 3 === 0 ? 1 : 0], { token: tokens.get(name) ?? "" });
      const text = JSON.stringify(await response.json());
      const named = new Set(text.match(/\bp\d\d\b/g));
      for (const other of named) if (other !== name) told.foreign.push(`${name} was answered ${text}`);
      if (named.has(name)) return "own";
      assert.match(text, /Authentication expired/, `${name} on ${url}`);
      return "expired";
    };
    let next = 0;
    const work = async (): Promise<void> => {
      for (let turn = next++; turn < calls; turn = next++) {
        const name = names[(turn * 7) % people] ?? "";
        // A token that ends while its person signs in ends the sign-in, as it should.
        if (turn % 97 === 96 && signingIn === 0) instance.oauth.endAccessTokens();
        if (turn % 331 === 330) {
          const victim = names[turn % revocable] ?? "";
          revoked.add(victim);
          instance.oauth.endTokensOf(victim);
        }
        // A token that is ended twice within one call makes that call fail, and no later one.
        for (let attempt = 1;; attempt++) {
          const outcome = await ask(turn + attempt, name);
          told[outcome] += 1;
          if (outcome === "own") break;
          await linkAgain(name);
          assert.ok(attempt < maxAttempts, `${name} has lost the link`);
        }
      }
    };
    await Promise.all(Array.from({ length: callsAtOnce }, work));
    assert.deepEqual(told.foreign, []);
    assert.equal(told.own, calls);
    assert.ok(told.expired > 0, "tokens were revoked");
    assert.ok(instance.requests.some(({ grantType }) => grantType === "refresh_token"));
    assert.deepEqual(instance.crashes, []);
    for (const name of names) {
      await linkAgain(name);
      assert.equal(await ask(0, name), "own");
    }
  },
});
