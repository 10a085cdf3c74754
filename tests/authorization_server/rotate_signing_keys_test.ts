/** Signing keys from their publication to their end, as clients and other verifiers see it. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  createSigningKeys,
  listSigningKeys,
  replaceSigningKeys,
  rotateSigningKeys,
} from "../../src/oauth/signing_keys.ts";
import { connect, type Harness, isAccepted, refresh, startHarness } from "./harness.ts";

const pace = { leadSeconds: 900, overlapSeconds: 3_600 };
const second = 1_000;

async function publishedKids(harness: Harness): Promise<string[]> {
  const { keys } = await (await harness.fetch("/.well-known/jwks.json")).json();
  return keys.map(({ kid }: { kid: string }) => kid).sort();
}

function kidOf(token: string): string {
  return JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid;
}

async function statesOf(harness: Harness): Promise<Record<string, string>> {
  return Object.fromEntries((await listSigningKeys(harness.deps)).map(({ kid, state }) => [kid, state]));
}

Deno.test("a new key is published before it signs, the old one verifies until its last token has ended (RFC 7517 §5)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  const old = kidOf(tokens.access_token);
  const rotation = await rotateSigningKeys(harness.deps, pace);
  assert.equal(rotation.kind, "published");
  const { kid } = rotation;
  assert.deepEqual(await publishedKids(harness), [old, kid].sort());
  assert.deepEqual(await statesOf(harness), { [old]: "active", [kid]: "published" });

  harness.time.now += 899 * second;
  const last = (await refresh(harness, client, tokens.refresh_token)).body;
  assert.equal(kidOf(last.access_token), old);
  harness.time.now += second;
  const first = (await refresh(harness, client, last.refresh_token)).body;
  assert.equal(kidOf(first.access_token), kid);
  assert.deepEqual(await statesOf(harness), { [old]: "retired", [kid]: "active" });

  harness.time.now += 3_598 * second;
  assert.ok(await isAccepted(harness, last.access_token));
  assert.ok(await isAccepted(harness, first.access_token));
  harness.time.now += 302 * second; // another instance's clock may be behind
  assert.deepEqual(await publishedKids(harness), [kid]);
  assert.deepEqual(await statesOf(harness), { [kid]: "active" });
});

Deno.test("every instance changes to the new key by its clock, one that has signed with the old key included", async () => {
  await using harness = await startHarness();
  const instances = [createSigningKeys(harness.deps), createSigningKeys(harness.deps)] as const;
  for (const instance of instances) await instance.current();
  const { kid } = await rotateSigningKeys(harness.deps, pace);
  for (const instance of instances) assert.notEqual((await instance.current()).kid, kid);
  harness.time.now += 900 * second;
  for (const instance of instances) assert.equal((await instance.current()).kid, kid);
});

Deno.test("a rotation waits for the one before; of parallel ones, one happens", async () => {
  await using harness = await startHarness();
  await connect(harness);
  const rotations = await Promise.all(Array.from({ length: 5 }, () => rotateSigningKeys(harness.deps, pace)));
  assert.equal(rotations.filter(({ kind }) => kind === "published").length, 1);
  assert.equal(new Set(rotations.map(({ kid }) => kid)).size, 1);
  assert.equal((await publishedKids(harness)).length, 2);
  harness.time.now += 900 * second;
  assert.equal((await rotateSigningKeys(harness.deps, pace)).kind, "published");
  assert.equal((await publishedKids(harness)).length, 3);
});

Deno.test("before anything was signed, there is nobody to wait for", async () => {
  await using harness = await startHarness();
  const { kid } = await rotateSigningKeys(harness.deps, pace);
  assert.deepEqual(await statesOf(harness), { [kid]: "active" });
  assert.equal((await createSigningKeys(harness.deps).current()).kid, kid);
});

Deno.test("a key in other hands is withdrawn at once, with those that wait: its tokens end, refreshing goes on", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  await rotateSigningKeys(harness.deps, pace);
  const verified = await harness.server.verifier.verify(tokens.access_token);
  assert.ok(verified.ok);
  assert.ok(await harness.server.verifier.isLive(verified.value));
  const { kid, withdrawn } = await replaceSigningKeys(harness.deps);
  assert.equal(withdrawn.length, 2);
  assert.deepEqual(await publishedKids(harness), [kid]);
  assert.ok(!await isAccepted(harness, tokens.access_token));
  for (const principal of [verified.value, { ...verified.value }]) { // the guard's, and a copy of it
    assert.ok(!await harness.server.verifier.isLive(principal));
  }
  const { body } = await refresh(harness, client, tokens.refresh_token);
  assert.equal(kidOf(body.access_token), kid);
  assert.ok(await isAccepted(harness, body.access_token));
});
