import assert from "node:assert/strict";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { removeClient } from "../../src/oauth/manage_clients.ts";
import { hashPassword } from "../../src/oauth/password_hash.ts";
import { type Grant, putsOfGrant } from "../../src/oauth/records.ts";
import type { Storage } from "../../src/storage/port.ts";
import { addUser, disableUser, enableUser, listUsers, resetUser } from "../../src/oauth/manage_users.ts";
import { createOperatorToken } from "../../src/oauth/access_token.ts";
import {
  authorizePath,
  connect,
  decide,
  type Harness,
  hiddenField,
  isAccepted,
  locationOf,
  openBrowser,
  redeem,
  refresh,
  register,
  startHarness,
  type TestBrowser,
} from "./harness.ts";

const first = "the first passphrase";
const second = "the second passphrase";

async function signIn(browser: TestBrowser, clientId: string, form: Record<string, string>) {
  const page = await (await browser.get(authorizePath(clientId))).text();
  assert.match(page, /User name/);
  const response = await browser.post("/oauth/sign-in", { request: hiddenField(page, "request"), ...form });
  return {
    status: response.status,
    page: response.status === 303
      ? await (await browser.get(response.headers.get("location") ?? "")).text()
      : await response.text(),
  };
}

async function connectAs(harness: Harness, username: string, passphrase: string) {
  const client = await register(harness);
  const browser = openBrowser(harness);
  const { page } = await signIn(browser, client.client_id, { username, passphrase });
  const code = locationOf(await decide(browser, page)).searchParams.get("code") ?? "";
  return { client, browser, code, page };
}

Deno.test("a named user signs in, consents, and is the subject of the token", async () => {
  await using harness = await startHarness();
  assert.ok((await addUser(harness.deps, { name: "alice", passphrase: first })).ok);
  const { client, code, page } = await connectAs(harness, " Alice ", first);
  assert.match(page, /<dd>alice<\/dd>/);
  const { body } = await redeem(harness, client, code);
  const verified = await harness.server.verifier.verify(body.access_token);
  assert.equal(verified.ok && verified.value.subject, "alice");
});

Deno.test("users are listed without their hashes; names and passphrases are checked", async () => {
  await using harness = await startHarness();
  await addUser(harness.deps, { name: "bob", passphrase: first });
  await addUser(harness.deps, { name: "alice", passphrase: first });
  const listed = await listUsers(harness.deps);
  assert.deepEqual(listed.map(({ id }) => id), ["alice", "bob"]);
  assert.deepEqual(Object.keys(listed[0] ?? {}).sort(), ["createdAt", "disabled", "id", "passwordChangedAt"]);
  const refused = [
    await addUser(harness.deps, { name: "alice", passphrase: second }),
    await addUser(harness.deps, { name: "Alice Smith", passphrase: first }),
    await addUser(harness.deps, { name: "", passphrase: first }),
    await addUser(harness.deps, { name: "pcc_1", passphrase: first }),
    await addUser(harness.deps, { name: "carol", passphrase: "short" }),
    await resetUser(harness.deps, { name: "nobody", passphrase: first }),
    await resetUser(harness.deps, { name: "alice", passphrase: "short" }),
    await disableUser(harness.deps, "nobody"),
    await disableUser(harness.deps, ""),
  ];
  const fields = refused.map((result) => result.ok ? "accepted" : result.error.field);
  assert.deepEqual(fields, ["name", "name", "name", "name", "passphrase", "name", "passphrase", "name", "name"]);
  assert.equal((await listUsers(harness.deps)).length, 2);
});

Deno.test("changing a passphrase ends the user's grants, sessions and pending codes, and nobody else's", async () => {
  await using harness = await startHarness();
  await addUser(harness.deps, { name: "alice", passphrase: first });
  await addUser(harness.deps, { name: "bob", passphrase: first });
  const alice = await connectAs(harness, "alice", first);
  const bob = await connectAs(harness, "bob", first);
  const tokens = (await redeem(harness, alice.client, alice.code)).body;
  const others = (await redeem(harness, bob.client, bob.code)).body;
  const pending = await connectAs(harness, "alice", first);
  assert.ok((await resetUser(harness.deps, { name: "alice", passphrase: second })).ok);
  assert.ok(!await isAccepted(harness, tokens.access_token));
  assert.equal((await refresh(harness, alice.client, tokens.refresh_token)).body.error, "invalid_grant");
  assert.equal((await redeem(harness, pending.client, pending.code)).body.error, "invalid_grant");
  assert.ok(await isAccepted(harness, others.access_token));
  const page = await (await alice.browser.get(authorizePath(alice.client.client_id))).text();
  assert.match(page, /name="passphrase"/);
  const attempt = (passphrase: string) =>
    signIn(openBrowser(harness), alice.client.client_id, { username: "alice", passphrase });
  assert.equal((await attempt(first)).status, 403);
  assert.equal((await attempt(second)).status, 303);
});

Deno.test("disabling ends everything at once, tokens of the command line too; enabling lets the person sign in anew", async () => {
  await using harness = await startHarness();
  await addUser(harness.deps, { name: "alice", passphrase: first });
  const { client, code, browser } = await connectAs(harness, "alice", first);
  const { body } = await redeem(harness, client, code);
  const operator = await createOperatorToken(harness.deps, {
    scope: "files:read",
    lifetimeSeconds: 60,
    userId: "alice",
  });
  assert.ok(operator.ok && await isAccepted(harness, operator.value.token));
  const disabled = await disableUser(harness.deps, "alice");
  assert.ok(disabled.ok && disabled.value.disabled);
  assert.ok(!await isAccepted(harness, body.access_token));
  assert.ok(!await isAccepted(harness, operator.value.token));
  assert.match(await (await browser.get(authorizePath(client.client_id))).text(), /name="passphrase"/);
  const attempt = () => signIn(openBrowser(harness), client.client_id, { username: "alice", passphrase: first });
  assert.equal((await attempt()).status, 403);
  const refused = await createOperatorToken(harness.deps, {
    scope: "files:read",
    lifetimeSeconds: 60,
    userId: "alice",
  });
  assert.ok(!refused.ok);
  assert.ok((await enableUser(harness.deps, "alice")).ok);
  assert.equal((await attempt()).status, 303);
  assert.ok(!await isAccepted(harness, body.access_token));
});

Deno.test("a code cannot be redeemed past a change of passphrase that is stored at the same moment", async () => {
  await using harness = await startHarness();
  await addUser(harness.deps, { name: "alice", passphrase: first });
  const { client, code } = await connectAs(harness, "alice", first);
  const [answer] = await Promise.all([
    redeem(harness, client, code),
    resetUser(harness.deps, { name: "alice", passphrase: second }),
  ]);
  if (answer.status === 200) assert.ok(!await isAccepted(harness, answer.body.access_token));
  assert.deepEqual(await harness.storage.list(["grant"], { limit: 10 }), []);
});

Deno.test("a person with very many grants loses all of them at once, and a client with very many too", async () => {
  await using harness = await startHarness();
  await addUser(harness.deps, { name: "alice", passphrase: first });
  const { client, code } = await connectAs(harness, "alice", first);
  const { body } = await redeem(harness, client, code);
  const [entry] = await harness.storage.list(["grant"], { limit: 1 });
  const grant = entry?.value as Grant;
  const copies = Array.from({ length: 450 }, (_, index) => ({ ...grant, id: String(index).padStart(32, "0") }));
  for (let start = 0; start < copies.length; start += 40) {
    const puts = copies.slice(start, start + 40).flatMap((copy) => putsOfGrant(copy, harness.time.now + 60_000));
    await harness.storage.commit({ puts });
  }
  const left = async () => (await harness.storage.list(["grant"], { limit: 1_000 })).length;
  assert.equal(await left(), 451);
  assert.ok((await resetUser(harness.deps, { name: "alice", passphrase: second })).ok);
  assert.ok(!await isAccepted(harness, body.access_token));
  assert.equal(await left(), 0);
  assert.deepEqual(await harness.storage.list(["subject_grant"], { limit: 1 }), []);
  for (let start = 0; start < copies.length; start += 40) {
    const puts = copies.slice(start, start + 40).flatMap((copy) => putsOfGrant(copy, harness.time.now + 60_000));
    await harness.storage.commit({ puts });
  }
  assert.ok(await removeClient(harness.deps, client.client_id));
  assert.equal(await left(), 0);
});

Deno.test("the new passphrase alone cuts grants off, even if the process dies before it has tidied up", async () => {
  await using harness = await startHarness();
  await addUser(harness.deps, { name: "alice", passphrase: first });
  const { client, code } = await connectAs(harness, "alice", first);
  const { body } = await redeem(harness, client, code);
  let commits = 0;
  const dying: Storage = {
    ...harness.storage,
    commit: (batch) => ++commits > 1 ? Promise.reject(new Error("killed")) : harness.storage.commit(batch),
  };
  await assert.rejects(resetUser({ ...harness.deps, storage: dying }, { name: "alice", passphrase: second }), /killed/);
  assert.equal((await harness.storage.list(["grant"], { limit: 10 })).length, 1);
  assert.ok(!await isAccepted(harness, body.access_token));
  assert.equal((await refresh(harness, client, body.refresh_token)).body.error, "invalid_grant");
});

Deno.test("a new OWNER_PASSWORD_HASH ends the owner's grants like any other change of passphrase", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  assert.ok(await isAccepted(harness, tokens.access_token));
  const restarted = createAuthorizationServer({ ...harness.deps, ownerPasswordHash: await hashPassword(second) });
  assert.deepEqual(await restarted.verifier.verify(tokens.access_token), { ok: false, error: "revoked_token" });
});
