/**
 * Distributed tracing: exports spans of our own where Deno's telemetry is on, and passes a caller's trace on to the
 * systems that are asked on its behalf. Without telemetry that goes on unchanged (Trace Context §2.3, forwarding a
 * trace): a span of ours that is never reported would tear the trace in two.
 */
import type { Log } from "../lib/log.ts";
import { type AsyncContext, createAsyncContext } from "../lib/program.ts";
import { portOf } from "../lib/network.ts";
import { UnusableError } from "../lib/result.ts";
import { errorType, inSpan, type Span, type SpanStart, type TraceContext, type Tracer } from "../lib/tracer.ts";

// The used part of Deno's OpenTelemetry, typed. It exports by the runtime's own connections, past the
// permissions of this isolate, to where the variables OTEL_... of the process say.

/** What another span may be below: one of ours, or a caller's. */
interface ParentSpan {
  /** Where it belongs, as OpenTelemetry's JavaScript API has it. */
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
}

interface DenoTelemetry {
  readonly tracerProvider: {
    getTracer(name: string, version: string): {
      startSpan(
        name: string,
        options: { readonly kind: number; readonly attributes: object },
        context: { getValue(key: symbol): unknown },
      ): ParentSpan & {
        setAttribute(name: string, value: unknown): void;
        setStatus(status: { readonly code: number }): void;
        updateName(name: string): void;
        end(): void;
      };
    };
  };
}

const spanKey = Symbol.for("OpenTelemetry Context Key SPAN");

/** A status code of OpenTelemetry's JavaScript API. */
const statusError = 2;

/**
 * Deno's telemetry where this process was started with OTEL_DENO=true, else `null`: Deno registers its parts under this
 * symbol then, which needs no permission to read the environment. With OTEL_DENO_TRACING=false its own spans of
 * `Deno.serve` and `fetch` are off, and ours are still exported.
 */
function findTelemetry(): (DenoTelemetry & { readonly exportsOwnSpans: boolean }) | null {
  const api = Reflect.get(globalThis, Symbol.for("opentelemetry.js.api.1")) as { readonly trace?: unknown } | undefined;
  if (api === undefined) return null; // before Deno loads its code for it
  const telemetry = Deno.telemetry as DenoTelemetry | undefined; // absent before Deno 2.4
  if (telemetry === undefined) return null;
  return { tracerProvider: telemetry.tracerProvider, exportsOwnSpans: api.trace !== undefined };
}

/** The tracer, and what the adapters take in its place. */
export interface Telemetry {
  readonly tracer: Tracer;
  /** `fetch` for requests to other systems: it carries the trace, and is a span where spans are exported. */
  readonly fetch: typeof globalThis.fetch;
}

/** What is current where code runs. */
interface Active {
  /** The span that others begin below. */
  readonly span?: ParentSpan;
  /** What requests to other systems say. */
  readonly traceparent: string;
}

const scopeName = "portcullis";
const kinds = { internal: 0, server: 1, client: 2 } as const;

/** Refuses (`UnusableError`) if Deno would export its own spans: they hold whole URLs, and so one-time codes and searches. */
export function startTelemetry(
  { onDeploy }: { readonly onDeploy: boolean },
  { version, log }: { readonly version: string; readonly log: Log },
): Telemetry {
  const telemetry = createTelemetry(version);
  if (telemetry.tracer.exports) log.write("info", "telemetry_on", {});
  if (findTelemetry()?.exportsOwnSpans !== true) return telemetry;
  const problem = "Deno exports its own spans, with the codes and searches in URLs";
  // There, the variable cannot be set, and the spans go nowhere but to the page of the app's own owner.
  if (!onDeploy) throw new UnusableError(problem, "set OTEL_DENO_TRACING=false: the server exports its own spans");
  log.write("warn", "telemetry_leaks", { problem, remedy: "let only the owner see the traces" });
  return telemetry;
}

function createTelemetry(version: string): Telemetry {
  const active = createAsyncContext<Active>();
  const deno = findTelemetry();
  const tracer = deno === null
    ? forwardingTracer(active)
    : exportingTracer(deno.tracerProvider.getTracer(scopeName, version), active);
  return { tracer, fetch: tracedFetch(tracer, active) };
}

function forwardingTracer(active: AsyncContext<Active>): Tracer {
  const forward = ({ traceId, traceparent }: TraceContext): Span => ({
    traceId,
    run: (work) => active.run({ traceparent }, work),
    set() {},
    rename() {},
    fail() {},
    end() {},
  });
  return { exports: false, begin: ({ parent }) => parent === undefined ? null : forward(parent) };
}

function exportingTracer(
  source: ReturnType<DenoTelemetry["tracerProvider"]["getTracer"]>,
  active: AsyncContext<Active>,
): Tracer {
  const begin = ({ name, kind, attributes, parent }: SpanStart): Span => {
    const above = parent === undefined ? active.current()?.span : remoteSpan(parent);
    const span = source.startSpan(name, { kind: kinds[kind], attributes }, {
      getValue: (key) => key === spanKey ? above : undefined,
    });
    const { traceId, spanId, traceFlags } = span.spanContext();
    const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
    return {
      traceId,
      run: (work) => active.run({ span, traceparent }, work),
      set(further) {
        for (const [key, value] of Object.entries(further)) span.setAttribute(key, value);
      },
      rename: (text) => void span.updateName(text),
      fail(type) {
        span.setAttribute("error.type", type);
        span.setStatus({ code: statusError });
      },
      end: () => span.end(),
    };
  };
  return { exports: true, begin };
}

/** The caller's span as an OpenTelemetry parent. */
function remoteSpan({ traceId, spanId, flags }: TraceContext): ParentSpan {
  const context = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
  return { spanContext: () => context };
}

/** A client span says which host was asked and what it answered, and nothing of the URL's path and query. */
function tracedFetch(tracer: Tracer, active: AsyncContext<Active>): typeof globalThis.fetch {
  const send: typeof globalThis.fetch = (input, init) => {
    const trace = active.current();
    if (trace === undefined) return fetch(input, init);
    const headers = new Headers(init?.headers);
    headers.set("traceparent", trace.traceparent);
    return fetch(input, { ...init, headers });
  };
  if (!tracer.exports) return send;
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const method = init?.method ?? "GET";
    const attributes = { "http.request.method": method, "server.address": url.hostname, "server.port": portOf(url) };
    const failureOf = ({ status }: Response) => status < 400 ? null : String(status);
    return inSpan(tracer, { name: method, kind: "client", attributes }, () => send(input, init), errorType, failureOf);
  };
}
