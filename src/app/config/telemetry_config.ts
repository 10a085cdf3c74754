/**
 * What the environment says to Deno about telemetry. Deno reads it by itself; here it is for `doctor` to tell, and for
 * the stored audit, which goes to the same collector: Deno has no log records of a program's own.
 */
import type { LogsTarget } from "../../audit/mod_settings.ts";

/** What was asked for. */
export interface TelemetryRequest {
  readonly isAsked: boolean;
  /** Scheme, name and port of the collector; its URL may hold a key. */
  readonly collector: string;
  /** Where audit lines go; `null` where they stay here. */
  readonly logs: LogsTarget | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

const defaultEndpoint = "http://localhost:4318"; // OTLP over HTTP
const maxTimeoutMs = 10_000;

export function readTelemetryRequest(env: Environment, { onDeploy }: { readonly onDeploy: boolean }): TelemetryRequest {
  const isAsked = env["OTEL_DENO"]?.toLowerCase() === "true";
  const endpoint = URL.parse(env["OTEL_EXPORTER_OTLP_ENDPOINT"] || defaultEndpoint);
  return {
    isAsked,
    collector: endpoint?.origin ?? "an address that is no URL",
    // Asked for by name: unlike spans, lines name people and files. On Deno Deploy the platform takes the telemetry.
    logs: isAsked && !onDeploy && env["OTEL_LOGS_EXPORTER"] === "otlp" ? readLogsTarget(env, endpoint) : null,
  };
}

/** OpenTelemetry's own variables: "OTLP Exporter Configuration". */
function readLogsTarget(env: Environment, endpoint: URL | null): LogsTarget | null {
  const isOff = env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true";
  const own = env["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"];
  const isGrpc = env["OTEL_EXPORTER_OTLP_PROTOCOL"] === "grpc"; // another port, unless logs have an endpoint of their own
  const url = own ? URL.parse(own) : isGrpc ? null : logsUrlBelow(endpoint);
  if (isOff || url === null || !/^https?:$/.test(url.protocol)) return null;
  const { username, password } = url;
  url.username = url.password = url.hash = "";
  const basic = username + password === ""
    ? []
    : [["authorization", `Basic ${encodeBasic(username, password)}`] as const];
  return {
    url: url.href,
    headers: [...basic, ...parseHeaders(env["OTEL_EXPORTER_OTLP_LOGS_HEADERS"] || env["OTEL_EXPORTER_OTLP_HEADERS"])],
    serviceName: env["OTEL_SERVICE_NAME"] || "portcullis",
    timeoutMs: parseTimeout(env["OTEL_EXPORTER_OTLP_TIMEOUT"]),
  };
}

function logsUrlBelow(endpoint: URL | null): URL | null {
  if (endpoint === null) return null;
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/logs`;
  return url;
}

function encodeBasic(username: string, password: string): string {
  const bytes = new TextEncoder().encode(`${decode(username)}:${decode(password)}`);
  return btoa(String.fromCharCode(...bytes));
}

/** `name=value,name=value`, values percent-encoded as in W3C Baggage. What is no header is left out. */
function parseHeaders(text = ""): readonly (readonly [string, string])[] {
  return text.split(",").flatMap((part) => {
    const [, name = "", value = ""] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*([^\r\n\0]*?)\s*$/.exec(part) ?? [];
    const decoded = decode(value);
    return name === "" || /[^\t\x20-\x7e\x80-\xff]/.test(decoded) ? [] : [[name.toLowerCase(), decoded] as const];
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parseTimeout(text = ""): number {
  return /^\d{1,6}$/.test(text) && Number(text) > 0 ? Math.min(Number(text), maxTimeoutMs) : maxTimeoutMs;
}
