/**
 * Deno's own OpenTelemetry, typed as far as it is used here. It exports by the runtime's own connections, past the
 * permissions of this isolate, to where the variables OTEL_... of the process say.
 */

/** A span as OpenTelemetry's JavaScript API has it. */
export interface RecordedSpan {
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  setAttribute(name: string, value: unknown): RecordedSpan;
  setStatus(status: { readonly code: number; readonly message?: string }): RecordedSpan;
  updateName(name: string): RecordedSpan;
  end(): void;
}

/** What is current where code runs: the span among others. Contexts do not change; setting gives another one. */
export interface TelemetryContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): TelemetryContext;
  deleteValue(key: symbol): TelemetryContext;
}

/** Begins spans under a name of their own. */
interface SpanSource {
  startSpan(
    name: string,
    options: { readonly kind?: number; readonly attributes?: object; readonly links?: readonly object[] },
    context?: TelemetryContext,
  ): RecordedSpan;
}

export interface DenoTelemetry {
  readonly tracerProvider: { getTracer(name: string, version: string): SpanSource };
  readonly contextManager: {
    active(): TelemetryContext;
    with<T>(context: TelemetryContext, work: () => T): T;
  };
}

/** Under which keys OpenTelemetry's JavaScript API keeps its parts of a context. */
export const contextKeys = {
  span: Symbol.for("OpenTelemetry Context Key SPAN"),
  baggage: Symbol.for("OpenTelemetry Baggage Key"),
} as const;

/** Status codes of OpenTelemetry's JavaScript API. */
export const statusError = 2;

/**
 * Deno's telemetry where this process was started with tracing on (OTEL_DENO=true), else `null`. Deno registers a
 * provider under this symbol then, which is to be seen without permission to read the environment.
 */
export function findTelemetry(): DenoTelemetry | null {
  const api = Reflect.get(globalThis, Symbol.for("opentelemetry.js.api.1")) as { readonly trace?: unknown } | undefined;
  const telemetry = Deno.telemetry as DenoTelemetry | undefined; // absent before Deno 2.4
  return api?.trace === undefined || telemetry === undefined ? null : telemetry;
}
