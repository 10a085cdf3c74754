/** Streams outlive the request that showed the token: whoever holds one hears when the token ends before its time. */
import assert from "node:assert/strict";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { removeClient } from "../../src/oauth/manage_clients.ts";
import { addUser, disableUser, resetUser } from "../../src/oauth/manage_users.ts";
import { createOperatorToken, revokeOperatorToken } from "../../src/oauth/access_token.ts";
import { replaceSigningKeys, rotateSigningKeys } from "../../src/oauth/signing_keys.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { connect, type Harness, postForm, refresh, startHarness } from "./harness.ts";

/** What is done to a token, and how a test has one. */
interface Case {
  readonly token: (harness: Harness) => Promise<{ readonly text: string; readonly end: () => Promise<unknown> }>;
}

async function clientToken(harness: Harness, end: (token: string, clientId: string, refreshToken: string) => unknown) {
  const { client, tokens } = await connect(harness);
  return {
    text: tokens.access_token,
    end: async () => await end(tokens.access_token, client.client_id, tokens.refresh_token),
  };
}

async function userToken(harness: Harness, end: (harness: Harness) => Promise<{ readonly ok: boolean }>) {
  assert.ok((await addUser(harness.deps, { name: "ada", passphrase: "correct horse battery" })).ok);
  const made = await createOperatorToken(harness.deps, { userId: "ada", ...operatorToken });
  assert.ok(made.ok);
  return { text: made.value.token, end: async () => assert.ok((await end(harness)).ok) };
}

const operatorToken = { name: "test", scope: "files:read", lifetimeSeconds: 3_600 };

const cases: Readonly<Record<string, Case>> = {
  "the access token is revoked (RFC 7009)": {
    token: (harness) =>
      clientToken(harness, (token, client_id) => postForm(harness, "/oauth/revoke", { token, client_id })),
  },
  "its grant is revoked by the refresh token": {
    token: (harness) =>
      clientToken(harness, (_, client_id, token) => postForm(harness, "/oauth/revoke", { token, client_id })),
  },
  "its client is removed": {
    token: (harness) => clientToken(harness, (_, clientId) => removeClient(harness.deps, clientId)),
  },
  "the key that signed it is withdrawn": {
    token: (harness) => clientToken(harness, () => replaceSigningKeys(harness.deps)),
  },
  "a token of the command line is revoked": {
    async token(harness) {
      const made = await createOperatorToken(harness.deps, { userId: "owner", ...operatorToken });
      assert.ok(made.ok);
      return { text: made.value.token, end: () => revokeOperatorToken(harness.deps, made.value.summary.id) };
    },
  },
  "its person is locked out": { token: (harness) => userToken(harness, ({ deps }) => disableUser(deps, "ada")) },
};

for (const [name, { token }] of Object.entries(cases)) {
  Deno.test(`another instance hears that ${name}, once for each who holds it`, async () => {
    await using harness = await startHarness();
    const storage = openSqliteStorage({
      path: harness.databasePath,
      clock: harness.deps.clock,
      watchIntervalMs: 10,
    });
    try {
      const { verifier } = createAuthorizationServer({ ...harness.deps, storage });
      const { text, end } = await token(harness);
      const verified = await verifier.verify(text);
      assert.ok(verified.ok);
      const ended = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let calls = 0;
      const stops = ended.map(({ resolve }) =>
        verifier.watch(verified.value, () => {
          calls += 1;
          resolve();
        })
      );
      const stopThird = verifier.watch(verified.value, () => assert.fail("it was let go"));
      stopThird();
      await end();
      await Promise.all(ended.map(({ promise }) => promise));
      assert.equal(calls, 2);
      for (const stop of stops) stop();
    } finally {
      await storage.close();
    }
  });
}

Deno.test("a token that ended before it is watched is told at once; refreshing, rotating keys and a new passphrase of others end nothing", async () => {
  await using harness = await startHarness();
  const { verifier } = harness.server;
  const { client, tokens } = await connect(harness);
  const { tokens: other } = await connect(harness);
  const [mine, its] = await Promise.all([tokens, other].map((each) => verifier.verify(each.access_token)));
  assert.ok(mine?.ok && its?.ok);
  const stop = verifier.watch(its.value, () => assert.fail("nothing was done to this one"));
  await refresh(harness, client, tokens.refresh_token);
  await rotateSigningKeys(harness.deps, { leadSeconds: 0, overlapSeconds: 3_600 });
  assert.ok((await addUser(harness.deps, { name: "ada", passphrase: "correct horse battery" })).ok);
  assert.ok((await resetUser(harness.deps, { name: "ada", passphrase: "another horse battery" })).ok);
  await postForm(harness, "/oauth/revoke", { token: tokens.access_token, client_id: client.client_id });
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopMine = verifier.watch(mine.value, resolve);
  await promise; // by then, what came before has been looked at, too
  stopMine();
  stop();
});

Deno.test("what was begun with a token goes on when it has expired and is refreshed, and ends with its grant", async () => {
  await using harness = await startHarness();
  const { verifier } = harness.server;
  const { client, tokens } = await connect(harness);
  const mine = await verifier.verify(tokens.access_token);
  assert.ok(mine.ok);
  let hasEnded = false;
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = verifier.watch(mine.value, () => {
    hasEnded = true;
    resolve();
  });
  harness.time.now = mine.value.expiresAt + 1_000;
  assert.ok(!(await verifier.verify(tokens.access_token)).ok);
  const refreshed = await refresh(harness, client, tokens.refresh_token);
  assert.ok(refreshed.body.refresh_token);
  const other = verifier.watch(mine.value, () => assert.fail("it was only refreshed"));
  assert.ok(await verifier.isLive(mine.value));
  assert.ok(await verifier.isGrantLive(mine.value));
  other();
  assert.ok(!hasEnded);
  await postForm(harness, "/oauth/revoke", { token: refreshed.body.refresh_token, client_id: client.client_id });
  await promise;
  assert.ok(!await verifier.isLive(mine.value));
  assert.ok(!await verifier.isGrantLive(mine.value));
  stop();
});

Deno.test("what was begun with a token that was revoked stays ended when the token has expired", async () => {
  await using harness = await startHarness();
  const { verifier } = harness.server;
  const { client, tokens } = await connect(harness);
  const mine = await verifier.verify(tokens.access_token);
  assert.ok(mine.ok);
  await postForm(harness, "/oauth/revoke", { token: tokens.access_token, client_id: client.client_id });
  harness.time.now = mine.value.expiresAt + 1_000;
  assert.ok(!await verifier.isLive(mine.value));
});
