/** A server that shares its host: below a path, behind proxies that keep the path or remove it. */
import assert from "node:assert/strict";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { type RealProxy, startCaddy, startNginx } from "../connections/real_proxies.ts";
import { freePort } from "../fixtures/free_port.ts";
import { OAuthApplication } from "../fixtures/oauth_application.ts";
import { approve, openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Page } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { hasProgram, skippedUnless } from "../fixtures/skipped_unless.ts";

const wellKnown = ["oauth-authorization-server/portcullis", "oauth-protected-resource/portcullis/mcp"];

type DirectivesFor = (upstream: string) => string;

const otherSite = "another site of the host";

/** What docs/operations.md says. */
const nginxKeeps: DirectivesFor = (upstream) =>
  `location / { return 200 "${otherSite}"; }
   location = /portcullis { proxy_pass ${upstream}; proxy_set_header Host $http_host; }
   location ^~ /portcullis/ { proxy_pass ${upstream}; proxy_set_header Host $http_host; }
   location ^~ /.well-known/oauth-protected-resource/portcullis/ { proxy_pass ${upstream}; proxy_set_header Host $http_host; }
   location ^~ /.well-known/oauth-authorization-server/portcullis { proxy_pass ${upstream}; proxy_set_header Host $http_host; }`;

const nginxStrips: DirectivesFor = (upstream) =>
  `location / { return 200 "${otherSite}"; }
   location = /portcullis { proxy_pass ${upstream}/; proxy_set_header Host $http_host; }
   location ^~ /portcullis/ { proxy_pass ${upstream}/; proxy_set_header Host $http_host; }
   ${
    ["oauth-authorization-server", "oauth-protected-resource"].map((name) =>
      `location ^~ /.well-known/${name}/portcullis {
         proxy_pass ${upstream}/.well-known/${name}; proxy_set_header Host $http_host; }`
    ).join("\n")
  }`;

const caddyKeeps: DirectivesFor = (upstream) =>
  `@portcullis path /portcullis /portcullis/* /.well-known/*/portcullis /.well-known/*/portcullis/*
   handle @portcullis {
     reverse_proxy ${upstream.replace("http://", "")}
   }
   respond "${otherSite}"`;

const caddyStrips: DirectivesFor = (upstream) =>
  `handle_path /portcullis* {
     reverse_proxy ${upstream.replace("http://", "")}
   }
   @wellknown path /.well-known/*/portcullis /.well-known/*/portcullis/*
   handle @wellknown {
     reverse_proxy ${upstream.replace("http://", "")}
   }
   respond "${otherSite}"`;

const proxies: readonly (readonly [
  program: string,
  start: (port: number) => Promise<RealProxy>,
  kinds: Readonly<Record<"keeps" | "removes", DirectivesFor>>,
])[] = [
  ["nginx", startNginx, { keeps: nginxKeeps, removes: nginxStrips }],
  ["caddy", startCaddy, { keeps: caddyKeeps, removes: caddyStrips }],
];

/** Every address that a page leads to within its host. */
function pathsIn({ html, url }: Page): string[] {
  return Array.from(html.matchAll(/(?:href|action|src|data-events)="([^"]*)"/g), ([, to = ""]) => to)
    .filter((to) => !to.startsWith("data:") && !/^[a-z-]+:(?!\/\/127)/.test(to))
    .map((to) => new URL(to.replaceAll("&amp;", "&"), url).pathname);
}

for (const [program, start, kinds] of proxies) {
  for (const [kind, directives] of Object.entries(kinds)) {
    Deno.test({
      ...skippedUnless(
        hasProgram(program),
        `there is no ${program}`,
        `below a path, behind ${program} that ${kind} it: sign-in by the official SDK, calls, pages, cookies, links`,
      ),
      async fn() {
        const [port, ownPort] = [freePort(), freePort()];
        const serverUrl = `http://127.0.0.1:${port}/portcullis`;
        await using place = await makeServerPlace();
        const env = { SERVER_URL: serverUrl, REGISTRATION: "open", TRUST_PROXY: "127.0.0.1" };
        await using server = await startServer(place, { env, args: ["--port", String(ownPort)] });
        await using proxy = await start(port);
        await proxy.configure(directives(`http://127.0.0.1:${ownPort}`));
        const { origin } = new URL(serverUrl);
        assert.equal(await (await fetch(`${origin}/mcp`)).text(), otherSite);

        assert.equal(new URL(server.setUpLink ?? "").pathname, "/portcullis/setup");
        const cookies = new Map<string, string>();
        const cookiePaths = new Set<string>();
        const owner = createPerson(origin, async (url, init) => {
          const headers = new Headers(init.headers);
          headers.set("accept", "text/html");
          const response = await fetch(url, { ...init, headers });
          for (const line of response.headers.getSetCookie()) cookiePaths.add(/Path=([^;]*)/.exec(line)?.[1] ?? "none");
          return response;
        }, cookies);
        await setUpOwner(owner, server);
        assert.deepEqual([...cookiePaths], ["/portcullis"]);

        const application = new OAuthApplication<OAuthClientInformationMixed, OAuthTokens>((url) => {
          assert.equal(url.href.split("?")[0], `${serverUrl}/oauth/authorize`);
          return approve(owner, url);
        });
        const connection = () =>
          new StreamableHTTPClientTransport(new URL(`${serverUrl}/mcp`), { authProvider: application });
        const first = connection();
        await assert.rejects(new Client({ name: "sdk", version: "1" }).connect(first), UnauthorizedError);
        await first.finishAuth(application.callback?.searchParams.get("code") ?? "");
        await first.close();
        assert.equal(application.callback?.searchParams.get("iss"), serverUrl);
        const client = new Client({ name: "sdk", version: "1" });
        await client.connect(connection());
        const icon = client.getServerVersion()?.icons?.[0]?.src ?? assert.fail("no icon");
        assert.ok(icon.startsWith(`${serverUrl}/icons/`), icon);
        assert.match(await (await fetch(icon)).text(), /^<svg/);
        await client.callTool({ name: "file_write", arguments: { filename: "a.txt", content: "below" } });
        const given = await client.callTool({ name: "file_read", arguments: { filename: "a.txt", link: true } });
        const link = /https?:\/\/[^\s"\\]+\/files\/[^\s"\\]+/.exec(JSON.stringify(given))?.[0] ??
          assert.fail(JSON.stringify(given));
        assert.ok(link.startsWith(`${serverUrl}/files/`), link);
        assert.equal(await (await fetch(link)).text(), "below");
        await client.close();

        const places = [
          "",
          "/",
          "/mcp",
          "/setup?ready",
          "/oauth/grants",
          "/console",
          "/console/activity",
          "/console/why",
        ];
        for (const path of [...places, "/oauth/consent?request=x", "/not-there", "/setup?code=x"]) {
          const page = await openSignedIn(owner, `${serverUrl}${path}`);
          assert.match(page.headers.get("content-type") ?? "", /html/, path);
          assert.notEqual(page.html, otherSite, path);
          for (const to of pathsIn(page)) assert.match(to, /^\/portcullis(\/|$)/, `${path} leads to ${to}`);
        }
        for (const name of wellKnown) {
          const document = await (await fetch(`${origin}/.well-known/${name}`)).json();
          assert.equal(
            document.issuer ?? document.resource,
            name.startsWith("oauth-a") ? serverUrl : `${serverUrl}/mcp`,
          );
        }
        for (const name of ["oauth-authorization-server", "oauth-protected-resource", "oauth-protected-resource/mcp"]) {
          const response = await fetch(`${serverUrl}/.well-known/${name}`);
          assert.equal(response.status, 200, name);
          await response.body?.cancel();
        }
      },
    });
  }
}
