/** Clients without refresh tokens: however many tokens they fetch, each is one connection of one subject. */
import assert from "node:assert/strict";
import { createClient } from "../../src/oauth/manage_clients.ts";
import { endAccessByProvider } from "../../src/oauth/manage_users.ts";
import { addAsserting, bring, claimsFor, startPlace } from "../company/place.ts";
import { basic, connect, type Harness, isAccepted, postForm, startHarness } from "./harness.ts";

async function addMachine(harness: Harness) {
  const made = await createClient(harness.deps, {
    name: "Robot",
    scope: "files:read files:write",
    grantTypes: ["client_credentials"],
  });
  assert.ok(made.ok && made.value.secret !== null);
  const { client: { id }, secret } = made.value;
  return async (scope = "files:read"): Promise<string> => {
    const { status, body } = await postForm(
      harness,
      "/oauth/token",
      { grant_type: "client_credentials", scope },
      basic(id, secret),
    );
    assert.equal(status, 200, JSON.stringify(body));
    return body.access_token;
  };
}

async function forConsole({ server }: Harness) {
  return (await server.forConsole()).administration;
}

Deno.test("a machine that fetches a token a call is one connection, and hides nobody else's", async () => {
  await using harness = await startHarness();
  const administration = await forConsole(harness);
  await connect(harness);
  const token = await addMachine(harness);
  const before = harness.time.now;
  const tokens = [await token()];
  harness.time.now += 60_000;
  tokens.push(...await Promise.all(Array.from({ length: 60 }, () => token())));
  const { grants } = await administration.access(null);
  assert.deepEqual(grants.map(({ clientName }) => clientName).toSorted(), ["Robot", "Test client"]);
  const own = grants.find(({ clientName }) => clientName === "Robot");
  assert.deepEqual([own?.createdAt, own?.renewedAt], [before, harness.time.now]);
  for (const text of tokens) assert.ok(await isAccepted(harness, text));
});

Deno.test("a token costs as many reads, and joins its connection, however many others its subject has", async () => {
  await using harness = await startHarness();
  let reads = 0;
  const { storage } = harness.deps;
  const get = storage.get.bind(storage);
  const list = storage.list.bind(storage);
  storage.get = (key) => (reads++, get(key));
  storage.list = async (prefix, range) => {
    const listed = await list(prefix, range);
    reads += listed.length;
    return listed;
  };
  const token = await addMachine(harness);
  const readsOf = async (): Promise<number> => {
    reads = 0;
    await token();
    return reads;
  };
  await readsOf();
  const before = await readsOf();
  const { grants: [own] } = await (await forConsole(harness)).access(null);
  const subject = own?.clientId ?? "";
  for (let count = 0; count < 1_200; count++) {
    const id = `${count % 2 ? "f" : "0"}${String(count).padStart(31, "0")}`; // before its own, and after it
    await storage.commit({ puts: [{ key: ["subject_grant", subject, id], value: { grantId: id } }] });
  }
  assert.equal(await readsOf(), before);
  const { grants } = await (await forConsole(harness)).access(null);
  assert.equal(grants.length, 1);
});

Deno.test("tokens of one connection keep their own scopes, and the connection names them all", async () => {
  await using harness = await startHarness();
  const token = await addMachine(harness);
  const scopesOf = async (text: string) => {
    const verified = await harness.server.verifier.verify(text);
    return verified.ok ? [...verified.value.scopes] : [];
  };
  const [reading, writing, again] = [await token(), await token("files:write"), await token()];
  assert.ok((await scopesOf(writing)).includes("files:write"));
  for (const text of [reading, again]) assert.deepEqual(await scopesOf(text), ["files:read"]);
  const { grants } = await (await forConsole(harness)).access(null);
  assert.deepEqual(grants.map(({ scopes }) => scopes), [["files:read", "files:write"]]);
});

Deno.test("a connection that was removed ends all its tokens, and the client's next token revives none", async () => {
  await using harness = await startHarness();
  const administration = await forConsole(harness);
  const token = await addMachine(harness);
  const earlier = await Promise.all(Array.from({ length: 5 }, () => token()));
  const [grant] = (await administration.access(null)).grants;
  assert.ok(grant);
  assert.ok(
    await administration.end({ grantId: grant.id, tokenId: null }, {
      userId: "owner",
      isAdministrator: true,
      address: "",
    }),
  );
  const next = await token();
  assert.ok(await isAccepted(harness, next));
  for (const text of earlier) assert.ok(!await isAccepted(harness, text));
});

Deno.test("assertions of one client for a person are one connection, and what ends the person ends their tokens for good", async () => {
  await using place = await startPlace();
  const { harness, provider } = place;
  for (const sub of ["ada", "bob"]) provider.employ(sub, { groups: ["mcp-users"] });
  const client = await addAsserting(place);
  const tokenFor = async (sub: string): Promise<string> => {
    const { status, body } = await bring(place, client, await provider.assertion({ ...claimsFor(client), sub }));
    assert.equal(status, 200, JSON.stringify(body));
    return body.access_token;
  };
  const early = [await tokenFor("ada"), await tokenFor("ada"), await tokenFor("bob")];
  const administration = await forConsole(harness);
  const { grants } = await administration.access(null);
  assert.equal(grants.length, 2);
  const verified = await harness.server.verifier.verify(early[0] ?? "");
  assert.ok(verified.ok);
  await endAccessByProvider(harness.deps, verified.value.subject);
  harness.time.now += 60_000;
  await tokenFor("ada");
  const alive = await Promise.all(early.map((text) => isAccepted(harness, text)));
  assert.deepEqual(alive, [false, false, true]);
});
