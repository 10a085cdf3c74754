/** The checks of `doctor`, wired to the parts that they examine. Nothing is created or changed. */
import type { Config } from "./config/config.ts";
import { askHealth, isHealthBody } from "../lib/endpoint.ts";
import { faultWords } from "../lib/system_fault.ts";
import {
  checksOf,
  examineCertificate,
  examineDataDirectory,
  examineDisks,
  examineWorkspace,
  isFull,
} from "./doctor_places.ts";
import { findTelemetry } from "../audit/mod.ts";
import { mcpLimits } from "../mcp/mod.ts";
import { ownerId, users } from "../oauth/mod.ts";
import { isLoopbackHost } from "../lib/settings.ts";
import { type Check, orUnusable, UnusableError } from "../lib/result.ts";
import { portOf } from "../lib/network.ts";
import { examineMetadata, examinePublicAddress, systemSurroundings } from "./doctor_address.ts";
import { examineCompany } from "./doctor_company.ts";
import { examineNotices } from "./notices.ts";
import { examineServicenow } from "./doctor_servicenow.ts";
import { examineInstallation } from "./installation.ts";
import { type Clock, systemClock } from "../lib/time.ts";
import { createModelClient } from "../llm/mod.ts";
import { offerOf } from "../llm/mod_settings.ts";
import type { Storage } from "../storage/mod.ts";
import {
  examineNamedPort,
  examinePlainPort,
  examineStoredCertificate,
  isNamed,
  openExisting,
  tryPort,
} from "./doctor_public.ts";
import { portRemedy } from "./listeners.ts";
import { missesTrustProxy, missingTrustWords, serverUrlFor, servesTls } from "./server_url.ts";
import { describeWall, raceFreedomOf, raceWords } from "./sandbox/describe_wall.ts";
import { hostAndPort, listenAddresses, realPathBelow, serverPermissions, storagePaths } from "./sandbox/permissions.ts";
import { loadKernel } from "../files/mod.ts";
import { permittedLibraries } from "../lib/library_paths.ts";

interface ChosenParts {
  /** Everything that is to be said of the wall. */
  readonly verbose?: boolean;
  readonly parts?: readonly string[];
  readonly serverUrl?: string;
  /** Where the caller has it open. */
  readonly storage?: Storage;
}

/** Runs the checks one after the other: all, or those of the parts named. A cause that one has told is not told again. */
export async function* examine(config: Config, clock: Clock, only: ChosenParts = {}): AsyncGenerator<Check> {
  const { parts: chosen, serverUrl = serverUrlFor(config.http, config.http.port) } = only;
  const { publicDomain } = config.http;
  let [hasDataDirectory, isRunning, isCertified, isReachable] = [true, true, true, true];
  const parts: readonly (readonly [name: string, checks: () => Iterable<Check> | AsyncIterable<Check>])[] = [
    ["data directory", async function* () {
      hasDataDirectory = yield* examineDataDirectory(config.storage);
    }],
    ["database", () => hasDataDirectory ? examineDatabase(config) : []],
    ["workspace", () => config.workspace.store === "disk" ? examineWorkspace(config) : []],
    ["disk", () => examineDisks(config, loadKernel())],
    ["port", async function* () {
      isRunning = yield* examinePort(config.http);
      if (publicDomain !== undefined) yield* examinePlainPort(config.http);
    }],
    ["wall", () => examineWall(config, only.verbose === true)],
    ["proxy", () => examineProxy(config)],
    ["connections", () => examineConnections(config)],
    ["telemetry", () => examineTelemetry(config.telemetry)],
    ["ollama", () => examineModels(config)],
    ["ServiceNow", () => examineServicenow(config.servicenow, { resolve: systemSurroundings.resolve, serverUrl })],
    ["identity provider", () => examineCompany(config.authorizationServer, { serverUrl, clock })],
    ["notices", async function* () {
      if (config.notices.url === undefined) return;
      const opened = await openExisting(config.storage);
      yield* await examineNotices(config, opened?.storage ?? null, systemClock);
      await opened?.storage.close();
    }],
    ["registration", () => examineRegistration(config)],
    ["certificate", async function* () {
      isCertified = publicDomain !== undefined
        ? yield* examineStoredCertificate(config, publicDomain, only.storage)
        : yield* examineCertificate(config.http.tls, { serverUrl, clock: systemClock });
    }],
    ["public address", async function* () {
      isReachable = yield* examinePublicAddress(serverUrl, systemSurroundings, isCertified);
      if (publicDomain !== undefined && isRunning && await isNamed(publicDomain)) yield* examineNamedPort(publicDomain);
    }],
    ["metadata", () => {
      if (!isRunning) {
        return [checksOf("metadata").note("not asked: no server runs here; start it, then run this again")];
      }
      return isReachable ? examineMetadata(serverUrl) : [];
    }],
  ];
  for (const [name, checks] of parts) {
    if (chosen?.includes(name) === false) continue;
    try {
      yield* checks();
    } catch (error) { // one part that cannot be looked at hides no other
      yield checksOf(name).warning(`cannot be examined: ${faultWords(error)}`);
    }
  }
}

// The checks of the way between clients and a running server: address, port, certificate, proxy, documents.

const partsOnTheWay = ["proxy", "registration", "certificate", "public address", "metadata"];

/** All of them; made by the server of itself. Where the wall keeps it from asking, a note says so. */
export async function examineArrival(
  config: Config,
  { serverUrl, clock, storage }: { readonly serverUrl: string; readonly clock: Clock; readonly storage: Storage },
): Promise<readonly Check[]> {
  const url = new URL(serverUrl);
  const host = hostAndPort(url.hostname, portOf(url));
  const mayAsk = Deno.permissions.querySync({ name: "net", host }).state === "granted";
  const parts = mayAsk
    ? partsOnTheWay
    : partsOnTheWay.filter((name) => name !== "public address" && name !== "metadata");
  const checks = await Array.fromAsync(examine(config, clock, { parts, serverUrl, storage }));
  if (mayAsk) return checks;
  const text = `the server's own permissions forbid asking ${serverUrl}`;
  return [...checks, checksOf("public address").note(text, "run `portcullis doctor` on this machine")];
}

const { well, broken } = checksOf("port");

/** Tries it; where it is taken, asks who is there. Says at its end whether it is a server of ours. */
async function* examinePort(http: Config["http"]): AsyncGenerator<Check, boolean> {
  const { host, port, publicDomain } = http;
  const another = publicDomain === undefined ? "choose another with --port or --host" : portRemedy("PORT");
  const place = `${host} port ${port}`;
  const free = port === 0 ? `${host}, any port` : `${place} is free: no server runs there`;
  if (!(yield* tryPort({ host, port }, free, another))) return false;
  const health = await askHealth({ host, port, usesTls: servesTls(http) });
  if (typeof health === "string" || !isHealthBody(health.body)) {
    yield broken(`another program listens on ${place}`, "stop it, or choose another address with --port or --host");
    return false;
  }
  yield health.status === 200 ? well(`a Portcullis server answers on ${place}`) : broken(
    `the Portcullis server on ${place} is unhealthy (status ${health.status}): ${unreachableParts(health.body)}`,
    "the other checks here and its log say why; if its database was deleted or moved, put it back and start it again",
  );
  return true;
}

/** What the server itself says of its parts. */
function unreachableParts(body: string): string {
  const parts = ["storage", "workspace"].filter((part) => body.includes(`"${part}":"unreachable"`));
  return parts.length === 0 ? "it does not say why" : `it cannot use its ${parts.join(" and ")}`;
}

const patienceMs = 5_000;

/** Spans for a collector that does not answer are dropped silently. */
async function* examineTelemetry({ isAsked, collector }: Config["telemetry"]): AsyncGenerator<Check> {
  const { well, warning, broken } = checksOf("telemetry");
  const turnsOn = Deno.build.standalone ? "compiling with OTEL_DENO=true" : "OTEL_DENO=true";
  const found = findTelemetry();
  if (found === null) {
    yield isAsked
      ? warning(
        "off, though OTEL_DENO=true: another variable turns it off, or the program was compiled without it",
        "unset OTEL_SDK_DISABLED; compile it with OTEL_DENO=true and OTEL_DENO_TRACING=false in the environment",
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

/** Opens it beside whatever runs, looks for damage, tries the lock for writing, and compares the master key. */
async function* examineDatabase(config: Config): AsyncGenerator<Check> {
  const { well, broken, note } = checksOf("database");
  const found = await orUnusable(examineInstallation(config.storage, users.key(ownerId)));
  const { database, dataDir } = config.storage;
  const isUnusable = found instanceof UnusableError;
  if (database === undefined && isFull(dataDir, loadKernel())) {
    const state = isUnusable ? found.problem : "nothing new can be stored";
    return void (yield broken(`${state}: its disk is full`, `free some space on the disk of ${dataDir}`));
  }
  if (isUnusable) return void (yield broken(found.problem, found.remedy));
  if (found === null) return void (yield note("does not exist yet: the first start makes it"));
  yield well("is undamaged, writable, and belongs to the master key");
  const { signIn, company } = config.authorizationServer;
  if (signIn !== "local" || found.isFound || (company?.allow.length ?? 0) > 0) return;
  yield checksOf("owner").warning(
    "there is none yet: people cannot sign in",
    "start it and open the set-up link that it prints",
  );
}

function* examineWall(config: Config, verbose: boolean): Generator<Check> {
  const kernel = loadKernel();
  const freedoms = config.workspace.directories.map(({ path }) => raceFreedomOf(realPathBelow(path), kernel));
  const raceFreedom = freedoms.find(({ raceFree }) => !raceFree) ?? freedoms[0] ?? raceFreedomOf("/", kernel);
  const sentences = describeWall({
    permissions: serverPermissions(config, realPathBelow, permittedLibraries()),
    listenAddresses: listenAddresses(config),
    storagePaths: storagePaths(config, realPathBelow),
    raceFreedom,
    clientMetadataDocuments: config.authorizationServer.clientMetadataDocuments,
    issuer: config.authorizationServer.company?.issuer ?? null,
  });
  const short = [`${sentences[0]} (\`portcullis doctor --verbose\` says more)`];
  if (!raceFreedom.raceFree) short.push(raceWords(raceFreedom));
  for (const text of verbose ? sentences : short) yield checksOf("wall").note(text);
}

/** Files, the database, upstream connections and calls need descriptors beside the streams. */
const otherDescriptors = 512;
const mostDescriptorsTried = 20_000;

function* examineConnections({ http: { host, trustedProxies } }: Config): Generator<Check> {
  const { well, warning } = checksOf("connections");
  const streams = mcpLimits.maxStreams;
  const needed = Math.min(streams + otherDescriptors, mostDescriptorsTried);
  const found = openableDescriptors(needed);
  const text = `${streams} streams need about ${needed} descriptors`;
  yield found >= needed ? well(`${text}, which this system allows`) : warning(
    `${text}, but this system allows only ${found}`,
    "raise the limit (ulimit -n; LimitNOFILE= of systemd) for the server",
  );
  if (isLoopbackHost(host) || trustedProxies !== undefined) return;
  yield warning(
    `a client that reaches ${host} can hold connections open indefinitely: the runtime limits neither their number nor their time`,
    "where strangers can connect, put a proxy with these limits in front (docs/operations.md)",
  );
}

/** As many more as can be opened, up to `most`. Found by opening: the system's own answer needs permission for all. */
function openableDescriptors(most: number): number {
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < most) opened.push(Deno.openSync(Deno.execPath()));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "EMFILE") return most; // another reason says nothing about it
  } finally {
    for (const file of opened) file.close();
  }
  return opened.length;
}

/** Without forwarded client addresses, one client's failures count against every client. */
function* examineProxy(config: Config): Generator<Check> {
  if (!missesTrustProxy(config)) return;
  yield checksOf("proxy").warning(
    missingTrustWords,
    "set TRUST_PROXY to the proxy's address, so that limits and audit tell clients apart (docs/operations.md)",
  );
}

/** Which clients cannot connect by themselves. */
function* examineRegistration(
  { authorizationServer: { registration, clientMetadataDocuments }, servicenow: { access } }: Config,
): Generator<Check> {
  if (registration === "open") return;
  const out = clientMetadataDocuments ? "clients that do not identify themselves by an https address" : "all clients";
  const others = access === undefined ? "" : "; ServiceNow registers with the token";
  yield checksOf("registration").note(
    `REGISTRATION is ${registration}: ${out} cannot register by themselves${others}`,
    "make a client for them with `portcullis clients create`, give them a token from `portcullis token create`, or set REGISTRATION=open",
  );
}

async function* examineModels(config: Config): AsyncGenerator<Check> {
  const { host, models } = config.ollama;
  const { well, warning } = checksOf(host.isOllama ? "ollama" : "model server");
  const client = createModelClient({ ...config.ollama, fetch });
  try {
    const report = await client.report(new AbortController().signal);
    if (report.failure !== undefined) {
      const remedy = "the file tools work without it; the llm_* tools answer with this error until it is there";
      yield warning(report.failure.message, remedy);
      return;
    }
    yield well(`answers at ${host.origin}`);
    const { names, isUsable, problem } = offerOf(models, host, report.installed);
    if (isUsable) yield well(`agents may use ${names.join(", ")}`);
    if (problem !== null) yield warning(problem.what, problem.remedy);
  } finally {
    client.close();
  }
}
