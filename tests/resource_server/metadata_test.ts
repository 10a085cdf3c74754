import assert from "node:assert/strict";
import { createChallenges, createResourceMetadataEndpoint, createSpellings } from "../../src/http/guard.ts";

const issuer = "http://127.0.0.1:3000";
const scopes = ["files:read"];
const { spellingOf } = createSpellings([`${issuer}/mcp`, "http://localhost:3000/mcp", "http://[::1]:3000/mcp"]);
const endpoint = createResourceMetadataEndpoint({ spellingOf, issuer, scopes });
const ask = (host: string, method = "GET") =>
  endpoint(new Request(`http://${host}/.well-known/oauth-protected-resource/mcp`, { method, headers: { host } }));

Deno.test("the document names the resource, its server and its scopes, without offline_access (RFC 9728 §2)", async () => {
  const response = ask("127.0.0.1:3000");
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), {
    resource: "http://127.0.0.1:3000/mcp",
    authorization_servers: [issuer],
    scopes_supported: scopes,
    bearer_methods_supported: ["header"],
    resource_name: "Portcullis",
  });
});

Deno.test("a client that typed another known spelling gets that one back", async () => {
  assert.equal((await ask("localhost:3000").json()).resource, "http://localhost:3000/mcp");
  assert.equal((await ask("LOCALHOST:3000").json()).resource, "http://localhost:3000/mcp");
  assert.equal((await ask("[::1]:3000").json()).resource, "http://[::1]:3000/mcp");
});

Deno.test("an unknown Host is never reflected", async () => {
  for (const host of ["evil.test", "localhost:3001", "127.0.0.1.evil.test:3000"]) {
    assert.equal((await ask(host).json()).resource, "http://127.0.0.1:3000/mcp");
  }
});

Deno.test("the challenge leads to the document of the spelling that the client used", () => {
  const challenges = createChallenges({ spellingOf, scopes });
  const challenge = challenges.missingToken(
    new Request("http://localhost:3000/mcp", { headers: { host: "localhost:3000" } }),
  );
  assert.match(challenge, /resource_metadata="http:\/\/localhost:3000\/\.well-known\/oauth-protected-resource\/mcp"/);
});

Deno.test("other verbs are 405 with Allow", async () => {
  const response = ask("localhost:3000", "POST");
  assert.equal(response.status, 405);
  assert.equal(response.headers.get("allow"), "GET, HEAD");
  await response.body?.cancel();
});
