import assert from "node:assert/strict";
import { createChallenges, createGuard, createSpellings } from "../../src/http/guard.ts";
import type { AuthOutcome } from "../../src/lib/principal.ts";
import { createOperatorToken, revokeOperatorToken } from "../../src/oauth/access_token.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { connect, type Harness, postForm, refresh, resource, startHarness } from "../authorization_server/harness.ts";

const scopes = ["files:read", "files:write"];
const { spellingOf } = createSpellings([resource]);
const challenges = createChallenges({ spellingOf, scopes });

function guardOf(
  harness: Harness,
  options: { readonly maxCachedTokens?: number } = {},
): ReturnType<typeof createGuard> {
  return createGuard({ verifier: harness.server.verifier, challenges, clock: harness.deps.clock, ...options });
}

function request(authorization?: string, url: string = resource): Request {
  return new Request(url, { method: "POST", headers: authorization === undefined ? {} : { authorization } });
}

async function kindOf(guard: ReturnType<typeof createGuard>, authorization?: string): Promise<string> {
  const outcome = await guard.authenticate(request(authorization));
  return outcome.kind === "refused" ? `${outcome.status} ${outcome.reason}` : outcome.kind;
}

const isPending = (outcome: AuthOutcome | Promise<AuthOutcome>) => outcome instanceof Promise;

Deno.test("without a token there is no error in the challenge (RFC 6750 §3.1)", async () => {
  await using harness = await startHarness();
  assert.equal(await kindOf(guardOf(harness)), "no_token");
  assert.equal(
    challenges.missingToken(request()),
    'Bearer resource_metadata="https://mcp.test/.well-known/oauth-protected-resource/mcp", scope="files:read files:write"',
  );
});

Deno.test("a token in the query is not looked at (MCP authorization)", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const outcome = await guardOf(harness).authenticate(
    request(undefined, `${resource}?access_token=${tokens.access_token}`),
  );
  assert.equal(outcome.kind, "no_token");
});

Deno.test("other schemes, empty tokens, two tokens, a lower-case scheme (RFC 6750 §2.1)", async () => {
  await using harness = await startHarness();
  const { tokens: { access_token: token } } = await connect(harness);
  const guard = guardOf(harness);
  const expected: [string, string][] = [
    ["Basic dXNlcjpwYXNz", "401 not_an_operator_token"],
    ["Basic", "401 not_an_operator_token"],
    ['Digest username="x", realm="y"', "no_token"],
    ["Bearerx", "no_token"],
    ["Bearer", "401 malformed_authorization"],
    ["Bearer a b", "401 malformed_authorization"],
    ["Bearer =", "401 malformed_authorization"],
    [`Bearer ${"x".repeat(9_000)}`, "401 malformed_authorization"],
    [`Bearer ${token}, Bearer ${token}`, "400 several_authorizations"],
    [`Basic dXNlcjpwYXNz, Bearer ${token}`, "400 several_authorizations"],
    [`Bearer ${token}, Basic dXNlcjpwYXNz`, "400 several_authorizations"],
    [`bearer ${token}`, "principal"],
    [`BEARER  ${token}`, "principal"],
  ];
  for (const [header, outcome] of expected) assert.equal(await kindOf(guard, header), outcome, header);
});

Deno.test("a token that was verified is answered synchronously from then on", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const guard = guardOf(harness);
  const header = `Bearer ${tokens.access_token}`;
  const first = guard.authenticate(request(header));
  assert.ok(isPending(first));
  await first;
  assert.equal(await kindOf(guard, header), "principal");
  assert.ok(!isPending(guard.authenticate(request(header))));
});

Deno.test("revocation takes effect on the next request, although the token was cached", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const guard = guardOf(harness);
  const header = `Bearer ${tokens.access_token}`;
  assert.equal(await kindOf(guard, header), "principal");
  await postForm(harness, "/oauth/revoke", { token: tokens.access_token, client_id: client.client_id });
  assert.equal(await kindOf(guard, header), "401 revoked_token");
  assert.equal(await kindOf(guard, header), "401 revoked_token");
});

Deno.test("a cached token dies with its grant", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const guard = guardOf(harness);
  await refresh(harness, client, tokens.refresh_token);
  assert.equal(await kindOf(guard, `Bearer ${tokens.access_token}`), "principal");
  harness.time.now += 120_000;
  await refresh(harness, client, tokens.refresh_token);
  assert.equal(await kindOf(guard, `Bearer ${tokens.access_token}`), "401 revoked_token");
});

Deno.test("revocation by another connection to the same database takes effect on the next request", async () => {
  await using harness = await startHarness();
  const made = await createOperatorToken(harness.deps, { scope: "files:read", lifetimeSeconds: 60 });
  assert.ok(made.ok);
  const guard = guardOf(harness);
  const header = `Bearer ${made.value.token}`;
  assert.equal(await kindOf(guard, header), "principal");
  assert.ok(!isPending(guard.authenticate(request(header))));
  const other = openSqliteStorage({ path: harness.databasePath, clock: harness.deps.clock });
  assert.ok(await revokeOperatorToken({ storage: other, clock: harness.deps.clock }, made.value.summary.id));
  await other.close();
  assert.equal(await kindOf(guard, header), "401 revoked_token");
});

Deno.test("a cached token still ends on time", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const guard = guardOf(harness);
  const header = `Bearer ${tokens.access_token}`;
  assert.equal(await kindOf(guard, header), "principal");
  harness.time.now += 3_600_000;
  assert.equal(await kindOf(guard, header), "401 expired_token");
});

Deno.test("the memory of verified tokens is bounded", async () => {
  await using harness = await startHarness();
  const guard = guardOf(harness, { maxCachedTokens: 2 });
  const headers: string[] = [];
  for (let count = 0; count < 4; count++) {
    const made = await createOperatorToken(harness.deps, { scope: "files:read", lifetimeSeconds: 60 });
    headers.push(made.ok ? `Bearer ${made.value.token}` : "");
  }
  for (const header of headers) assert.equal(await kindOf(guard, header), "principal");
  const pending = headers.map((header) => guard.authenticate(request(header)));
  assert.deepEqual(pending.map(isPending), [true, true, false, false]);
  await Promise.all(pending);
});

Deno.test("files:write includes files:read for the principal (MCP 2026-07-28)", async () => {
  await using harness = await startHarness();
  const made = await createOperatorToken(harness.deps, { scope: "files:write", lifetimeSeconds: 60 });
  assert.ok(made.ok);
  const outcome = await guardOf(harness).authenticate(request(`Bearer ${made.value.token}`));
  assert.ok(outcome.kind === "principal");
  assert.deepEqual([...outcome.principal.scopes].sort(), ["files:read", "files:write"]);
  assert.equal(outcome.principal.clientId, "portcullis-cli");
});

Deno.test("nothing from a request gets into a challenge; a scope cannot break out of its quotes", () => {
  const hostile = new Request("https://evil.test/mcp", { headers: { host: 'evil.test", x="' } });
  const value = challenges.insufficientScope(hostile, ['files:read", evil="1', "a\r\nSet-Cookie: b"]);
  assert.ok(!value.includes("evil.test"));
  assert.ok(!/[\r\n]/.test(value));
  assert.equal(value.split('"').length - 1, 8);
});

Deno.test("403 names every scope that is needed, with resource_metadata, in one challenge (RFC 6750 §3.1)", () => {
  const value = challenges.insufficientScope(request(), ["files:read", "llm:generate"]);
  assert.match(value, /^Bearer error="insufficient_scope", /);
  assert.match(value, /scope="files:read llm:generate"/);
  assert.match(value, /resource_metadata="https:\/\/mcp\.test\/\.well-known\/oauth-protected-resource\/mcp"/);
});

Deno.test("invalid tokens are told so, with everything a client needs to start over", async () => {
  await using harness = await startHarness();
  const outcome = await guardOf(harness).authenticate(request("Bearer nonsense"));
  assert.ok(outcome.kind === "refused");
  assert.match(
    outcome.wwwAuthenticate,
    /^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="[^"]+", scope="[^"]+"$/,
  );
});

const api = (headers: Record<string, string>, method = "POST") => new Request(resource, { method, headers });
const withKey = (token: string): Record<string, string>[] => [
  { "x-api-key": token },
  { "x-api-key": ` ${token} ` },
  { authorization: `Basic ${btoa(`any:${token}`)}` },
  { authorization: `basic  ${btoa(`:${token}`)}` },
];

Deno.test("an operator's token works as an API key and as a Basic password, until it is revoked", async () => {
  await using harness = await startHarness();
  const made = await createOperatorToken(harness.deps, { scope: "files:read", lifetimeSeconds: 60 });
  assert.ok(made.ok);
  const { token, summary } = made.value;
  const guard = guardOf(harness);
  for (const headers of withKey(token)) {
    for (let time = 0; time < 2; time++) {
      const outcome = await guard.authenticate(api(headers));
      assert.ok(outcome.kind === "principal" && outcome.principal.tokenId === summary.id, JSON.stringify(headers));
    }
    assert.ok(!isPending(guard.authenticate(api(headers))), "the second one is answered from memory");
  }
  // No Authorization header reads as an API key does.
  for (const authorization of [token, `x-api-key ${token}`, `Basic ${token}`, `Basic ${btoa(token)}`]) {
    assert.notEqual((await guard.authenticate(api({ authorization }))).kind, "principal", authorization);
  }
  assert.ok(await revokeOperatorToken(harness.deps, summary.id));
  for (const headers of withKey(token)) {
    const outcome = await guard.authenticate(api(headers));
    assert.ok(outcome.kind === "refused" && outcome.status === 401, JSON.stringify(headers));
  }
});

Deno.test("tokens of OAuth are bearer tokens alone, and a wrong key is challenged for a bearer token, never for Basic", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const guard = guardOf(harness);
  const wrong = `pct_${"0".repeat(32)}_${"x".repeat(43)}`;
  assert.equal(await kindOf(guard, `Bearer ${tokens.access_token}`), "principal");
  for (const token of [tokens.access_token, tokens.refresh_token, wrong, "pct_", "x", "", "x".repeat(9_000)]) {
    for (const headers of withKey(token)) {
      const outcome = await guard.authenticate(api(headers));
      assert.ok(outcome.kind === "refused" && outcome.status === 401, JSON.stringify(headers));
      assert.match(outcome.wwwAuthenticate, /^Bearer error="invalid_token"/);
      assert.doesNotMatch(JSON.stringify(outcome), /Basic|pct_|eyJ/);
    }
  }
});

Deno.test("a key that a web page sends is refused, also when it was verified before", async () => {
  await using harness = await startHarness();
  const made = await createOperatorToken(harness.deps, { scope: "files:read", lifetimeSeconds: 60 });
  assert.ok(made.ok);
  const guard = guardOf(harness);
  const foreign: Record<string, string>[] = [
    { origin: "https://evil.test" },
    { origin: "null" },
    { origin: "http://mcp.test" },
    { origin: "https://mcp.test:8443" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ];
  const own: Record<string, string>[] = [{}, { origin: "https://mcp.test" }, { "sec-fetch-site": "same-origin" }];
  for (let time = 0; time < 2; time++) {
    for (const headers of withKey(made.value.token)) {
      for (const page of foreign) {
        const outcome = await guard.authenticate(api({ ...headers, ...page }));
        assert.ok(outcome.kind === "refused" && outcome.reason === "key_from_a_page", JSON.stringify(page));
      }
      for (const page of own) {
        assert.equal((await guard.authenticate(api({ ...headers, ...page }))).kind, "principal", JSON.stringify(page));
      }
    }
  }
});

Deno.test("a bearer token counts where a gateway adds an API key of its own", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const headers = { authorization: `Bearer ${tokens.access_token}`, "x-api-key": "the gateway's" };
  assert.equal((await guardOf(harness).authenticate(api(headers))).kind, "principal");
});

Deno.test("a token is kept by few spellings: what a client puts beside it does not stay in memory", async () => {
  await using harness = await startHarness();
  const { tokens: { access_token: token } } = await connect(harness);
  const made = await createOperatorToken(harness.deps, { scope: "files:read", lifetimeSeconds: 60 });
  const key = made.ok ? made.value.token : assert.fail();
  const guard = guardOf(harness);
  const basic = (name: string): string => `Basic ${btoa(`${name}:${key}`)}`;
  const kept = [`Bearer ${token}`, `bearer ${token}`, `Bearer ${key}`, basic(""), basic("a name of some length")];
  const anew = [
    `Bearer${" ".repeat(400)}${token}`,
    basic("n".repeat(1_000)),
    basic("n".repeat(300)),
  ];
  for (const [headers, isKept] of [[kept, true], [anew, false]] as const) {
    for (const header of headers) {
      assert.equal(await kindOf(guard, header), "principal", header);
      const again = guard.authenticate(request(header));
      assert.equal(isPending(again), !isKept, header);
      await again;
    }
  }
});
