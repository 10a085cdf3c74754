import assert from "node:assert/strict";
import { parseTrustedProxies } from "../../src/lib/settings.ts";
import { clientAddress, parseForwarded, parseXForwardedFor } from "../../src/http/forwarded.ts";

Deno.test("parseForwarded() reads what RFC 7239 §4 shows", () => {
  const cases: [string, readonly string[] | null][] = [
    ["for=192.0.2.60;proto=http;by=203.0.113.43", ["192.0.2.60"]],
    ['For="[2001:db8:cafe::17]:4711"', ["2001:db8:cafe::17"]],
    ["for=192.0.2.43, for=198.51.100.17", ["192.0.2.43", "198.51.100.17"]],
    ['for="192.0.2.43:47011",for="_gazonk"', ["192.0.2.43", ""]],
    ["for=unknown", [""]],
    ["proto=https", [""]],
    ['for="1\\92.0.2.1"', ["192.0.2.1"]],
    ['for=", for=192.0.2.1', null],
    ['x=", for="[2001:db8::1]"', null],
    ["for=192.0.2.1,", null],
    ["for=192.0.2.1 for=192.0.2.2", null],
    ["", null],
  ];
  for (const [value, expected] of cases) assert.deepEqual(parseForwarded(value), expected, value);
});

Deno.test("parseXForwardedFor() takes addresses with and without ports, and nothing else for an address", () => {
  assert.deepEqual(
    parseXForwardedFor("203.0.113.1, 203.0.113.2:88,[2001:db8::1]:443, 2001:db8::2 ,unknown,, a b"),
    ["203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8::2", "", "", ""],
  );
});

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
    const standard = header.split(",").map((node) => {
      const name = node.trim();
      return name.includes(":") ? `for="[${name}]"` : `for=${name}`;
    }).join(", ");
    assert.equal(addressOf(trust, connection, { forwarded: standard }), expected, `${trust}: ${standard}`);
  }
});

Deno.test("clientAddress() believes neither header when one is the client's own and says another address", () => {
  const forged = { "x-forwarded-for": "203.0.113.7", forwarded: "for=6.6.6.6" };
  assert.equal(addressOf("1", "10.0.0.9", forged), "10.0.0.9");
  assert.equal(addressOf("1", "10.0.0.9", { ...forged, forwarded: 'for="' }), "10.0.0.9");
  assert.equal(addressOf("1", "10.0.0.9", { ...forged, forwarded: "for=1.1.1.1, for=203.0.113.7" }), "203.0.113.7");
  assert.equal(addressOf("1", "10.0.0.9", {}), "10.0.0.9");
});
