/** Where audit lines go, from the variables of OpenTelemetry. */
import assert from "node:assert/strict";
import { readTelemetryRequest } from "../../src/app/config/telemetry_config.ts";

const logsOf = (env: Record<string, string>, onDeploy = false) =>
  readTelemetryRequest({ OTEL_DENO: "true", OTEL_LOGS_EXPORTER: "otlp", ...env }, { onDeploy }).logs;

Deno.test("the endpoint of logs is below the one of all signals, or its own", () => {
  for (
    const [env, url] of [
      [{}, "http://localhost:4318/v1/logs"],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: "" }, "http://localhost:4318/v1/logs"],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: "https://c.example/otlp/" }, "https://c.example/otlp/v1/logs"],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: "https://c.example?key=1" }, "https://c.example/v1/logs?key=1"],
      [{ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "https://c.example/in" }, "https://c.example/in"],
      [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://c/in" }, "http://c/in"],
    ] as const
  ) {
    assert.equal(logsOf(env)?.url, url);
  }
});

Deno.test("there is no export where OpenTelemetry is off, speaks gRPC alone, or names nothing that takes HTTP", () => {
  for (
    const env of [
      { OTEL_DENO: "false" },
      { OTEL_SDK_DISABLED: "true" },
      { OTEL_LOGS_EXPORTER: "none" },
      { OTEL_LOGS_EXPORTER: "" },
      { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
      { OTEL_EXPORTER_OTLP_ENDPOINT: "no address" },
      { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "file:///etc/passwd" },
    ]
  ) {
    assert.equal(logsOf(env), null, JSON.stringify(env));
  }
  assert.equal(logsOf({}, true), null, "on Deno Deploy");
});

Deno.test("headers are read as OpenTelemetry writes them, and what is no header is left out", () => {
  const headersOf = (text: string) => logsOf({ OTEL_EXPORTER_OTLP_HEADERS: text })?.headers;
  assert.deepEqual(headersOf("Api-Key=a%20b==, x=1"), [["api-key", "a b=="], ["x", "1"]]);
  assert.deepEqual(headersOf("a b=1,=2,c,d=%0d%0aHost: evil,e=%zz,f=\u4e2d"), [["e", "%zz"]]);
  const own = { OTEL_EXPORTER_OTLP_HEADERS: "a=1", OTEL_EXPORTER_OTLP_LOGS_HEADERS: "b=2" };
  assert.deepEqual(logsOf(own)?.headers, [["b", "2"]]);
  const withPassword = logsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://me:p%40ss@c.example" });
  assert.deepEqual([withPassword?.url, withPassword?.headers], ["http://c.example/v1/logs", [
    ["authorization", `Basic ${btoa("me:p@ss")}`],
  ]]);
});

Deno.test("the time-out is bounded", () => {
  for (const [text, expected] of [["1500", 1_500], ["0", 10_000], ["-1", 10_000], ["999999", 10_000], ["x", 10_000]]) {
    assert.equal(logsOf({ OTEL_EXPORTER_OTLP_TIMEOUT: String(text) })?.timeoutMs, expected);
  }
});
