import assert from "node:assert/strict";
import type { DenoTelemetry, RecordedSpan } from "../../src/telemetry/deno_telemetry.ts";
import { redactSpans } from "../../src/telemetry/redact_spans.ts";

/** A telemetry whose spans keep what they are told, as Deno's do; nobody but the test writes them. */
function keepingTelemetry(): {
  readonly telemetry: DenoTelemetry;
  readonly span: RecordedSpan;
  readonly kept: unknown[];
} {
  const kept: unknown[] = [];
  class Span {
    setAttribute(name: string, value: unknown): this {
      kept.push([name, value]);
      return this;
    }
    updateName(name: string): this {
      kept.push(name);
      return this;
    }
    setStatus(status: object): this {
      kept.push(status);
      return this;
    }
  }
  const span = new Span() as unknown as RecordedSpan;
  const telemetry = {
    tracerProvider: { getTracer: () => ({ startSpan: () => span }) },
  } as unknown as DenoTelemetry;
  return { telemetry, span, kept };
}

Deno.test("redactSpans() takes queries, passwords and the texts of exceptions out, and makes the status a number", async () => {
  const { telemetry, span, kept } = keepingTelemetry();
  await redactSpans(telemetry);
  span.setAttribute("url.full", "https://user:password@host.example:8443/setup?code=SECRET#SECRET");
  span.setAttribute("url.full", "no url: SECRET");
  span.setAttribute("url.query", "code=SECRET");
  span.setAttribute("exception.message", "error sending request for url (http://host/?q=SECRET)");
  span.setAttribute("exception.stacktrace", "SECRET");
  span.setAttribute("http.response.status_code", "404");
  span.setAttribute("url.path", "/setup").setStatus({ code: 2, message: "SECRET" });
  assert.deepEqual(kept, [
    ["url.full", "https://host.example:8443/setup"],
    ["url.full", ""],
    ["http.response.status_code", 404],
    ["url.path", "/setup"],
    { code: 2 },
  ]);
});

Deno.test("redactSpans() exports no query that a mangled link has in its path, and no method that a caller made up", async () => {
  const { telemetry, span, kept } = keepingTelemetry();
  await redactSpans(telemetry);
  for (const sign of ["%3F", "%3f", "%253F", ";", "%3B"]) {
    span.setAttribute("url.full", `https://host.example/setup${sign}code=SECRET`);
    span.setAttribute("url.path", `/setup${sign}code%3DSECRET`);
  }
  span.setAttribute("http.request.method", "GET");
  span.setAttribute("http.request.method", "SECRET");
  assert.deepEqual(kept, [
    ...Array.from({ length: 5 }, () => [["url.full", "https://host.example/setup"], ["url.path", "/setup"]]).flat(),
    ["http.request.method", "GET"],
    "HTTP",
    ["http.request.method", "_OTHER"],
  ]);
});

Deno.test("redactSpans() says that it cannot, where the runtime's own spans do not come through what it narrows", async () => {
  const { telemetry } = keepingTelemetry();
  assert.equal(await redactSpans(telemetry), false);
  const bare = { tracerProvider: { getTracer: () => ({ startSpan: () => ({}) }) } } as unknown as DenoTelemetry;
  assert.equal(await redactSpans(bare), false);
});
