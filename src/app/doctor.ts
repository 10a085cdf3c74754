/** The checks of `doctor`, wired to the parts that they examine. Nothing is created or changed. */
import type { Config } from "./config/config.ts";
import { askHealth, isHealthBody } from "../lib/endpoint.ts";
import { faultWords } from "../lib/system_fault.ts";
import {
  checksOf,
  examineCertificate,
  examineDataDirectory,
  examineDisks,
  examineStoredCertificate,
  examineWorkspace,
  isFull,
} from "./doctor_machine.ts";
import { ownerId, users } from "../oauth/mod.ts";
import { type Check, orUnusable, UnusableError } from "../lib/result.ts";
import { withoutBrackets } from "../lib/network.ts";
import {
  examineCompany,
  examineMetadata,
  examineNamedPort,
  examinePublicAddress,
  judgeRedirect,
} from "./doctor_network.ts";
import { loadServicenow, loadTransport } from "../servicenow/mod.ts";
import { formWords } from "./servicenow_wiring.ts";
import { confinementWords, examineInstallation } from "./installation.ts";
import { systemClock } from "../lib/time.ts";
import { createModelClient } from "../llm/mod.ts";
import { offeredModels } from "./offered_models.ts";
import { listeningOn, portRemedy } from "./listeners.ts";
import { missesTrustProxy, missingTrustWords, serverUrlFor, servesTls } from "./server_url.ts";
import { listenAddresses, realPathBelow, serverPermissions, storagePaths } from "./sandbox/permissions.ts";
import { loadKernel } from "../lib/kernel/kernel.ts";
import { permittedLibraries } from "../lib/start_flags.ts";

type Checks<Verdict> = Generator<Check, Verdict> | AsyncGenerator<Check, Verdict>;

/** The checks of a part, and its verdict. A part that cannot be looked at hides no other. */
async function* looking<Verdict>(part: string, checks: Checks<Verdict>, otherwise: Verdict) {
  try {
    return yield* checks;
  } catch (error) {
    yield checksOf(part).warning(`cannot be examined: ${faultWords(error)}`);
    return otherwise;
  }
}

/** Runs the checks one after the other. A cause that one has told is not told again. */
export async function* examine(config: Config): AsyncGenerator<Check> {
  const serverUrl = serverUrlFor(config.http, config.http.port);
  yield* examineConnections(config);
  yield* looking("wall", examineWall(config), undefined);
  yield* looking("ollama", examineModels(config), undefined);
  yield* looking("ServiceNow", examineServicenow(config.servicenow, serverUrl), undefined);
  yield* looking(
    "identity provider",
    examineCompany(config.authorizationServer, { serverUrl, clock: systemClock }),
    undefined,
  );
}

/** The checks of what keeps the server from starting, or clients from reaching it. */
export async function* examineConnections(config: Config): AsyncGenerator<Check> {
  const serverUrl = serverUrlFor(config.http, config.http.port);
  const hasPlace = yield* looking("data directory", examineDataDirectory(config.storage), true);
  if (hasPlace) yield* looking("database", examineDatabase(config), undefined);
  if (config.workspace.store === "disk") yield* looking("workspace", examineWorkspace(config), undefined);
  yield* examineDisks(config, loadKernel());
  const isRunning = yield* looking("port", examinePorts(config.http), true);
  yield* examineWay(config, { serverUrl, isRunning });
}

/** The way between clients and a running server: proxy, certificate, address, documents. */
async function* examineWay(
  config: Config,
  { serverUrl, isRunning }: { readonly serverUrl: string; readonly isRunning: boolean },
): AsyncGenerator<Check> {
  const { publicDomain, tls } = config.http;
  if (missesTrustProxy(config)) {
    const remedy = "set TRUST_PROXY to the proxy's address, so that limits and audit tell clients apart " +
      "(docs/operations.md)";
    yield checksOf("proxy").warning(missingTrustWords, remedy);
  }
  yield* examineRegistration(config);
  const certificate = publicDomain === undefined
    ? examineCertificate(tls, { serverUrl, clock: systemClock })
    : examineStoredCertificate(config, publicDomain);
  const isCertified = yield* looking("certificate", certificate, true);
  const isReachable = yield* looking("public address", examinePublicAddress(serverUrl, { isCertified }), true);
  if (publicDomain !== undefined && isRunning) {
    yield* looking("public address", examineNamedPort(publicDomain), undefined);
  }
  if (!isRunning) {
    yield checksOf("metadata").note("not asked: no server runs here; start it, then run this again");
  } else if (isReachable) {
    yield* looking("metadata", examineMetadata(serverUrl), undefined);
  }
}

/** PORT, and HTTP_PORT of a public server. Says at its end whether a server of ours runs at the first. */
async function* examinePorts(http: Config["http"]): AsyncGenerator<Check, boolean> {
  const { host, port, httpPort, publicDomain } = http;
  const isPublic = publicDomain !== undefined;
  const remedy = isPublic ? portRemedy("PORT") : "choose another with --port or --host";
  const isRunning = yield* examinePort({ host, port, usesTls: servesTls(http), remedy }, isHealthBody);
  if (isPublic) {
    const plain = { host, port: httpPort, usesTls: false, remedy: portRemedy("HTTP_PORT") };
    yield* examinePort(plain, (body) => body.startsWith("This server "));
  }
  return isRunning;
}

/** Asks who answers there, else listens for a moment. */
async function* examinePort(
  { remedy, ...place }: Parameters<typeof askHealth>[0] & { readonly remedy: string },
  isOurs: (body: string) => boolean,
): AsyncGenerator<Check, boolean> {
  const { well, broken } = checksOf("port");
  const { host, port } = place;
  const words = `${host} port ${port}`;
  const answer = port === 0 ? "" : await askHealth(place);
  if (typeof answer !== "string" && isOurs(answer.body)) {
    yield isHealthBody(answer.body) && answer.status !== 200
      ? broken(
        `the Portcullis server on ${words} is unhealthy (status ${answer.status}): ${unreachableParts(answer.body)}`,
        "the other checks here and its log say why",
      )
      : well(`a Portcullis server answers on ${words}`);
    return true;
  }
  try {
    listeningOn({ host, port, remedy }, () => Deno.listen({ hostname: withoutBrackets(host), port }).close());
    yield well(port === 0 ? `${host}, any port` : `${words} is free: no server runs there`);
  } catch (error) {
    if (!(error instanceof UnusableError)) throw error;
    yield broken(error.problem, error.remedy);
  }
  return false;
}

/** What the server itself says of its parts. */
function unreachableParts(body: string): string {
  const parts = ["storage", "workspace"].filter((part) => body.includes(`"${part}":"unreachable"`));
  return parts.length === 0 ? "it does not say why" : `it cannot use its ${parts.join(" and ")}`;
}

/** Opens it beside whatever runs, looks for damage, tries the lock for writing, and compares the master key. */
async function* examineDatabase(config: Config): AsyncGenerator<Check> {
  const { well, broken, note } = checksOf("database");
  const { database, dataDir } = config.storage;
  if (database === undefined && isFull(dataDir, loadKernel())) {
    yield broken("nothing new can be stored: its disk is full", `free some space on the disk of ${dataDir}`);
    return;
  }
  const found = await orUnusable(examineInstallation(config.storage, users.key(ownerId)));
  if (found instanceof UnusableError) return yield broken(found.problem, found.remedy);
  if (found === null) return yield note("does not exist yet: the first start makes it");
  yield well("is undamaged, writable, and belongs to the master key");
  const { signIn, company } = config.authorizationServer;
  if (signIn !== "local" || found.isFound || (company?.allow.length ?? 0) > 0) return;
  yield checksOf("owner").warning(
    "there is none yet: people cannot sign in",
    "start it and open the set-up link that it prints",
  );
}

/** What the server holds while it answers, and how paths are confined where the kernel does not do it. */
function* examineWall(config: Config): Generator<Check> {
  const { note } = checksOf("wall");
  const { net, read } = serverPermissions(config, realPathBelow, permittedLibraries());
  const givenUp = storagePaths(config, realPathBelow);
  const files = read.filter((path) => !givenUp.includes(path));
  const reached = [
    net.slice(listenAddresses(config).length).join(", "),
    ...files.length === 0 ? [] : [`the files in ${files.join(", ")}`],
  ];
  yield note(`tools reach ${reached.join(" and ")}, and nothing else`);
  const kernel = loadKernel();
  if (config.workspace.store === "disk" && !kernel.available) {
    yield note(`${confinementWords.checked}; the kernel does not confine them, because ${kernel.reason}`);
  }
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
  const { host } = config.ollama;
  const { well, warning } = checksOf(host.isOllama ? "ollama" : "model server");
  const client = createModelClient({ ...config.ollama, fetch });
  try {
    const report = await client.report(new AbortController().signal);
    const { names, problem } = offeredModels(config.ollama, report);
    if (report.failure === undefined) yield well(`answers at ${host.origin}`);
    if (names.length > 0) yield well(`agents may use ${names.join(", ")}`);
    if (problem !== null) yield warning(problem.what, problem.remedy);
  } finally {
    client.close();
  }
}

/** Whether the instance answers, accepts the client, and knows the redirect address; nothing where none is configured. */
async function* examineServicenow({ access, missing }: Config["servicenow"], serverUrl: string): AsyncGenerator<Check> {
  const { well, warning } = checksOf("ServiceNow");
  if (missing.length > 0) {
    yield warning(
      `SERVICENOW_INSTANCE alone offers no tools: ${missing.join(" and ")} are missing`,
      `set them from an OAuth client of the instance; its form: ${formWords(serverUrl)} (docs/servicenow.md)`,
    );
  }
  if (access === undefined) return;
  const { instance, clientId, clientSecret } = access;
  const redirectUri = `${serverUrl}/servicenow/callback`;
  const { whyClientFails } = await loadServicenow();
  const once = (await loadTransport()).createFetchOnce(fetch);
  try {
    const why = await whyClientFails(instance, { clientId, clientSecret, redirectUri }, once.fetch);
    if (why !== null) {
      yield warning(`${instance} ${why.forOperators}`, why.remedy);
      return;
    }
    yield well(`${instance} answers, and does not refuse the client (only a sign-in proves the secret)`);
    const query = { response_type: "code", client_id: clientId, redirect_uri: redirectUri, state: "doctor" };
    yield await judgeRedirect(`${instance}/oauth_auth.do?${new URLSearchParams(query)}`, {
      name: "ServiceNow redirect address",
      party: "instance",
      redirectUri,
      fetch: once.fetch,
      remedy:
        `at the instance, its form has to say: ${formWords(serverUrl)}. SERVICENOW_CLIENT_ID is that form's id, ` +
        "and SERVER_URL the address that people use",
    });
  } finally {
    once.close();
  }
}
