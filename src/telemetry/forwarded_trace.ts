/**
 * Passes a caller's trace on to the systems that are asked on its behalf. Without telemetry it goes on unchanged (Trace
 * Context §2.3, forwarding a trace): a span of ours that nobody ever reports would tear the trace in two.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { TraceContext } from "../lib/tracer.ts";

/** The trace of the code that runs. */
export interface ForwardedTrace {
  /** Runs `work`, and what it waits for, as a part of this trace. */
  run<T>(trace: TraceContext, work: () => T): T;
  /** `fetch` that says the trace. One that is instrumented by Deno says `traceparent` by itself, but no `tracestate`. */
  fetchWith(fetch: typeof globalThis.fetch, isInstrumented: boolean): typeof globalThis.fetch;
}

export function createForwardedTrace(): ForwardedTrace {
  const current = new AsyncLocalStorage<TraceContext>();
  return {
    run: (trace, work) => current.run(trace, work),
    fetchWith: (fetch, isInstrumented) => (input, init) => {
      const trace = current.getStore();
      if (trace === undefined || (isInstrumented && trace.tracestate === undefined)) return fetch(input, init);
      const headers = new Headers(init?.headers);
      if (!isInstrumented) headers.set("traceparent", trace.traceparent);
      if (trace.tracestate !== undefined) headers.set("tracestate", trace.tracestate);
      return fetch(input, { ...init, headers });
    },
  };
}
