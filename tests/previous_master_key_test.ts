/** A change of the master key: what lives on, what an interruption leaves, and who is kept out meanwhile. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createAuthorizationServer } from "../src/oauth/authorization_server.ts";
import { rotateSigningKeys } from "../src/oauth/signing_keys.ts";
import { createSecretBox, type SecretBox } from "../src/lib/secrets.ts";
import { moveToMasterKey } from "../src/app/move_to_master_key.ts";
import { linkKey, parseLinkRecord, sealedLink } from "../src/servicenow/link_store.ts";
import { bindMasterKey, masterKeyMark } from "../src/storage/open_storage.ts";
import type { Storage } from "../src/storage/port.ts";
import { connect, type Harness, mount, refresh, startHarness } from "./authorization_server/harness.ts";
import { makeServerPlace, runCommand, startServer } from "./fixtures/running_server.ts";

const instance = "https://example.service-now.com";
const link = {
  accessToken: "upstream-access",
  refreshToken: "upstream-refresh",
  expiresAt: 1,
  refreshAt: 1,
  account: { sysId: "1", userName: "ada", name: "Ada" },
};

/** An installation in use: a client with tokens, two signing keys, three linked accounts. */
async function inUse(): Promise<{ harness: Harness; access: string; refreshToken: string; clientId: string }> {
  const harness = await startHarness();
  await bindMasterKey(harness.storage, masterKeyMark(harness.secrets));
  const { client, tokens } = await connect(harness);
  await rotateSigningKeys(harness.deps, { leadSeconds: 900, overlapSeconds: 3_600 });
  for (const subject of ["owner", "ada", "bob"]) {
    const value = { instance, sealed: await sealedLink.seal(harness.secrets, subject, instance, link), linkedAt: 1 };
    await harness.storage.commit({ puts: [{ key: linkKey(subject), value }] });
  }
  const sealed = await harness.secrets.seal("provider-refresh-token", "provider-refresh", "ada");
  await harness.storage.commit({ puts: [{ key: ["provider_token", "ada"], value: { sealed } }] });
  return { harness, access: tokens.access_token, refreshToken: tokens.refresh_token, clientId: client.client_id };
}

/** The same installation under another key. */
function under(harness: Harness, secrets: SecretBox): Harness {
  const deps = { ...harness.deps, secrets };
  const server = createAuthorizationServer(deps);
  const mounted = mount(server);
  return {
    ...harness,
    deps,
    secrets,
    server,
    fetch: async (path, init) => {
      const url = new URL(path, deps.issuer);
      const endpoint = mounted[url.pathname] ?? assert.fail(url.pathname);
      return await endpoint(new Request(url, { redirect: "manual", ...init }), { address: "192.0.2.1" });
    },
  };
}

async function assertMoved(
  { harness, access, refreshToken, clientId }: Awaited<ReturnType<typeof inUse>>,
  to: SecretBox,
) {
  const moved = under(harness, to);
  assert.ok((await moved.server.verifier.verify(access)).ok);
  const first = await refresh(moved, { client_id: clientId }, refreshToken);
  assert.equal(first.status, 200, JSON.stringify(first.body)); // made under the old key, known by its hash
  assert.ok((await moved.server.verifier.verify(first.body.access_token)).ok);
  const second = await refresh(moved, { client_id: clientId }, first.body.refresh_token);
  assert.equal(second.status, 200, JSON.stringify(second.body));
  harness.time.now += 900_000; // the key that waited is sealed anew, too
  assert.equal((await refresh(moved, { client_id: clientId }, second.body.refresh_token)).status, 200);
  for (const subject of ["owner", "ada", "bob"]) {
    const { sealed } = parseLinkRecord((await harness.storage.get(linkKey(subject)))?.value);
    assert.deepEqual(await sealedLink.open(to, subject, instance, sealed ?? ""), link);
    assert.equal(await sealedLink.open(harness.secrets, subject, instance, sealed ?? ""), null);
  }
  const { sealed } = (await harness.storage.get(["provider_token", "ada"]))?.value as { sealed: string };
  assert.equal(await to.open("provider-refresh-token", sealed, "ada"), "provider-refresh");
  await assert.rejects(bindMasterKey(harness.storage, masterKeyMark(harness.secrets)), /another master key/);
  await bindMasterKey(harness.storage, masterKeyMark(to));
}

Deno.test("moveToMasterKey() seals signing keys, links and the provider's tokens anew; tokens that clients hold go on working", async () => {
  const place = await inUse();
  await using harness = place.harness;
  const to = createSecretBox(randomBytes(32));
  const keys = { from: harness.secrets, to };
  await moveToMasterKey(harness.deps, keys);
  await moveToMasterKey(harness.deps, keys); // done: nothing more
  await assertMoved(place, to);
});

Deno.test("moveToMasterKey() may stop before any of its commits, or after one whose answer was lost, and be done again", async () => {
  for (let commits = 0; commits <= 7; commits++) {
    for (const takesEffect of [false, true]) {
      const place = await inUse();
      await using harness = place.harness;
      const to = createSecretBox(randomBytes(32));
      const keys = { from: harness.secrets, to };
      let left = commits;
      const failing: Storage = {
        ...harness.storage,
        commit: async (batch) => {
          if (left-- > 0) return await harness.storage.commit(batch);
          if (takesEffect) await harness.storage.commit(batch);
          throw new Error("the power went");
        },
      };
      await moveToMasterKey({ ...harness.deps, storage: failing }, keys).then(
        () => assert.equal(commits, 7),
        (error) => assert.equal(error.message, "the power went"),
      );
      await moveToMasterKey(harness.deps, keys);
      await assertMoved(place, to);
    }
  }
});

Deno.test("MASTER_KEY_PREVIOUS replaces master.key, and finishes what an earlier version's interrupted change left", async () => {
  await using place = await makeServerPlace();
  const run = (args: string[], env = {}) => runCommand([...args, "--data-dir", place.dataDir], { env });
  const keyPath = join(place.dataDir, "master.key");
  assert.equal((await run(["keys", "rotate"])).code, 0);
  const previous = { MASTER_KEY_PREVIOUS: (await Deno.readFile(keyPath)).toBase64() };
  await Deno.writeFile(`${keyPath}.next`, randomBytes(32), { mode: 0o600 }); // what a crash left
  for (const args of [["keys", "list"], ["serve", "--port", "0"], ["backup", join(place.dataDir, "..", "backup")]]) {
    const kept = await run(args);
    assert.equal(kept.code, 1, args.join(" "));
    assert.match(kept.stderr, /master\.key\.next is left of a change of the master key\nhint: set MASTER_KEY_PREVIOUS/);
  }
  await Deno.rename(`${keyPath}.next`, keyPath);
  assert.match((await run(["keys", "list"])).stderr, /another master key/);
  assert.equal((await run(["keys", "list"], previous)).code, 0);
  assert.equal((await run(["keys", "list"])).code, 0);
  await using server = await startServer(place);
  assert.equal((await fetch(`${server.url}/.well-known/jwks.json`).then((answer) => answer.json())).keys.length, 1);
});

Deno.test("MASTER_KEY_PREVIOUS moves the database to MASTER_KEY at the start, in the server's worker too", async () => {
  await using place = await makeServerPlace();
  const [first, second] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
  const list = (env: Record<string, string>) => runCommand(["keys", "list", "--data-dir", place.dataDir], { env });
  assert.equal(
    (await runCommand(["keys", "rotate", "--data-dir", place.dataDir], { env: { MASTER_KEY: first } })).code,
    0,
  );
  assert.match((await list({ MASTER_KEY: second })).stderr, /another master key/);
  {
    await using server = await startServer(place, { env: { MASTER_KEY: second, MASTER_KEY_PREVIOUS: first } });
    assert.ok(server.url);
  }
  assert.equal((await list({ MASTER_KEY: second })).code, 0);
  assert.equal((await list({ MASTER_KEY: second, MASTER_KEY_PREVIOUS: first })).code, 0); // may stay set
  assert.match((await list({ MASTER_KEY: first })).stderr, /another master key/);
});
