/**
 * Keeps secrets out of the spans that Deno writes by itself. For each request in and out it says the whole URL, query
 * included: the one-time code of the set-up link, authorization codes, what a person searches for. A failed fetch brings
 * a message with the address in it. Attributes that are set cannot be taken back, and there is no setting for it, so
 * the one way through which they come is narrowed: the methods of Deno's span.
 */
import type { DenoTelemetry, RecordedSpan } from "./deno_telemetry.ts";
import { isKnownMethod, unknownMethod } from "./http_method.ts";

/** Exceptions of our own are in the log; their text may hold what a person wrote. */
const dropped: ReadonlySet<string> = new Set(["url.query", "exception.message", "exception.stacktrace"]);

/** Asked of no server, and so without permission to reach any. */
const probe = "data:,portcullis%20checks%20that%20spans%20hold%20no%20secrets";

/**
 * Redacts for this isolate, for good. `false` when Deno's spans do not come that way (any more): then nothing is known
 * of what they say. It is seen by a request of one's own, which is the first span of every process.
 */
export async function redactSpans({ tracerProvider }: DenoTelemetry): Promise<boolean> {
  // Begun only to be looked at: a span that does not end is never exported.
  const span = tracerProvider.getTracer("portcullis", "").startSpan("unused", {});
  const methods = Object.getPrototypeOf(span) as RecordedSpan;
  const { setAttribute, setStatus } = methods;
  if (typeof setAttribute !== "function" || typeof setStatus !== "function") return false;
  let isSeen = false;
  methods.setAttribute = function (this: RecordedSpan, name, value) {
    if (value === probe) {
      isSeen = true;
      this.updateName("portcullis: are spans redacted?");
    }
    if (name === "http.request.method" && !isKnownMethod(String(value))) this.updateName(unknownMethod.name);
    return dropped.has(name) ? this : setAttribute.call(this, name, redact(name, value));
  };
  methods.setStatus = function (this: RecordedSpan, { code }) {
    return setStatus.call(this, { code }); // the message of an error, or another server's words
  };
  await (await fetch(probe)).body?.cancel();
  return isSeen;
}

function redact(name: string, value: unknown): unknown {
  switch (name) {
    case "url.full":
      return withoutQuery(String(value));
    case "url.path":
      return withoutMangledQuery(String(value));
    case "http.request.method":
      return isKnownMethod(String(value)) ? value : unknownMethod.attribute;
    case "http.response.status_code": // Deno says it as a text; the convention has a number, and so have the backends' queries
      return Number(value);
    default:
      return value;
  }
}

function withoutQuery(text: string): string {
  const url = URL.parse(text);
  if (url === null) return "";
  url.username =
    url.password =
    url.search =
    url.hash =
      "";
  url.pathname = withoutMangledQuery(url.pathname);
  return url.href;
}

/** A link that went through a program that encodes it once more has its query, the code of set-up included, in its path. */
function withoutMangledQuery(path: string): string {
  return path.replace(/(?:[;=&?#]|%(?:25)*(?:3b|3d|26|3f|23)).*$/is, "");
}
