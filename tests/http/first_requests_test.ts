/** The first requests of clients in use, replayed to the started server: who is answered, and who is told to sign in. */
import assert from "node:assert/strict";
import { firstRequests } from "../fixtures/first_requests.ts";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

const curl = { client: "curl", headers: { "content-type": "application/json", accept: "*/*" } };
const body = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "curl", version: "8" } },
};

for (const serverUrl of ["https://mcp.example.com", null]) {
  Deno.test(`clients in use start to sign in, or test their connection: ${serverUrl ?? "on loopback"}`, async () => {
    await using place = await makeServerPlace();
    const port = freePort();
    const env = serverUrl === null ? {} : { SERVER_URL: serverUrl, REGISTRATION: "off" };
    await using _server = await startServer(place, { env, args: ["--port", String(port)] });
    const mcp = `http://127.0.0.1:${port}/mcp`;
    const all = [...firstRequests, { ...curl, body, testsConnection: serverUrl === null }];
    for (const { client, headers, body, testsConnection } of all) {
      const response = await fetch(mcp, { method: "POST", headers, body: JSON.stringify(body) });
      const text = await response.text();
      assert.equal(response.status, testsConnection ? 200 : 401, client);
      const challenge = response.headers.get("www-authenticate");
      if (testsConnection) {
        assert.equal(JSON.parse(text).result.serverInfo.name, "portcullis", client);
        assert.equal(response.headers.get("content-type"), "application/json", client);
        const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
        const told = await fetch(mcp, { method: "POST", headers, body: initialized });
        assert.equal(told.status, 200, client);
        assert.equal(await told.text(), "", client);
      } else {
        assert.match(challenge ?? "", /^Bearer resource_metadata="\S+\/oauth-protected-resource\/mcp"/, client);
      }
    }
  });
}
