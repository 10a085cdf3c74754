import type { Check } from "../../src/lib/result.ts";
import assert from "node:assert/strict";
import { type ConnectionOptions, playConnection } from "../../src/app/doctor_connection.ts";
import { approve, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

const registrationToken = "a-registration-token-4711";

function play(options: Partial<ConnectionOptions> & { readonly serverUrl: string }) {
  return playConnection({
    instanceOrigin: "https://dev12345.service-now.com",
    scopes: ["files:read", "files:write"],
    ...options,
  });
}

Deno.test("ServiceNow's client connects to an empty server, lists, calls and refreshes", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { DCR_AUTH_TOKEN: registrationToken } });
  const person = createPerson(server.url);
  await setUpOwner(person, server);
  const steps: Check[] = [];
  const playing = play({ serverUrl: server.url, registrationToken });
  let played = await playing.next();
  for (; !played.done; played = await playing.next()) steps.push(played.value);
  assert.deepEqual(steps.map(({ name, state }) => `${name} ${state}`), [
    "test connection well",
    "initialized well",
    "metadata well",
    "registration well",
    "authorization well",
  ]);
  const client = played.value ?? assert.fail("no client waits");
  const callback = await approve(person, new URL(client.authorizationUrl));
  assert.equal(callback.origin + callback.pathname, "https://dev12345.service-now.com/oauth_redirect.do");
  assert.equal(callback.searchParams.get("state"), client.state);

  const authorization = `Basic ${btoa([client.id, client.secret].map(encodeURIComponent).join(":"))}`;
  const tokens = async (form: Record<string, string>): Promise<{ access_token: string; refresh_token: string }> => {
    const body = new URLSearchParams(form);
    const answer = await fetch(client.tokenEndpoint, { method: "POST", headers: { authorization }, body });
    assert.equal(answer.status, 200);
    return await answer.json();
  };
  const call = async (token: string, method: string, params: object) => {
    const headers = {
      accept: "application/json",
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method, params });
    const answer = await fetch(`${server.url}/mcp`, { method: "POST", headers, body });
    assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
    return (await answer.json()).result;
  };
  const clientInfo = { name: "Servicenow", version: "1.0" };
  const openAndList = async (token: string): Promise<void> => {
    await call(token, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    let count = 0;
    for (let cursor: string | undefined = ""; cursor !== undefined;) {
      const { tools, nextCursor } = await call(token, "tools/list", cursor === "" ? {} : { cursor });
      count += tools.length;
      cursor = nextCursor || undefined; // ServiceNow's last page has an empty one
    }
    assert.ok(count > 0, "there are tools");
  };
  const code = callback.searchParams.get("code") ?? "";
  const { redirectUri: redirect_uri, verifier: code_verifier } = client;
  const first = await tokens({ grant_type: "authorization_code", code, redirect_uri, code_verifier });
  await openAndList(first.access_token);
  const written = { name: "file_write", arguments: { filename: "from-servicenow.txt", content: "Hello" } };
  assert.equal((await call(first.access_token, "tools/call", written)).isError, false);
  assert.equal(await Deno.readTextFile(`${place.workspaceDir}/from-servicenow.txt`), "Hello");
  const next = await tokens({ grant_type: "refresh_token", refresh_token: first.refresh_token });
  await openAndList(next.access_token);
});

Deno.test("the connection test stops at what is wrong and says what to do", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { DCR_AUTH_TOKEN: registrationToken } });
  await setUpOwner(createPerson(server.url), server);
  const last = async (options: Partial<ConnectionOptions> = {}) =>
    (await Array.fromAsync(play({ serverUrl: server.url, ...options }))).at(-1);

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
    const step = (await Array.fromAsync(play({ serverUrl: server.url }))).at(-1);
    assert.equal(step?.name, name);
    assert.equal(step?.state, "broken");
    assert.match(step?.remedy ?? "", remedy);
  }
});
