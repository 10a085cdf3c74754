import assert from "node:assert/strict";
import { addresseeOf, isKnownHost, isKnownOrigin, knownNames } from "../../src/http/router.ts";

const names = knownNames(["http://127.0.0.1:3000", "http://localhost:3000"], ["https://app.example"], ["gate:3000"]);

Deno.test("isKnownOrigin() lets in no origin, our own and the allowed ones (MCP transports: Origin MUST be validated)", () => {
  for (const origin of ["http://localhost:3000", "HTTP://LOCALHOST:3000", "https://app.example"]) {
    assert.equal(isKnownOrigin(origin, names), true, String(origin));
  }
  const foreign = [
    "null",
    "",
    "https://evil.example",
    "http://localhost:3001",
    "https://app.example.evil.example",
    "http://localhost",
  ];
  for (const origin of foreign) assert.equal(isKnownOrigin(origin, names), false, origin);
});

Deno.test("isKnownHost() refuses names that an attacker's DNS could serve, and takes addresses", () => {
  for (const host of ["localhost:3000", "127.0.0.1:3000", "127.0.0.1:9", "[::1]:3000", "10.0.0.7", "gate:3000"]) {
    assert.equal(isKnownHost(host, names), true, host);
  }
  for (
    const host of ["", "evil.example", "evil.example:3000", "localhost:3000.evil.example", "1.2.3.4.evil.example"]
  ) {
    assert.equal(isKnownHost(host, names), false, host);
  }
});

Deno.test("the default port of the server's scheme is no other host, and no other port is (RFC 9110 §4.2.3)", () => {
  const secure = knownNames(["https://mcp.example.com"], ["https://app.example"], ["gate", "door:443"]);
  for (const host of ["mcp.example.com:443", "MCP.example.com", "gate:443", "door", "door:443"]) {
    assert.equal(isKnownHost(host, secure), true, host);
  }
  for (const host of ["mcp.example.com:80", "mcp.example.com:8443", "mcp.example.com:", "gate:80", "evil:443"]) {
    assert.equal(isKnownHost(host, secure), false, host);
  }
  for (const origin of ["https://mcp.example.com:443", "https://app.example:443"]) {
    assert.equal(isKnownOrigin(origin, secure), true, origin);
  }
  assert.equal(isKnownOrigin("http://mcp.example.com:443", secure), false);
  const plain = knownNames(["http://mcp.lan"], [], []);
  assert.equal(isKnownHost("mcp.lan:80", plain), true);
  assert.equal(isKnownHost("mcp.lan:443", plain), false);
});

Deno.test("a request to the default port is addressed to us, also with its target sent whole", () => {
  const secure = knownNames(["https://mcp.example.com"], [], []);
  for (const url of ["https://mcp.example.com/mcp", "http://mcp.example.com:443/mcp"]) {
    const request = new Request(url, { headers: { host: "mcp.example.com:443" } });
    assert.equal(addresseeOf(request, secure), "known", url);
  }
});
