/**
 * Sends the dearest calls of every tool, alone and many at once, while another principal pings and reads, and says how
 * long that one waited.
 */
import { join } from "node:path";
import { startServicenowServer } from "../../fixtures/servicenow/server.ts";
import { startOllamaProcess } from "../run_hostile_load.ts";
import { dearCalls, type DearRequest, dearRequests, dearValue, encodeRequest, untriedMethods } from "./dear_calls.ts";
import { type AskedRow, type FreezeOptions, type Measured, measureRows, untilLeft } from "./measure.ts";
import { plantFiles, undone } from "./planted_files.ts";

/** What was seen. */
export interface FreezeReport extends Measured {
  /** Tools and methods for which there is no call. */
  readonly untried: readonly string[];
}

const scope = "files:read files:write llm:generate servicenow:read servicenow:write";

/** Tries them all. */
export async function runFreezes(options: FreezeOptions): Promise<FreezeReport> {
  await using ollama = await startOllamaProcess();
  await using place = await startServicenowServer({
    ...{ MCP_RATE_LIMIT: "10000000", LLM_RATE_LIMIT: "1000000", LOG_FORMAT: "json" },
    ...{ OLLAMA_HOST: ollama.url },
  });
  const { url, pid, workspaceDir } = place.server;
  const [hostile, innocent] = [await place.signIn("ada", scope), await place.signIn("ben", scope)];
  await Deno.mkdir(workspaceDir, { recursive: true });
  await plantFiles(workspaceDir);
  await Deno.writeTextFile(join(workspaceDir, "innocent.txt"), "nothing to see\n".repeat(20));
  await Deno.writeTextFile(join(workspaceDir, "undo.txt"), undone.before);
  const post = ({ body, headers = {} }: Sent, signal: AbortSignal): Promise<Response> =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${hostile}`,
        ...headers,
      },
      body,
      signal,
    });
  const ask = async (method: string, params?: unknown): Promise<string> => {
    const response = await post({ body: rpc(method, params) }, AbortSignal.timeout(60_000));
    return await response.text();
  };
  const { tools } = JSON.parse(jsonOf(await ask("tools/list"))).result;
  const { old: _, ...edit } = { old: 0, path: "undo.txt", old_text: undone.oldText, new_text: undone.newText };
  await ask("tools/call", { name: "file_edit", arguments: edit });
  const changes = JSON.parse(jsonOf(await ask("tools/call", { name: "file_undo", arguments: {} }))).result;
  undone.change = changes.structuredContent.changes[0].change;
  await Deno.writeTextFile(join(workspaceDir, "undo.txt"), undone.later);

  const order = { url, token: innocent, filename: "innocent.txt", controlUrl: `${ollama.url}/api/version` };
  const rows = requests(tools, options.atOnce).map(([name, sentAs, { unreadMs, atOnce }]): AskedRow => ({
    name,
    leaveAfterMs: unreadMs,
    ...atOnce === undefined ? {} : { atOnce },
    async ask(time, leaving) {
      const response = await post(sentAs(time), leaving);
      if (unreadMs === undefined) await response.text();
      else await untilLeft(leaving);
    },
  }));
  return { ...await measureRows(rows, { ...order, pid }, options), untried: untried(tools) };
}

interface ListedTool {
  readonly name: string;
  readonly inputSchema: { readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
}

interface Sent {
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Of the revision whose calls are cancelled when their caller leaves: what was given up does not go on for minutes. */
function sentCall(name: string, given: Readonly<Record<string, unknown>>): Sent {
  return encodeRequest({ method: "tools/call", params: { name, arguments: given }, isModern: true });
}

function* requests(
  tools: readonly ListedTool[],
  rounds: readonly number[],
): Generator<
  readonly [name: string, sentAs: (time: number) => Sent, how: Pick<DearRequest, "unreadMs"> & Pick<AskedRow, "atOnce">]
> {
  for (const { name, inputSchema: { properties } } of tools) {
    for (const [what, argumentsOf] of Object.entries(dearCalls[name] ?? {})) {
      yield [`${name}: ${what}`, (time) => sentCall(name, argumentsOf(time)), {}];
    }
    const large = Object.fromEntries(Object.entries(properties).map(([key, schema]) => [key, dearValue(schema)]));
    const keys = Object.keys(properties);
    // each parameter by itself, beside the usual ones of a call
    const withLarge = (key: string, time: number): Sent => {
      const usual = Object.values(dearCalls[name] ?? {})[0]?.(time) ?? {};
      return sentCall(name, { ...usual, [key]: large[key] });
    };
    if (rounds.includes(1)) {
      for (const key of keys) yield [`${name}: ${key} as large as a body`, () => withLarge(key, 0), { atOnce: [1] }];
    }
    yield [
      `${name}: each parameter as large as a body`,
      (time) => withLarge(keys[time % keys.length] ?? "", time),
      { atOnce: rounds.filter((times) => times > 1) },
    ];
  }
  for (const [what, request] of Object.entries(dearRequests)) {
    const sent = encodeRequest(request);
    yield [what, () => sent, request];
  }
}

function untried(tools: readonly ListedTool[]): readonly string[] {
  return [...tools.map(({ name }) => name).filter((name) => dearCalls[name] === undefined), ...untriedMethods()];
}

function rpc(method: string, params?: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, ...(params === undefined ? {} : { params }) });
}

/** The message of an answer, which may be an event stream. */
function jsonOf(text: string): string {
  return text.startsWith("{") ? text : /^data: (\{.*)$/m.exec(text)?.[1] ?? text;
}
