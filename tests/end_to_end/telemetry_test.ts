/** Distributed tracing of a server as it is started: spans to a collector, and the caller's trace to other systems. */
import assert from "node:assert/strict";
import { freePort } from "../fixtures/free_port.ts";
import { form } from "../fixtures/forms/chosen_form.ts";
import { modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startOllama } from "../fixtures/ollama.ts";
import { type ExportedSpan, type OtlpCollector, startCollector } from "../fixtures/otlp_collector.ts";
import { approve, ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { startServicenow } from "../fixtures/servicenow/instance.ts";
import { connectAs } from "../fixtures/servicenow/client.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const callerSpan = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${callerSpan}-01`;
const baggage = "user=BAGGAGE-TEXT";

async function tokenFor(place: ServerPlace, scope: string): Promise<string> {
  const { stdout } = await runCommand(["token", "create", "--scope", scope, "--data-dir", place.dataDir]);
  return stdout.trim();
}

/** Calls and gives what the tool answered. */
async function call(
  url: string,
  token: string,
  message: unknown,
  headers: Record<string, string>,
): Promise<{ readonly isError?: boolean }> {
  const response = await postMcp(url, message, { token, headers });
  assert.equal(response.status, 200);
  return (await response.json()).result;
}

/** A call of 2026-07-28 that brings its trace with itself. */
function callWithMeta(name: string, input: Record<string, unknown>, meta: Record<string, string>) {
  const { message, headers } = modernRequest("tools/call", { name, arguments: input });
  const params = message["params"] as { readonly _meta: object };
  return { message: { ...message, params: { ...params, _meta: { ...params._meta, ...meta } } }, headers };
}

/** A compiled program has of telemetry what it was compiled with: its log tells. */
async function exportsSpans(): Promise<boolean> {
  if (form.name === "start") return true;
  await using place = await makeServerPlace();
  const { stderr } = await runCommand(["stdio", "--data-dir", place.dataDir, "--workspace", place.workspaceDir], {
    env: { OTEL_DENO: "true", OTEL_DENO_TRACING: "false", OLLAMA_HOST: "127.0.0.1:1" },
  });
  return stderr.includes("telemetry_on");
}

const ignore = !await exportsSpans();

function exporting(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `${name}${ignore ? " (skipped: the program is compiled without telemetry)" : ""}`, ignore, fn });
}

/** Each span of a trace with the names of those above it, each path once. */
function pathsOf({ spans }: OtlpCollector, trace: string): Set<string> {
  const known = new Map(spans.filter((span) => span.traceId === trace).map((span) => [span.spanId, span]));
  const pathOf = (span: ExportedSpan): string => {
    const parent = known.get(span.parentSpanId);
    if (parent !== undefined) return `${pathOf(parent)} > ${span.name}`;
    return `${span.parentSpanId === callerSpan ? "caller" : span.parentSpanId || "none"} > ${span.name}`;
  };
  return new Set(Array.from(known.values(), pathOf));
}

function spansNamed({ spans }: OtlpCollector, name: string): readonly ExportedSpan[] {
  return spans.filter((span) => span.name === name);
}

function assertAbsent(text: string, words: readonly string[]): void {
  for (const word of words) assert.ok(word.length > 3 && !text.includes(word), `${word} was exported`);
}

exporting(
  "OTEL_DENO=true: one trace over request, tool and upstream, without a word of contents",
  async () => {
    await using collector = startCollector();
    await using ollama = await startOllama({ models: [{ name: "tinyllama", answer: () => "ANSWER-TEXT" }] });
    await using place = await makeServerPlace();
    const token = await tokenFor(place, "llm:generate,files:read,files:write");
    await using server = await startServer(place, {
      env: { ...collector.env, OLLAMA_HOST: ollama.url, WORKSPACE_STORE: "storage" },
    });
    const headers = { traceparent, baggage };
    const generated = await call(server.url, token, toolCall("llm_generate", { prompt: "PROMPT-TEXT" }), headers);
    assert.equal(generated.isError, false);
    const input = { filename: "FILE-NAME.txt", content: "FILE-TEXT" };
    assert.equal((await call(server.url, token, toolCall("file_write", input), headers)).isError, false);
    const page = await fetch(server.setUpLink ?? "");
    assert.ok((await page.text()).includes("passphrase"));
    assert.equal((await server.stop()).code, 0);

    const paths = pathsOf(collector, traceId);
    const toolPath = (name: string): string => `caller > tools/call ${name} > execute_tool ${name}`;
    for (
      const path of [
        `${toolPath("llm_generate")} > POST`,
        `${toolPath("file_write")}`,
      ]
    ) assert.ok(paths.has(path), `${path} is not among\n${[...paths].join("\n")}`);

    const [tool] = spansNamed(collector, "tools/call llm_generate");
    assert.deepEqual([tool?.kind, tool?.attributes["mcp.method.name"], tool?.attributes["gen_ai.tool.name"]], [
      "server",
      "tools/call",
      "llm_generate",
    ]);
    const audited = server.stderr().split("\n").filter((line) => line.includes('"llm_generate"')).map((line) =>
      JSON.parse(line)
    );
    assert.equal(audited[0]?.traceId, traceId);
    assert.equal(tool?.attributes["portcullis.request.id"], audited[0]?.requestId, "the span leads to the audit line");
    const [running] = spansNamed(collector, "execute_tool llm_generate");
    const [upstream] = spansNamed(collector, "POST").filter(({ parentSpanId }) => parentSpanId === running?.spanId);
    assert.equal(upstream?.kind, "client");
    const asked = ollama.requests.find(({ path }) => path === "/api/generate")?.headers;
    assert.equal(asked?.get("traceparent"), `00-${traceId}-${upstream?.spanId}-01`, "once, with the child's span");
    assert.equal(asked?.get("baggage"), undefined);

    assert.ok(collector.spans.every(({ scope }) => scope === "portcullis"), "the runtime exports no spans of its own");
    assertAbsent(collector.text(), [
      ...["PROMPT-TEXT", "ANSWER-TEXT", "FILE-NAME", "FILE-TEXT", "BAGGAGE-TEXT", token],
      new URL(server.setUpLink ?? "").searchParams.get("code") ?? "",
      place.workspaceDir,
    ]);
    assert.ok(collector.metrics.has("http.server.request.duration"));
  },
);

exporting(
  "OTEL_DENO=true: what came in _meta is the parent (SEP-414), and failures are errors",
  async () => {
    await using collector = startCollector();
    await using place = await makeServerPlace();
    const token = await tokenFor(place, "llm:generate,files:read");
    await using server = await startServer(place, { env: { ...collector.env, OLLAMA_HOST: "127.0.0.1:1" } });
    const inMeta = "a".repeat(16);
    const read = callWithMeta("file_read", { filename: "gone.txt" }, { traceparent: `00-${traceId}-${inMeta}-01` });
    assert.equal((await call(server.url, token, read.message, { ...read.headers, traceparent })).isError, true);
    const generated = await call(server.url, token, toolCall("llm_generate", { prompt: "PROMPT-TEXT" }), {});
    assert.equal(generated.isError, true);
    const refused = await postMcp(server.url, toolCall("file_write", { filename: "a", content: "b" }), { token });
    assert.equal(refused.status, 403);
    await refused.body?.cancel();
    const unknown = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "MADE/UP" }, { token });
    await unknown.body?.cancel();
    assert.equal((await server.stop()).code, 0);

    const [request] = spansNamed(collector, "tools/call file_read");
    assert.deepEqual([request?.traceId, request?.parentSpanId], [traceId, inMeta]);
    const errors = (name: string): unknown[] =>
      spansNamed(collector, name).map(({ isError, attributes }) => [isError, attributes["error.type"]]);
    assert.deepEqual(errors("tools/call file_read"), [[true, "tool_error"]]);
    assert.deepEqual(errors("execute_tool file_read"), [[true, "not_found"]]);
    assert.deepEqual(errors("tools/call llm_generate"), [[true, "tool_error"]]);
    assert.deepEqual(errors("execute_tool llm_generate"), [[true, "ollama_unreachable"]]);
    assert.deepEqual(errors("tools/call file_write"), [[true, "insufficient_scope"]]);
    assert.deepEqual(errors("_OTHER"), [[true, "-32601"]]);
    const [generate] = spansNamed(collector, "tools/call llm_generate");
    assert.ok(server.stderr().includes(`"traceId":"${generate?.traceId}"`), "a trace that began here is audited too");
    assertAbsent(collector.text(), ["PROMPT-TEXT", "gone.txt", "MADE/UP", token]);
  },
);

exporting(
  "OTEL_DENO=true: calls of ServiceNow are spans of the caller's trace; codes, tokens and searches are in none",
  async () => {
    await using collector = startCollector();
    const port = freePort();
    await using instance = await startServicenow({ redirectUri: `http://127.0.0.1:${port}/servicenow/callback` });
    await using place = await makeServerPlace();
    await using server = await startServer(place, {
      args: ["--port", String(port)],
      env: {
        ...collector.env,
        SERVICENOW_INSTANCE: instance.origin,
        SERVICENOW_CLIENT_ID: instance.client.clientId,
        SERVICENOW_CLIENT_SECRET: instance.client.clientSecret,
        SIGN_IN: "servicenow",
      },
    });
    const client = await connectAs(server, instance, "ada", { headers: { traceparent } });
    const found = await client.callTool({
      name: "servicenow_search",
      arguments: { table: "incident", text: "SEARCH-TEXT" },
    });
    assert.equal(found.isError, false, JSON.stringify(found.content));
    await instance[Symbol.asyncDispose]();
    const lost = await client.callTool({
      name: "servicenow_search",
      arguments: { table: "incident", text: "LOST-TEXT" },
    });
    assert.equal(lost.isError, true);
    await client.close();
    assert.equal((await server.stop()).code, 0);

    const path = "caller > tools/call servicenow_search > execute_tool servicenow_search";
    const paths = pathsOf(collector, traceId);
    assert.ok(paths.has(`${path} > GET`), [...paths].join("\n"));
    const searched = instance.requests.filter(({ query }) => String(query).includes("SEARCH-TEXT"));
    assert.ok(searched.length > 0);
    for (const { headers } of searched) {
      assert.match(headers["traceparent"] ?? "", new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    }
    const bearer = searched[0]?.headers["authorization"]?.replace("Bearer ", "") ?? "";
    const failed = collector.spans.filter(({ name, isError }) => name === "GET" && isError);
    assert.ok(failed.length > 0 && failed.every(({ attributes }) => attributes["error.type"] === "TypeError"));
    assertAbsent(collector.text(), [
      "LOST-TEXT",
      "SEARCH-TEXT",
      instance.client.clientSecret,
      bearer,
      "code=",
      "state=",
      "code_challenge",
    ]);
  },
);

exporting(
  "OTEL_DENO=true: no code, token or secret of signing in is in anything that a collector receives",
  async () => {
    await using collector = startCollector();
    await using place = await makeServerPlace();
    await using server = await startServer(place, { env: { ...collector.env, OLLAMA_HOST: "127.0.0.1:1" } });
    const person = createPerson(server.url);
    await setUpOwner(person, server);
    const redirectUri = "http://127.0.0.1:8976/callback";
    const registered = await fetch(`${server.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [redirectUri], client_name: "App" }),
    });
    const { client_id: id, client_secret: secret } = await registered.json();
    const [verifier, state] = ["VERIFIER-".repeat(6), "STATE-TEXT"];
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    const challenge = new Uint8Array(digest).toBase64({ alphabet: "base64url", omitPadding: true });
    const query = new URLSearchParams({
      response_type: "code",
      client_id: id,
      redirect_uri: redirectUri,
      code_challenge: challenge,
      code_challenge_method: "S256",
      state,
      scope: "files:read",
    });
    const callback = await approve(person, new URL(`${server.url}/oauth/authorize?${query}`));
    const code = callback.searchParams.get("code") ?? "";
    const authorization = `Basic ${btoa(`${id}:${secret}`)}`;
    const redeem = async (fields: Record<string, string>): Promise<Record<string, string>> => {
      const body = new URLSearchParams(fields);
      const response = await fetch(`${server.url}/oauth/token`, { method: "POST", headers: { authorization }, body });
      const tokens = await response.json();
      assert.equal(response.status, 200, JSON.stringify(tokens));
      return tokens;
    };
    const first = await redeem({
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    });
    const second = await redeem({ grant_type: "refresh_token", refresh_token: first["refresh_token"] ?? "" });
    const token = second["access_token"] ?? "";
    assert.equal((await call(server.url, token, toolCall("file_list", {}), {})).isError, false);
    for (const path of [`/oauth/authorize%3Fcode=${code}`, `/nowhere/${code}?token=${token}`, `/setup;code=${code}`]) {
      await (await fetch(server.url + path)).body?.cancel();
    }
    await (await fetch(`${server.url}/mcp?token=${token}`, { method: "MADEUP" })).body?.cancel();
    assert.equal((await server.stop()).code, 0);

    assert.ok(spansNamed(collector, "tools/call file_list").length > 0);
    assertAbsent(collector.text(), [
      ...[code, verifier, challenge, state, secret, ownerPassphrase],
      ...[first, second].flatMap((tokens) => [tokens["access_token"] ?? "", tokens["refresh_token"] ?? ""]),
      new URL(server.setUpLink ?? "").searchParams.get("code") ?? "",
      authorization.slice("Basic ".length),
    ]);
    assertAbsent(JSON.stringify(collector.spans), ["MADEUP"]); // the runtime's metrics say it
  },
);

exporting("a server whose runtime would export spans of its own does not start", async () => {
  await using collector = startCollector();
  await using place = await makeServerPlace();
  const env = { ...collector.env, OTEL_DENO_TRACING: "true" };
  for (const command of [["serve", "--port", "0"], ["stdio"]]) {
    const places = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir];
    const { code, stderr } = await runCommand([...command, ...places], { env });
    assert.deepEqual([code, /^error: .*\nhint: set OTEL_DENO_TRACING=false/m.test(stderr)], [1, true], stderr);
  }
});

Deno.test("without OTEL_DENO a caller's valid trace goes on unchanged, an invalid one not, and none is made up", async () => {
  await using ollama = await startOllama({ models: [{ name: "tinyllama" }] });
  await using place = await makeServerPlace();
  const token = await tokenFor(place, "llm:generate");
  await using server = await startServer(place, { env: { OLLAMA_HOST: ollama.url } });
  const sentFor = async (message: unknown, headers: Record<string, string>): Promise<unknown[]> => {
    const before = ollama.requests.length;
    assert.equal((await call(server.url, token, message, headers)).isError, false);
    const asked = ollama.requests.slice(before).filter(({ path }) => path === "/api/generate");
    return asked.flatMap(({ headers }) => ["traceparent", "baggage"].map((name) => headers.get(name)));
  };
  const generate = toolCall("llm_generate", { prompt: "hello" });
  const nothing = [undefined, undefined];
  assert.deepEqual(await sentFor(generate, { traceparent, baggage }), [traceparent, undefined]);
  assert.deepEqual(await sentFor(generate, {}), nothing);
  assert.deepEqual(await sentFor(generate, { traceparent: traceparent.toUpperCase() }), nothing);
  const other = `00-${"b".repeat(32)}-${"c".repeat(16)}-00`;
  const { message, headers } = callWithMeta("llm_generate", { prompt: "hello" }, { traceparent: other, baggage });
  assert.deepEqual(await sentFor(message, { ...headers, traceparent }), [other, undefined]);
  assert.equal((await server.stop()).code, 0);
  assert.ok(!server.stderr().includes("telemetry_on"));
});

exporting("OTEL_DENO=true: stdio has spans too, below the trace that came with the message", async () => {
  await using collector = startCollector();
  await using place = await makeServerPlace();
  const { message } = callWithMeta("file_list", {}, { traceparent });
  const { code } = await runCommand(["stdio"], {
    env: { ...collector.env, DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir },
    stdin: `${JSON.stringify(message)}\n`,
  });
  assert.equal(code, 0);
  assert.ok(pathsOf(collector, traceId).has("caller > tools/call file_list > execute_tool file_list"));
  assert.equal(spansNamed(collector, "tools/call file_list")[0]?.attributes["network.transport"], "pipe");
});
