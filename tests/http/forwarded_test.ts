import assert from "node:assert/strict";
import { parseTrustedProxies } from "../../src/lib/settings.ts";
import { clientAddress } from "../../src/http/router.ts";

function addressOf(trust: string, connection: string, headers: Record<string, string>): string {
  const trusted = parseTrustedProxies(trust);
  assert.ok(trusted.ok, trust);
  return clientAddress(connection, new Headers(headers), trusted.value);
}

Deno.test("clientAddress() counts from the right: what a client forges stands left of what proxies add", () => {
  const cases: [string, string, string, string][] = [
    ["1", "10.0.0.9", "203.0.113.7", "203.0.113.7"],
    ["1", "10.0.0.9", "6.6.6.6, 203.0.113.7", "203.0.113.7"],
    ["2", "10.0.0.9", "6.6.6.6, 203.0.113.7, 10.0.0.8", "203.0.113.7"],
    ["2", "10.0.0.9", "203.0.113.7", "203.0.113.7"], // straight to the inner proxy
    ["1", "10.0.0.9", "203.0.113.7, unknown", "10.0.0.9"],
    ["10.0.0.0/8", "10.0.0.9", "6.6.6.6, 203.0.113.7, 10.0.0.8", "203.0.113.7"],
    ["10.0.0.0/8", "10.0.0.9", "10.0.0.7, 10.0.0.8", "10.0.0.7"],
    ["10.0.0.0/8", "203.0.113.1", "6.6.6.6", "203.0.113.1"], // no proxy of ours
    ["10.0.0.0/8,::1", "::1", "2001:db8::9", "2001:db8::9"],
    ["10.0.0.0/8", "::ffff:10.0.0.9", "203.0.113.7", "203.0.113.7"],
    ["10.0.0.0/8", "10.0.0.9", "6.6.6.6, x, 10.0.0.8", "10.0.0.8"],
  ];
  for (const [trust, connection, header, expected] of cases) {
    assert.equal(addressOf(trust, connection, { "x-forwarded-for": header }), expected, `${trust}: ${header}`);
  }
});

Deno.test("clientAddress() takes addresses with and without ports, and nothing else for an address", () => {
  const read = "203.0.113.1, 203.0.113.2:88,[2001:db8::1]:443, 2001:db8::2 ".split(",").map((header) =>
    addressOf("1", "10.0.0.9", { "x-forwarded-for": header })
  );
  assert.deepEqual(read, ["203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8::2"]);
  for (const header of ["unknown", "", "a b", "203.0.113.1:x", "[::1", "1.2.3"]) {
    assert.equal(addressOf("1", "10.0.0.9", { "x-forwarded-for": header }), "10.0.0.9", header);
  }
});

Deno.test("clientAddress() believes no header where Forwarded is there: one of the two may be the client's own", () => {
  for (const forwarded of ["for=6.6.6.6", 'for="', "for=203.0.113.7"]) {
    assert.equal(addressOf("1", "10.0.0.9", { "x-forwarded-for": "203.0.113.7", forwarded }), "10.0.0.9");
    assert.equal(addressOf("1", "10.0.0.9", { forwarded }), "10.0.0.9");
  }
  assert.equal(addressOf("1", "10.0.0.9", {}), "10.0.0.9");
});
