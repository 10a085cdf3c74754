import assert from "node:assert/strict";
import { isKnownHost, isKnownOrigin, knownNames } from "../../src/http/origin.ts";

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
