/** Methods of HTTP as spans name them: of what a caller makes up, no text, and no span name of its own. */

const known: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "CONNECT",
  "OPTIONS",
  "TRACE",
  "PATCH",
]);

/** Whether it is a method of RFC 9110 §9 or RFC 5789. */
export function isKnownMethod(method: string): boolean {
  return known.has(method);
}

/** By OpenTelemetry's conventions, as the attribute `http.request.method` and in a span's name. */
export const unknownMethod = { attribute: "_OTHER", name: "HTTP" } as const;
