/** W3C Trace Context: which distributed trace a request belongs to. */
import type { Span, TraceContext, Tracer } from "../lib/tracer.ts";
import type { Exchange } from "./call.ts";
import { metaOf } from "./jsonrpc.ts";
import { CallInterrupted } from "./call_context.ts";
import type { ToolOutcome } from "./tool.ts";

const traceParent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const maxTraceParentLength = 512;

/**
 * The caller's context, from `_meta` of the request (MCP 2026-07-28, SEP-414) or else from the headers; `undefined`
 * without a valid `traceparent`, as if none had been sent (Trace Context §3.2.2). `tracestate` counts only beside it.
 */
export function traceContextOf(params: unknown, headers: Pick<Exchange, "header">): TraceContext | undefined {
  const meta = metaOf(params);
  const inBody = meta?.["traceparent"];
  if (typeof inBody === "string") {
    const found = parseTraceContext(inBody, meta?.["tracestate"], true);
    if (found !== undefined) return found;
  }
  const inHeader = headers.header("traceparent");
  return inHeader === null ? undefined : parseTraceContext(inHeader, headers.header("tracestate"), false);
}

function parseTraceContext(text: string, state: unknown, inMessage: boolean): TraceContext | undefined {
  const found = text.length > maxTraceParentLength ? null : traceParent.exec(text);
  if (found === null) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = found;
  if (version === "00" && more !== undefined) return undefined; // later versions may say more, this one may not
  if (more !== undefined && !isPrintable(more)) return undefined;
  const context = { traceId, spanId, flags, traceparent: text, inMessage };
  return typeof state === "string" && isTraceState(state) ? { ...context, tracestate: state } : context;
}

/** Visible ASCII only: the text goes into a header of requests to other systems. */
function isPrintable(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

// Trace Context §3.3.1.3; keys by Level 2, which takes a digit at the beginning too
const stateMember = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const maxStateMembers = 32;
const maxStateLength = 4_096; // 512 have to be passed on at least (§3.3.1.5)

/** Whether a `tracestate` is well-formed. One that is not is dropped whole, and the `traceparent` stays (§3.3). */
function isTraceState(text: string): boolean {
  if (text.length > maxStateLength) return false;
  const members = text.split(",").map((member) => member.replace(/^[ \t]+|[ \t]+$/g, "")).filter((it) => it !== "");
  return members.length > 0 && members.length <= maxStateMembers && members.every((member) => stateMember.test(member));
}

/** Runs a tool in a span, which lasts as long as the tool works, even after the call became a task. */
export function runToolInSpan(
  tracer: Tracer,
  name: string,
  run: () => ToolOutcome | Promise<ToolOutcome>,
): ToolOutcome | Promise<ToolOutcome> {
  if (!tracer.exports) return run();
  const span = tracer.begin({
    name: `execute_tool ${name}`,
    kind: "internal",
    attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name },
  });
  return span === null ? run() : endWithSpan(span, run);
}

async function endWithSpan(span: Span, run: () => ToolOutcome | Promise<ToolOutcome>): Promise<ToolOutcome> {
  try {
    const outcome = await span.run(run);
    if (!outcome.ok) span.fail(outcome.code);
    return outcome;
  } catch (error) {
    if (!(error instanceof CallInterrupted)) span.fail("internal_error");
    throw error;
  } finally {
    span.end();
  }
}
