/** `tools/call`: find the tool, require its scopes, understand and check its arguments, run it, encode its outcome. */
import { closestWord } from "../lib/suggestible.ts";
import { hasScopes } from "../lib/principal.ts";
import { fold, nearestTool, type RegisteredTool } from "./registry.ts";
import { headerParameterFault } from "./revision.ts";
import {
  answerError,
  answerInvalid,
  answerResult,
  CallInterrupted,
  encodeBlock,
  logCrash,
  mark,
  objectOf,
  refuseScopes,
  runInContext,
} from "./call.ts";
import type { Call, McpAnswer } from "./call.ts";
import { type ContentBlock, type Meaning, saysNothing, type Tool, type ToolOutcome } from "./tool.ts";
import { mcpErrorCode, rpcErrorCode } from "./jsonrpc.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { inSpan, type Tracer } from "../lib/tracer.ts";
import type * as z from "zod";
import { type LineRange, parseLineRange } from "../lib/line_range.ts";
import { failure, type Result, success } from "../lib/result.ts";

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

// The arguments, checked against the tool's schema: all problems are reported together.

/**
 * The arguments as the tool's `run` takes them, or a sentence for the model that names every fault. Other names and
 * forms that are certain are understood; `notes` gets what the answer has to say of that.
 */
export function parseToolInput(
  { tool, wholeSchema, parameters }: RegisteredTool,
  given: Readonly<Record<string, unknown>>,
  notes: string[] = [],
): Result<unknown, string> {
  if (isPlain(given, parameters)) {
    const parsed = tool.input.safeParse(given, { error: describeIssue });
    if (parsed.success) return success(parsed.data);
  }
  if (Object.keys(given).length > maxGiven) return failure(`Invalid arguments: more than ${maxGiven} were given`);
  const understood = understandArguments(tool, wholeSchema, given);
  const { names, faults } = understood;
  const parsed = tool.input.safeParse(understood.input, { error: (issue) => describeIssue(issue, names) });
  if (parsed.success && faults.length === 0) {
    notes.push(...understood.notes);
    return success(parsed.data);
  }
  const issues = parsed.success ? [] : parsed.error.issues.map(({ message }) => message);
  return failure([...new Set([...faults, ...issues])].slice(0, maxFaults).join("; "));
}

/** Whether there is nothing in it to understand otherwise. */
function isPlain(given: Readonly<Record<string, unknown>>, parameters: ReadonlySet<string>): boolean {
  for (const name of Object.keys(given)) {
    const value = given[name];
    if (!parameters.has(name) || typeof value === "object") return false;
    if (value === "" || value === "[]" || listLike.test(String(value))) return false;
  }
  return true;
}

const ownNames: ReadonlyMap<string, string> = new Map();

/** What a JSON type is called in a sentence. */
const typeWords: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

/** Messages for issues without one in the tool's schema. They name the argument, never its value. */
function describeIssue(issue: z.core.$ZodRawIssue, names = ownNames): string {
  const name = shownName(issue.path ?? [], names);
  if (issue.input === undefined && name !== "") return `${name} parameter is required`;
  const subject = name === "" ? "arguments" : name;
  switch (issue.code) {
    case "invalid_type":
      return `${subject} must be ${typeWords[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `${subject} must be one of: ${issue.values.map(String).join(", ")}`;
    case "too_small": {
      const bound = issue.inclusive === false ? "more than" : "at least";
      return `${subject} must ${sizeWords(bound, issue.minimum, issue.origin)}`;
    }
    case "too_big": {
      const bound = issue.inclusive === false ? "less than" : "at most";
      return `${subject} must ${sizeWords(bound, issue.maximum, issue.origin)}`;
    }
    case "invalid_format":
      return issue.pattern === undefined
        ? `${subject} must be a valid ${issue.format}`
        : `${subject} must match the pattern ${issue.pattern}`;
    case "not_multiple_of":
      return `${subject} must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return name === "" ? `unknown parameter: ${issue.keys.join(", ")}` : `${name} has no ${issue.keys.join(", ")}`;
    default:
      return `${subject} is not valid`;
  }
}

/** The words for one bound of a size, by what is measured. */
const unitWords: Readonly<Record<string, string>> = {
  string: " characters",
  array: " items",
  set: " items",
  file: " bytes",
};

function sizeWords(bound: string, size: number | bigint, origin: string): string {
  const unit = unitWords[origin];
  if (unit === undefined) return `be ${bound} ${size}`;
  return `have ${bound} ${size}${Number(size) === 1 ? unit.replace(/s$/, "") : unit}`;
}

// Arguments as models and their hosts send them, read as the tool's schema has them: other names, JSON in the other
// form, `null` and empty texts for what is left out. Only what can mean nothing else is taken; the rest stays for the
// schema to refuse.

/** Faults that one refusal names. */
const maxFaults = 20;
/** Arguments of one call that are looked at: each that is unknown is compared with all names. */
const maxGiven = 1_000;
/** Shorter names differ too little from one another. */
const minFolded = 3;
/** Characters of an argument's name that a refusal repeats. */
const maxShownName = 64;

/**
 * What hosts add to every call, whatever the schema says. Where a tool has such a parameter itself, only the values
 * that are the host's are passed over.
 */
const hostArguments: Readonly<Record<string, readonly unknown[]>> = {
  _meta: [], // MCP reserves it wherever a caller passes an object (2025-11-25, basic)
  // n8n: n8n-io/n8n#21500, #21716, #22787, #37308
  ...{ toolCallId: [], sessionId: [], chatInput: [], action: ["sendMessage", "loadPreviousSession"], tool: [] },
  ...{ tool_call_id: [], run_manager: [], thread_id: [] }, // LangChain
  ...{ wait_for_previous: [] }, // Gemini CLI: google-gemini/gemini-cli#27403
  ...{ toolSummary: [], toolAction: [], waitForPreviousTools: [] }, // Antigravity
  ...{ explanation: [] }, // Cursor
  ...{ task_progress: [], requires_approval: [] }, // Cline
  ...{ projectPath: [], security_risk: [] }, // JetBrains; OpenHands
};

type Path = readonly (string | number)[];
type Members = Readonly<Record<string, unknown>>;

const propertiesOf = ({ properties }: Members): Members => isObject(properties) ? properties : {};

/**
 * Reads arguments by a tool's schema and its other names: gives them by the parameters' own names. Lists that are longer
 * than the tool takes are left as they are.
 */
function understandArguments(tool: Tool, schema: Members, given: Members) {
  const faults: string[] = [];
  /** What was taken otherwise than it was sent. */
  const notes: string[] = [];
  /** The caller's names, by paths such as `edits.0.old_text`. */
  const names = new Map<string, string>();
  const meanings = tool.aliases ?? {};
  /** The arguments, and what their objects hold that is a parameter beside these: `{ options: { num_predict: 5 } }`. */
  const sentAtRoot = Object.entries(given);
  const input = membersOf(schema, given, []);
  return { input, faults, notes, names };

  function membersOf(level: Members, given: Members, path: Path): Members {
    const properties = propertiesOf(level);
    const isOpen = level["additionalProperties"] !== undefined && level["additionalProperties"] !== false;
    const taken = new Map<string, unknown>();
    const calledBy = new Map<string, string>();
    const later: (() => void)[] = [];

    const subject = path.length === 0 ? tool.name : shownName(path, names);
    const unknown: string[] = [];
    const refuse = (name: string, sent: unknown, instead?: string): void => {
      const isOfRoot = path.length === 1 && meaningOf(name, sent, given, propertiesOf(schema)) !== null;
      if (isOfRoot) return void sentAtRoot.push([name, sent]);
      if (faults.length + unknown.length >= maxFaults) return;
      const plain = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const nearest = instead === undefined ? nearestParameter(plain, properties) : null;
      const shown = name.slice(0, maxShownName).toWellFormed();
      if (instead !== undefined) faults.push(`${shownName([...path, name], names)}: ${instead}`);
      else if (nearest !== null) faults.push(`${subject} has no ${shown}; did you mean ${nearest}?`);
      else unknown.push(shown);
    };
    const disagree = (one: string, other: string): void =>
      void faults.push(`${one} and ${other} are one parameter with different values; give one of them`);
    const put = (name: string, parameter: string, sent: unknown, largest = false): void => {
      const property = properties[parameter];
      if (sent === "" && isEmptyAbsent(property)) return;
      if (isNone(sent) && isObject(property) && mayBeNone(property)) return;
      const place = [...path, parameter];
      if (name !== parameter) names.set(place.join("."), name);
      const value = converted(property, sent, place);
      const other = calledBy.get(parameter);
      if (other === undefined) {
        taken.set(parameter, value);
        calledBy.set(parameter, name);
      } else if (largest) taken.set(parameter, Math.max(Number(textOf(taken.get(parameter))), Number(textOf(value))));
      else if (isObject(property) && property["joined"] === true) {
        taken.set(parameter, [...new Set([taken.get(parameter), value].flat())]);
      } else if (jsonText(taken.get(parameter)) !== jsonText(value)) disagree(other, name);
    };
    const putInside = (name: string, parameter: string, member: string, value: unknown): void => {
      if (value === "") return;
      const property = properties[parameter];
      const place = [...path, parameter];
      const held = taken.get(parameter) ?? {};
      const form = typeof held === "string" && isObject(property) ? property["written"] : undefined;
      if (form === "lines") {
        taken.set(parameter, `${held}\n${converted(property, { [member]: value }, place)}`);
        return;
      }
      const holder = form === "values" ? parseJson(String(held)) : held;
      const made = converted(property, isObject(holder) ? { ...holder, [member]: value } : undefined, place);
      const isFirst = isObject(holder) && !Object.hasOwn(holder, member);
      if (isFirst) taken.set(parameter, made);
      else if (form === "values") refuse(name, value, `give it in ${parameter}`);
      else if (isObject(made) && jsonText(made) !== jsonText(holder)) disagree(`${parameter}.${member}`, name);
    };
    const take = (name: string, meaning: Meaning, sent: unknown): void => {
      const { to, values = {}, as, sets = {}, instead }: Exclude<Meaning, string> = typeof meaning === "string"
        ? { to: meaning }
        : meaning;
      const key = textOf(sent).toLowerCase();
      const value = Object.hasOwn(values, key) ? values[key] : sent;
      if (value === undefined || meaning === saysNothing) return; // says what is so anyway
      if (instead !== undefined && isNone(sent)) return;
      const [parameter, member] = to?.split(".") ?? [];
      if (parameter === undefined || !Object.hasOwn(properties, parameter)) return refuse(name, sent, instead);
      if (as === "lines") {
        const lines = linesOf(value);
        const { startLine, endLine, tail } = lines ?? { tail: 0 };
        if (endLine === 0 || tail === 0) return void faults.push(`${name} must be two line numbers, such as 2-4`);
        if (startLine !== undefined) put(name, "start_line", startLine || 1); // some count from 0
        if (endLine !== undefined) put(name, "end_line", endLine);
        if (tail !== undefined) put(name, "tail", tail);
      } else if (as === "order") {
        const [by, way] = orderOf(value);
        put(name, parameter, Object.hasOwn(values, by.toLowerCase()) ? values[by.toLowerCase()] : by);
        if (way !== undefined) put(name, "order", way.toLowerCase());
        else if (by.startsWith("-")) faults.push(`${name}: give order, asc or desc, in place of -`);
      } else if (member !== undefined) later.push(() => putInside(name, parameter, member, value));
      else if (as === "opposite") {
        const truth = truthOf(value);
        put(name, parameter, truth === null ? value : !truth);
      } else if (as === "from_end" && Number(textOf(value)) < 0) put(name, "tail", -Number(value));
      else put(name, parameter, value, as === "largest");
      later.push(() => {
        for (const [other, set] of Object.entries(sets)) if (!taken.has(other)) put(other, other, set);
      });
    };

    for (const [name, value] of path.length === 0 ? sentAtRoot : Object.entries(given)) {
      const isOwn = Object.hasOwn(properties, name);
      if (value === null && (isOwn ? !takesNull(properties[name]) : !isOpen)) continue;
      const host = path.length === 0 && Object.hasOwn(hostArguments, name) ? hostArguments[name] : undefined;
      if (host !== undefined && (!isOwn || host.includes(value))) continue;
      const meaning = meaningOf(name, value, given, properties);
      if (meaning !== null) take(name, meaning, value);
      else if (isOpen) taken.set(name, value);
      else refuse(name, value);
    }
    for (const each of later) each();
    if (unknown.length > 0) {
      const parameters = Object.keys(properties);
      const takes = parameters.length === 0 ? "no arguments" : parameters.join(", ");
      faults.push(`${subject} has no ${unknown.join(", ")}; it takes ${takes}`);
    }
    for (const [name, meaning] of Object.entries(meanings)) {
      if (typeof meaning === "object" && meaning.first !== undefined) takeFirst(taken, name, meaning);
    }
    return Object.fromEntries(taken);
  }

  /** The parameter of which one of the names is spelled nearly so. */
  function nearestParameter(plain: string, properties: Members): string | null {
    const parameters = Object.keys(properties);
    const others = new Map(Object.entries(meanings).map(([name, to]) => [name, String(to).split(".")] as const));
    for (const [name, [to = ""]] of others) if (!parameters.includes(to)) others.delete(name);
    const word = closestWord(plain, [...parameters, ...others.keys()]);
    return word === null || parameters.includes(word) ? word : others.get(word)?.at(-1) ?? null;
  }

  /** What a name means among these; `null` for one that means nothing. */
  function meaningOf(name: string, value: unknown, given: Members, properties: Members): Meaning | null {
    const meaning = Object.hasOwn(meanings, name) ? meanings[name] : undefined;
    const isOwn = Object.hasOwn(properties, name);
    if (meaning !== undefined && holds(meaning, value, given) && (!isOwn || isNamed(meaning, properties))) {
      const further = typeof meaning === "string" && Object.hasOwn(meanings, meaning) ? meanings[meaning] : undefined;
      const isFurther = typeof further === "object" && further.beside === undefined && holds(further, value, given);
      const isKnown = isFurther && (isNamed(further, properties) || (further.to ?? further.first) === undefined);
      return isKnown ? further : meaning;
    }
    if (isOwn) return name;
    const plain = fold(name);
    if (plain.length < minFolded) return null;
    const alike = [...Object.keys(properties), ...Object.keys(meanings)].find((each) => fold(each) === plain);
    return alike === undefined || alike === name ? null : meaningOf(alike, value, given, properties);
  }

  function converted(property: unknown, value: unknown, path: Path): unknown {
    const branches = isObject(property) ? property["anyOf"] ?? [property] : [];
    for (const branch of Array.isArray(branches) ? branches : []) {
      const made = isObject(branch) ? convertedTo(branch, value, path) : value;
      if (made !== value || (isObject(branch) && typeOf(value) === branch["type"])) return made;
    }
    return value;
  }

  function convertedTo(property: Members, value: unknown, path: Path): unknown {
    const { type, items } = property;
    switch (type) {
      case "string":
        return property["written"] === "range" && isObject(value) ? rangeText(value, path) : asText(property, value);
      case "boolean":
        return truthOf(value) ?? value;
      case "integer":
      case "number":
        return clamped(property, asNumber(value, type), path);
      case "array": {
        const list = asList(items, value);
        if (!Array.isArray(list) || list.length > Number(property["maxItems"] ?? list.length)) return list;
        return list.map((item, index) => converted(items, item, [...path, index]));
      }
      case "object": {
        const parsed = typeof value === "string" ? parseJson(value) : value;
        if (!isObject(parsed)) return value;
        return isObject(property["properties"]) ? membersOf(property, parsed, path) : parsed;
      }
      default:
        return value;
    }
  }

  /** A file and lines of it, by the tool's own names for these, as the end of a path asks for them; else the value. */
  function rangeText(value: Members, path: Path): unknown {
    const known = faults.length;
    const members = membersOf(schema, value, path);
    const { filename, path: own, start_line: first, end_line: last, limit, tail, ...others } = members;
    const name = filename ?? own;
    if (faults.length > known || typeof name !== "string" || Object.keys(others).length > 0) return value;
    const isLine = (each: unknown): boolean => each === undefined || (Number.isSafeInteger(each) && Number(each) >= 1);
    if (![first, last, limit, tail].every(isLine)) {
      faults.push(`${shownName(path, names)} must have line numbers from 1`);
      return name;
    }
    const end = last ?? (limit === undefined ? "" : Number(first ?? 1) + Number(limit) - 1);
    if (tail !== undefined) return first === undefined && end === "" ? `${name}:-${tail}` : value;
    // of a:2026 the lines, where a:2026:1-3 may be characters of a
    return first === undefined && end === "" ? name : `${name}:L${first ?? 1}-${end}`;
  }

  function clamped({ maximum, clamped }: Members, value: unknown, path: Path): unknown {
    if (clamped !== true || typeof value !== "number" || typeof maximum !== "number" || value <= maximum) return value;
    notes.push(`${shownName(path, names)}: ${maximum} instead of ${value}, which is above the limit`);
    return maximum;
  }
}

/** A parameter's path as its caller writes it: `edits[0].old_string`. */
function shownName(path: readonly PropertyKey[], names: ReadonlyMap<string, string>): string {
  let shown = "";
  for (const [index, part] of path.entries()) {
    const own = names.get(path.slice(0, index + 1).join(".")) ?? String(part);
    shown += typeof part === "number" ? `[${part}]` : shown === "" ? own : `.${own}`;
  }
  return shown;
}

function holds(meaning: Meaning, value: unknown, given: Members): boolean {
  if (typeof meaning === "string") return true;
  const { beside, form, to } = meaning;
  const isBeside = (name: string): boolean => beside?.includes(name.startsWith("-") ? name : fold(name)) === true;
  if (beside !== undefined && (Object.hasOwn(given, to ?? "") || !Object.keys(given).some(isBeside))) return false;
  const list = listOf(value);
  if (form === "list" || form === "several") return list !== null && (form === "list" || list.length > 1);
  return form === undefined || (typeof value === "string" && !/^(?:|true|false|yes|no|on|off|[01])$/i.test(value));
}

/** The JSON text of an object, or of a list of texts or objects. */
const listLike = /^\s*(?:\[\s*["{]|\{\s*")/;

/** A list, also as its JSON text; `null` for what is none. */
function listOf(value: unknown): readonly unknown[] | null {
  const list = typeof value === "string" && listLike.test(value) ? parseJson(value) : value;
  return Array.isArray(list) ? list : null;
}

/** Whether the parameter that a meaning is about is one of these. */
function isNamed(meaning: Meaning, properties: Members): boolean {
  if (typeof meaning === "string" || meaning.first !== undefined) return false;
  return meaning.instead !== undefined || Object.hasOwn(properties, meaning.to ?? "");
}

/** Where the one that comes first was left out, or has the list's form, the list holds it. What it says is not of the others. */
function takeFirst(taken: Map<string, unknown>, list: string, meaning: Exclude<Meaning, string>): void {
  const { first = "", sets = {} } = meaning;
  const lead = listOf(taken.get(first) ?? []);
  if (lead === null) return;
  const rest = taken.get(list) ?? [];
  const [head, ...others] = [...lead, ...Array.isArray(rest) ? rest : [rest]];
  if (head === undefined) return;
  const wasTaken = new Set(taken.keys());
  if (!isObject(head)) taken.set(first, head);
  else for (const [name, value] of Object.entries(head)) if (!taken.has(name)) taken.set(name, value);
  const own = Object.entries(sets).filter(([name]) => isObject(head) && name in head && !wasTaken.has(name));
  const plain = others.map((each) => isObject(each) ? { ...Object.fromEntries(own), ...each } : each);
  if (others.length > 0) taken.set(list, plain);
  else taken.delete(list);
}

function takesNull(property: unknown): boolean {
  if (!isObject(property)) return true;
  const branches = Array.isArray(property["anyOf"]) ? property["anyOf"] : [property];
  return branches.some((each) => !isObject(each) || each["type"] === undefined || each["type"] === "null");
}

/** An empty list. */
const isNone = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Of a text: a guard, or a text to write, is no list, and an empty one is not left out. PHP writes an empty object so. */
const mayBeNone = ({ type, properties, written, empty }: Members): boolean =>
  type === "string" ? written === undefined || empty === "absent" : properties !== undefined;

/** Whether an empty text can only mean that the parameter was left out. */
function isEmptyAbsent(property: unknown): boolean {
  if (!isObject(property)) return false;
  const { type, anyOf, enum: values, empty } = property;
  return empty === "absent" || values !== undefined || anyOf !== undefined || (type !== undefined && type !== "string");
}

function typeOf(value: unknown): string {
  return Array.isArray(value) ? "array" : typeof value;
}

/** In the form that JSON writes; with decimals where there may be some, as templates write them: `0.20`. */
function asNumber(value: unknown, type: string): unknown {
  if (typeof value !== "string") return value;
  if (type === "number" && /^-?\d*\.\d+$/.test(value)) return Number(value);
  const number = Number(value);
  return Number.isFinite(number) && String(number) === value ? number : value;
}

/** As JavaScript has it; nothing for an object with a `toString` of its own, or a list that is nested too deeply. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "";
  }
}

/** A truth value, also as a text, Python's too; `null` for anything else. */
function truthOf(value: unknown): boolean | null {
  const text = textOf(value).toLowerCase();
  return text === "true" || (text === "false" ? false : null);
}

/** A list that came as JSON text, or as its only item. */
function asList(items: unknown, value: unknown): unknown {
  const parsed = typeof value === "string" && /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
  const isOfObjects = isObject(items) && (items["type"] === "object" || items["written"] === "range");
  if (Array.isArray(parsed) || (isOfObjects && isObject(parsed))) return [parsed].flat();
  if (typeof value === "string" && isObject(items) && items["type"] === "string") return [value];
  if (Array.isArray(value) || !isOfObjects || !isObject(value)) return value;
  return Object.keys(value).length === 0 ? [] : [value];
}

/** A text parsed as the form that the parameter declares, or as another case of one of its values. */
function asText({ written, enum: values }: Members, sent: unknown): unknown {
  const [first, second] = written === "values" && Array.isArray(sent) ? sent : [];
  const only = isObject(first) && !("value" in first) && second === undefined ? first : sent;
  const value = written === "lines" || written === "values" ? fieldsOf(sent, written) ?? only : sent;
  const mayBeList = /^(?:lines|values|commas)$/.test(String(written)) && typeof value === "string" &&
    listLike.test(value);
  const parsed = mayBeList ? parseJson(value) : undefined;
  if (Array.isArray(parsed) || (written === "lines" && isObject(parsed))) return asText({ written }, parsed);
  if (typeof value === "string") {
    if (!Array.isArray(values) || values.includes(value)) return value;
    if (value.startsWith("-")) return value; // it may say that the order is the other one
    return values.find((each) => fold(String(each)) === fold(value)) ?? value;
  }
  if (written === undefined) { // a list of one text is that text, and content blocks are theirs
    const parts = [value].flat();
    const texts = parts.map((part) => isObject(part) && part["type"] === "text" ? part["text"] : part);
    const isOne = parts.length === 1 || (parts.length > 0 && parts.every(isObject));
    return isOne && texts.every((text) => typeof text === "string") ? texts.join("\n") : value;
  }
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  const isLines = Array.isArray(value) && (value.length > 0 || written !== "exact") &&
    value.every((each) => typeof each === "string");
  if (written === "either" && isLines && value.length > 0) {
    return value.length === 1 ? value[0] : `{${value.join(",")}}`;
  }
  if (written === "either") return value;
  if (written === "json") return isLines || typeof value !== "object" ? value : jsonText(value, 2) ?? value;
  if (isLines) return value.join(written === "commas" ? "," : "\n");
  if (!isObject(value) || written === "commas" || written === "exact") return value;
  if (written === "values") return jsonText(value) ?? value;
  const lines = Object.entries(value).map(([name, wanted]) => [name, [wanted].flat()] as const);
  if (lines.some(([, wanted]) => wanted.some((each) => each === null || typeof each === "object"))) return value;
  return lines.map(([name, wanted]) => `${name}=${wanted.join("|")}`.replace(/\s+/g, " ")).join("\n");
}

/** Fields as other servers take them, `[{"field": "state", "operator": "=", "value": "New"}]`; `null` for anything else. */
function fieldsOf(value: unknown, written: "lines" | "values"): unknown {
  const fields: [name: string, operator: unknown, wanted: unknown][] = [];
  for (const each of Array.isArray(value) ? value : []) {
    const { field, name = field, operator = "=", value: wanted, ...others } = isObject(each) ? each : {};
    const isPlain = /^(?:string|number|boolean)$/.test(typeof wanted);
    const isKnown = written === "lines" ? typeof operator === "string" : operator === "="; // a value is set, not compared
    if (typeof name !== "string" || !isPlain || !isKnown || Object.keys(others).length > 0) return null;
    if (written === "values" && fields.some(([other]) => other === name)) return null;
    fields.push([name, operator, wanted]);
  }
  if (fields.length === 0) return null;
  return written === "lines"
    ? fields.map((field) => field.join(" "))
    : Object.fromEntries(fields.map(([name, , wanted]) => [name, wanted]));
}

/** `undefined` where a value is nested too deeply to be written. */
function jsonText(value: unknown, indent = 0): string | undefined {
  try {
    return JSON.stringify(value, null, indent) + (indent > 0 ? "\n" : "");
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const maxOrderCharacters = 100;

/** What to sort by, and which way: `name desc`, `size:asc`, `{"field": "size", "direction": "asc"}`, `{"size": "asc"}`. */
function orderOf(value: unknown): readonly [by: string, way?: string] {
  const one = Array.isArray(value) && value.length === 1 ? value[0] : value;
  const parts = isObject(one) ? Object.entries(one) : [];
  const text = parts.length === 0 ? textOf(one) : (parts.length === 1 ? parts : parts.map(([, each]) => [each]))
    .flat().map(textOf).join(" ");
  // of a longer text the look would take its length squared
  const [, by, way] = text.length > maxOrderCharacters
    ? []
    : /^\s*(.*?[a-z])[\s:,_-]*(asc|desc)(?:ending)?\s*$/i.exec(text) ?? [];
  return by === undefined || way === undefined ? [text] : [by, way];
}

/** What the first line of a range is called, its last one, and their number. */
const lineNames = [
  ["start", "from", "start_line", "startLine"],
  ["end", "to", "end_line", "endLine"],
  ["limit", "count", "length"],
];

/** Lines by their first and last, of which -1 is the end; `null` for what is no range. */
function linesOf(given: unknown): LineRange | null {
  const value = Array.isArray(given) && given.length === 1 ? given[0] : given;
  if (typeof value === "string") return parseLineRange(value);
  if (Array.isArray(value) && value.length !== 2) return null;
  const parts: unknown[] = Array.isArray(value) ? [...value, undefined] : lineNames.map((names) => {
    const found = Object.entries(isObject(value) ? value : {}).filter(([name]) => names.includes(name));
    return found.length > 1 ? null : found[0]?.[1];
  });
  const known = parts.filter((part) => part !== undefined);
  if (isObject(value) && known.length < Object.keys(value).length) return null;
  const [first = NaN, to = -1, lines] = parts.map((part) => part === undefined ? undefined : Number(textOf(part)));
  if (lines !== undefined && parts[1] !== undefined) return null;
  const last = lines === undefined ? to : (first || 1) + lines - 1;
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last) || first < 0 || last < -1) return null;
  return { startLine: first, ...last >= 0 ? { endLine: last } : {} };
}
