/** The port to distributed tracing: what a part says of its work, and the trace that a caller says it belongs to. */

/** A caller's W3C Trace Context, checked. It is the sender's word and proves nothing. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The caller's span: 16 hexadecimal digits. */
  readonly spanId: string;
  /** Two hexadecimal digits. */
  readonly flags: string;
  /** The header as it came; a later version may say more than the parts above. */
  readonly traceparent: string;
}

/** What a span says: names and counts. Never contents, secrets, paths or what else a person typed. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** How a span begins; name and attributes by OpenTelemetry's semantic conventions. */
export interface SpanStart {
  readonly name: string;
  /** `client` waits for another system, `server` answers one. */
  readonly kind: "internal" | "server" | "client";
  readonly attributes: SpanAttributes;
  /** The caller's trace, which this span continues. */
  readonly parent?: TraceContext;
}

/** A piece of work that is under way. */
export interface Span {
  readonly traceId: string;
  /** Runs a part of the work: spans that begin in it, and requests that it sends, are below this span. */
  run<T>(work: () => T): T;
  set(attributes: SpanAttributes): void;
  rename(name: string): void;
  /** Says that the work failed; `type` is one of few words or numbers. */
  fail(type: string): void;
  end(): void;
}

export interface Tracer {
  /** Whether spans are exported. If not, there is only a caller's trace to pass on. */
  readonly exports: boolean;
  /** `null` where nothing is exported and there is no trace to pass on. */
  begin(start: SpanStart): Span | null;
}

/** A tracer that does nothing. */
export const noTracer: Tracer = { exports: false, begin: () => null };

/**
 * Runs `work` in a span that ends when it does. What it throws fails the span, and what it gives where `failureOf` says
 * so; `null` is no failure. Without spans, only runs it.
 */
export async function inSpan<T>(
  tracer: Tracer,
  start: SpanStart,
  work: () => T | Promise<T>,
  typeOf: (error: unknown) => string | null,
  failureOf: (result: T) => string | null = () => null,
): Promise<T> {
  const span = tracer.exports ? tracer.begin(start) : null;
  if (span === null) return await work();
  const note = (type: string | null): void => type === null ? undefined : span.fail(type);
  try {
    const result = await span.run(work);
    note(failureOf(result));
    return result;
  } catch (error) {
    note(typeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** `error.type` of what was thrown. */
export function errorType(error: unknown): string {
  return error instanceof Error ? error.name : "_OTHER";
}

// W3C Trace Context: which distributed trace a request belongs to.

const traceParent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const maxTraceParentLength = 512;

/**
 * The caller's context, from `_meta` of the request (MCP 2026-07-28, SEP-414) or else from the headers; `undefined`
 * without a valid `traceparent`, as if none had been sent (Trace Context §3.2.2).
 */
export function traceContextOf(
  meta: Readonly<Record<string, unknown>> | undefined,
  header: (name: string) => string | null,
): TraceContext | undefined {
  return parseTraceParent(meta?.["traceparent"]) ?? parseTraceParent(header("traceparent"));
}

function parseTraceParent(text: unknown): TraceContext | undefined {
  const found = typeof text !== "string" || text.length > maxTraceParentLength ? null : traceParent.exec(text);
  if (found === null) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = found;
  if (version === "00" && more !== undefined) return undefined; // later versions may say more, this one may not
  if (more !== undefined && !/^[\x21-\x7e]*$/.test(more)) return undefined; // it goes into a header of other requests
  return { traceId, spanId, flags, traceparent: found[0] };
}
