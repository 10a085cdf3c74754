import assert from "node:assert/strict";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { createClient, listClients, removeClient } from "../../src/oauth/manage_clients.ts";
import { grants } from "../../src/oauth/records.ts";
import type { Batch, Storage } from "../../src/storage/port.ts";
import {
  authorizePath,
  decide,
  fetchFrom,
  type Harness,
  mount,
  obtainCode,
  openBrowser,
  postForm,
  reachConsent,
  redeem,
  redirectUri,
  refresh,
  register,
  type RegisteredClient,
  startHarness,
} from "./harness.ts";
import { openTestNetwork } from "./test_network.ts";

const documentId = "https://app.example.com/client.json";

/** The same installation, where the operator removes `clientId` right before the next commit that writes `family`. */
function removingBefore(harness: Harness, family: string, clientId: string): Harness {
  let isRemoved = false;
  const storage: Storage = {
    get: (key) => harness.storage.get(key),
    list: (prefix, options) => harness.storage.list(prefix, options),
    consume: (key) => harness.storage.consume(key),
    changeCount: () => harness.storage.changeCount(),
    watch: (key, onChange) => harness.storage.watch(key, onChange),
    sweep: (now) => harness.storage.sweep(now),
    close: () => harness.storage.close(),
    async commit(batch: Batch) {
      if (!isRemoved && batch.puts?.some(({ key }) => key[0] === family)) {
        isRemoved = true;
        assert.ok(await removeClient(harness.deps, clientId));
      }
      return await harness.storage.commit(batch);
    },
  };
  const mounted = mount(createAuthorizationServer({ ...harness.deps, storage }));
  return { ...harness, fetch: fetchFrom(mounted, harness.deps.issuer) };
}

async function assertNothingLeft(harness: Harness): Promise<void> {
  assert.deepEqual(await Array.fromAsync(grants.all(harness.storage)), []);
  assert.deepEqual(await listClients(harness.deps), []);
}

for (const kind of ["registered", "metadata document"] as const) {
  const start = async () => {
    const web = openTestNetwork();
    web.publish("/client.json", { client_id: documentId, client_name: "App", redirect_uris: [redirectUri] });
    const harness = await startHarness({ fetchDocument: web.fetcher() });
    const client: RegisteredClient = kind === "registered" ? await register(harness) : { client_id: documentId };
    return {
      harness,
      client,
      async [Symbol.asyncDispose]() {
        await harness[Symbol.asyncDispose]();
        await web[Symbol.asyncDispose]();
      },
    };
  };

  Deno.test(`a ${kind} client that is removed while its code is redeemed gets nothing`, async () => {
    await using test = await start();
    const { harness, client } = test;
    const code = await obtainCode(harness, client);
    const { status, body } = await redeem(removingBefore(harness, "grant", client.client_id), client, code);
    assert.equal(`${status} ${body.error}`, "401 invalid_client");
    await assertNothingLeft(harness);
  });

  Deno.test(`a ${kind} client that was removed before its code is redeemed gets nothing`, async () => {
    await using test = await start();
    const { harness, client } = test;
    const code = await obtainCode(harness, client);
    assert.ok(await removeClient(harness.deps, client.client_id));
    assert.equal((await redeem(harness, client, code)).status, 401);
    await assertNothingLeft(harness);
  });

  Deno.test(`a ${kind} client that is removed while it refreshes gets nothing`, async () => {
    await using test = await start();
    const { harness, client } = test;
    const { body } = await redeem(harness, client, await obtainCode(harness, client));
    const answer = await refresh(removingBefore(harness, "grant", client.client_id), client, body.refresh_token);
    assert.notEqual(answer.status, 200);
    await assertNothingLeft(harness);
  });
}

Deno.test("a machine's client that is removed while it asks for a token gets nothing", async () => {
  await using harness = await startHarness();
  const made = await createClient(harness.deps, {
    name: "Machine",
    grantTypes: ["client_credentials"],
    scope: "files:read",
  });
  assert.ok(made.ok);
  const { client: { id }, secret } = made.value;
  const { status, body } = await postForm(removingBefore(harness, "grant", id), "/oauth/token", {
    grant_type: "client_credentials",
    client_id: id,
    client_secret: secret ?? "",
  });
  assert.equal(`${status} ${body.error}`, "401 invalid_client");
  await assertNothingLeft(harness);
});

Deno.test("a client that is removed while a person allows it is not written back, and gets no code", async () => {
  await using harness = await startHarness();
  for (const approvedBefore of [false, true]) {
    const client = await register(harness);
    if (approvedBefore) await obtainCode(harness, client);
    const racing = removingBefore(harness, "authorization_code", client.client_id);
    const browser = openBrowser(racing);
    const answer = await decide(browser, await reachConsent(browser, authorizePath(client.client_id)));
    assert.equal(answer.headers.get("location"), null);
    await answer.body?.cancel();
    await assertNothingLeft(harness);
  }
});

Deno.test("two people who allow a new client at once both get their code", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const codes = await Promise.all([1, 2, 3, 4].map(() => obtainCode(harness, client)));
  const answers = await Promise.all(codes.map((code) => redeem(harness, client, code)));
  assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200, 200]);
});
