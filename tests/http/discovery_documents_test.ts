/** What a client can read before it has a token: who the server is, where it signs in, and nothing that misleads it. */
import assert from "node:assert/strict";
import { modernRequest, postMcp } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

interface Icon {
  readonly src: string;
  readonly mimeType: string;
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

Deno.test("the icon that the server names can be loaded, and does nothing when it is opened", async () => {
  await using place = await makeServerPlace();
  const created = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
  const token = created.stdout.trim();
  await using server = await startServer(place);
  const { message, headers } = modernRequest("tools/list", {});
  const { result } = await (await postMcp(server.url, message, { token, headers })).json();
  const [icon] = result._meta["io.modelcontextprotocol/serverInfo"].icons as readonly Icon[];
  const { src, mimeType } = icon ?? assert.fail("no icon");
  const response = await fetch(src);
  assert.equal(response.status, 200, src);
  assert.equal(response.headers.get("content-type"), mimeType, src);
  assert.equal(response.headers.get("content-security-policy"), "default-src 'none'", src);
  assert.match(
    await response.text(),
    /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^<]+<path [^<]+<\/svg>$/,
    src,
  );
  for (const path of ["/icons/other.svg", "/icons/", "/icons/../mcp", "/icons/files"]) {
    const response = await fetch(server.url + path);
    assert.notEqual(response.status, 200, path);
    await response.body?.cancel();
  }
});
