/** What the environment says to Deno about telemetry. Deno reads it by itself; here it is for `doctor` to tell. */

const telemetryVariables = ["OTEL_DENO", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const;

/** What was asked for. */
export interface TelemetryRequest {
  readonly isAsked: boolean;
  /** Scheme, name and port of the collector; its URL may hold a key. */
  readonly collector: string;
}

const defaultEndpoint = "http://localhost:4318"; // OTLP over HTTP

export function readTelemetryRequest(env: Readonly<Record<string, string | undefined>>): TelemetryRequest {
  const [asked, endpoint] = telemetryVariables.map((name) => env[name]);
  return {
    isAsked: asked?.toLowerCase() === "true",
    collector: URL.parse(endpoint || defaultEndpoint)?.origin ?? "an address that is no URL",
  };
}
