/** Real proxies with what goes wrong in them: the command and the page name the cause. */
import assert from "node:assert/strict";
import { freePort } from "../fixtures/free_port.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { hasProgram, skippedUnless } from "../fixtures/skipped_unless.ts";
import { type ConnectingClient, createConnectingClient } from "./connecting_client.ts";
import { type RealProxy, startCaddy, startNginx } from "./real_proxies.ts";
import { judgedAttempts } from "./reports.ts";

interface ProxyFault {
  readonly name: string;
  readonly directives: string;
  /** The cause named first. */
  readonly cause: string;
  readonly isNoFault?: true;
}

type FaultsOf = (upstream: string) => readonly ProxyFault[];

const nginxFaults: FaultsOf = (upstream) => {
  const pass = `proxy_pass ${upstream};`;
  const names = "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $http_x_forwarded_for;";
  const all = (directive: string): string => `location / { ${pass} ${names} ${directive} }`;
  const except = (rule: string): string => `${rule} ${all("")}`;
  return [
    { name: "nothing-but-pass", directives: `location / { ${pass} }`, cause: "went_well", isNoFault: true },
    { name: "token-removed", directives: all('proxy_set_header Authorization "";'), cause: "header_removed" },
    { name: "mcp-alone", directives: `location /mcp { ${pass} ${names} }`, cause: "documents_not_reached" },
    {
      name: "well-known-elsewhere",
      directives: except("location /.well-known/ { return 404; }"),
      cause: "documents_not_reached",
    },
    {
      name: "one-document",
      directives: except("location = /.well-known/oauth-authorization-server { return 404; }"),
      cause: "server_document_not_reached",
    },
    { name: "oauth-forbidden", directives: except("location /oauth/ { return 403; }"), cause: "oauth_path_blocked" },
    { name: "body-limit", directives: `client_max_body_size 60;\n${all("")}`, cause: "oauth_path_blocked" },
    {
      name: "authorize-forbidden",
      directives: except("location = /oauth/authorize { return 403; }"),
      cause: "pop_up_blocked",
    },
    {
      name: "consent-forbidden",
      directives: except("location = /oauth/consent { return 403; }"),
      cause: "decision_open",
      isNoFault: true,
    },
    {
      name: "mcp-forbidden-with-token",
      directives: `location /mcp { if ($http_authorization) { return 403; } ${pass} ${names} } ${all("")}`,
      cause: "path_not_passed",
    },
    {
      name: "basic-added",
      directives: all('proxy_set_header Authorization "Basic eDp5";'),
      cause: "credentials_added",
    },
    { name: "bearer-added", directives: all('proxy_set_header Authorization "Bearer x";'), cause: "credentials_added" },
    {
      name: "other-host",
      directives: `location / { ${pass} proxy_set_header Host internal.example; }`,
      cause: "unknown_host",
    },
    {
      name: "other-forwarded-host",
      directives: `location = /.well-known/oauth-authorization-server { return 502; } ${
        all("proxy_set_header X-Forwarded-Host public.example;")
      }`,
      cause: "other_address",
    },
    {
      name: "https-outside",
      directives: `location = /.well-known/oauth-authorization-server { return 502; } ${
        all("proxy_set_header X-Forwarded-Proto https;")
      }`,
      cause: "other_scheme",
    },
    {
      name: "origin-set",
      directives: all("proxy_set_header Origin http://internal.example;"),
      cause: "unknown_origin",
    },
    { name: "cookies-removed", directives: all('proxy_set_header Cookie "";'), cause: "cookies_blocked" },
    { name: "cookies-hidden", directives: all("proxy_hide_header Set-Cookie;"), cause: "cookies_blocked" },
    {
      name: "query-removed",
      directives: `location / { proxy_pass ${upstream}$uri; ${names} }`,
      cause: "query_missing",
    },
    { name: "slash-doubled", directives: `location / { proxy_pass ${upstream}//; ${names} }`, cause: "wrong_path" },
    { name: "prefix-added", directives: `location / { proxy_pass ${upstream}/api/; ${names} }`, cause: "wrong_path" },
    { name: "type-removed", directives: all('proxy_set_header Content-Type "";'), cause: "request_changed" },
    {
      name: "body-removed",
      directives: all('proxy_pass_request_body off; proxy_set_header Content-Length "";'),
      cause: "request_changed",
    },
    {
      name: "post-redirected",
      directives:
        `location = /oauth/register { if ($request_method = POST) { return 302 $scheme://$http_host/oauth/register; } ${pass} ${names} } ${
          all("")
        }`,
      cause: "request_changed",
    },
    {
      name: "slash-by-a-redirect",
      directives: `location = /mcp { return 301 /mcp/; } ${all("")}`,
      cause: "redirected",
    },
    {
      name: "calls-redirected",
      directives: `set $is_call no; if ($http_authorization) { set $is_call $request_uri; }\n` +
        `if ($is_call = /mcp) { return 302 /mcp/; } ${all("")}`,
      cause: "redirected",
    },
    { name: "agent-removed", directives: all('proxy_set_header User-Agent "";'), cause: "went_well", isNoFault: true },
    {
      name: "buffering",
      directives: all("proxy_http_version 1.0; proxy_ignore_headers X-Accel-Buffering; gzip on; gzip_proxied any;"),
      cause: "went_well",
      isNoFault: true,
    },
  ];
};

const caddyFaults: FaultsOf = (upstream) => {
  const passTo = (inside = ""): string =>
    `reverse_proxy ${upstream} {\nheader_up X-Forwarded-For {header.X-Forwarded-For}\n${inside}\n}`;
  return [
    { name: "as-it-comes", directives: passTo(), cause: "went_well", isNoFault: true },
    {
      name: "http2-to-the-server",
      directives: passTo("transport http {\nversions h2c\n}"),
      cause: "went_well",
      isNoFault: true,
    },
    { name: "token-removed", directives: passTo("header_up -Authorization"), cause: "header_removed" },
    {
      name: "password-outside",
      directives: passTo('header_up Authorization "Basic eDp5"'),
      cause: "credentials_added",
    },
    { name: "host-of-upstream", directives: passTo("header_up Host internal.example"), cause: "unknown_host" },
    { name: "mcp-alone", directives: `handle /mcp* {\n${passTo()}\n}`, cause: "documents_not_reached" },
    { name: "slash-by-a-redirect", directives: `redir /mcp /mcp/ 301\n${passTo()}`, cause: "redirected" },
    { name: "prefix-removed", directives: `uri strip_prefix /oauth\n${passTo()}`, cause: "wrong_path" },
    {
      name: "body-limit",
      directives: `request_body {\nmax_size 60B\n}\n${passTo()}`,
      cause: "request_changed", // the server gets the beginning
    },
  ];
};

/** As far as it comes. A person sees an error page, a client gets a status or no JSON: neither does more. */
async function tryToConnect(client: ConnectingClient): Promise<string> {
  const client_name = client.name;
  const { send } = client;
  client.send = (path, init) => send(path, { redirect: "follow", ...init }); // fetch makes a GET of a POST
  try {
    if ((await client.post("tools/list")).status !== 401) return "reached";
    for (const path of ["oauth-protected-resource/mcp", "oauth-authorization-server"]) {
      const response = await client.send(`/.well-known/${path}`);
      await response.body?.cancel();
      if (response.status !== 200) return path;
    }
    const registered = await client.send("/oauth/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [client.redirectUri], token_endpoint_auth_method: "none", client_name }),
    });
    const answer = await registered.text();
    if (registered.status !== 201) return `registration ${registered.status} ${answer}`;
    client.clientId = JSON.parse(answer).client_id;
    if ((await client.redeem(await client.allow())).status !== 200) return "token";
    return String((await client.callTool()).status);
  } catch (error) {
    return String(error);
  }
}

const proxies: readonly (readonly [program: string, start: (port: number) => Promise<RealProxy>, faults: FaultsOf])[] =
  [
    ["nginx", startNginx, nginxFaults],
    ["caddy", startCaddy, caddyFaults],
  ];
for (const [program, start, faultsOf] of proxies) {
  Deno.test({
    ...skippedUnless(
      hasProgram(program),
      `there is no ${program}`,
      `connections: behind ${program}, the command and the page name what it does wrong`,
    ),
    async fn(test) {
      const [port, ownPort] = [freePort(), freePort()];
      const faults = faultsOf(`http://127.0.0.1:${ownPort}`);
      await using place = await makeServerPlace();
      const env = {
        REGISTRATION: "open",
        COMPATIBILITY: "spec",
        SERVER_URL: `http://127.0.0.1:${port}`,
        TRUST_PROXY: "127.0.0.1",
      };
      await using server = await startServer(place, { env, args: ["--port", String(ownPort)] });
      await using proxy = await start(port);
      const working = faults[0]?.directives ?? assert.fail();
      await proxy.configure(working);
      const owner = createPerson(proxy.url);
      await setUpOwner(owner, server);
      const came: string[] = [];
      for (const [index, { name, directives }] of faults.entries()) {
        await proxy.configure(directives);
        came.push(
          await tryToConnect(createConnectingClient(proxy.url, { name, address: `203.0.113.${index + 1}` })),
        );
      }
      const lines = await judgedAttempts(place);
      await proxy.configure(working);
      const articles = (await openSignedIn(owner, `${proxy.url}/console/why`)).html.split("<article").slice(1);
      for (const [index, { name, cause, isNoFault }] of faults.entries()) {
        await test.step(`${program}: ${name}`, () => {
          const own = lines.filter((line) =>
            line.name === name || line.steps.some(({ agent }) => agent?.startsWith(name))
          );
          const [line, ...more] = own.filter(({ causes }) => causes[0]?.id !== "no_oauth");
          const what = `${came[index]}: ${JSON.stringify(own, null, 1)}`;
          assert.deepEqual([line?.causes[0]?.id, more.length], [cause, 0], what);
          assert.equal(line?.state, isNoFault ? "no_fault" : "fault", what);
          const words = line?.causes[0]?.words.replaceAll("'", "&#39;") ?? "?";
          assert.ok(articles.some((each) => each.includes(`<h2>${line?.name}</h2>`) && each.includes(words)), what);
        });
      }
    },
  });
}
