import assert from "node:assert/strict";
import fc from "fast-check";
import {
  classifyRedirectUri,
  isSameRedirectUri,
  matchesRedirectUri,
  selectRedirectUri,
} from "../../src/oauth/redirect_uri.ts";

const classes: Record<ReturnType<typeof classifyRedirectUri>, string[]> = {
  https: [
    "https://app.example/cb",
    "https://app.example",
    "https://app.example:8443/cb?tenant=1",
    "https://acme.service-now.com/oauth_redirect.do",
    "https://app.example/a%20b/c@d",
    "https://app.example/cb?next=%2Fhome",
    "https://APP.example/cb",
    "https://app.example./cb",
    "https://my_host.app-1.example/cb",
    "https://xn--caf-dma.example/cb",
    "https://192.0.2.7/cb",
    "https://[2001:db8::7]:8443/cb",
    "https://app.example?x=1",
  ],
  loopback: [
    "http://127.0.0.1/cb",
    "http://127.0.0.1:3000/cb",
    "http://[::1]:3000/cb",
    "http://localhost:3000/cb",
    "http://localhost",
    "http://127.0.0.1:3000?x=1",
  ],
  native_application: [
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "claude://claude.ai/mcp-auth-callback/sdk",
    "warp://mcp/oauth2callback",
    "cursor://anysphere.cursor-mcp/oauth/callback?x=1",
    "vscode://host/cb",
    "vscode-insiders://vscode.github-authentication/did-authenticate",
    "windsurf://codeium.windsurf/oauth",
    "zed://mcp/callback",
    "raycast://oauth?package_name=x",
    "kiro://kiro.mcp/oauth",
    "goose://oauth/callback",
  ],
  private_use: [
    "com.example.app:/cb",
    "com.example.app:/oauth/callback?x=1",
    "com.example.app://callback",
    "myapp://callback",
    "constructor:/cb",
    "cursor:/callback",
  ],
  unsupported: [
    "CURSOR://anysphere.cursor-mcp/oauth/callback",
    "COM.example.app:/cb",
    "localhost:3000/cb",
    "app.example:8080/cb",
    "http://evil.com/cb",
    "http://192.168.1.7:8123/auth/callback",
    "http://127.0.0.1.evil.com/cb",
    "http://localhost.evil.com/cb",
    "http://0.0.0.0/cb",
    "http://10.0.0.1/cb",
    "http://2130706433/cb",
    "http://127.0.0.1:0/cb",
    "http://LOCALHOST/cb",
  ],
  forbidden: [
    "javascript:alert(1)",
    "JavaScript://%0aalert(1)",
    "data:text/html,x",
    "c:/cb",
    "ms-officecmd:x",
    "ms-msdt:/id",
    "search-ms:query=x",
    "ssh://host/cb",
    "chrome-extension://abc/cb",
    "itms-services://?action=x",
    "com.example.app:/cb?code=1",
    "com.example.app:/a/../b",
    "com.example.app://u:p@host/cb",
    "com.example.app:/cb#f",
    "file:///etc/passwd",
    "vbscript:x",
    "blob:https://x/1",
    "about:blank",
    "view-source:https://x/",
    "ws://x/",
    "ftp://x/",
    "intent://x#Intent;end",
    "http://127.0.0.1@evil.com/cb",
    "http://127.0.0.1:80@evil.com/cb",
    "http://127.0.0.1:65536/cb",
    "https://x/#f",
    "https://x/cb#",
    "https://u:p@x/",
    "https://u@x/",
    "https://@x/",
    "cursor://anysphere.cursor-mcp/oauth/callback#f",
    "cursor://u@anysphere.cursor-mcp/oauth/callback",
    "*",
    "https://*.x/",
    "https://%2a.x/",
    "https://%2A.example/cb",
    "https://a%2eexample/cb",
    "https://a.example%3b/cb",
    "https://a.example;sandbox",
    "https://a.example;script-src/cb",
    "https://a.example,b.example/cb",
    "https://a'b.example/cb",
    "https://a!b.example/cb",
    "https://a$b.example/cb",
    "https://a&b.example/cb",
    "https://(a).example/cb",
    "https://a+b.example/cb",
    "https://a=b.example/cb",
    "https://a~b.example/cb",
    "https://-a.example/cb",
    "https://a-.example/cb",
    "https://a..example/cb",
    "https://.example/cb",
    `https://${"a".repeat(64)}.example/cb`,
    `https://${"a.".repeat(130)}example/cb`,
    "https://2130706433/cb",
    "https://0x7f.1/cb",
    "https://127.1/cb",
    "https://[::ffff:127.0.0.1%25eth0]/cb",
    "https://x:/cb",
    "https://x:99999/cb",
    "https://x/*",
    "https://x/a/../b",
    "https://x/a/./b",
    "https://x/a/%2e%2E/b",
    "https://x\\@evil.com/",
    "https:\\\\evil.com/",
    "https:evil.com",
    "https:/evil.com",
    "https:///evil.com",
    "https://",
    "https://x/\u0000",
    "https://x/\r\nSet-Cookie:a=b",
    "https://x/ y",
    "https://ex\u0430mple.com/",
    "https://x/?code=1",
    "https://x/?state=1",
    "https://x/?iss=1",
    "https://x/?error=1",
    "//evil.com/cb",
    "/cb",
    "cb",
    "",
    "https://x/" + "a".repeat(3_000),
  ],
};

for (const [kind, uris] of Object.entries(classes)) {
  for (const uri of uris) {
    Deno.test(`${JSON.stringify(uri.slice(0, 60))} is ${kind} (RFC 7591 §2, MCP: https or loopback)`, () => {
      assert.equal(classifyRedirectUri(uri), kind);
    });
  }
}

const pairs: [string, string, boolean][] = [
  ["https://app.example/cb", "https://app.example/cb", true],
  ["https://app.example/cb/", "https://app.example/cb", false],
  ["https://app.example/cb/more", "https://app.example/cb", false],
  ["https://app.example/CB", "https://app.example/cb", false],
  ["https://APP.example/cb", "https://app.example/cb", false],
  ["https://app.example:443/cb", "https://app.example/cb", false],
  ["https://app.example:8443/cb", "https://app.example/cb", false],
  ["https://app.example/cb?x=1", "https://app.example/cb", false],
  ["https://app.example/c%62", "https://app.example/cb", false],
  ["http://app.example/cb", "https://app.example/cb", false],
  ["http://127.0.0.1:51999/cb", "http://127.0.0.1:3000/cb", true],
  ["http://127.0.0.1/cb", "http://127.0.0.1:3000/cb", true],
  ["http://127.0.0.1:51999/cb", "http://127.0.0.1/cb", true],
  ["http://[::1]:51999/cb", "http://[::1]:3000/cb", true],
  ["http://localhost:51999/cb", "http://localhost:3000/cb", true],
  ["http://localhost:51999/cb", "http://127.0.0.1:3000/cb", false],
  ["http://127.0.0.1:51999/cb2", "http://127.0.0.1:3000/cb", false],
  ["http://127.0.0.1:51999/cb?x=1", "http://127.0.0.1:3000/cb", false],
  ["http://127.0.0.1:70000/cb", "http://127.0.0.1:3000/cb", false],
  ["http://127.0.0.1:0/cb", "http://127.0.0.1:3000/cb", false],
  ["http://127.0.0.1:80@evil.example/cb", "http://127.0.0.1:3000/cb", false],
  ["http://127.0.0.1:51999/cb#f", "http://127.0.0.1:3000/cb", false],
  ["http://127.0.0.1:51999\\@evil.example/cb", "http://127.0.0.1:3000/cb", false],
];

for (const [requested, registered, expected] of pairs) {
  Deno.test(`${requested} ${expected ? "matches" : "does not match"} ${registered} (RFC 8252 §7.3)`, () => {
    assert.equal(matchesRedirectUri(requested, registered), expected);
  });
}

Deno.test("an omitted redirect_uri selects the only registered one, and nothing else (OAuth 2.1 §2.3)", () => {
  assert.equal(selectRedirectUri(undefined, ["https://a.example/"]), "https://a.example/");
  assert.equal(selectRedirectUri(undefined, ["https://a.example/", "https://b.example/"]), null);
  assert.equal(selectRedirectUri(undefined, []), null);
});

Deno.test("an empty loopback path is `/`, at the authorization and at the token endpoint (RFC 3986 §6.2.3)", () => {
  const [bare, slash] = ["http://127.0.0.1:33418", "http://127.0.0.1:33418/"];
  for (const [one, other] of [[bare, slash], [slash, bare], ["http://[::1]?x=1", "http://[::1]/?x=1"]] as const) {
    assert.ok(matchesRedirectUri(one, other));
    assert.ok(isSameRedirectUri(one, other));
  }
  assert.ok(matchesRedirectUri("http://127.0.0.1:4000", slash));
  assert.ok(!isSameRedirectUri("http://127.0.0.1:4000", slash), "a code goes to one port");
  assert.ok(!matchesRedirectUri("http://127.0.0.1:33418//", slash));
  assert.ok(!matchesRedirectUri("https://app.example", "https://app.example/"), "https is compared exactly");
});

Deno.test("a redirect URI that a client stored before it was refused is never used", () => {
  const registered = ["http://192.0.2.7/cb", "https://a.example/"];
  assert.equal(selectRedirectUri("http://192.0.2.7/cb", registered), null);
  assert.equal(selectRedirectUri(undefined, registered), null);
  assert.equal(selectRedirectUri("https://a.example/", registered), "https://a.example/");
});

Deno.test("a callback on an application's own scheme matches itself alone", () => {
  const cursor = "cursor://anysphere.cursor-mcp/oauth/callback";
  assert.equal(selectRedirectUri("com.example.app:/cb", ["com.example.app:/cb"]), "com.example.app:/cb");
  assert.equal(selectRedirectUri(cursor, [cursor]), cursor);
  assert.equal(selectRedirectUri(undefined, [cursor]), cursor);
  for (const uri of [`${cursor}/`, `${cursor}?x`, "cursor://other/oauth/callback"]) {
    assert.equal(selectRedirectUri(uri, [cursor]), null);
  }
});

Deno.test("no single change to an https redirect URI matches it (property)", () => {
  const registered = "https://app.example/callback?tenant=7";
  const position = fc.nat({ max: registered.length - 1 });
  fc.assert(fc.property(position, fc.string({ maxLength: 3 }), (index, text) => {
    const changed = registered.slice(0, index) + text + registered.slice(index + 1);
    assert.equal(matchesRedirectUri(changed, registered), changed === registered);
  }));
});

Deno.test("a match of loopback URIs never leads to another host than this machine (property)", () => {
  fc.assert(
    fc.property(fc.string(), (tail) => {
      const requested = `http://127.0.0.1${tail}`;
      if (!matchesRedirectUri(requested, "http://127.0.0.1:3000/cb")) return;
      const url = new URL(requested);
      assert.equal(url.hostname, "127.0.0.1");
      assert.equal(url.pathname, "/cb");
    }),
    { numRuns: 2_000 },
  );
});
