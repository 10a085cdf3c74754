import assert from "node:assert/strict";
import { addressKey } from "../../src/lib/network.ts";

Deno.test("addressKey() groups IPv6 by /64 and unwraps mapped IPv4 (RFC 4291 §2.5.5.2)", () => {
  const cases: [string, string][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::ffff:c000:207", "192.0.2.7"],
    ["0:0:0:0:0:FFFF:192.0.2.7", "192.0.2.7"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.7", "64:ff9b:0:0::/64"],
    ["no:address", "no:address"],
  ];
  for (const [address, key] of cases) assert.equal(addressKey(address), key);
});
