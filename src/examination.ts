/** The checks behind `doctor`, wired to the parts that they look at. Nothing is made or changed. */
import { access, constants, lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import { lookAtPath } from "./config/look_at_path.ts";
import { leadsInto } from "./config/overlap.ts";
import { isLoopbackHost } from "./config/parsers.ts";
import { ollamaLimitsOf } from "./configured_limits.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import { openableDescriptors } from "./lib/descriptors.ts";
import { createOllamaClient } from "./ollama/client.ts";
import { hostOfApiKey, type OllamaHost } from "./ollama/host.ts";
import { playConnection } from "./servicenow/play_connection.ts";
import { scopesOf } from "./offered_scopes.ts";
import { missesTrustProxy, serverUrlFor } from "./server_url.ts";
import { describeWall } from "./sandbox/describe_wall.ts";
import { listenAddresses, realPathOf, serverPermissions, storagePaths } from "./sandbox/permissions.ts";
import { raceFreedomOf } from "./sandbox/race_freedom.ts";
import { exposure } from "./storage/data_directory.ts";
import { dataFiles } from "./storage/data_files.ts";
import { findTelemetry } from "./telemetry/deno_telemetry.ts";

/** What one check found. */
export interface Check {
  readonly name: string;
  readonly state: "well" | "warning" | "broken";
  readonly text: string;
  /** What to do about it. */
  readonly remedy?: string;
}

const fetchTimeoutMilliseconds = 5_000;

/** Runs the checks one after the other. */
export async function* examine(config: Config, clock: Clock): AsyncGenerator<Check> {
  yield* examineDataDirectory(config);
  yield await examineDatabase(config);
  if (config.workspaceStore === "disk") yield* examineWorkspace(config);
  yield* examineWall(config);
  yield* examineWorkers(config);
  yield* examineProxy(config);
  yield* examineConnections(config);
  yield await examineTelemetry(config);
  yield* examineOllama(config, clock);
  yield* examineMetadata(serverUrlFor(config, config.port));
}

async function* examineDataDirectory({ dataDir, database, masterKey }: Config): AsyncGenerator<Check> {
  const name = "data directory";
  const files = [
    ...(masterKey === undefined ? [dataFiles.masterKey] : []),
    ...(database === undefined ? [dataFiles.database] : []),
  ];
  if (files.length === 0) {
    yield { name, state: "well", text: "is not used: DATABASE_URL and MASTER_KEY take its place" };
    return;
  }
  const found = await lstat(dataDir).catch(() => null);
  if (found === null) {
    yield { name, state: "warning", text: `${dataDir} does not exist yet`, remedy: "the first start makes it" };
    return;
  }
  if (!found.isDirectory()) {
    yield { name, state: "broken", text: `${dataDir} is not a directory`, remedy: "choose another with --data-dir" };
    return;
  }
  const expected = [[dataDir, "700"], ...files.map((file) => [join(dataDir, file), "600"] as const)] as const;
  for (const [path, mode] of expected) {
    if (await lstat(path).catch(() => null) === null) {
      yield { name, state: "warning", text: `${path} does not exist yet`, remedy: "the first start makes it" };
      continue;
    }
    const problem = exposure(path, mode);
    yield problem === null
      ? { name, state: "well", text: `${path} is for its owner alone` }
      : { name, state: "broken", text: `${path} ${problem.problem}`, remedy: problem.remedy };
  }
}

/** Opens it beside whatever runs, looks for damage, tries the lock for writing, and compares the master key. */
async function examineDatabase(config: Config): Promise<Check> {
  const name = "database";
  const { examineInstallation } = await import("./installation.ts");
  const found = await examineInstallation(config, systemClock);
  if (!found.ok) return { name, state: "broken", text: found.error.problem, remedy: found.error.remedy };
  return found.value === "sound"
    ? { name, state: "well", text: "is whole, can be written, and belongs to the master key" }
    : { name, state: "warning", text: "does not exist yet", remedy: "the first start makes it" };
}

async function* examineWorkspace({ workspaceDir, dataDir }: Config): AsyncGenerator<Check> {
  const name = "workspace";
  if (leadsInto(workspaceDir, dataDir, lookAtPath)) {
    yield {
      name,
      state: "warning",
      text: `${workspaceDir} lies in the data directory`,
      remedy: "choose another with --workspace: what opens the one to others then opens the keys too",
    };
  }
  const found = await lstat(workspaceDir).catch(() => null);
  if (found === null) {
    yield { name, state: "warning", text: `${workspaceDir} does not exist yet`, remedy: "the first start makes it" };
    return;
  }
  const usable = await access(workspaceDir, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  yield usable ? { name, state: "well", text: `${workspaceDir} can be read and written` } : {
    name,
    state: "broken",
    text: `${workspaceDir} cannot be read and written`,
    remedy: `chown or chmod it, or choose another with --workspace`,
  };
}

function* examineWall(config: Config): Generator<Check> {
  const sentences = describeWall({
    permissions: serverPermissions(config, realPathOf),
    listenAddresses: listenAddresses(config),
    storagePaths: storagePaths(config, realPathOf),
    raceFreedom: raceFreedomOf(realPathOf(config.workspaceDir)),
    clientMetadataDocuments: config.clientMetadataDocuments,
    workers: config.workers,
  });
  for (const text of sentences) yield { name: "wall", state: "well", text };
}

function* examineWorkers({ workers, database, postgresConnections }: Config): Generator<Check> {
  if (workers === 1) return;
  const name = "workers";
  const cores = navigator.hardwareConcurrency;
  if (Deno.build.os !== "linux") {
    yield { name, state: "broken", text: `${workers} on one port need Linux`, remedy: "leave WORKERS out" };
    return;
  }
  const connections = database?.kind === "postgres"
    ? `, with ${workers * postgresConnections} connections to PostgreSQL in all`
    : "";
  const text = `${workers} on one port and ${cores} cores${connections}`;
  yield workers <= cores
    ? { name, state: "well", text }
    : { name, state: "warning", text, remedy: "more workers than cores take memory and answer no faster" };
}

/** Files, the database, upstream connections and calls need descriptors beside the streams. */
const otherDescriptors = 512;
const mostDescriptorsTried = 20_000;

function* examineConnections({ host, maxStreams, workers, trustedProxies }: Config): Generator<Check> {
  const name = "connections";
  const needed = Math.min(maxStreams * workers + otherDescriptors, mostDescriptorsTried);
  const found = openableDescriptors(needed);
  const text = `${maxStreams * workers} streams need about ${needed} descriptors`;
  yield found >= needed ? { name, state: "well", text: `${text}, which can be had here` } : {
    name,
    state: "warning",
    text: `${text}, and no more than ${found} can be had here`,
    remedy: "raise the limit (ulimit -n; LimitNOFILE= of systemd) for the server, or lower MAX_STREAMS",
  };
  if (isLoopbackHost(host) || trustedProxies !== undefined) return;
  yield {
    name,
    state: "warning",
    text:
      `a client that reaches ${host} can hold connections open without end: the runtime limits neither number nor time`,
    remedy: "where strangers can connect, put a proxy with these limits in front (docs/operations.md)",
  };
}

/** Without its word for the clients' addresses, one client's failures are everybody's. */
function* examineProxy(config: Config): Generator<Check> {
  if (!missesTrustProxy(config)) return;
  yield {
    name: "proxy",
    state: "warning",
    text: "SERVER_URL is https, which a proxy has to answer, and no proxy is trusted: all people share one address",
    remedy: "set TRUST_PROXY to the proxy's address, so that limits and audit tell clients apart (docs/operations.md)",
  };
}

/** A collector that answers nothing is noticed by nobody: spans are dropped without a word. */
async function examineTelemetry({ telemetry: { isAsked, collector } }: Config): Promise<Check> {
  const name = "telemetry";
  const turnsOn = Deno.build.standalone ? "compiling with OTEL_DENO=true" : "OTEL_DENO=true";
  if (findTelemetry() === null) {
    return isAsked
      ? {
        name,
        state: "warning",
        text: "off, though OTEL_DENO=true: another variable turns it off, or the program was compiled without it",
        remedy: "unset OTEL_SDK_DISABLED and OTEL_DENO_TRACING; compile with: OTEL_DENO=true deno task compile",
      }
      : { name, state: "well", text: `off (${turnsOn} turns it on)` };
  }
  const signal = AbortSignal.timeout(fetchTimeoutMilliseconds);
  const answers = await fetch(collector, { method: "HEAD", redirect: "manual", signal }).then(
    () => true,
    () => false,
  );
  return answers ? { name, state: "well", text: `on; ${collector} answers` } : {
    name,
    state: "warning",
    text: `on, but nothing at ${collector} answers over HTTP`,
    remedy: "start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT (a collector for gRPC alone is not seen here)",
  };
}

async function* examineOllama(config: Config, clock: Clock): AsyncGenerator<Check> {
  const name = "ollama";
  for (const host of config.ollamaHosts) yield* examineOllamaHost(name, host, config, clock);
}

async function* examineOllamaHost(name: string, host: OllamaHost, config: Config, clock: Clock): AsyncGenerator<Check> {
  const client = createOllamaClient({
    host,
    ...(config.ollamaApiKey === undefined || host !== hostOfApiKey(config.ollamaHosts)
      ? {}
      : { apiKey: config.ollamaApiKey }),
    fetch,
    avoidProxy: config.hasProxy,
    clock,
    limits: ollamaLimitsOf(config),
  });
  try {
    const installed = await client.tags(new AbortController().signal);
    if (!installed.ok) {
      yield { name, state: "broken", text: installed.error.message };
      return;
    }
    yield { name, state: "well", text: `answers at ${host.origin}` };
    const names = new Set(installed.value.map((model) => model.name));
    for (const model of [...config.llmModels, ...config.llmEmbeddingModels ?? []]) {
      yield names.has(model) || names.has(`${model}:latest`)
        ? { name, state: "well", text: `model ${model} is installed` }
        : { name, state: "warning", text: `model ${model} is not installed`, remedy: `ollama pull ${model}` };
    }
  } finally {
    client.close();
  }
}

/** RFC 8414 §3.3 and RFC 9728 §3.3: what the documents say has to equal the address they were fetched from. */
async function* examineMetadata(serverUrl: string): AsyncGenerator<Check> {
  const name = "metadata";
  const expected = [
    ["/.well-known/oauth-authorization-server", "issuer", serverUrl],
    ["/.well-known/oauth-protected-resource", "resource", `${serverUrl}/mcp`],
    ["/.well-known/oauth-protected-resource/mcp", "resource", `${serverUrl}/mcp`],
  ] as const;
  for (const [path, member, value] of expected) {
    const url = `${serverUrl}${path}`;
    const document = await fetchJson(url);
    if (document === null) {
      yield {
        name,
        state: "warning",
        text: `${url} does not answer with JSON`,
        remedy: "start the server, or correct SERVER_URL and the proxy before it",
      };
    } else if (document[member] !== value) {
      yield {
        name,
        state: "broken",
        text: `${url} says another ${member}`,
        remedy: `set SERVER_URL to the address that clients type`,
      };
    } else yield { name, state: "well", text: url };
  }
}

async function fetchJson(url: string): Promise<Record<string, unknown> | null> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(fetchTimeoutMilliseconds) });
    return response.ok ? await response.json() : (await response.body?.cancel(), null);
  } catch {
    return null; // unreachable, or not JSON: the same advice
  }
}

/** Plays ServiceNow's own client against the running server, up to where a person would sign in. */
export async function* playServicenow(config: Config): AsyncGenerator<Check> {
  const steps = playConnection({
    serverUrl: serverUrlFor(config, config.port),
    instanceOrigin: config.servicenow?.instance ?? "https://doctor.service-now.com",
    scopes: scopesOf(config),
    ...(config.registrationToken === undefined ? {} : { registrationToken: config.registrationToken }),
    fetch,
    timeoutSeconds: fetchTimeoutMilliseconds / 1_000,
  });
  for await (const { name, ...step } of steps) yield { name: `ServiceNow, ${name}`, ...step };
}
