import assert from "node:assert/strict";
import { createResourceCheck } from "../../src/oauth/endpoints.ts";

const isAccepted = createResourceCheck([
  "http://127.0.0.1:3000/mcp",
  "http://localhost:3000/mcp",
  "https://mcp.test/mcp",
]);

for (
  const resource of [
    "http://127.0.0.1:3000/mcp",
    "http://localhost:3000/mcp",
    "http://LOCALHOST:3000/mcp",
    "http://127.0.0.1:3000/mcp/",
    "https://mcp.test:443/mcp",
    "HTTPS://MCP.test/mcp",
    "https://mcp.test/",
    "https://mcp.test",
    "http://localhost:3000",
  ]
) {
  Deno.test(`resource ${resource} is this server's`, () => assert.ok(isAccepted([resource])));
}

for (
  const resource of [
    "https://other.test/mcp",
    "https://mcp.test/mcp#f",
    "https://mcp.test/mcp#",
    "/mcp",
    "mcp",
    "https://mcp.test/MCP",
    "https://mcp.test/mcp//",
    "https://mcp.test/mcp?x",
    "https://mcp.test/other",
    "https://mcp.test/?x",
    "https://mcp.test//",
    "https://mcp.test/#",
    "https://u@mcp.test/mcp",
    "https://mcp.test.evil.test/mcp",
    "http://mcp.test/mcp",
    "http://localhost:3001/mcp",
    "urn:mcp",
  ]
) {
  Deno.test(`resource ${resource} is not this server's (RFC 8707 §2)`, () => assert.ok(!isAccepted([resource])));
}

Deno.test("two resources of which one is foreign are refused; none at all is fine", () => {
  assert.ok(!isAccepted(["https://mcp.test/mcp", "https://other.test/mcp"]));
  assert.ok(isAccepted([]));
});

Deno.test("below a path of a shared host, that path is this server's, and nothing else on the host", () => {
  const isOurs = createResourceCheck(["https://host.test/portcullis/mcp", "https://host.test/a/b/mcp"]);
  const ours = ["/portcullis/mcp", "/portcullis/mcp/", "/portcullis", "/portcullis/", "/a/b/mcp", "/a/b"];
  const others = [
    "",
    "/",
    "/mcp",
    "/other",
    "/other/mcp",
    "/portcullis2",
    "/portcullis/other",
    "/a",
    "/a/",
    "/portcullis/?x",
  ];
  for (const path of ours) assert.ok(isOurs([`https://host.test${path}`]), path);
  for (const path of others) assert.ok(!isOurs([`https://host.test${path}`]), path);
});
