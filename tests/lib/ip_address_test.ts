import assert from "node:assert/strict";
import { holdsAddress, parseIpAddress, parseIpNetwork } from "../../src/lib/network.ts";

function holds(network: string, address: string): boolean {
  const [whole, part] = [parseIpNetwork(network), parseIpAddress(address)];
  assert.ok(whole !== null && part !== null, `${network} ${address}`);
  return holdsAddress(whole, part);
}

Deno.test("a network holds the addresses that share its prefix, in either family and any spelling", () => {
  const cases: [string, string, boolean][] = [
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["0.0.0.0/0", "203.0.113.9", true],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["127.0.0.1", "127.0.0.1", true],
    ["127.0.0.1", "::ffff:127.0.0.1", true],
    ["127.0.0.1", "127.0.0.2", false],
    ["2001:db8::/32", "2001:0DB8:0:0::5", true],
    ["2001:db8::/32", "2001:db9::5", false],
    ["fe80::/10", "fe80::1%eth0", true],
    ["::1", "0:0:0:0:0:0:0:1", true],
  ];
  for (const [network, address, expected] of cases) {
    assert.equal(holds(network, address), expected, `${address} in ${network}`);
  }
});

Deno.test("what is no address or no network is refused, spellings that parsers differ about among it", () => {
  for (
    const text of ["", "010.0.0.1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "0x7f.0.0.1", "unknown", "[::1]", "::1]:9/"]
  ) {
    assert.equal(parseIpAddress(text), null, text);
  }
  for (
    const text of ["10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "::/129", "::ffff:10.0.0.0/104", "a/8", "1.2.3.4/8/8"]
  ) {
    assert.equal(parseIpNetwork(text), null, text);
  }
});
