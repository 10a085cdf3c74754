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
  readonly tracestate?: string;
  /** Whether it came with the message itself, and not with the HTTP request that carried it. */
  readonly inMessage: boolean;
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

/** Runs `work` in a span that ends when it does; what it throws fails the span. Without spans, only runs it. */
export function inSpan<T>(
  tracer: Tracer,
  start: SpanStart,
  work: () => Promise<T>,
  typeOf: (error: unknown) => string,
): Promise<T> {
  const span = tracer.exports ? tracer.begin(start) : null;
  if (span === null) return work();
  return span.run(work).then(
    (result) => {
      span.end();
      return result;
    },
    (error) => {
      span.fail(typeOf(error));
      span.end();
      throw error;
    },
  );
}

/** Sends a request, or answers one, in a span that has its status; a status from `failsFrom` on fails the span. */
export async function inHttpSpan(
  span: Span,
  failsFrom: number,
  exchange: () => Promise<Response>,
): Promise<Response> {
  try {
    const response = await span.run(exchange);
    span.set({ "http.response.status_code": response.status });
    if (response.status >= failsFrom) span.fail(String(response.status));
    return response;
  } catch (error) {
    span.fail(error instanceof Error ? error.name : "_OTHER");
    throw error;
  } finally {
    span.end();
  }
}
