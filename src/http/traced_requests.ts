/** A span for each HTTP request, by OpenTelemetry's conventions: named by its route, never by its path or query. */
import { inHttpSpan, type Tracer } from "../lib/tracer.ts";
import { traceContextOf } from "../mcp/trace_context.ts";
import type { RouteObserver } from "./observed_routes.ts";

/** RFC 9110 §9, RFC 5789. Of what a caller makes up, no text is exported. */
const knownMethods: ReadonlySet<string> = new Set(
  ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"],
);

/** Continues the trace of the request's headers. The span ends with the head of the answer. */
export function traceRequests(tracer: Tracer): RouteObserver {
  return {
    async around(request, route, answer) {
      const parent = traceContextOf(undefined, { header: (name) => request.headers.get(name) });
      const isKnown = knownMethods.has(request.method);
      const name = isKnown ? request.method : "HTTP";
      const span = tracer.begin({
        name: route === null ? name : `${name} ${route}`,
        kind: "server",
        attributes: {
          "http.request.method": isKnown ? request.method : "_OTHER",
          ...(route === null ? {} : { "http.route": route }),
        },
        ...(parent === undefined ? {} : { parent }),
      });
      return span === null ? await answer() : await inHttpSpan(span, 500, answer);
    },
  };
}
