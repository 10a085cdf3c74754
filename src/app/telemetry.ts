/** Whether spans and the audit get to their collector. */
import type { Config } from "./config/config.ts";
import { findTelemetry } from "../audit/deno_telemetry.ts";
import { type Check, checksOf } from "./check.ts";

const patienceMs = 5_000;

export async function* examineTelemetry(telemetry: Config["telemetry"]): AsyncGenerator<Check> {
  yield* examineSpans(telemetry);
  yield* examineAuditExport(telemetry);
}

/** Spans for a collector that does not answer are dropped silently. */
async function* examineSpans({ isAsked, collector }: Config["telemetry"]): AsyncGenerator<Check> {
  const { well, warning, broken } = checksOf("telemetry");
  const turnsOn = Deno.build.standalone ? "compiling with OTEL_DENO=true" : "OTEL_DENO=true";
  const found = findTelemetry();
  if (found === null) {
    yield isAsked
      ? warning(
        "off, though OTEL_DENO=true: another variable turns it off, or the program was compiled without it",
        "unset OTEL_SDK_DISABLED; compile with: OTEL_DENO=true OTEL_DENO_TRACING=false deno task compile",
      )
      : well(`off (${turnsOn} turns it on)`);
    return;
  }
  if (found.exportsOwnSpans) {
    yield broken(
      "on, with Deno's own spans, which hold whole URLs: the server does not start",
      "set OTEL_DENO_TRACING=false: the server exports its own spans",
    );
    return;
  }
  const signal = AbortSignal.timeout(patienceMs);
  const answers = await fetch(collector, { method: "HEAD", redirect: "manual", signal }).then(
    () => true,
    () => false,
  );
  yield answers ? well(`on; ${collector} answers`) : warning(
    `on, but nothing at ${collector} answers over HTTP`,
    "start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT (a collector for gRPC alone is not seen here)",
  );
}

/** Sends no line. */
async function* examineAuditExport({ isAsked, logs }: Config["telemetry"]): AsyncGenerator<Check> {
  const { well, warning } = checksOf("audit export");
  if (logs === null) {
    if (isAsked) yield well("off (OTEL_LOGS_EXPORTER=otlp turns it on)");
    return;
  }
  const { origin } = new URL(logs.url);
  const status = await fetch(logs.url, {
    method: "POST",
    headers: [["content-type", "application/json"], ...logs.headers.map(([header, value]) => [header, value])],
    body: '{"resourceLogs":[]}',
    redirect: "manual",
    signal: AbortSignal.timeout(patienceMs),
  }).then(async (response) => {
    await response.body?.cancel();
    return response.ok ? null : `answers with status ${response.status}`;
  }, () => "does not answer");
  yield status === null ? well(`on; ${origin} takes logs`) : warning(
    `on, but ${origin} ${status}: audit lines stay in the database alone`,
    "start a collector that takes logs over HTTP, or correct OTEL_EXPORTER_OTLP_ENDPOINT and its headers",
  );
}
