import assert from "node:assert/strict";
import type { Endpoint, Route } from "../../src/lib/endpoint.ts";
import { createRouter, knownNames } from "../../src/http/router.ts";

const say = (name: string): Endpoint => () => new Response(name);
const shared = (path: string, name: string): Route => ({ paths: [path], kind: "shared", endpoint: say(name) });
const router = createRouter({
  mcp: say("mcp"),
  mcpPage: say("mcpPage"),
  routes: [
    shared("/.well-known/oauth-protected-resource/mcp", "protected resource"),
    shared("/.well-known/oauth-authorization-server", "authorization server"),
    { paths: ["/"], kind: "plain", endpoint: say("home") },
  ],
  names: knownNames(["http://gate:3000"], ["https://app.example"], []),
  log: { write: (_level, event) => assert.fail(event), flush: () => {} },
});

async function answerTo(method: string, path: string, headers: Record<string, string> = {}): Promise<string> {
  const request = new Request(`http://gate:3000${path}`, { method, headers: { host: "gate:3000", ...headers } });
  const response = await router(request, { address: "127.0.0.1" });
  return response.ok ? await response.text() : String(response.status);
}

Deno.test("createRouter() sends every spelling of /mcp to its endpoint, with any method", async () => {
  for (const path of ["/mcp", "/mcp/", "/mcp?a=1", "/mcp?a=/mcp", "/%6dcp"]) {
    for (const method of ["POST", "GET", "DELETE"]) {
      assert.equal(await answerTo(method, path), "mcp", `${method} ${path}`);
    }
  }
});

Deno.test("createRouter() takes no other path that ends in /mcp for it", async () => {
  for (const path of ["//mcp", "/x/mcp", "/mcp/mcp", "/MCP", "/x?a=/mcp"]) {
    assert.equal(await answerTo("POST", path), "404", path);
  }
  assert.equal(await answerTo("POST", "/?a=/mcp"), "home");
  assert.equal(await answerTo("GET", "/.well-known/oauth-protected-resource/mcp"), "protected resource");
  assert.equal(await answerTo("POST", "/.well-known/oauth-authorization-server"), "authorization server");
});

Deno.test("createRouter() refuses foreign hosts and origins before /mcp, and lets allowed pages read its answers", async () => {
  for (const path of ["/mcp", "/mcp/"]) {
    assert.equal(await answerTo("POST", path, { host: "evil.example" }), "403");
    assert.equal(await answerTo("POST", path, { origin: "https://evil.example" }), "403");
    const request = new Request(`http://gate:3000${path}`, {
      method: "POST",
      headers: { host: "gate:3000", origin: "https://app.example" },
    });
    const response = await router(request, { address: "127.0.0.1" });
    assert.equal(await response.text(), "mcp");
    assert.equal(response.headers.get("access-control-allow-origin"), "https://app.example");
  }
});

Deno.test("createRouter() below a path serves it kept and removed, and well-known addresses that end in it (RFC 8414 §3.1)", async () => {
  const seen = (name: string): Endpoint => ({ url }) => new Response(`${name} ${new URL(url).pathname}`);
  const below = createRouter({
    mcp: say("mcp"),
    mcpPage: say("mcpPage"),
    routes: [
      shared("/.well-known/oauth-protected-resource/mcp", "protected resource"),
      shared("/.well-known/oauth-authorization-server", "authorization server"),
      { paths: ["/files/*"], kind: "plain", endpoint: seen("file") },
      { paths: ["/"], kind: "plain", endpoint: say("home") },
    ],
    base: "/a/b",
    names: knownNames(["http://gate:3000/a/b"], [], []),
    log: { write: (_level, event) => assert.fail(event), flush: () => {} },
  });
  const cases = {
    "/a/b": "home",
    "/a/b/": "home",
    "/": "home",
    "/a/b/mcp": "mcp",
    "/mcp": "mcp",
    "/a/b/mcp/?x=/a/b": "mcp",
    "/.well-known/oauth-protected-resource/a/b/mcp": "protected resource",
    "/.well-known/oauth-authorization-server/a/b": "authorization server",
    "/a/b/.well-known/oauth-protected-resource/mcp": "protected resource",
    "/a/b/.well-known/oauth-authorization-server": "authorization server",
    "/.well-known/oauth-authorization-server": "authorization server",
    "/a/b/files/a/b/c": "file /files/a/b/c",
    "/files/a/b": "file /files/a/b",
    "/a/bc": "404",
    "/a/b/a/b/mcp": "404",
    "/.well-known/oauth-authorization-server/a/bc": "404",
    "/.well-known/oauth-authorization-server/a/b/mcp": "404",
  };
  for (const [path, expected] of Object.entries(cases)) {
    const request = new Request(`http://gate:3000${path}`, {
      method: "POST",
      headers: { host: "gate:3000" },
      body: "x",
    });
    const response = await below(request, { address: "127.0.0.1" });
    assert.equal(response.ok ? await response.text() : String(response.status), expected, path);
  }
  const foreign = new Request("http://gate:3000/a/b/mcp", { method: "POST", headers: { host: "evil.example" } });
  assert.equal((await below(foreign, { address: "127.0.0.1" })).status, 403);
});
