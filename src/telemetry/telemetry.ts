/** What this process does with traces: exports spans of its own where Deno's telemetry is on, else passes them on. */
import type { Span, SpanStart, TraceContext, Tracer } from "../lib/tracer.ts";
import {
  contextKeys,
  type DenoTelemetry,
  findTelemetry,
  type RecordedSpan,
  statusError,
  type TelemetryContext,
} from "./deno_telemetry.ts";
import { createForwardedTrace, type ForwardedTrace } from "./forwarded_trace.ts";
import { isKnownMethod, unknownMethod } from "./http_method.ts";
import { redactSpans } from "./redact_spans.ts";

/** The tracer, and what the adapters take in its place. */
export interface Telemetry {
  readonly tracer: Tracer;
  /** `fetch` for requests to other systems: they learn of the caller's trace. */
  readonly fetch: typeof globalThis.fetch;
  /** Names the span of the HTTP request that is answered after its route, if it has one. */
  nameRequest(method: string, route: string | null): void;
}

const scopeName = "portcullis";
const kinds = { internal: 0, server: 1, client: 2 } as const;

/** With what only a start needs to know. */
interface CreatedTelemetry extends Telemetry {
  /** Whether the spans that Deno writes by itself are exported with secrets in them, since they cannot be redacted. */
  readonly leaksSecrets: boolean;
}

/** Builds it, once in an isolate. */
export async function createTelemetry(version: string): Promise<CreatedTelemetry> {
  const deno = findTelemetry();
  const forwarded = createForwardedTrace();
  if (deno === null) return { ...forwardingTelemetry(forwarded), leaksSecrets: false };
  const isRedacted = await redactSpans(deno);
  return { ...exportingTelemetry(deno, forwarded, version), leaksSecrets: !isRedacted };
}

function forwardingTelemetry(forwarded: ForwardedTrace): Telemetry {
  return {
    tracer: {
      exports: false,
      begin: ({ parent }) => parent === undefined ? null : new ForwardedSpan(parent, forwarded),
    },
    fetch: forwarded.fetchWith(fetch, false),
    nameRequest: () => {},
  };
}

/** A span that nobody records: it only carries the caller's trace. */
class ForwardedSpan implements Span {
  readonly #trace: TraceContext;
  readonly #forwarded: ForwardedTrace;
  constructor(trace: TraceContext, forwarded: ForwardedTrace) {
    this.#trace = trace;
    this.#forwarded = forwarded;
  }
  get traceId(): string {
    return this.#trace.traceId;
  }
  run<T>(work: () => T): T {
    return this.#forwarded.run(this.#trace, work);
  }
  set(): void {}
  rename(): void {}
  fail(): void {}
  end(): void {}
}

function exportingTelemetry(deno: DenoTelemetry, forwarded: ForwardedTrace, version: string): Telemetry {
  const { contextManager } = deno;
  const source = deno.tracerProvider.getTracer(scopeName, version);
  const currentSpan = (context: TelemetryContext): RecordedSpan | undefined =>
    context.getValue(contextKeys.span) as RecordedSpan | undefined;

  const begin = ({ name, kind, attributes, parent }: SpanStart): Span => {
    const active = contextManager.active();
    const ambient = currentSpan(active);
    // SEP-414: what came with the message is its parent, and the HTTP request that carried it is linked. What came by
    // header is the parent of the HTTP request already.
    const adopts = parent !== undefined && (parent.inMessage || ambient === undefined);
    const base = adopts ? active.setValue(contextKeys.span, remoteSpan(parent)) : active;
    const links = adopts && ambient !== undefined ? [{ context: ambient.spanContext() }] : [];
    const span = source.startSpan(name, { kind: kinds[kind], attributes, links }, base);
    const inside = base.setValue(contextKeys.span, span);
    return {
      traceId: span.spanContext().traceId,
      run(work) {
        const within = (): ReturnType<typeof work> => contextManager.with(inside, work);
        return parent === undefined ? within() : forwarded.run(parent, within);
      },
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

  return {
    tracer: { exports: true, begin },
    fetch: forwarded.fetchWith(
      // Baggage is the caller's text: it goes to no other system.
      (input, init) =>
        contextManager.with(contextManager.active().deleteValue(contextKeys.baggage), () => fetch(input, init)),
      true,
    ),
    nameRequest(method, route) {
      if (route === null) return;
      const span = currentSpan(contextManager.active());
      span?.updateName(`${isKnownMethod(method) ? method : unknownMethod.name} ${route}`);
      span?.setAttribute("http.route", route);
    },
  };
}

/** The caller's span, as a parent is told to OpenTelemetry. */
function remoteSpan({ traceId, spanId, flags }: TraceContext): Pick<RecordedSpan, "spanContext"> {
  const context = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
  return { spanContext: () => context };
}
