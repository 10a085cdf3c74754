/** Linking an account through the started server: after consent, and out of a call that has to wait for it. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { freePort } from "../fixtures/free_port.ts";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { openSignedIn, ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Person } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { type StandInInstance, startServicenow } from "../fixtures/servicenow/instance.ts";

interface Desk extends AsyncDisposable {
  readonly server: RunningServer;
  readonly instance: StandInInstance;
  readonly owner: Person;
  /** As a decision in another tab does on plain http. */
  endSession(): void;
  /** A token of the command line, of a person who has linked nothing. */
  readonly token: string;
  /** Goes from the link page through the instance and back. */
  link(userName: string): Promise<void>;
}

async function startDesk(): Promise<Desk> {
  const port = freePort();
  const instance = await startServicenow({ redirectUri: `http://127.0.0.1:${port}/servicenow/callback` });
  const place = await makeServerPlace();
  const server = await startServer(place, {
    args: ["--port", String(port)],
    env: {
      SERVICENOW_INSTANCE: instance.origin,
      SERVICENOW_CLIENT_ID: instance.client.clientId,
      SERVICENOW_CLIENT_SECRET: instance.client.clientSecret,
      SERVICENOW_WRITE: "on",
    },
  });
  const cookies = new Map<string, string>();
  const owner = createPerson(server.url, fetch, cookies);
  await setUpOwner(owner, server);
  const made = await runCommand(["token", "create", "--scope", "servicenow:write", "--data-dir", place.dataDir]);
  assert.equal(made.code, 0, made.stderr);
  return {
    server,
    instance,
    owner,
    endSession() {
      for (const name of [...cookies.keys()]) if (name.includes("session")) cookies.delete(name);
    },
    token: made.stdout.trim(),
    async link(userName) {
      const page = await openSignedIn(owner, `${server.url}/servicenow/link`);
      const sent = await owner.submit(page, { action: "link" }, 'value="link"');
      const url = sent.headers.get("refresh")?.split("url=")[1] ?? "";
      const linked = await owner.open(await instance.approve(url, userName));
      assert.match(linked.html, /You can go back to your client/);
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await instance[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

async function connect({ server, token }: Desk, action: "accept" | "decline") {
  const client = new Client({ name: "pages", version: "1" }, { capabilities: { elicitation: { url: {} } } });
  const asked = Promise.withResolvers<{ readonly mode?: string; readonly url?: string; readonly message?: string }>();
  client.setRequestHandler(ElicitRequestSchema, ({ params }: { params: unknown }) => {
    asked.resolve(params as never);
    return { action };
  });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
  return { client, asked: asked.promise };
}

const profile = { name: "servicenow_search", arguments: { table: "incident", limit: 1 } };

Deno.test("a client that opens pages is sent to the link page, and its call goes on once the account is linked", async () => {
  await using desk = await startDesk();
  const { client, asked } = await connect(desk, "accept");
  const waiting = client.callTool(profile);
  const { mode, url, message } = await asked;
  assert.deepEqual([mode, url], ["url", `${desk.server.url}/servicenow/link`]);
  assert.match(message ?? "", /Link your ServiceNow account/);
  await desk.link("ada");
  const answer = await waiting;
  assert.notEqual(answer.isError, true, JSON.stringify(answer));
  await client.close();
});

Deno.test("a person who declines, and a client that opens no pages, get the words with the link at once", async () => {
  await using desk = await startDesk();
  const { client } = await connect(desk, "decline");
  const words = new RegExp(`No ServiceNow account is linked.*${desk.server.url}/servicenow/link`);
  assert.match(JSON.stringify(await client.callTool(profile)), words);
  const plain = await postMcp(desk.server.url, toolCall(profile.name, profile.arguments), { token: desk.token });
  assert.match(JSON.stringify(await plain.json()), words);
  assert.ok(!desk.instance.requests.some(({ path }) => path.startsWith("/api/")));
  await client.close();
});

Deno.test("2026-07-28: the page comes as a result, and the next round goes on with the linked account", async () => {
  await using desk = await startDesk();
  const round = async (more: Record<string, unknown>) => {
    const { message, headers } = modernRequest("tools/call", { ...profile, ...more }, { elicitation: { url: {} } });
    const response = await postMcp(desk.server.url, message, { token: desk.token, headers });
    const { result } = await response.json();
    return result;
  };
  const first = await round({});
  assert.equal(first.resultType, "input_required", JSON.stringify(first));
  assert.equal(first.inputRequests.link.params.url, `${desk.server.url}/servicenow/link`);
  const next = { requestState: first.requestState, inputResponses: { link: { action: "accept" } } };
  const waiting = round(next); // the page was opened, nothing is linked yet
  await desk.link("ada");
  assert.notEqual((await waiting).isError, true);
  assert.notEqual((await round(next)).isError, true, "an answer that is not asked for any more does no harm");
});

Deno.test("the console tells the owner and the person who is linked, and why ServiceNow refused a link", async () => {
  await using desk = await startDesk();
  const page = async () => (await openSignedIn(desk.owner, `${desk.server.url}/console/connections`)).html;
  assert.match(await page(), /You have linked no account[\s\S]*href="\/servicenow\/link"[\s\S]*No one has linked/);
  await desk.link("ada");
  assert.match(await page(), /Your ServiceNow account is Ada Lovelace \(ada\)[\s\S]*Linked/);
  desk.instance.oauth.endTokensOf("ada");
  await postMcp(desk.server.url, toolCall(profile.name, profile.arguments), { token: desk.token });
  const refused = await page();
  assert.match(refused, /ServiceNow refused to renew the sign-in \(“server_error: access_denied”\)/);
  assert.match(refused, /Ada Lovelace \(ada\)[\s\S]*Has to be linked again/, "whose account it was stays known");
  const own = await openSignedIn(desk.owner, `${desk.server.url}/servicenow/link`);
  assert.match(own.html, /Sign in to ServiceNow again[\s\S]*Unlink/);
  assert.match(own.html, /refused to renew the sign-in/);
});

Deno.test("on plain http the offer on the consent page leads through the instance and back, and the session ends with the decision", async () => {
  await using desk = await startDesk();
  const redirectUri = "http://127.0.0.1:9/callback";
  const registered = await fetch(`${desk.server.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Test", redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
  });
  const { client_id: clientId } = await registered.json();
  const authorize = `${desk.server.url}/oauth/authorize?${new URLSearchParams({
    ...{ response_type: "code", client_id: clientId, redirect_uri: redirectUri, state: "s" },
    ...{ scope: "servicenow:read", code_challenge: "c".repeat(43), code_challenge_method: "S256" },
  })}`;
  const offer = await openSignedIn(desk.owner, authorize);
  desk.endSession();
  const lost = await desk.owner.submit(offer, { decision: "link" }, 'value="link"');
  assert.match(lost.html, /type="password"/, "the way back needs a session");
  const again = await desk.owner.submit(lost, { passphrase: ownerPassphrase });
  assert.match(again.html, /Link your ServiceNow account first/);
  const sent = await desk.owner.submit(offer, { decision: "link" }, 'value="link"');
  const url = sent.headers.get("refresh")?.split("url=")[1] ?? "";
  const back = await desk.owner.open(await desk.instance.approve(url, "ada"));
  assert.match(back.html, /Ada Lovelace \(ada\)/);
  const left = await desk.owner.submit(back, { decision: "allow" }, 'value="allow"');
  assert.ok(left.url.href.startsWith(`${redirectUri}?code=`), left.url.href);
  assert.match((await desk.owner.open(`${desk.server.url}/servicenow/link`)).html, /type="password"/);
});
