/** An operator's token as an API key or a Basic password, at the started server. */
import assert from "node:assert/strict";
import { postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

Deno.test("a key opens /mcp for programs alone, a wrong one is refused as a wrong bearer token, and none is in the log", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const made = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  const token = made.stdout.trim();
  const basic = (key: string) => ({ authorization: `Basic ${btoa(`any:${key}`)}` });
  const wrong = `${token.slice(0, -4)}AAAA`;
  for (const headers of [{ "x-api-key": token }, basic(token)]) {
    const answer = await postMcp(server.url, list, { headers });
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
    for (const origin of ["https://evil.test", "null"]) {
      const page = await postMcp(server.url, list, { headers: { ...headers, origin } });
      assert.equal(page.status, 403);
      await page.body?.cancel();
    }
  }
  const bearer = await postMcp(server.url, list, { token: wrong });
  const said = await bearer.text();
  for (const headers of [{ "x-api-key": wrong }, basic(wrong), { "x-api-key": "x" }, basic("x")]) {
    const refused = await postMcp(server.url, list, { headers });
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get("www-authenticate"), bearer.headers.get("www-authenticate"));
    assert.equal(await refused.text(), said);
  }
  const preflight = await fetch(`${server.url}/mcp`, {
    method: "OPTIONS",
    headers: { origin: new URL(server.url).origin, "access-control-request-headers": "x-api-key" },
  });
  assert.doesNotMatch(preflight.headers.get("access-control-allow-headers") ?? "", /api-key/i);
  await server.stop();
  const log = server.stderr();
  assert.match(log, /unknown_operator_token/);
  for (const secret of [token, wrong, btoa(`any:${token}`), btoa(`any:${wrong}`)]) assert.ok(!log.includes(secret));
});

Deno.test("a client that registers with client_credentials is held until `clients approve` names its scopes", async () => {
  await using place = await makeServerPlace();
  const secret = "a-registration-token-of-forty-characters";
  await using server = await startServer(place, { env: { DCR_AUTH_TOKEN: secret } });
  const run = (...args: string[]) => runCommand(["clients", ...args, "--data-dir", place.dataDir]);
  const registered = await fetch(`${server.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ client_name: "ServiceNow", grant_types: ["client_credentials"] }),
  });
  const client = await registered.json();
  assert.equal(registered.status, 201);
  const ask = async () => {
    const form = { client_id: client.client_id, client_secret: client.client_secret, scope: "files:read" };
    const body = new URLSearchParams({ grant_type: "client_credentials", ...form });
    return await (await fetch(`${server.url}/oauth/token`, { method: "POST", body })).json();
  };
  assert.equal((await ask()).error, "unauthorized_client");
  assert.match((await run("list")).stdout, / held +client_credentials +ServiceNow/);
  assert.equal((await run("approve", client.client_id)).code, 2);
  assert.match((await run("approve", "pcc_x", "--scope", "files:read")).stderr, /clients list/);
  assert.equal((await run("approve", client.client_id, "--scope", "files:read")).code, 0);
  const { access_token } = await ask();
  const answer = await postMcp(server.url, list, { token: access_token });
  assert.equal(answer.status, 200);
  await answer.body?.cancel();
  const key = await postMcp(server.url, list, { headers: { "x-api-key": access_token } });
  assert.equal(key.status, 401);
  await key.body?.cancel();
});
