/** What PUBLIC_DOMAIN takes, what it turns on, and what it contradicts. */
import assert from "node:assert/strict";
import { loadConfig } from "../../src/app/config/config.ts";
import { serverPermissions } from "../../src/app/sandbox/permissions.ts";

function load(env: Record<string, string>, flags: Record<string, string> = {}) {
  return loadConfig({ env, flags, readFile: () => "", home: () => "/home/tester" });
}

function hintsFor(env: Record<string, string>): string {
  const loaded = load(env);
  return loaded.ok ? "" : loaded.error.map(({ field, hint }) => `${field} ${hint}`).join("\n");
}

Deno.test("PUBLIC_DOMAIN alone makes a public server: address, ports, issuer, registration, permissions", () => {
  for (const loaded of [load({ PUBLIC_DOMAIN: "MCP.Example.com." }), load({}, { public: "mcp.example.com" })]) {
    assert.ok(loaded.ok, JSON.stringify(loaded));
    const { http, authorizationServer } = loaded.value;
    assert.equal(http.serverUrl, "https://mcp.example.com");
    assert.deepEqual([http.host, http.port, http.httpPort], ["0.0.0.0", 443, 80]);
    assert.equal(authorizationServer.registration, "off");
    assert.equal(authorizationServer.clientMetadataDocuments, true);
    const { net } = serverPermissions(loaded.value, (path) => path);
    assert.ok(net.includes("0.0.0.0:443") && net.includes("0.0.0.0:80"));
    assert.ok(net.includes("acme-v02.api.letsencrypt.org:443"));
  }
  const withToken = load({ PUBLIC_DOMAIN: "mcp.example.com", DCR_AUTH_TOKEN: "kJ8sQ2vX7nR4mB1zL6wT9yF3hD5gC0pA" });
  assert.equal(withToken.ok && withToken.value.authorizationServer.registration, "token");
  const elsewhere = load({ PUBLIC_DOMAIN: "mcp.example.com", PORT: "8443", HTTP_PORT: "8080", HOST: "::" });
  assert.ok(elsewhere.ok);
  assert.equal(elsewhere.value.http.serverUrl, "https://mcp.example.com"); // the ports are forwarded
  assert.deepEqual([elsewhere.value.http.port, elsewhere.value.http.httpPort], [8_443, 8_080]);
  const without = load({});
  assert.ok(without.ok);
  assert.deepEqual([without.value.http.host, without.value.http.port], ["127.0.0.1", 3_000]);
  assert.ok(!serverPermissions(without.value, (path) => path).net.some((host) => host.includes("letsencrypt")));
});

const refused: readonly (readonly [text: string, hint: RegExp])[] = [
  ["203.0.113.7", /must be a name in the public DNS/],
  ["[2001:db8::1]", /must be a name in the public DNS/],
  ["2001:db8::1", /must be/],
  ["127.0.0.1", /must be a name in the public DNS/],
  ["0x7f.1", /must be a name in the public DNS/],
  ["localhost", /must be a name in the public DNS/],
  ["mcp.localhost", /must be a name in the public DNS/],
  ["nas.local", /must be a name in the public DNS/],
  ["nas", /must be a name in the public DNS/],
  ["mcp.example.com:8443", /must be a name in the public DNS alone.*port/],
  ["mcp.example.com:443", /must be a name in the public DNS alone/],
  ["https://mcp.example.com", /must be a name in the public DNS/],
  ["mcp.example.com/mcp", /must be a name in the public DNS/],
  ["user@mcp.example.com", /must be a name in the public DNS/],
  ["*.example.com", /must be a name in the public DNS/],
  ["mcp_server.example.com", /must be a name in the public DNS/],
  ["mcp..example.com", /must be/],
  ["-mcp.example.com", /must be/],
  [`${"a".repeat(64)}.example.com`, /must be/],
  [`${"a.".repeat(130)}com`, /must be/],
];

for (const [text, hint] of refused) {
  Deno.test(`PUBLIC_DOMAIN refuses ${text.slice(0, 40)} and says what to do`, () => {
    assert.match(hintsFor({ PUBLIC_DOMAIN: text }), hint);
  });
}

Deno.test("PUBLIC_DOMAIN takes a name in other letters as the DNS has it", () => {
  const loaded = load({ PUBLIC_DOMAIN: "bücher.example.com" });
  assert.ok(loaded.ok);
  assert.equal(loaded.value.http.publicDomain, "xn--bcher-kva.example.com");
});

Deno.test("PUBLIC_DOMAIN contradicts another address, certificates of one's own, and Deno Deploy", () => {
  const env = { PUBLIC_DOMAIN: "mcp.example.com" };
  assert.match(hintsFor({ ...env, SERVER_URL: "https://other.example.com" }), /^SERVER_URL cannot be set together/m);
  assert.match(hintsFor({ ...env, TLS_CERT_FILE: "/c", TLS_KEY_FILE: "/k" }), /^TLS_KEY_FILE cannot be set together/m);
  assert.equal(hintsFor({ ...env, SERVER_URL: "https://mcp.example.com" }), "");
  assert.match(
    hintsFor({ ...env, DENO_DEPLOY: "1" }),
    /^PUBLIC_DOMAIN cannot be set on Deno Deploy.*give the app the domain there, and set SERVER_URL/m,
  );
  assert.match(
    hintsFor({ ...env, ACME_DIRECTORY: "http://ca.example.com/dir" }),
    /^ACME_DIRECTORY must be an https URL/,
  );
  assert.match(hintsFor({ ...env, REGISTRATION: "token" }), /^DCR_AUTH_TOKEN must be set/);
});
