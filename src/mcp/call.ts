/** One request on its way through the server, and the answers that end it. */
import type { Principal } from "../lib/principal.ts";
import type { Profile } from "./profile.ts";
import type { FrameReader } from "./streams.ts";
import { errorText, mcpErrorCode, refusalCode, resultText, rpcErrorCode } from "./jsonrpc.ts";
import type { RpcId, RpcRequest } from "./jsonrpc.ts";
import { type ClientAbility, tasksExtension } from "./question.ts";
import type { ResultType, Revision } from "./revision.ts";
import type { AuditEntry, Runtime } from "./runtime.ts";
import type { Session } from "./session.ts";
import type { ContentBlock } from "./tool.ts";
import { crashText, type Unavailability } from "../lib/system_fault.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { StandAside } from "../lib/turns.ts";

// What the protocol layer answers to one posted body. The HTTP endpoint, or stdio, turns it into bytes.

/** One answer. Refusals that the transport sends as a status are separate kinds. */
export type McpAnswer =
  | JsonAnswer
  /** Nothing to say: a notification or a posted response was taken. */
  | { readonly kind: "accepted"; readonly status: number }
  /** `scopes` are what the client should request. */
  | { readonly kind: "insufficient_scope"; readonly scopes: readonly string[]; readonly body: string }
  | { readonly kind: "rate_limited"; readonly retryAfterSeconds: number; readonly body: string }
  /** The database is lost for the moment. */
  | { readonly kind: "unavailable"; readonly retryAfterSeconds: number; readonly body: string }
  /** Messages as they come; the last one is the response, unless the stream belongs to no request. */
  | {
    readonly kind: "stream";
    readonly reader: FrameReader; /** The response alone, for callers that read JSON. */
    readonly isJson?: boolean;
  }
  /** A method of HTTP that is not served here. */
  | { readonly kind: "method_not_allowed"; readonly allow: string; readonly message?: string };

interface JsonAnswer {
  readonly kind: "json";
  readonly status: number;
  readonly body: string;
  readonly sessionId?: string;
  /** What was posted is no message of JSON-RPC 2.0. */
  readonly isMalformed?: true;
}

/** What the transport reports about the public part of the handshake, whose caller has shown no token. */
export interface PublicExchange {
  /** Names the request in audit and log. */
  readonly requestId: string;
  readonly profile: Profile;
  /** Whether requests have headers, which must then agree with their bodies. */
  readonly hasHeaders: boolean;
  /** A header's value; names are in lower case. `null` when absent, and for every header of a transport without any. */
  header(name: string): string | null;
}

/** What the transport reports about one posted body. */
export interface Exchange extends PublicExchange {
  readonly principal: Principal;
  /** Whether the answer may be a stream of messages. */
  readonly acceptsStream: boolean;
  /** Whether a caller whose connection is lost may come back for its answer. */
  readonly canComeBack: boolean;
  /** Aborts when the caller is gone. Costly to read: only for calls that wait for something. */
  readonly disconnected: AbortSignal;
}

/** A request with its surroundings, also one of the public handshake. The mutable fields are filled on the way. */
export interface PublicCall {
  readonly request: RpcRequest;
  readonly exchange: PublicExchange;
  readonly revision: Revision;
  readonly runtime: Runtime;
  /** What the audit record will say. */
  tool: string | null;
  outcome: AuditEntry["outcome"];
  code: string | null;
  change: string | null;
}

/**
 * What stands beside the text of a tool's result, which is written once, for a model: programs ask for more. `text`:
 * nothing. `structured`: the tool's structured content, or else the text itself, so that no caller reads an empty object
 * in place of the answer. `structured_or_empty`: `{}` where the tool has none, as ServiceNow's guide has it.
 */
type ResultForm = "text" | "structured" | "structured_or_empty";

/** A request that a token came with. */
export interface Call extends PublicCall {
  readonly exchange: Exchange;
  readonly principal: Principal;
  readonly session: Session | null;
  readonly resultForm: ResultForm;
  /** Whether the client shows views (MCP Apps). */
  readonly showsView: boolean;
  /** Whether the call is alone in its body: only then can its answer become a stream. */
  readonly isSingle: boolean;
  /** Of a batch: gives up its place among those of its caller, see `createParallelShare`. */
  readonly standAside?: StandAside | undefined;
  /** Gives the answer, where that begins before the response is there. */
  readonly beginAnswer: (answer: McpAnswer) => void;
  /** Gives the call's answer where it may have begun: itself, or what is left of the stream, to which it was added. */
  finish: ((answer: McpAnswer) => McpAnswer) | null;
  /** The tool's arguments by its own names, once they were understood. */
  input?: unknown;
  /** Scopes that the call required, and that reading its result therefore requires if it becomes a task. */
  scopes: readonly string[];
}

/** Notes for the audit how the call ended. */
export function mark(call: PublicCall, outcome: AuditEntry["outcome"], code: string = outcome): void {
  call.outcome = outcome;
  call.code = code;
}

/**
 * A successful answer around a result that is already JSON text; its type matters only where revisions have types.
 * `meta`: members of its `_meta`, as JSON text too.
 */
export function answerResult(
  call: PublicCall,
  result: string,
  resultType: ResultType = "complete",
  meta: string = "",
): JsonAnswer {
  return {
    kind: "json",
    status: 200,
    body: resultText(call.request.id, call.revision.encodeResult(result, resultType, meta)),
  };
}

/** A JSON-RPC error, at the HTTP status that the revision gives it. */
export function answerError(call: PublicCall, code: number, message: string, data?: unknown): JsonAnswer {
  mark(call, "protocol_error", String(code));
  return {
    kind: "json",
    status: call.revision.errorStatus(code),
    body: errorText(call.request.id, code, message, data),
  };
}

/** The refusal of params that are not as the method takes them. */
export function answerInvalid(call: PublicCall, message: string, data?: unknown): JsonAnswer {
  return answerError(call, rpcErrorCode.invalidParams, message, data);
}

/** The request's params; none where they are no object. */
export function paramsOf({ request: { params } }: PublicCall): Readonly<Record<string, unknown>> {
  return isObject(params) ? params : {};
}

/** An object, also as its JSON text; an empty one for nothing, and for an empty list, as PHP writes it. Else what it is. */
export function objectOf(given: unknown = {}): unknown {
  const parsed = typeof given === "string" ? parseJson(given || "{}") : given;
  return isObject(parsed) ? parsed : Array.isArray(parsed) && parsed.length === 0 ? {} : given;
}

/** The refusal of a call whose client did not declare what it needs (MCP 2026-07-28, basic: error codes). */
export function answerMissingCapability(call: PublicCall, abilities: readonly ClientAbility[]): JsonAnswer {
  const data = { requiredCapabilities: encodeRequiredCapabilities(abilities) };
  const message = `Missing required client capability: ${abilities.join(", ")}`;
  return answerError(call, mcpErrorCode.missingClientCapability, message, data);
}

/** The abilities as a `ClientCapabilities` object, for an error that says what is missing. */
function encodeRequiredCapabilities(abilities: Iterable<ClientAbility>): Readonly<Record<string, unknown>> {
  const encoded: Record<string, unknown> = {};
  for (const ability of abilities) {
    if (ability === "tasks") encoded["extensions"] = { [tasksExtension]: {} };
    else if (ability === "url_elicitation") encoded["elicitation"] = { url: {} };
    else if (ability === "structured_content") encoded["experimental"] = { structuredContent: {} };
    else encoded[ability] = {};
  }
  return encoded;
}

/** Refuses a client that did not declare the extension on this request. */
export function requireTasks(call: Call): JsonAnswer | null {
  const hasTasks = call.revision.capabilitiesOf(call.request, call.session).has("tasks");
  return hasTasks ? null : answerMissingCapability(call, ["tasks"]);
}

/** The answer to a call that lost the database on its way, or for which the machine lacks something. */
export function answerUnavailable(call: PublicCall, { cause, text, retryAfterSeconds }: Unavailability): McpAnswer {
  mark(call, "unavailable", cause);
  const body = errorText(call.request.id, refusalCode.unavailable, text, { retryAfterSeconds });
  return { kind: "unavailable", retryAfterSeconds, body };
}

/** Refuses a call whose token lacks some of the scopes that it needs. */
export function refuseScopes(call: Call, needed: readonly string[]): McpAnswer {
  mark(call, "insufficient_scope");
  return insufficientScope(call.request.id, needed, call.revision.challengesWithGranted ? call.principal.scopes : []);
}

/** The refusal of a call, or of a whole batch; its challenge names the scopes that are needed, and those granted. */
export function insufficientScope(id: RpcId | null, needed: readonly string[], granted: Iterable<string>): McpAnswer {
  const message = `This call needs the scopes: ${needed.join(" ")}`;
  const scopes = [...new Set([...granted, ...needed])];
  return { kind: "insufficient_scope", scopes, body: errorText(id, refusalCode.insufficientScope, message) };
}

/** The refusal of a message that comes too soon; `id` is that of the request, if it was one. */
export function tooManyCalls(id: RpcId | null, retryAfterSeconds: number): McpAnswer {
  const message = `Too many calls. Try again in ${retryAfterSeconds} s`;
  const body = errorText(id, refusalCode.rateLimited, message, { retryAfterSeconds });
  return { kind: "rate_limited", retryAfterSeconds, body };
}

/** Logs what a tool, prompt or resource threw. Its caller learns only that it failed. */
export function logCrash(
  { runtime, exchange: { requestId } }: Call,
  kind: "tool" | "prompt" | "resource",
  name: string,
  error: unknown,
): void {
  runtime.log.write("error", `${kind}_crashed`, { requestId, [kind]: name, error: crashText(error) });
}

/** A content block as this revision and this client's habits have it. */
export function encodeBlock(block: ContentBlock, revision: Revision, profile: Profile): unknown {
  if (block.type === "text") return block;
  if (block.type === "image" && profile.addsMediaType) return { ...block, media_type: block.mimeType };
  return revision.encodeContent(block);
}
