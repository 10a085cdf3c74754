/** The checks of `doctor`: its parts, the way to it from the cloud, and the provider. Nothing is created or changed. */
import type { Config } from "./config/config.ts";
import { askHealth, doctorAgent, isHealthBody } from "../lib/endpoint.ts";
import { faultWords, fetchFaultWords } from "../lib/system_fault.ts";
import {
  checksOf,
  examineCertificate,
  examineDataDirectory,
  examineDisks,
  examineStoredCertificate,
  examineWorkspace,
  isFull,
} from "./doctor_machine.ts";
import { type CompanySettings, loadProvider, ownerId, users } from "../oauth/mod.ts";
import { type Check, orUnusable, UnusableError } from "../lib/result.ts";
import { isPublicAddress, portOf, withoutBrackets } from "../lib/network.ts";
import { loadServicenow, loadTransport } from "../servicenow/mod.ts";
import { formWords } from "./servicenow_wiring.ts";
import { confinementWords, examineInstallation } from "./installation.ts";
import { atMost, type Clock, systemClock, systemTimers } from "../lib/time.ts";
import { createModelClient } from "../llm/mod.ts";
import { offeredModels } from "./offered_models.ts";
import { listeningOn, portRemedy } from "./listeners.ts";
import { missesTrustProxy, missingTrustWords, serverUrlFor, servesTls } from "./server_url.ts";
import { listenAddresses, realPathBelow, serverPermissions, storagePaths } from "./sandbox/permissions.ts";
import { loadKernel } from "../lib/kernel/kernel.ts";
import { permittedLibraries } from "../lib/start_flags.ts";
import { lookup } from "node:dns/promises";
import { isObject, parseJson } from "../lib/json.ts";
import { isLoopbackHost } from "../lib/settings.ts";
import { randomId } from "../lib/secrets.ts";
import { basePathOf } from "../lib/page.ts";

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

// * The way from clients in the cloud to the server: its address, its certificate, its documents.

const { well: addressWell, warning: addressWarning } = checksOf("public address");
const timeoutMs = 5_000;
const inTheCloud = "claude.ai, ChatGPT and other clients in the cloud";

interface Surroundings {
  /** Whether nothing is wrong with the certificate as far as is known. */
  readonly isCertified?: boolean;
  readonly resolve?: typeof addressesOf;
  readonly shakeHands?: typeof shakeHandsWith;
}

async function addressesOf(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Rejects where no trusted certificate for the name is shown. */
async function shakeHandsWith(hostname: string, port: number): Promise<void> {
  const shaking = Deno.connectTls({ hostname, port }).then(async (connection) => {
    await connection.handshake().finally(() => connection.close());
  });
  if (await atMost(timeoutMs, shaking, "late") === "late") throw new Deno.errors.TimedOut("late");
}

/**
 * Nothing for an address of this machine alone: no client elsewhere is meant to reach it. Says at its end whether the
 * address can be asked for more.
 */
export async function* examinePublicAddress(
  serverUrl: string,
  { isCertified = true, resolve = addressesOf, shakeHands = shakeHandsWith }: Surroundings = {},
): AsyncGenerator<Check, boolean> {
  const url = new URL(serverUrl);
  const host = withoutBrackets(url.hostname);
  if (isLoopbackHost(url.hostname)) return true;
  const addresses = await resolve(host).catch((error: unknown) => faultWords(error));
  if (typeof addresses === "string" || addresses.length === 0) {
    const why = typeof addresses === "string" ? addresses : "the host name has no address";
    yield addressWarning(
      `${host} cannot be looked up: ${why}`,
      "make a DNS record for it, or correct SERVER_URL: no client finds the server",
    );
    return false;
  }
  yield judgeAddresses(host, addresses);
  if (url.port !== "") {
    yield addressWarning(
      `${serverUrl} is on port ${url.port}: claude.ai connects to port 443 only`,
      `serve it on port 443, or behind a proxy or tunnel that does; clients on your own machines connect`,
    );
  }
  if (url.protocol !== "https:") return true;
  if (!isCertified) return false;
  const certificate = await judgeCertificate(host, portOf(url), shakeHands);
  yield certificate;
  return certificate.state === "well";
}

function judgeAddresses(host: string, addresses: readonly string[]): Check {
  const hidden = addresses.filter((address) => !isPublicAddress(address));
  if (hidden.length > 0) {
    return addressWarning(
      `${host} leads to ${hidden.join(", ")}, which the internet cannot reach: ${inTheCloud} fail`,
      "for them, name a public address in the DNS or use a tunnel; clients on your own network connect",
    );
  }
  return addresses.some((address) => !address.includes(":"))
    ? addressWell(`${host} leads to ${addresses.join(", ")}`)
    : addressWarning(
      `${host} has IPv6 addresses only: claude.ai connects by IPv4`,
      "add an A record with an IPv4 address",
    );
}

/** What the runtime says, what it means, and what helps. */
const certificateFaults: readonly (readonly [said: RegExp, words: string, remedy: string])[] = [
  [
    /UnknownIssuer|UNABLE_TO_VERIFY|unable to (get|verify)|self.signed/i,
    "shows a certificate whose chain does not end at a known authority",
    "serve the full chain (fullchain.pem, not cert.pem); a private authority is known to your own machines only",
  ],
  [/NotValidForName|altname|not valid for/i, "shows the certificate of another name", "have one made for this name"],
  [/Expired|CERT_HAS_EXPIRED/i, "shows a certificate that has expired", "renew it, and reload the proxy"],
  [/NotValidYet|not valid yet/i, "shows a certificate that is not valid yet", "set this machine's clock"],
];

async function judgeCertificate(host: string, port: number, shake: typeof shakeHandsWith): Promise<Check> {
  const { well, warning } = checksOf("certificate");
  try {
    await shake(host, port);
    return well(`${host} shows a trusted certificate`);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const known = certificateFaults.find(([pattern]) => pattern.test(said));
    return known === undefined
      ? warning(
        `${host} port ${port} does not show its certificate to this machine: ${faultWords(error)}`,
        "start the proxy and the server; try from another network, as some routers do not lead back inside",
      )
      : warning(`${host} ${known[1]}: clients refuse it`, known[2]);
  }
}

/** Port 80 of a public server's name, as the certificate authority sees it. A name without address is reported above. */
async function* examineNamedPort(name: string): AsyncGenerator<Check> {
  const addresses = await addressesOf(name).catch(() => []);
  if (addresses.length === 0) return;
  const url = `http://${name}/.well-known/acme-challenge/${randomId()}`;
  const answer = await ask(url).catch(fetchFaultWords);
  if (typeof answer === "string") {
    return yield addressWarning(
      `port 80 of ${name} cannot be reached from here: ${answer}`,
      "open it in the firewall and the router, for the certificate authority; some routers do not lead back inside",
    );
  }
  const isOurs = answer.status === 404 && (await answer.text()).startsWith("There is no such challenge");
  yield isOurs ? addressWell(`port 80 of ${name} leads to this server`) : addressWarning(
    `port 80 of ${name} leads to another server (status ${answer.status})`,
    "point the DNS records of the name (A and AAAA) to this machine: else the certificate cannot be renewed",
  );
}

const signInPageMs = 10_000;

/** Opens a sign-in page elsewhere as a browser would. Some compare the redirect address only after the sign-in. */
export async function judgeRedirect(
  url: string,
  { name, party, redirectUri, fetch, remedy }: {
    readonly name: string;
    /** Whose page it is, in a word. */
    readonly party: "instance" | "provider";
    readonly redirectUri: string;
    readonly fetch: typeof globalThis.fetch;
    /** What helps where it is refused. */
    readonly remedy: string;
  },
): Promise<Check> {
  const { well, warning } = checksOf(name);
  try {
    const { status, headers, body } = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(signInPageMs),
    });
    await body?.cancel();
    const target = headers.get("location") ?? "";
    const [, error] = /[?&]error=(\w*)/.exec(target) ?? [];
    if (status >= 500 || status === 429 || error === "server_error" || error === "temporarily_unavailable") {
      return warning(`the ${party} cannot answer now (${error ?? status})`, "run this again later");
    }
    // RFC 6749 §4.1.2.1: an error is never sent to an address that was refused, nor for an unknown client.
    if (error !== undefined && target.startsWith(`${redirectUri}?`)) {
      const words = `the ${party} accepts the client id and ${redirectUri}, but refuses: ${error || status}`;
      return warning(
        words,
        `at the ${party}, allow the application to sign people in, with the scopes it asks for`,
      );
    }
    return status >= 400 || error !== undefined
      ? warning(`the ${party} refuses the client id or the redirect address ${redirectUri} (${status})`, remedy)
      : well(`${redirectUri} is not refused (some ${party}s compare it after the sign-in)`);
  } catch {
    return warning(
      `the sign-in page of the ${party} does not answer`,
      "open it in a browser, then run this again",
    );
  }
}

const { well: documentsWell, warning: documentsWarning, broken: documentsBroken } = checksOf("metadata");

/** How Claude's cloud names itself: some edges refuse it, and nothing but it. */
const cloudAgent = "Claude-User";

/** RFC 8414 §3.3 and RFC 9728 §3.3: what the documents say has to equal the address they were fetched from. */
async function* examineMetadata(serverUrl: string): AsyncGenerator<Check> {
  const { origin } = new URL(serverUrl);
  const base = basePathOf(serverUrl);
  // RFC 8414 §3.1, RFC 9728 §3.1: a path of the server comes after the well-known one
  const expected = [
    [`/.well-known/oauth-authorization-server${base}`, "issuer", serverUrl],
    [`/.well-known/oauth-protected-resource${base}`, "resource", `${serverUrl}/mcp`],
    [`/.well-known/oauth-protected-resource${base}/mcp`, "resource", `${serverUrl}/mcp`],
  ] as const;
  for (const [path, member, value] of expected) {
    const url = `${origin}${path}`;
    const document = await fetchDocument(url);
    if (typeof document === "string") {
      yield documentsWarning(
        `${url} ${document}`,
        "start the server, or correct SERVER_URL and the proxy before it",
      );
      return; // the other documents would say the same
    }
    yield document[member] === value
      ? documentsWell(url)
      : documentsBroken(`${url} says another ${member}`, "set SERVER_URL to the address that clients type");
  }
  yield* examineEdge(`${serverUrl}/mcp`);
}

/** A request of ours; redirects are not followed. */
function ask(url: string, { headers, ...init }: RequestInit = {}): Promise<Response> {
  const signal = AbortSignal.timeout(timeoutMs);
  return fetch(url, { ...init, headers: { "user-agent": doctorAgent, ...headers }, redirect: "manual", signal });
}

/** The document, or in words what came instead. */
async function fetchDocument(url: string): Promise<Readonly<Record<string, unknown>> | string> {
  try {
    const response = await ask(url);
    const document = parseJson(await response.text());
    if (!response.ok) return `answers with status ${response.status}`;
    return isObject(document) ? document : "does not answer with JSON";
  } catch (error) {
    return `cannot be fetched: ${fetchFaultWords(error)}`;
  }
}

/** Without a token the endpoint answers 401 itself; anything else to this agent alone comes from before it. */
async function* examineEdge(url: string): AsyncGenerator<Check> {
  const answerTo = async (agent: string, more: Readonly<Record<string, string>> = {}): Promise<Response | null> => {
    const response = await ask(url, {
      method: "POST",
      headers: {
        "user-agent": agent,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...more,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    }).catch(() => null);
    await response?.body?.cancel();
    return response;
  };
  const answer = await answerTo(doctorAgent);
  const status = answer?.status ?? null;
  const cloudStatus = (await answerTo(`${cloudAgent} (${doctorAgent})`))?.status ?? null;
  yield status === 401 ? documentsWell(`${url} asks for a sign-in, as it should`) : documentsWarning(
    `${url} answers ${status ?? "nothing"} to a call without a token, not 401`,
    "let the proxy pass POST requests to /mcp with their headers, and answers as they are",
  );
  if (status === 401 && cloudStatus !== 401) {
    yield documentsWarning(
      `${url} answers ${cloudStatus ?? "nothing"} to the agent ${cloudAgent}, and 401 to others`,
      "let your CDN or firewall admit AI agents to /mcp, /oauth and /.well-known",
    );
  }
  if (status !== 401) return;
  if (answer?.headers.get("www-authenticate")?.includes("resource_metadata=") !== true) {
    yield documentsWarning(
      `${url} asks for a sign-in without saying where: its answer has lost the header WWW-Authenticate`,
      "let the proxy pass the headers of answers unchanged",
    );
    return;
  }
  const refused = (await answerTo(doctorAgent, { authorization: "Bearer none" }))?.headers.get("www-authenticate");
  if (refused?.includes('error="invalid_token"') !== true) {
    yield documentsWarning(
      `${url} does not get the tokens that clients send: the header Authorization is lost on the way`,
      "let the proxy pass Authorization unchanged to /mcp",
    );
  }
}

/** Discovery, keys, the provider's clock, the redirect address, people who leave; and the mapping of groups. */
export async function* examineCompany(
  { company, ownerPassphrase }: { readonly company: CompanySettings | null; readonly ownerPassphrase: boolean },
  { serverUrl, clock, fetch = globalThis.fetch }: {
    readonly serverUrl: string;
    readonly clock: Clock;
    readonly fetch?: typeof globalThis.fetch;
  },
): AsyncGenerator<Check> {
  if (company === null) return;
  yield* examineMapping(company, ownerPassphrase);
  const { createProvider } = await loadProvider();
  let providerTime: number | null = null;
  const provider = createProvider({
    company,
    clock,
    timers: systemTimers,
    async fetch(url, init) {
      const response = await fetch(url, init);
      providerTime = Date.parse(response.headers.get("date") ?? "") || null;
      return response;
    },
  });
  const discovery = checksOf("identity provider");
  const metadata = await provider.metadata({ fresh: true });
  if (!metadata.ok) {
    const { reason, said } = metadata.error;
    return yield discovery.warning(
      problemWords[reason] ?? `its discovery cannot be used (${reason})`,
      reason === "other_issuer"
        ? `OIDC_ISSUER has to be what the provider calls itself: ${said}`
        : "open OIDC_ISSUER with /.well-known/openid-configuration from this machine (DNS, firewall, proxy)",
    );
  }
  yield discovery.well(`${company.issuer} answers`);
  yield clockCheck(providerTime, clock());
  const keys = await provider.keys({ fresh: true });
  const { well, warning } = checksOf("identity provider's keys");
  if (!keys.ok) {
    const words = problemWords[keys.error.reason] ?? `cannot be used (${keys.error.reason})`;
    yield warning(words, `open ${metadata.value.jwks_uri} from this machine`);
  } else {
    yield keys.value.length === 0
      ? warning("the provider publishes no key", "ask its administrator")
      : well(`${keys.value.length} published`);
  }
  const redirectUri = `${serverUrl}/oauth/callback`;
  const made = { state: "doctor", nonce: "doctor", codeChallenge: "doctor-".repeat(6) + "d", redirectUri, ask: null };
  const url = await provider.authorizationUrl(made);
  if (url.ok) {
    yield await judgeRedirect(url.value, {
      name: "identity provider's redirect address",
      party: "provider",
      redirectUri,
      fetch,
      remedy:
        "at the provider, the application needs that redirect address; OIDC_CLIENT_ID is its id, and SERVER_URL " +
        "the address that people use",
    });
  }
  const leaving = checksOf("people who leave");
  yield metadata.value.backchannel_logout_supported
    ? leaving.well(`the provider can announce sign-outs: give it ${serverUrl}/oauth/backchannel-logout`)
    : leaving.note("the provider announces no sign-outs: people who leave are out after OIDC_RECHECK");
}

/** Further apart, and the provider's tokens are expired, or not yet good. */
const maxClockDifferenceSeconds = 30;

/** By the `Date` of an answer (RFC 9110 §6.6.1). */
function clockCheck(providerTime: number | null, now: number): Check {
  const { well, warning, note } = checksOf("identity provider's clock");
  if (providerTime === null) return note("not known: the provider's answers have no date");
  const apart = Math.round(Math.abs(providerTime - now) / 1_000);
  return apart <= maxClockDifferenceSeconds
    ? well("agrees with this machine's")
    : warning(`differs by ${apart} s from this machine's`, "set this machine's clock; a minute apart, sign-ins fail");
}

const problemWords: Readonly<Record<string, string>> = {
  unreachable: "does not answer",
  timed_out: "does not answer in time",
  server_error: "answers with an error of its own",
  unexpected_status: "answers with a redirect, or with a status that means nothing here",
  not_json: "answers with something else than JSON",
  too_large: "answers with more than a megabyte",
  malformed_answer: "answers with JSON that lacks what is needed",
  other_issuer: "calls itself by another name than OIDC_ISSUER",
};

/** Rules that let no one in, or let in people who may then do nothing. */
function* examineMapping({ allow, groups }: CompanySettings, ownerPassphrase: boolean): Generator<Check> {
  const { well, warning, note } = checksOf("people of the identity provider");
  if (allow.length === 0) {
    const who = "OIDC_ALLOW is not set: people can sign in who linked an account, and no others";
    return yield ownerPassphrase ? note(who) : warning(
      `${who}, while OWNER_PASSPHRASE is off`,
      "set OIDC_ALLOW, or OWNER_PASSPHRASE=on until the owner has linked an account",
    );
  }
  const rightless = allow.flatMap((rule) =>
    rule.kind === "group" && groups?.has(rule.name) === false ? [rule.name] : []
  );
  if (rightless.length > 0) {
    yield warning(
      `OIDC_ALLOW admits the ${rightless.length === 1 ? "group" : "groups"} ${
        rightless.map((name) => JSON.stringify(name)).join(", ")
      }, to which OIDC_GROUPS gives nothing`,
      "name them in OIDC_GROUPS too",
    );
    return;
  }
  const isAdministered = [...groups?.values() ?? []].some(({ administrator }) => administrator);
  yield isAdministered
    ? well("OIDC_ALLOW and OIDC_GROUPS fit each other")
    : note("no group makes administrators: those named here are");
}
