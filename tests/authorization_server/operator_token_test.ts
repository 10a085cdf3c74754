import assert from "node:assert/strict";
import {
  createOperatorToken,
  listOperatorTokens,
  type OperatorTokenRequest,
  revokeOperatorToken,
} from "../../src/authorization_server/operator_token.ts";
import { openSqliteStorage } from "../../src/storage/sqlite.ts";
import { isAccepted, startHarness } from "./harness.ts";

const request: OperatorTokenRequest = { scope: "files:read, files:write", lifetimeSeconds: 3_600, name: "backup" };

Deno.test("token create works before set-up, beside the running server, and the server takes the token", async () => {
  await using harness = await startHarness({ setUp: false });
  const other = openSqliteStorage({ path: harness.databasePath, clock: harness.deps.clock });
  const made = await createOperatorToken({ storage: other, clock: harness.deps.clock }, request);
  await other.close();
  assert.ok(made.ok);
  assert.match(made.value.token, /^pct_/);
  const verified = await harness.server.verifier.verify(made.value.token);
  assert.ok(verified.ok);
  assert.equal(verified.value.subject, "owner");
  assert.deepEqual([...verified.value.scopes].sort(), ["files:read", "files:write"]);
});

Deno.test("lists show no token and no hash, oldest first; revoking works once", async () => {
  await using harness = await startHarness({ setUp: false });
  const first = await createOperatorToken(harness.deps, request);
  harness.time.now += 1;
  const second = await createOperatorToken(harness.deps, { scope: "llm:generate", lifetimeSeconds: 60 });
  assert.ok(first.ok && second.ok);
  const listed = await listOperatorTokens(harness.deps);
  assert.deepEqual(listed, [first.value.summary, second.value.summary]);
  assert.deepEqual(Object.keys(listed[0] ?? {}).sort(), ["createdAt", "expiresAt", "id", "name", "scopes", "userId"]);
  assert.ok(await revokeOperatorToken(harness.deps, first.value.summary.id));
  assert.ok(!await revokeOperatorToken(harness.deps, first.value.summary.id));
  assert.ok(!await revokeOperatorToken(harness.deps, ""));
  assert.ok(!await isAccepted(harness, first.value.token));
  assert.ok(await isAccepted(harness, second.value.token));
  harness.time.now += 60_000;
  assert.ok(!await isAccepted(harness, second.value.token));
  assert.deepEqual(await listOperatorTokens(harness.deps), []);
});

const problems: [Partial<OperatorTokenRequest>, string, RegExp][] = [
  [{ scope: "" }, "scope", /empty/],
  [{ scope: "files:read admin" }, "scope", /"admin".*files:read files:write llm:generate/],
  [{ lifetimeSeconds: 0 }, "ttl", /1 to 31536000/],
  [{ lifetimeSeconds: 31_536_001 }, "ttl", /whole number/],
  [{ lifetimeSeconds: 1.5 }, "ttl", /whole number/],
  [{ lifetimeSeconds: NaN }, "ttl", /whole number/],
  [{ name: "a\u001b[31m" }, "name", /control/],
  [{ name: "x".repeat(101) }, "name", /100/],
  [{ userId: "nobody" }, "user", /no such user/],
];
for (const [change, field, message] of problems) {
  Deno.test(`token create refuses ${JSON.stringify(change).slice(0, 50)} and says what to do`, async () => {
    await using harness = await startHarness();
    const made = await createOperatorToken(harness.deps, { ...request, ...change });
    assert.ok(!made.ok);
    assert.equal(made.error.field, field);
    assert.match(made.error.message, message);
    assert.deepEqual(await listOperatorTokens(harness.deps), []);
  });
}

Deno.test("a token with a changed character, or another token's id, is not accepted", async () => {
  await using harness = await startHarness();
  const one = await createOperatorToken(harness.deps, request);
  const two = await createOperatorToken(harness.deps, request);
  assert.ok(one.ok && two.ok);
  const { token } = one.value;
  assert.ok(!await isAccepted(harness, token.slice(0, -1) + (token.endsWith("A") ? "B" : "A")));
  assert.ok(!await isAccepted(harness, token.replace(one.value.summary.id, two.value.summary.id)));
  assert.ok(!await isAccepted(harness, `${token}A`));
  assert.ok(!await isAccepted(harness, "pct_"));
});
