/** Which routes answer a foreign `Host` or `Origin`, over HTTP: what docs/security.md says of the endpoint. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

const pages = [
  ...["/oauth/authorize", "/oauth/sign-in", "/oauth/consent", "/oauth/grants", "/oauth/sign-out", "/setup"],
  ...["/servicenow/link", "/servicenow/callback"],
  ...["/oauth/company", "/oauth/callback", "/oauth/company/link"],
];
const forAnyOrigin = [
  ...["/oauth/register", "/oauth/token", "/oauth/revoke", "/oauth/introspect"],
  ...["/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"],
];
const others = [
  "/files/a/b",
  "/",
  "/health",
  "/health/live",
  "/health/ready",
  "/nothing",
];

async function statusOf(url: string, method: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const asked = request(url, { method, headers }, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  asked.on("error", reject);
  asked.end();
  return await promise;
}

Deno.test("an unknown Host gets 403 on every route; a foreign Origin at /mcp and where people sign in or decide", async () => {
  await using place = await makeServerPlace();
  const instance = {
    SERVICENOW_INSTANCE: "http://127.0.0.1:1",
    SERVICENOW_CLIENT_ID: "portcullis",
    SERVICENOW_CLIENT_SECRET: "secret",
    OIDC_ISSUER: "http://127.0.0.1:1",
    OIDC_CLIENT_ID: "portcullis",
    OIDC_CLIENT_SECRET: "secret",
  };
  await using server = await startServer(place, { env: instance, bounds: { healthChecksPerMinute: 1_000 } });
  for (const path of ["/mcp", ...pages, ...forAnyOrigin, ...others]) {
    for (const method of ["GET", "POST"]) {
      const foreignHost = await statusOf(`${server.url}${path}`, method, { host: "evil.example" });
      assert.equal(foreignHost, 403, `${method} ${path} with a foreign Host`);
      const foreignOrigin = await statusOf(`${server.url}${path}`, method, { origin: "https://evil.example" });
      const isRefused = path === "/mcp" || pages.includes(path);
      assert.equal(foreignOrigin === 403, isRefused, `${method} ${path} with a foreign Origin: ${foreignOrigin}`);
    }
  }
});
