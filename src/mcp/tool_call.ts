/** `tools/call`: find the tool, require its scopes, check its input, run it, encode its outcome. */
import { closestWord } from "../lib/suggestible.ts";
import { hasScopes, type Principal } from "../lib/principal.ts";
import type { RegisteredTool, ToolRegistry } from "./registry.ts";
import { headerParameterFault } from "./revision.ts";
import { fold, parseToolInput } from "./tool_input.ts";
import {
  answerError,
  answerInvalid,
  answerResult,
  type Call,
  CallInterrupted,
  encodeBlock,
  logCrash,
  mark,
  type McpAnswer,
  objectOf,
  refuseScopes,
  runInContext,
} from "./call.ts";
import type { ContentBlock, ToolOutcome } from "./tool.ts";
import { mcpErrorCode, rpcErrorCode } from "./jsonrpc.ts";
import { isObject } from "../lib/json.ts";
import { inSpan, type Tracer } from "../lib/tracer.ts";

/** Answers `tools/call`. */
export function callTool(call: Call): McpAnswer | Promise<McpAnswer> {
  const { tools } = call.runtime;
  const params = call.request.params;
  if (!isObject(params)) return answerInvalid(call, "params must be an object");
  const { name } = params;
  const input = objectOf(params["arguments"]);
  if (typeof name !== "string") return answerInvalid(call, "params.name must be a string");
  const registered = tools.get(name);
  const profile = registered?.tool.profile;
  if (registered === undefined || (profile !== undefined && profile !== call.exchange.profile.name)) {
    const nearest = nearestTool(name, tools, call.principal);
    const remedy = nearest === null ? "" : `; did you mean ${nearest}?`;
    return answerInvalid(call, `Unknown tool: ${name}${remedy}`);
  }
  const { tool } = registered;
  call.tool = name;
  call.scopes = tool.scopes;
  return hasScopes(call.principal, tool.scopes) ? runTool(registered, input, call) : refuseScopes(call, tool.scopes);
}

function runTool(registered: RegisteredTool, input: unknown, call: Call): McpAnswer | Promise<McpAnswer> {
  const { tool } = registered;
  if (!isObject(input)) return answerInvalid(call, "params.arguments must be an object");
  if (registered.headerParameters.length > 0 && call.revision.checksHeaderParameters && call.exchange.hasHeaders) {
    const fault = headerParameterFault(registered.headerParameters, input, call.exchange);
    if (fault !== null) return answerError(call, mcpErrorCode.headerMismatch, `Header mismatch: ${fault}`);
  }
  const notes: string[] = [];
  const parsed = parseToolInput(registered, input, notes);
  if (!parsed.ok) {
    return call.revision.invalidInputIsToolError
      ? answerOutcome(call, registered, { ok: false, code: "invalid_input", message: parsed.error })
      : answerInvalid(call, parsed.error);
  }
  call.input = parsed.value;
  return runInContext(call, {
    run(context) {
      const { tracer } = call.runtime;
      const run = () => tool.run(parsed.value as never, context);
      return tracer.exports ? inToolSpan(tracer, tool.name, run) : run();
    },
    encode: (outcome) =>
      conformsToOutput(registered, outcome)
        ? answerOutcome(call, registered, withNotes(outcome, notes))
        : answerCrash(call, registered, new TypeError("structuredContent does not fit the output schema"), null),
    crash: (error, words) => answerCrash(call, registered, error, words),
    fail: (code, message) => answerOutcome(call, registered, { ok: false, code, message }),
  });
}

/** The span lasts as long as the tool works, even after the call became a task. */
function inToolSpan(tracer: Tracer, name: string, run: () => ToolOutcome | Promise<ToolOutcome>): Promise<ToolOutcome> {
  const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name };
  return inSpan(
    tracer,
    { name: `execute_tool ${name}`, kind: "internal", attributes },
    run,
    (error) => error instanceof CallInterrupted ? null : "internal_error",
    (outcome) => outcome.ok ? null : outcome.code,
  );
}

function answerOutcome(call: Call, registered: RegisteredTool, outcome: ToolOutcome): McpAnswer {
  const answer = !outcome.ok && call.exchange.profile.toolFailureIsProtocolError
    ? {
      ...answerError(call, rpcErrorCode.internalError, `Tool execution failed: ${wordsOfFailure(outcome)}`),
      status: 200,
    }
    : answerResult(call, toToolResultText(registered, outcome, call), "complete", viewMeta(call, registered, outcome));
  if (!outcome.ok) mark(call, "tool_error", outcome.code);
  return answer;
}

/** What the client's view of the result gets beside it, which no model reads (SEP-1865, data passing). */
function viewMeta({ showsView, change }: Call, { tool }: RegisteredTool, outcome: ToolOutcome): string {
  if (!showsView || tool.hasView !== true) return "";
  const shown = outcome.ok
    ? { data: outcome.view?.() ?? outcome.structuredContent, change: change ?? undefined }
    : { code: outcome.code, waiting: outcome.waiting };
  return `"portcullis/view":${JSON.stringify({ title: tool.title, ...shown })}`;
}

function wordsOfFailure({ message, partial }: Extract<ToolOutcome, { ok: false }>): string {
  const texts = partial?.content.map((block) => block.type === "text" ? block.text : "") ?? [];
  return [message, ...texts].join("\n\n");
}

/** A success that says at its end how the arguments were taken. */
function withNotes(outcome: ToolOutcome, notes: readonly string[]): ToolOutcome {
  if (!outcome.ok || notes.length === 0) return outcome;
  const { encoded: _others, ...own } = outcome; // which were made without the notes
  return { ...own, content: [...own.content, { type: "text", text: `(${notes.join("; ")})` }] };
}

/** A tool that throws has a bug, or lost what it depends on: the log gets the reason, the caller the fact. */
function answerCrash(call: Call, registered: RegisteredTool, error: unknown, words: string | null): McpAnswer {
  const { name } = registered.tool;
  logCrash(call, "tool", name, error);
  return answerOutcome(
    call,
    registered,
    words === null
      ? { ok: false, code: "internal_error", message: `Internal error in tool ${name}` }
      : { ok: false, code: "machine_fault", message: words },
  );
}

const maxNameCharacters = 128;

/** The tool that the caller may use and that is called nearly so, here or elsewhere; `null` when none is. */
export function nearestTool(name: string, tools: ToolRegistry, principal: Principal): string | null {
  if (name.length > maxNameCharacters) return null;
  const offered = tools.all().map(({ tool }) => tool).filter(({ scopes, profile }) =>
    profile === undefined && hasScopes(principal, scopes)
  );
  // clients put a server's name before it: mcp__files__file_read, files.file_read
  const bare = name.split(/__|[./:]/).findLast((part) => part !== "") ?? name;
  const plain = fold(bare);
  const words = wordsIn(bare);
  const known = offered.map(({ name: own, knownAs }) => ({ own, names: [own, ...knownAs?.split(" ") ?? []] }));
  const found =
    known.find(({ own, names }) =>
      names.some((each) => plain === fold(each)) || (plain.endsWith(fold(own)) && /[^a-z]/i.test(name))
    ) ?? known.find(({ names }) => words !== "" && names.some((each) => words === wordsIn(each)));
  // find_and_replace, copy_path: what is done comes last, and the rest says nothing
  const verbs = allWordsIn(bare).filter((word) => word !== "" && !besideVerbs.includes(` ${word} `)).map((verb) =>
    known.find(({ names }) => names.includes(verb))?.own
  );
  const byVerb = verbs.includes(undefined) ? undefined : verbs.at(-1);
  return found?.own ?? byVerb ?? closestWord(name, offered.map(({ name: own }) => own));
}

const besideVerbs = " file files path paths text directory content contents line lines name names string strings " +
  "regex range keyword code in into to by and multi multiple many single new ";

/** What a name says: `file_copy`, `copyFiles` and `copy` are one. */
function wordsIn(name: string): string {
  return allWordsIn(name).filter((word) => !/^(?:files?|)$/.test(word)).sort().join("_");
}

function allWordsIn(name: string): string[] {
  const words = name.replace(/([a-z])(?=[A-Z])/g, "$1_").toLowerCase().split(/[_\W]+/);
  return words.map((word) => word.replace(/^(?:dirs?|folders?|directories)$/, "directory"));
}

/** Whether an outcome keeps what the tool's output schema promises. A failure without structured content always does. */
function conformsToOutput({ tool }: RegisteredTool, outcome: ToolOutcome): boolean {
  if (outcome.ok && outcome.encoded !== undefined && outcome.encoded.size > 0) return true; // as it was the last time
  const structured = outcome.ok ? outcome.structuredContent : outcome.partial?.structuredContent;
  if (tool.output === undefined || (!outcome.ok && structured === undefined)) return true;
  return tool.output.safeParse(structured).success;
}

/** What the encoding of a result depends on. */
type ResultReader = Pick<Call, "revision" | "exchange" | "resultForm">;

/** The JSON text of the result, made once where the outcome keeps it. */
function toToolResultText(registered: RegisteredTool, outcome: ToolOutcome, reader: ResultReader): string {
  if (!outcome.ok || outcome.encoded === undefined) return encodeResult(registered, outcome, reader);
  const { revision, exchange: { profile }, resultForm } = reader;
  const kind = `${revision.version} ${profile.addsMediaType} ${resultForm}`;
  return outcome.encoded.getOrInsertComputed(kind, () => encodeResult(registered, outcome, reader));
}

/**
 * The JSON text of the result. `isError` is always there, `content` is never empty. An error of a tool with a schema but
 * no part of an answer has no `structuredContent`, because clients would check it against the schema.
 */
function encodeResult(
  { outputSchema }: RegisteredTool,
  outcome: ToolOutcome,
  { revision, exchange: { profile }, resultForm }: ResultReader,
): string {
  const answer = outcome.ok ? outcome : outcome.partial;
  const own = answer?.structuredContent;
  const blocks: readonly ContentBlock[] = outcome.ok
    ? outcome.content
    : [{ type: "text", text: outcome.message }, ...answer?.content ?? []];
  const shown = blocks.map((block) => encodeBlock(block, revision, profile));
  if (shown.length === 0) shown.push({ type: "text", text: JSON.stringify(own ?? {}) }); // MCP 2025-06-18, server/tools
  const content = JSON.stringify(shown);
  const isError = `"isError":${!outcome.ok}`;
  const lacksSchema = outcome.ok || outputSchema === undefined;
  if (resultForm === "text" || (own === undefined && !lacksSchema)) return `{"content":${content},${isError}}`;
  const structured = own ?? (resultForm === "structured_or_empty" ? {} : { text: blocks.map(wordsOf).join("\n") });
  return `{"content":${content},"structuredContent":${JSON.stringify(structured)},${isError}}`;
}

/** A block for callers that read nothing but structured content. */
function wordsOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource":
      return block.resource.text ?? `(${block.resource.uri})`;
    case "resource_link":
      return `${block.name}: ${block.uri}`;
    case "image":
    case "audio":
      return `(${block.type}, ${block.mimeType})`;
  }
}
