/** What a client can read before it has a token: who the server is, where it signs in, and nothing that misleads it. */
import assert from "node:assert/strict";
import { createServerCardEndpoints } from "../../src/http/home.ts";
import { modernRequest, postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

interface Icon {
  readonly src: string;
  readonly mimeType: string;
}

interface Card {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly icons: readonly Icon[];
  readonly remotes: readonly {
    readonly type: string;
    readonly url: string;
    readonly supportedProtocolVersions: readonly string[];
  }[];
}

Deno.test("no metadata is served where its issuer could not match, or as OpenID Connect that it is not", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const { url } = server;
  const served = await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json();
  assert.equal(served.issuer, url);
  for (
    const path of [
      "/.well-known/oauth-authorization-server/mcp",
      "/.well-known/openid-configuration",
      "/.well-known/openid-configuration/mcp",
      "/mcp/.well-known/openid-configuration",
      "/mcp/.well-known/oauth-authorization-server",
      "/mcp/.well-known/oauth-protected-resource",
      "/.well-known/oauth-protected-resource/other",
    ]
  ) {
    const response = await fetch(url + path, { headers: { origin: "https://app.example" } });
    assert.equal(response.status, 404, path);
    assert.equal(response.headers.get("access-control-allow-origin"), "*", path);
    assert.deepEqual(await response.json(), { error: "not_found" }, path);
  }
});

Deno.test("the catalog leads to a server card that says what the server says of itself (SEP-2127)", async () => {
  await using place = await makeServerPlace();
  const created = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  await using server = await startServer(place);
  const { url } = server;
  const listed = await fetch(`${url}/.well-known/ai-catalog.json`);
  assert.equal(listed.headers.get("content-type"), "application/ai-catalog+json");
  const catalog = await listed.json();
  const [entry] = catalog.entries;
  assert.match(entry.identifier, /^urn:air:[^:]+:mcp:portcullis$/);
  assert.equal(entry.url, `${url}/mcp/server-card`);

  const response = await fetch(entry.url, { headers: { accept: entry.type } });
  assert.equal(response.headers.get("content-type"), entry.type);
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.match(response.headers.get("access-control-expose-headers") ?? "", /\bETag\b/);
  assert.equal(response.headers.get("cache-control"), "public, max-age=3600");
  const card = await response.json() as Card;
  const etag = response.headers.get("etag") ?? "";
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
    assert.equal((await fetch(entry.url, { headers: { "if-none-match": known } })).status, 304, known);
  }
  const changed = await fetch(entry.url, { headers: { "if-none-match": '"other"' } });
  assert.equal(changed.status, 200);
  await changed.body?.cancel();

  const { message, headers } = modernRequest("server/discover", {});
  const discovered = (await (await postMcp(url, message, { token: created.stdout.trim(), headers })).json()).result;
  const info = discovered._meta["io.modelcontextprotocol/serverInfo"];
  assert.match(card.name, /^[a-zA-Z0-9.-]+\/portcullis$/);
  assert.equal(card.name.split("/")[1], info.name);
  assert.deepEqual([card.title, card.version, card.icons], [info.title, info.version, info.icons]);
  assert.ok(card.description.length <= 100);
  assert.equal(card.remotes[0]?.type, "streamable-http");
  assert.equal(card.remotes[0]?.url, `${url}/mcp`);
  for (const version of card.remotes[0]?.supportedProtocolVersions ?? []) {
    if (discovered.supportedVersions.includes(version)) continue;
    const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const opened = await postMcp(url, { jsonrpc: "2.0", id: 1, method: "initialize", params }, {
      token: created.stdout.trim(),
    });
    assert.equal((await opened.json()).result.protocolVersion, version);
  }
  assert.deepEqual(discovered.capabilities.extensions["io.modelcontextprotocol/oauth-client-credentials"], {});
});

Deno.test("every icon that the server names can be loaded, and does nothing when it is opened", async () => {
  await using place = await makeServerPlace();
  const created = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  const token = created.stdout.trim();
  await using server = await startServer(place);
  const { message, headers } = modernRequest("tools/list", {});
  const { result } = await (await postMcp(server.url, message, { token, headers })).json();
  const tools = result.tools as readonly { readonly name: string; readonly icons?: readonly Icon[] }[];
  const own = result._meta["io.modelcontextprotocol/serverInfo"].icons as readonly Icon[];
  for (const { name, icons } of [{ name: "the server", icons: own }, ...tools]) {
    assert.ok(icons !== undefined && icons.length > 0, name);
    for (const { src, mimeType } of icons) {
      const response = await fetch(src);
      assert.equal(response.status, 200, src);
      assert.equal(response.headers.get("content-type"), mimeType, src);
      assert.equal(response.headers.get("content-security-policy"), "default-src 'none'", src);
      assert.match(
        await response.text(),
        /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^<]+<path [^<]+<\/svg>$/,
        src,
      );
    }
  }
  for (const path of ["/icons/other.svg", "/icons/", "/icons/../mcp", "/icons/files"]) {
    const response = await fetch(server.url + path);
    assert.notEqual(response.status, 200, path);
    await response.body?.cancel();
  }
});

Deno.test("a server card's name is the reversed domain, and legal for addresses too", async () => {
  for (
    const [host, namespace] of [
      ["mcp.example.com", "com.example.mcp"],
      ["localhost:3000", "localhost"],
      ["127.0.0.1:3000", "127.0.0.1"],
      ["[::1]:3000", "-1-"],
    ] as const
  ) {
    const serverInfo = { name: "portcullis", title: "Portcullis", version: "1.0.0" };
    const { card } = createServerCardEndpoints({ resource: `https://${host}/mcp`, serverInfo });
    const response = await card(new Request(`https://${host}/mcp/server-card`), { address: "" });
    assert.equal((await response.json()).name, `${namespace}/portcullis`);
  }
});
