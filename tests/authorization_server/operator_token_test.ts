import assert from "node:assert/strict";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { createOperatorToken, listOperatorTokens, revokeOperatorToken } from "../../src/oauth/access_token.ts";
import type { OperatorTokenRequest } from "../../src/oauth/access_token.ts";
import { addUser, disableUser, enableUser, resetUser } from "../../src/oauth/manage_users.ts";
import { hashPassword } from "../../src/oauth/password_hash.ts";
import { operatorTokens } from "../../src/oauth/records.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { connect, type Harness, isAccepted, passphrase, startHarness } from "./harness.ts";

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

const named: OperatorTokenRequest = { ...request, userId: "ada" };

for (
  const [what, change] of [
    ["a new passphrase", (deps) => resetUser(deps, { name: "ada", passphrase: "another long passphrase" })],
    ["disabling", (deps) => disableUser(deps, "ada")],
    ["disabling and enabling", async (deps) => {
      await disableUser(deps, "ada");
      return await enableUser(deps, "ada");
    }],
  ] satisfies [string, (deps: Harness["deps"]) => ReturnType<typeof disableUser>][]
) {
  Deno.test(`${what} ends a person's tokens for good, those of earlier versions too, and nobody else's`, async () => {
    await using harness = await startHarness();
    assert.ok((await addUser(harness.deps, { name: "ada", passphrase })).ok);
    const made = await createOperatorToken(harness.deps, named);
    const earlier = await createOperatorToken(harness.deps, named);
    const owners = await createOperatorToken(harness.deps, request);
    assert.ok(made.ok && earlier.ok && owners.ok);
    const stored = await operatorTokens.read(harness.storage, earlier.value.summary.id);
    assert.ok(stored);
    const { userEpoch: _, ...asBefore } = stored.value;
    await harness.storage.commit({ puts: [operatorTokens.put(asBefore.id, asBefore, asBefore.expiresAt)] });
    const isAlive = async () => ({
      made: await isAccepted(harness, made.value.token),
      earlier: await isAccepted(harness, earlier.value.token),
      owners: await isAccepted(harness, owners.value.token),
    });
    assert.deepEqual(await isAlive(), { made: true, earlier: true, owners: true });
    assert.ok((await change(harness.deps)).ok);
    assert.deepEqual(await isAlive(), { made: false, earlier: false, owners: true });
  });
}

Deno.test("a token whose record outlives the change of its person is dead all the same", async () => {
  await using harness = await startHarness();
  assert.ok((await addUser(harness.deps, { name: "ada", passphrase })).ok);
  const made = await createOperatorToken(harness.deps, named);
  assert.ok(made.ok);
  const stored = await operatorTokens.read(harness.storage, made.value.summary.id);
  assert.ok(stored);
  assert.ok((await resetUser(harness.deps, { name: "ada", passphrase })).ok);
  await harness.storage.commit({ puts: [operatorTokens.put(stored.value.id, stored.value, stored.value.expiresAt)] });
  assert.ok(!await isAccepted(harness, made.value.token));
});

Deno.test("another OWNER_PASSWORD_HASH ends the owner's grants, and leaves command-line tokens to token revoke", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const made = await createOperatorToken(harness.deps, request);
  assert.ok(made.ok);
  const changed = createAuthorizationServer({
    ...harness.deps,
    ownerPasswordHash: await hashPassword("another one here"),
  });
  assert.ok(!(await changed.verifier.verify(tokens.access_token)).ok);
  assert.ok((await changed.verifier.verify(made.value.token)).ok);
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
  [{ lifetimeSeconds: 31_536_001 }, "ttl", /a number of seconds/],
  [{ lifetimeSeconds: 1.5 }, "ttl", /a number of seconds/],
  [{ lifetimeSeconds: NaN }, "ttl", /a number of seconds/],
  [{ name: "a\u001b[31m" }, "name", /control/],
  [{ name: "x".repeat(101) }, "name", /100/],
  [{ userId: "nobody" }, "user", /names no user/],
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
