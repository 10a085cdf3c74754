/**
 * Keeps secrets out of the spans that Deno writes by itself. For each request in and out it says the whole URL, query
 * included: the one-time code of the set-up link, authorization codes, what a person searches for. A failed fetch brings
 * a message with the address in it. Attributes that are set cannot be taken back, and there is no setting for it, so
 * the one way through which they come is narrowed: the methods of Deno's span.
 */
import type { DenoTelemetry, RecordedSpan } from "./deno_telemetry.ts";

/** Exceptions of our own are in the log; their text may hold what a person wrote. */
const dropped: ReadonlySet<string> = new Set(["url.query", "exception.message", "exception.stacktrace"]);

/** For this isolate, for good. Throws `TypeError` where Deno's spans are not as they were when this was written. */
export function redactSpans({ tracerProvider }: DenoTelemetry): void {
  // Begun only to be looked at: a span that does not end is never exported.
  const span = tracerProvider.getTracer("portcullis", "").startSpan("probe", {});
  const methods = Object.getPrototypeOf(span) as RecordedSpan;
  const { setAttribute, setStatus } = methods;
  if (typeof setAttribute !== "function" || typeof setStatus !== "function" || Object.hasOwn(span, "setAttribute")) {
    throw new TypeError("Deno's spans cannot be kept free of secrets by this program; start it without OTEL_DENO");
  }
  methods.setAttribute = function (this: RecordedSpan, name, value) {
    return dropped.has(name) ? this : setAttribute.call(this, name, redact(name, value));
  };
  methods.setStatus = function (this: RecordedSpan, { code }) {
    return setStatus.call(this, { code }); // the message of an error, or another server's words
  };
}

function redact(name: string, value: unknown): unknown {
  if (name === "url.full" && typeof value === "string") return withoutQuery(value);
  // Deno says the status as a text; the convention has a number, and so have the backends' queries.
  return name === "http.response.status_code" ? Number(value) : value;
}

function withoutQuery(text: string): string {
  const url = URL.parse(text);
  return url === null ? "" : `${url.origin}${url.pathname}`; // neither user name nor password, too
}
