import assert from "node:assert/strict";
import type { Check } from "../../src/app/doctor_places.ts";
import { type ConnectionOptions, playConnection } from "../../src/app/doctor_connection.ts";
import { approve, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

const registrationToken = "a-registration-token-4711";

async function play(options: Partial<ConnectionOptions> & { readonly serverUrl: string }): Promise<Check[]> {
  return await Array.fromAsync(playConnection({
    instanceOrigin: "https://dev12345.service-now.com",
    scopes: ["files:read", "files:write"],
    fetch,
    timeoutSeconds: 5,
    ...options,
  }));
}

Deno.test("ServiceNow's client connects to an empty server, lists, calls and refreshes", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { DCR_AUTH_TOKEN: registrationToken } });
  const person = createPerson(server.url);
  await setUpOwner(person, server);
  let callback: URL | undefined;
  const steps = await play({
    serverUrl: server.url,
    registrationToken,
    approve: async (url) => {
      callback = await approve(person, new URL(url));
      return callback.href;
    },
    call: { name: "file_write", arguments: { filename: "from-servicenow.txt", content: "Hello" } },
  });
  assert.deepEqual(steps.filter(({ state }) => state !== "well"), []);
  assert.deepEqual(steps.map(({ name }) => name), [
    "test connection",
    "initialized",
    "metadata",
    "registration",
    "authorization",
    "token",
    "initialize",
    "tools/list",
    "tools/call",
    "refresh",
    "initialize",
    "tools/list",
  ]);
  assert.equal(callback?.origin + (callback?.pathname ?? ""), "https://dev12345.service-now.com/oauth_redirect.do");
  assert.equal(await Deno.readTextFile(`${place.workspaceDir}/from-servicenow.txt`), "Hello");
});

Deno.test("the connection test stops at what is wrong and says what to do", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { DCR_AUTH_TOKEN: registrationToken } });
  await setUpOwner(createPerson(server.url), server);
  const last = async (options: Partial<ConnectionOptions> = {}) =>
    (await play({ serverUrl: server.url, ...options })).at(-1);

  assert.deepEqual(await last(), {
    name: "registration",
    state: "broken",
    text: "registration is refused",
    remedy: "give ServiceNow DCR_AUTH_TOKEN",
  });
  assert.deepEqual(await last({ registrationToken }), {
    name: "authorization",
    state: "well",
    text: "a person would be asked to sign in now",
  });
  const other = server.url.replace("127.0.0.1", "localhost");
  const elsewhere = await last({ serverUrl: other, registrationToken });
  assert.equal(elsewhere?.name, "metadata");
  assert.match(elsewhere?.remedy ?? "", /set SERVER_URL/);
  await server.stop();
  const gone = await last();
  assert.equal(gone?.name, "test connection");
  assert.match(gone?.text ?? "", /does not answer/);
});

Deno.test("the connection test names the settings that keep ServiceNow out", async () => {
  await using place = await makeServerPlace();
  for (
    const [env, name, remedy] of [
      [{ PUBLIC_INITIALIZE: "never" }, "test connection", /PUBLIC_INITIALIZE=auto/],
      [{ REGISTRATION: "off" }, "metadata", /REGISTRATION/],
    ] as const
  ) {
    await using server = await startServer(place, { env });
    const step = (await play({ serverUrl: server.url })).at(-1);
    assert.equal(step?.name, name);
    assert.equal(step?.state, "broken");
    assert.match(step?.remedy ?? "", remedy);
  }
});
