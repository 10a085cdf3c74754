import assert from "node:assert/strict";
import fc from "fast-check";
import { isPublicAddress } from "../../src/lib/network.ts";

const forbidden = [
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "100.127.255.255",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.8",
  "192.0.2.1",
  "192.31.196.1",
  "192.52.193.1",
  "192.88.99.1",
  "192.175.48.255",
  "192.168.1.1",
  "198.18.0.1",
  "198.51.100.7",
  "203.0.113.9",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:7f00:1",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b::8.8.8.8",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:10::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "2002:808:808::1",
  "2001:1ff:ffff::1",
  "2620:4f:8000::1",
  "3fff::1",
  "3fff:fff::1",
  "fc00::1",
  "fd12:3456::1",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
  "5f00::1",
  // not plain addresses at all
  "",
  "localhost",
  "2130706433",
  "0x7f000001",
  "127.1",
  "0177.0.0.1",
  "8.8.8.08",
  "8.8.8.8.8",
  "8.8.8",
  " 8.8.8.8",
  "8.8.8.8 ",
  "[2606:4700::1111]",
  "2606:4700::1111/64",
  "::1]/@[2606:4700::1111",
];
for (const address of forbidden) {
  Deno.test(`${JSON.stringify(address)} is no public address`, () => assert.ok(!isPublicAddress(address)));
}

for (
  const address of [
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "172.15.0.1",
    "172.32.0.1",
    "100.63.0.1",
    "100.128.0.1",
    "192.0.1.1",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "2001:200::1",
    "2001:db9::1",
    "2003::1",
    "2620:4f:8001::1",
    "3fff:1000::1",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2a00:1450::1",
  ]
) {
  Deno.test(`${address} is a public address`, () => assert.ok(isPublicAddress(address)));
}

Deno.test("no address of a private network is public in any spelling (property)", () => {
  const octet = fc.nat({ max: 255 });
  fc.assert(fc.property(fc.constantFrom("10", "127", "192.168", "169.254"), octet, octet, octet, (prefix, a, b, c) => {
    const parts = [...prefix.split("."), a, b, c].slice(0, 4);
    const dotted = parts.join(".");
    const hex = parts.map((part) => Number(part).toString(16).padStart(2, "0"));
    const words = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
    const spellings = [
      dotted,
      `::ffff:${dotted}`,
      `::ffff:${words}`,
      `64:ff9b::${words}`,
      `2002:${words}::1`,
      `::${words}`,
    ];
    for (const spelling of spellings) assert.ok(!isPublicAddress(spelling), spelling);
  }));
});

Deno.test("no text makes the check throw (property)", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()), (text) => void isPublicAddress(text)));
});
