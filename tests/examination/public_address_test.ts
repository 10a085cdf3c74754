import assert from "node:assert/strict";
import { examinePublicAddress } from "../../src/app/doctor.ts";

const trusted = (): Promise<void> => Promise.resolve();

function lookUp(addresses: readonly string[] | Error): (host: string) => Promise<readonly string[]> {
  return () => addresses instanceof Error ? Promise.reject(addresses) : Promise.resolve(addresses);
}

async function examine(url: string, addresses: readonly string[] | Error, shakeHands = trusted) {
  return await Array.fromAsync(examinePublicAddress(url, { resolve: lookUp(addresses), shakeHands }));
}

const publicIpv4 = "8.8.8.8";
const publicIpv6 = "2606:4700::6810:84e5";

Deno.test("a public name, address, port and certificate are well", async () => {
  const checks = await examine("https://mcp.example.com", [publicIpv4, publicIpv6]);
  assert.deepEqual(checks.map(({ name, state }) => [name, state]), [
    ["public address", "well"],
    ["certificate", "well"],
  ]);
});

Deno.test("an address of this machine alone is not examined", async () => {
  for (const url of ["http://127.0.0.1:3000", "http://localhost:3000", "http://[::1]:3000"]) {
    assert.deepEqual(await examine(url, new Error("not asked")), []);
  }
});

const problems: readonly (readonly [string, string, readonly string[] | Error, RegExp, RegExp])[] = [
  [
    "no DNS record",
    "https://mcp.example.com",
    Object.assign(new Error(), { code: "ENOTFOUND" }),
    /has no address/,
    /DNS/,
  ],
  ["no addresses", "https://mcp.example.com", [], /has no address/, /DNS/],
  ["a private address", "https://mcp.example.com", ["192.168.1.5"], /192\.168\.1\.5.*internet cannot reach/, /tunnel/],
  ["a carrier's shared address", "https://mcp.example.com", ["100.64.3.2"], /internet cannot reach/, /tunnel/],
  [
    "a private address among others",
    "https://mcp.example.com",
    [publicIpv4, "10.0.0.1"],
    /leads to 10\.0\.0\.1,/,
    /DNS/,
  ],
  ["a unique local IPv6 address", "https://mcp.example.com", ["fd00::1"], /internet cannot reach/, /tunnel/],
  ["IPv6 alone", "https://mcp.example.com", [publicIpv6], /IPv6 addresses only/, /A record/],
  ["another port than 443", "https://mcp.example.com:8443", [publicIpv4], /port 8443.*443 only/, /443/],
];

for (const [what, url, addresses, text, remedy] of problems) {
  Deno.test(`${what} is a warning that says who cannot connect and what to do`, async () => {
    const warnings = (await examine(url, addresses)).filter(({ state }) => state !== "well");
    assert.equal(warnings.length, 1, JSON.stringify(warnings));
    assert.equal(warnings[0]?.state, "warning");
    assert.match(warnings[0]?.text ?? "", text);
    assert.match(warnings[0]?.remedy ?? "", remedy);
  });
}

Deno.test("a certificate that clients refuse is told by its fault", async () => {
  const faults: readonly (readonly [string, RegExp, RegExp])[] = [
    ["invalid peer certificate: UnknownIssuer", /does not end at a known authority/, /full chain/],
    ["invalid peer certificate: NotValidForName", /of another name/, /this name/],
    ["invalid peer certificate: Expired", /has expired/, /renew/],
    ["Connection refused (os error 111)", /does not show its certificate/, /start the proxy/],
  ];
  for (const [message, text, remedy] of faults) {
    const checks = await examine("https://a.example.com", [publicIpv4], () => Promise.reject(new Error(message)));
    const found = checks.find(({ name }) => name === "certificate");
    assert.equal(found?.state, "warning");
    assert.match(found?.text ?? "", text);
    assert.match(found?.remedy ?? "", remedy);
  }
});
