/**
 * As run_freezes.ts, of what a signed-in person and several clients of one person ask for: pages of the console and
 * their streams with full tables, calls that a rule holds, ChatGPT's tools, sixty tokens at once, strangers who try to
 * connect.
 */
import { join } from "node:path";
import { deepPath, plantFiles } from "./planted_files.ts";
import { dearCalls, dearRequests, encodeRequest } from "./dear_calls.ts";
import { type AskedRow, type FreezeOptions, type Measured, measureRows, untilLeft } from "./measure.ts";
import { type SignedIn, signIn } from "../../deploy/sign_in.ts";
import { dropHeldCalls, fillAudit, fillConsole } from "../../fixtures/console_load.ts";
import { openSignedIn, setUpOwner } from "../../fixtures/owner.ts";
import { createPerson, type Person } from "../../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../../fixtures/running_server.ts";
import { startOllamaProcess } from "../run_hostile_load.ts";

const manyTokens = 60;
const scope = "files:read files:write llm:generate";
const auditLines = 50_000;
/** As many as a call may show. */
const effectLines = 800;
/** Each of seven steps. */
const attemptsOfStranger = 10;
/** So long a page stays open. */
const openMs = 1_000;
/** So long the answer to a page is waited for. */
const mostPatienceMs = 300_000;
/** So long an answer is not read. */
const unreadMs = 2_000;
const unread = { filename: "quotes.txt", max_bytes: 1_048_576 };
/** So long a client waits for a decision. */
const heldOpenMs = 1_500;
const limits = {
  ...{ MCP_RATE_LIMIT: "10000000", LLM_RATE_LIMIT: "1000000", OAUTH_RATE_LIMIT: "10000000", LOG_FORMAT: "json" },
  TRUST_PROXY: "1",
};

/** Arguments of calls that change files, whose effects are as large as they can be; each of `time` is another call. */
const heldCalls: Readonly<Record<string, readonly [string, (time: number) => Record<string, unknown>]>> = {
  "a new file of a mebibyte": ["file_write", (time) => ({ filename: `new/${time}`, content: "é\n".repeat(300_000) })],
  "another text for a file": ["file_write", (time) => ({
    filename: "lines.txt",
    content: `${time}\n${"b\n".repeat(450_000)}`,
    mode: "overwrite",
  })],
  "an edit of every line": ["file_edit", (time) => ({
    path: "lines.txt",
    ...{ old_text: "a\n", new_text: `b${time}\n`, replace_all: true },
  })],
  "an edit of every line of a large file": ["file_edit", (time) => ({
    path: "more_mixed.txt",
    ...{ old_text: "b\n", new_text: `c${time}\n`, replace_all: true },
  })],
  "100 edits of deep names": ["file_edit", (time) => ({
    edits: Array.from(
      { length: 100 },
      (_, index) => ({ path: `${deepPath}${index}`, old_text: "a", new_text: `${time}` }),
    ),
  })],
  "a move of a tree": ["file_move", (time) => ({ path: "many", destination: `moved/${time}` })],
  "copies of large files": ["file_move", (time) => ({
    paths: ["large.txt", "more_letters.txt", "more_mixed.txt", "line.txt", "older.txt"],
    ...{ destination: `copies/${time}`, copy: true },
  })],
  "a delete of trees": ["file_delete", (time) => ({
    paths: ["many", "alike", "binary", "globs", "ignored", `names/${time}`],
    recursive: true,
  })],
};

/** What many tokens of one person call at once: the dearest rows of one token. */
const ofManyTokens: Readonly<Record<string, string>> = {
  "every letter, in whole words": "file_edit",
  "a failed edit of capitals": "file_edit",
  "50 near names": "file_read",
  "an expression": "file_search",
  "a schema": "llm_generate",
};

/** Pages, each with the most that its query may ask for. */
const pages: Readonly<Record<string, string>> = {
  Overview: "",
  Activity: "/activity",
  "Activity, a search for nothing": `/activity?${new URLSearchParams({
    target: "nowhere ".repeat(25),
    person: "owner",
  })}`,
  Approvals: "/decisions",
  Clients: "/connections",
  Troubleshooting: "/why",
  People: "/people",
  Rules: "/rules",
  Files: "/files",
  "Files, a directory": "/files?path=globs",
  "Files, a large file": "/files?path=large.txt",
  "Files, a line of megabytes": "/files?path=line.txt",
  "Files, a history": "/files?path=lines.txt&view=history",
  "Files, a search": `/files?${new URLSearchParams({ find: "a".repeat(200) })}`,
  Settings: "/settings",
};

/** Tries them all, or the pages alone, with all that they show. */
export async function runPageFreezes(
  options: FreezeOptions,
  { pagesAlone = false }: { readonly pagesAlone?: boolean } = {},
): Promise<Measured> {
  await using ollama = await startOllamaProcess();
  await using place = await makeServerPlace();
  const { workspaceDir, dataDir } = place;
  await Deno.mkdir(workspaceDir, { recursive: true });
  await plantFiles(workspaceDir);
  await Deno.writeTextFile(join(workspaceDir, "innocent.txt"), "nothing to see\n".repeat(20));
  await fillAudit(dataDir, { lines: auditLines, days: 1 });
  const env = { ...limits, OLLAMA_HOST: ollama.url };
  const cookies = new Map<string, string>();
  let token = "";
  const order = { filename: "innocent.txt", controlUrl: `${ollama.url}/api/version` };
  const found: Measured[] = [];
  let [port, changePath] = ["", ""];
  {
    await using server = await startServer(place, { env });
    port = new URL(server.url).port;
    const owner = createPerson(server.url, fetch, cookies);
    await setUpOwner(owner, server);
    await runCommand(["users", "add", "ben", "--data-dir", dataDir], { stdin: "a long passphrase of ben\n" });
    const made = await runCommand(["token", "create", "--scope", scope, "--user", "ben", "--data-dir", dataDir]);
    token = made.stdout.trim();
    const signedIn: SignedIn[] = [];
    while (signedIn.length < (pagesAlone ? 1 : manyTokens)) signedIn.push(await signIn(server.url, owner, scope));
    const tokens = signedIn.map(({ accessToken }) => accessToken);
    const callers = { url: server.url, tokens };
    const watched = { ...order, token, url: server.url, pid: server.pid };
    if (!pagesAlone) {
      const ofOneGrant = { url: server.url, tokens: await refreshed(server.url, signedIn[0]) };
      const first = [
        ...await rowsOfChatGpt(callers),
        ...rowsOfTokens("sixty tokens of a grant", ofOneGrant),
        ...rowsOfTokens("sixty grants of a person", callers).filter(({ name }) =>
          /whole words|reads|kind each/.test(name)
        ),
      ];
      found.push(await measureRows(first, watched, options));
    }
    changePath = await changeOf(callers, owner);
    if (!pagesAlone) {
      const rules = await openSignedIn(owner, `${server.url}/console/rules`);
      await owner.submit(rules, { tool: "changes", verdict: "ask", clicked: "" }, 'value="add"');
      found.push(await measureRows(rowsOfHeldCalls({ ...callers, cookies, dataDir }), watched, options));
    }
    await server.stop();
  }
  await fillConsole(dataDir, { effectLines });
  await using server = await startServer(place, { env: { ...env, PORT: port }, args: [] });
  const owner = createPerson(server.url, fetch, cookies);
  await openSignedIn(owner, `${server.url}/console`);
  const rows = rowsOfPages({ url: server.url, cookies }, { ...pages, "a change of every line": changePath });
  found.push(await measureRows(rows, { ...order, token, url: server.url, pid: server.pid }, options));
  const peaks = found.flatMap(({ peakMebibytes }) => peakMebibytes ?? []);
  return {
    rows: found.flatMap(({ rows }) => rows),
    idle: Math.max(...found.map(({ idle }) => idle)),
    peakMebibytes: peaks.length === 0 ? null : Math.max(...peaks),
  };
}

/** Access tokens of one grant, one for each refresh. */
async function refreshed(url: string, signedIn: SignedIn | undefined): Promise<readonly string[]> {
  const tokens: string[] = [];
  for (let refreshToken = signedIn?.refreshToken ?? ""; tokens.length < manyTokens;) {
    const asked = { grant_type: "refresh_token", client_id: signedIn?.clientId ?? "", refresh_token: refreshToken };
    const response = await fetch(`${url}/oauth/token`, { method: "POST", body: new URLSearchParams(asked) });
    const made = await response.json();
    if (typeof made.access_token !== "string") throw new Error(`no token: ${response.status} ${JSON.stringify(made)}`);
    tokens.push(made.access_token);
    refreshToken = made.refresh_token;
  }
  return tokens;
}

interface Callers {
  readonly url: string;
  readonly tokens: readonly string[];
}

interface Browser {
  readonly url: string;
  readonly cookies: ReadonlyMap<string, string>;
}

type Sent = ReturnType<typeof encodeRequest>;

function send(url: string, token: string, { headers, body }: Sent, signal: AbortSignal): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body,
    signal,
  });
}

async function post(...asked: Parameters<typeof send>): Promise<string> {
  const response = await send(...asked);
  return await response.text();
}

function callOf(name: string, given: Readonly<Record<string, unknown>>): Sent {
  return encodeRequest({ method: "tools/call", params: { name, arguments: given }, isModern: true });
}

/** A client that calls itself ChatGPT's, alone. */
async function rowsOfChatGpt({ url, tokens: [token = ""] }: Callers): Promise<readonly AskedRow[]> {
  const clientInfo = { name: "openai-mcp", version: "1" };
  const begun = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const say = (method: string, params?: unknown) =>
    post(url, token, encodeRequest({ method, params }), AbortSignal.timeout(60_000));
  await say("initialize", begun);
  const listed = await say("tools/list");
  if (!listed.includes('"name":"fetch"')) throw new Error(`fetch is not offered: ${listed.slice(0, 300)}`);
  const words = Array.from({ length: 6 }, (_, index) => `${"é".repeat(150)}${index}`).join(" ");
  const calls: Readonly<Record<string, readonly [string, Readonly<Record<string, unknown>>]>> = {
    "search: the longest words": ["search", { query: words }],
    "search: words that are everywhere": ["search", { query: "aa some words of line bb" }],
    "search: a query as large as a body": ["search", { query: "é,a=b\n".repeat(30_000) }],
    "fetch: a large file": ["fetch", { id: "large.txt" }],
    "fetch: a line of megabytes": ["fetch", { id: "line.txt" }],
    "fetch: a file that JSON doubles": ["fetch", { id: "quotes.txt" }],
    "fetch: a near name": ["fetch", { id: `names/${"ab".repeat(20)}1é-` }],
    "fetch: an id as large as a body": ["fetch", { id: "é,a=b\n".repeat(30_000) }],
  };
  return Object.entries(calls).map(([name, [tool, input]]) => ({
    name: `ChatGPT, ${name}`,
    leaveAfterMs: 2_000,
    ask: (_, leaving) => post(url, token, callOf(tool, input), leaving),
  }));
}

function rowsOfTokens(whose: string, { url, tokens }: Callers): readonly AskedRow[] {
  const sent = (what: string, tool: string, time: number) => callOf(tool, dearCalls[tool]?.[what]?.(time) ?? {});
  const kinds = Object.entries(ofManyTokens);
  const row = (name: string, sentAs: (time: number) => Sent): AskedRow => ({
    name: `${whose}, ${name}`,
    atOnce: [manyTokens],
    leaveAfterMs: 2_000,
    ask: (time, leaving) => post(url, tokens[time] ?? "", sentAs(time), leaving),
  });
  const requests = ["deep JSON"].map((what) => {
    const request = dearRequests[what];
    if (request === undefined) throw new Error(`no request is called ${what}`);
    const encoded = encodeRequest(request);
    return row(what, () => encoded);
  });
  return [
    ...kinds.map(([what, tool]) => row(`${tool}: ${what}`, (time) => sent(what, tool, time))),
    ...requests,
    {
      name: `${whose}, large answers that nobody reads`,
      atOnce: [manyTokens],
      leaveAfterMs: unreadMs,
      async ask(time, leaving) {
        await send(url, tokens[time] ?? "", callOf("file_read", unread), leaving);
        await untilLeft(leaving);
      },
    },
    row("a different kind each", (time) => {
      const [what = "", tool = ""] = kinds[time % kinds.length] ?? [];
      return sent(what, tool, time);
    }),
  ];
}

/** Calls that wait for a person, from many clients; a stream of the page on which they show is open. */
function rowsOfHeldCalls(
  { url, tokens, cookies, dataDir }: Callers & Browser & { readonly dataDir: string },
): readonly AskedRow[] {
  return Object.entries(heldCalls).map(([name, [tool, argumentsOf]]) => ({
    name: `held, ${name}`,
    ...name.endsWith("a large file") ? { atOnce: [1, 8] } : {}, // an edit that a rule holds is tried to its end
    leaveAfterMs: heldOpenMs,
    afterwards: () => dropHeldCalls(dataDir),
    async ask(time, leaving) {
      const watching = time % manyTokens === 0 ? [follow({ url, cookies }, "/decisions", leaving)] : [];
      await Promise.allSettled([post(url, tokens[time] ?? "", callOf(tool, argumentsOf(time)), leaving), ...watching]);
    },
  }));
}

/**
 * Opens a page and its stream, and reads that until the person leaves. On a busy machine, too, the page is answered and
 * the stream has shown its parts before: otherwise nothing dear was asked for.
 */
async function follow({ url, cookies }: Browser, path: string, leaving: AbortSignal): Promise<void> {
  const headers = { cookie: Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ") };
  const signal = AbortSignal.timeout(mostPatienceMs);
  const page = await fetch(`${url}/console${path}`, { headers, signal, redirect: "manual" });
  const html = await page.text();
  if (page.status !== 200) throw new Error(`${path}: ${page.status} ${html.slice(0, 200)}`);
  const [section = "", query = ""] = path.slice(1).split("?");
  const asked = new URLSearchParams(query);
  asked.set("section", section);
  const left = new AbortController();
  const whileThere = AbortSignal.any([signal, left.signal]);
  const stream = await fetch(`${url}/console/events?${asked}`, { headers, signal: whileThere });
  if (stream.status !== 200) return await stream.body?.cancel(); // there are enough, or the page has none
  for await (const text of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (text.includes("data:")) void untilLeft(leaving).then(() => left.abort());
  }
}

/** Lets a client change every line of a file; gives the page of that change. */
async function changeOf({ url, tokens: [token = ""] }: Callers, owner: Person): Promise<string> {
  const edit = { path: "lines.txt", old_text: "a\n", new_text: "b\n", replace_all: true };
  await post(url, token, callOf("file_edit", edit), AbortSignal.timeout(60_000));
  const { html } = await openSignedIn(owner, `${url}/console/files?path=lines.txt&view=history`);
  const path = /href="[^"]*\/console(\/change\?[^"]+)"/.exec(html)?.[1]?.replaceAll("&amp;", "&");
  if (path === undefined) throw new Error(`no change is shown: ${html}`);
  return path;
}

/** Pages and their streams; then strangers, and the page that tells of them. */
function rowsOfPages(browser: Browser, paths: Readonly<Record<string, string>>): readonly AskedRow[] {
  const rows = Object.entries(paths).map(([name, path]): AskedRow => ({
    name: `console, ${name}`,
    leaveAfterMs: openMs,
    ask: (_, leaving) => follow(browser, path, leaving),
  }));
  const strangers: AskedRow = {
    name: "console, strangers who try to connect, with Troubleshooting open",
    async ask(time, leaving) {
      const watching = time === 0 ? [follow(browser, "/why", leaving)] : [];
      await Promise.allSettled([tryToConnect(browser.url, time, leaving), ...watching]);
    },
    atOnce: [60],
  };
  const after = rows.filter(({ name }) => ["console, Troubleshooting", "console, Clients"].includes(name));
  return [...rows, strangers, ...after.map((row) => ({ ...row, name: `${row.name} after the strangers` }))];
}

/** More steps than are kept, when sixty do it; each attempt from an address and by a name of its own. */
async function tryToConnect(url: string, stranger: number, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < attemptsOfStranger; attempt++) {
    const from = {
      "x-forwarded-for": `203.${stranger}.${attempt}.7`,
      "user-agent": `client-${stranger}-${attempt}/1.${attempt}`,
      "content-type": "application/json",
    };
    const ask = async (path: string, init: RequestInit = {}): Promise<string> => {
      const response = await fetch(`${url}${path}`, { ...init, headers: from, redirect: "manual", signal });
      return await response.text();
    };
    await ask("/mcp", { method: "POST", body: "{}" });
    await ask("/.well-known/oauth-protected-resource/mcp");
    await ask("/.well-known/oauth-authorization-server");
    const redirectUri = `https://${stranger}-${attempt}.example/callback`;
    const client = { client_name: `${"é".repeat(60)}${stranger}`, redirect_uris: [redirectUri] };
    const registered = await ask("/oauth/register", { method: "POST", body: JSON.stringify(client) });
    const id = /"client_id":"([^"]+)"/.exec(registered)?.[1] ?? `made-up-${attempt}`;
    await ask(
      `/oauth/authorize?${new URLSearchParams({ client_id: id, redirect_uri: redirectUri, response_type: "code" })}`,
    );
    await ask("/oauth/token", { method: "POST", body: "{}" });
    await ask(`/no/such/${stranger}`);
  }
}
