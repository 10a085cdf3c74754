/**
 * Deno's own OpenTelemetry, typed as far as it is used here. It exports by the runtime's own connections, past the
 * permissions of this isolate, to where the variables OTEL_... of the process say.
 */

/** Where a span belongs, as OpenTelemetry's JavaScript API has it. */
interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

/** What another span may be below: one of ours, or a caller's. */
export interface ParentSpan {
  spanContext(): SpanContext;
}

interface RecordedSpan extends ParentSpan {
  setAttribute(name: string, value: unknown): RecordedSpan;
  setStatus(status: { readonly code: number }): RecordedSpan;
  updateName(name: string): RecordedSpan;
  end(): void;
}

interface SpanSource {
  startSpan(
    name: string,
    options: {
      readonly kind: number;
      readonly attributes: object;
      readonly links: readonly { readonly context: SpanContext }[];
    },
    context: { getValue(key: symbol): unknown },
  ): RecordedSpan;
}

interface DenoTelemetry {
  readonly tracerProvider: { getTracer(name: string, version: string): SpanSource };
}

export const spanKey = Symbol.for("OpenTelemetry Context Key SPAN");

/** A status code of OpenTelemetry's JavaScript API. */
export const statusError = 2;

/**
 * Deno's telemetry where this process was started with OTEL_DENO=true, else `null`: Deno registers its parts under this
 * symbol then, which needs no permission to read the environment. With OTEL_DENO_TRACING=false its own spans of
 * `Deno.serve` and `fetch` are off, and ours are still exported.
 */
export function findTelemetry(): (DenoTelemetry & { readonly exportsOwnSpans: boolean }) | null {
  const api = Reflect.get(globalThis, Symbol.for("opentelemetry.js.api.1")) as { readonly trace?: unknown } | undefined;
  if (api === undefined) return null; // before Deno loads its code for it
  const telemetry = Deno.telemetry as DenoTelemetry | undefined; // absent before Deno 2.4
  if (telemetry === undefined) return null;
  return { tracerProvider: telemetry.tracerProvider, exportsOwnSpans: api.trace !== undefined };
}
