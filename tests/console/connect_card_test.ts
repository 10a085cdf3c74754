/** The connect card: the same on the page after set-up, the home page and the empty console, live for who is signed in. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { clientFormats } from "../../src/lib/client_configurations.ts";
import { OAuthApplication } from "../fixtures/oauth_application.ts";
import { approve, openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, decodeEntities } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { modernRequest, postMcp } from "../fixtures/mcp_call.ts";
import { until } from "../fixtures/until.ts";

Deno.test("the connect card is on three pages, waits, and names the first client, as the terminal does", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { REGISTRATION: "open" } });
  const owner = createPerson(server.url);
  assert.match(server.stderr(), /Waiting for your first connection…/);
  await setUpOwner(owner, server);
  const ready = await owner.open(`${server.url}/setup?ready`);
  const pages = [ready, await owner.open(`${server.url}/console`)];
  const home = await (await fetch(server.url, { headers: { accept: "text/html" } })).text();
  assert.ok(!home.includes("Waiting for"), "a stranger sees no state");
  for (const html of [...pages.map((page) => page.html), home]) {
    assert.match(html, new RegExp(`<pre data-copy>claude mcp add --transport http portcullis ${server.url}/mcp</pre>`));
    for (const name of ["cursor", "vscode", "claude-desktop", "claude.ai", "chatgpt", "codex", "gemini"]) {
      const title = clientFormats.find((format) => format.name === name)?.title ?? assert.fail(name);
      assert.ok(html.includes(`>${title}</label>`), title);
    }
    const links = [...html.matchAll(/<a class="button" href="([^"]*)"/g)].map(([, href = ""]) =>
      new URL(decodeEntities(href))
    );
    const [cursor, code, insiders, codium, studio, kiro] = links;
    assert.equal(links.length, 6);
    const url = `${server.url}/mcp`;
    assert.equal(cursor?.href.split("?")[0], "cursor://anysphere.cursor-deeplink/mcp/install");
    assert.deepEqual(JSON.parse(atob(cursor?.searchParams.get("config") ?? "")), { url });
    for (const link of [code, insiders, codium]) {
      assert.match(link?.href ?? "", /^vsc(ode|ode-insiders|odium):mcp\/install\?/);
      assert.deepEqual(JSON.parse(decodeURIComponent(link?.search.slice(1) ?? "")), {
        name: "portcullis",
        type: "http",
        url,
      });
    }
    assert.equal(kiro?.href.split("?")[0], "https://kiro.dev/launch/mcp/add");
    assert.deepEqual(JSON.parse(kiro?.searchParams.get("config") ?? ""), { url });
    assert.deepEqual(JSON.parse(atob(studio?.searchParams.get("config") ?? "")), { url });
  }
  for (const page of pages) assert.match(page.html, /data-connection="[^"]+">Waiting for your first connection…</);

  const application = new OAuthApplication<OAuthClientInformationMixed, OAuthTokens>((url) => approve(owner, url));
  const connection = () =>
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { authProvider: application });
  const first = connection();
  await assert.rejects(new Client({ name: "sdk", version: "1" }).connect(first));
  await first.finishAuth(application.callback?.searchParams.get("code") ?? "");
  await first.close();
  const addressOf = (html: string): string =>
    decodeEntities(/data-connection="([^"]*)"/.exec(html)?.[1] ?? assert.fail());
  for (const { html } of pages) { // the decision ended the session on plain http; the pages that are open go on
    const state = await (await fetch(new URL(addressOf(html), server.url))).json();
    assert.deepEqual(state, { isConnected: true, connection: "<strong>Test application</strong> is connected." });
  }
  const forged = new URL(addressOf(ready.html).replace(/.$/, (last) => last === "A" ? "B" : "A"), server.url);
  assert.equal((await fetch(forged)).status, 404);
  const client = new Client({ name: "sdk", version: "1" });
  await client.connect(connection());
  await client.listTools();
  await client.close();
  await until("the terminal to say so", () => server.stderr().includes("is connected."));
  assert.match(server.stderr(), /^(Test application|sdk) is connected\.$/m);
  assert.ok(
    !(await openSignedIn(owner, `${server.url}/console`)).html.includes('class="clients"'),
    "the console has more to show now",
  );
});

Deno.test("the terminal names a client that sends no handshake, at its first call (2026-07-28)", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { REGISTRATION: "open" } });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  const application = new OAuthApplication<OAuthClientInformationMixed, OAuthTokens>((url) => approve(owner, url));
  const connection = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { authProvider: application });
  await assert.rejects(new Client({ name: "sdk", version: "1" }).connect(connection));
  await connection.finishAuth(application.callback?.searchParams.get("code") ?? "");
  await connection.close();
  assert.doesNotMatch(server.stderr(), /is connected/);
  const { message, headers } = modernRequest("tools/list", {});
  const answer = await postMcp(server.url, message, { token: application.tokens()?.access_token ?? "", headers });
  assert.equal(answer.status, 200, await answer.text());
  await until("the terminal to say so", () => server.stderr().includes("is connected."));
  assert.match(server.stderr(), /^Test application is connected\.$/m);
});
