/**
 * What `doctor --servicenow` asks the instance: its certificate, its API, the redirect address, and as a person who has
 * linked an account each API and each table that the tools use.
 */
import type { Check } from "../lib/result.ts";
import type { Config } from "./config/config.ts";
import type { Transport, UpstreamRequest } from "../servicenow/mod.ts";
import {
  askWhoAmI,
  createFetchOnce,
  createInstanceTokenEndpoint,
  createLinkStore,
  createServicenowLinks,
  createTransport,
  unavailableCauses,
} from "../servicenow/later.ts";
import { formWords } from "./servicenow_registry.ts";
import { checksOf } from "./doctor_places.ts";
import { judgeCertificate, judgeRedirect, systemSurroundings } from "./doctor_address.ts";
import { faultWords } from "../lib/system_fault.ts";
import { portOf, withoutBrackets } from "../lib/network.ts";
import { pause, systemClock } from "../lib/time.ts";
import { ownerId } from "../oauth/mod.ts";
import { openExisting } from "./doctor_public.ts";
import { scopesOf } from "./servicenow_wiring.ts";
import { serverUrlFor } from "./server_url.ts";
import { playConnection } from "./doctor_connection.ts";

const timeoutMs = 10_000;
const maxReplyBytes = 65_536;
const maxTables = 100;

const certificateRemedies = {
  untrusted: "correct SERVICENOW_INSTANCE, or have this machine trust the authority of the instance (DENO_CERT)",
  other_name: "correct SERVICENOW_INSTANCE: it has to be a name of the instance's certificate",
  expired: "have the certificate of the instance, or of the proxy in between, renewed; check this machine's clock",
  too_early: "set this machine's clock",
  not_shown: "correct SERVICENOW_INSTANCE, or let this machine reach it (DNS, firewall, proxy)",
};

/** Someone who has linked an account, with a token that is good now. */
interface LinkedPerson {
  readonly userName: string;
  readonly accessToken: string;
}

async function* examineInstance(config: Config, fetch: typeof globalThis.fetch): AsyncGenerator<Check> {
  const { access, tables } = config.servicenow;
  if (access === undefined) return;
  const serverUrl = serverUrlFor(config.http, config.http.port);
  const { instance: origin } = access;
  const url = new URL(origin);
  if (url.protocol === "https:") {
    const { shakeHands } = systemSurroundings;
    const check = await judgeCertificate(url.hostname, portOf(url), shakeHands, certificateRemedies);
    yield { ...check, name: "ServiceNow certificate" };
    if (check.state !== "well") return;
  }
  const transport = createTransport({ instance: { origin }, fetch, fetchOnce: fetch, requestMs: timeoutMs });
  const door = await askDoor(transport);
  yield door;
  if (door.state !== "well") return;
  const redirectUri = `${serverUrl}/servicenow/callback`;
  const query = { response_type: "code", client_id: access.clientId, redirect_uri: redirectUri, state: "doctor" };
  yield await judgeRedirect(`${origin}/oauth_auth.do?${new URLSearchParams(query)}`, {
    name: "ServiceNow redirect address",
    party: "instance",
    redirectUri,
    fetch,
    remedies: {
      refused:
        `at the instance, its form has to say: ${formWords(serverUrl)}. SERVICENOW_CLIENT_ID is that form's id, ` +
        "and SERVER_URL the address that people use",
      silent: "open the instance in a browser, then run this again",
    },
  });
  const person = await findLinkedPerson(config.storage, { access, transport, serverUrl });
  if (person === null) {
    yield checksOf("ServiceNow tables").note(
      "not asked: no one has linked an account whose sign-in works",
      `link one at ${serverUrl}/servicenow/link, then run this again`,
    );
    return;
  }
  yield* askApis(transport, person);
  yield* askTables(transport, person, tables);
}

function get(path: string, query: Readonly<Record<string, string>>): UpstreamRequest {
  return { method: "GET", path, query, accept: "json", maxBytes: maxReplyBytes };
}

/** The status of an answer, or why there was none; what was too large is an answer all the same. */
async function statusOf(transport: Transport, request: UpstreamRequest, accessToken: string | null) {
  const signal = new AbortController().signal;
  const answer = await transport(request, { accessToken, signal });
  if (answer.ok) return answer.value.status;
  return answer.error.reason === "unavailable" ? answer.error.because : 200;
}

const firstRow = { sysparm_limit: "1", sysparm_fields: "sys_id" };

/** Without a token: an API that is there asks for one. */
async function askDoor(transport: Transport): Promise<Check> {
  const { well, warning } = checksOf("ServiceNow API");
  const status = await statusOf(transport, get("/api/now/table/incident", firstRow), null);
  if (status === 401 || status === 403) {
    return well(`the Table API answers, and demands a sign-in (${status})`);
  }
  if (typeof status === "string") {
    const { forOperators, remedy } = unavailableCauses[status];
    return warning(`the instance ${forOperators}`, remedy);
  }
  return warning(
    `the Table API answers ${status} to a request without a token, where an instance answers 401`,
    "correct SERVICENOW_INSTANCE, or let the gateway in front of it pass /api",
  );
}

const apis: readonly (readonly [name: string, path: string, query: Record<string, string>, without: string])[] = [
  ["Attachment API", "/api/now/attachment", { sysparm_limit: "1" }, "files of records cannot be read or attached"],
  ["Service Catalog API", "/api/sn_sc/servicecatalog/items", { sysparm_limit: "1" }, "servicenow_order cannot order"],
  ["Knowledge API", "/api/sn_km_api/knowledge/articles", { limit: "1" }, "articles are found by their table instead"],
];

async function* askApis(transport: Transport, { accessToken, userName }: LinkedPerson): AsyncGenerator<Check> {
  const { well, warning } = checksOf("ServiceNow API");
  const open: string[] = [];
  for (const [api, path, query, without] of apis) {
    const status = await statusOf(transport, get(path, query), accessToken);
    if (status === 200) open.push(api);
    else {
      const text = `${api}: ${outcomeWords(status)} as ${userName}; ${without}`;
      yield warning(text, remedyFor(status, "the API"));
    }
  }
  if (open.length > 0) yield well(`open to ${userName}: ${open.join(", ")}`);
}

async function* askTables(
  transport: Transport,
  { accessToken, userName }: LinkedPerson,
  tables: readonly string[],
): AsyncGenerator<Check> {
  const { well, note, warning } = checksOf("ServiceNow tables");
  const named = tables.filter((table) => !table.endsWith("*")).slice(0, maxTables);
  const readable: string[] = [];
  for (const table of named) {
    const status = await statusOf(transport, get(`/api/now/table/${table}`, firstRow), accessToken);
    if (status === 200 || status === 404) readable.push(table); // 404: no record that the person may see
    else {
      const text = `${table}: ${outcomeWords(status)} as ${userName}`;
      yield warning(text, remedyFor(status, "the table"));
    }
  }
  if (readable.length > 0) yield well(`open to ${userName}: ${readable.join(", ")}`);
  const others = tables.length - named.length;
  if (others > 0) {
    yield note(`${others} of SERVICENOW_TABLES are beginnings of names, and not asked`);
  }
}

function outcomeWords(status: Awaited<ReturnType<typeof statusOf>>): string {
  return typeof status === "string" ? `the instance ${unavailableCauses[status].forOperators}` : `answers ${status}`;
}

function remedyFor(status: Awaited<ReturnType<typeof statusOf>>, what: string): string {
  if (typeof status === "string") return unavailableCauses[status].remedy;
  switch (status) {
    case 401:
      return "the person has to link the account again: the instance ended the sign-in";
    case 403:
      return `at the instance, give the person's roles access to ${what} (ACLs, REST API ACLs, REST API access policies)`;
    case 429:
      return "the instance limits requests: see its Rate Limit Rules, and run this again later";
    default:
      return `the instance does not know ${what}: correct SERVICENOW_TABLES, or activate its plugin`;
  }
}

const { well, warning } = checksOf("ServiceNow");
/** No instance issues such a token: its refusal shows whether it accepts the client. */
const noToken = "portcullis-doctor";

/** Nothing where none is configured. */
export async function* examineServicenow(
  { access, missing }: Config["servicenow"],
  { resolve, serverUrl }: { readonly resolve: (host: string) => Promise<unknown>; readonly serverUrl: string },
): AsyncGenerator<Check> {
  if (missing.length > 0) {
    yield warning(
      `SERVICENOW_INSTANCE alone offers no tools: ${missing.join(" and ")} are missing`,
      `set them from an OAuth client of the instance; its form: ${formWords(serverUrl)} (docs/servicenow.md)`,
    );
  }
  if (access === undefined) return;
  const { instance, clientId, clientSecret } = access;
  const host = withoutBrackets(new URL(instance).hostname);
  const unknown = await resolve(host).then(() => null, (error: unknown) => faultWords(error));
  if (unknown !== null) {
    const text = `${host} cannot be looked up: ${unknown}`;
    yield warning(text, "correct SERVICENOW_INSTANCE, or the machine's DNS");
    return;
  }
  const once = createFetchOnce(fetch);
  try {
    const transport = createTransport({ instance: { origin: instance }, fetch, fetchOnce: once.fetch });
    const client = { clientId, clientSecret, redirectUri: `${serverUrl}/servicenow/callback` };
    const answer = await createInstanceTokenEndpoint({ transport, client }).refresh(noToken);
    if (answer.ok || answer.error.reason === "refused") {
      const text = `${instance} answers, and does not refuse the client (only a sign-in proves the secret)`;
      yield well(text);
    } else {
      const { forOperators, remedy } = unavailableCauses[answer.error.because];
      yield warning(`${instance} ${forOperators}`, remedy);
    }
  } finally {
    once.close();
  }
}

const silent = { write: () => {}, flush: () => {} };

/** With a token that is renewed if necessary, as for a call; `null` without a working link. */
async function findLinkedPerson(
  place: Config["storage"],
  { access: { instance: origin, clientId, clientSecret }, transport, serverUrl }: {
    readonly access: NonNullable<Config["servicenow"]["access"]>;
    readonly transport: Transport;
    readonly serverUrl: string;
  },
): Promise<LinkedPerson | null> {
  const opened = await openExisting(place);
  if (opened === null) return null;
  const { storage, secrets } = opened;
  try {
    const store = createLinkStore({ instance: { origin }, storage, secrets, log: silent });
    const client = { clientId, clientSecret, redirectUri: `${serverUrl}/servicenow/callback` };
    const tokenEndpoint = createInstanceTokenEndpoint({ transport, client });
    const links = createServicenowLinks({ store, storage, tokenEndpoint, clock: systemClock, pause, log: silent });
    const linked = (await links.health(null)).filter(({ state }) => state === "linked")
      .sort((a, b) => Number(b.subject === ownerId) - Number(a.subject === ownerId) || b.renewedAt - a.renewedAt);
    const [first] = linked;
    if (first === undefined) return null;
    const { signal } = new AbortController();
    const found = await links.access(first.subject, { signal });
    if (!found.ok) return null;
    const { accessToken: refused } = found.value;
    const asked = await askWhoAmI({ transport, clock: systemClock }, refused, signal);
    const isEnded = !asked.ok && asked.error.reason === "link_expired"; // before its time
    const access = isEnded ? await links.access(first.subject, { signal, refused }) : found;
    return access.ok ? { userName: access.value.account.userName, accessToken: access.value.accessToken } : null;
  } finally {
    await storage.close();
  }
}

// What `doctor --servicenow` adds: this server as a client of the instance, and the instance as a client of this
// server.

/** Asks the instance what people's calls will meet there, with the token of one who has linked an account. */
export async function* examineServicenowInstance(config: Config): AsyncGenerator<Check> {
  const once = createFetchOnce(fetch);
  try {
    yield* examineInstance(config, once.fetch);
  } catch (error) {
    yield checksOf("ServiceNow").warning(`cannot be examined: ${faultWords(error)}`);
  } finally {
    once.close();
  }
}

/** Plays ServiceNow's own client against the running server, up to where a person would sign in. */
export async function* playServicenow(config: Config): AsyncGenerator<Check> {
  const { registrationToken } = config.authorizationServer;
  const steps = playConnection({
    serverUrl: serverUrlFor(config.http, config.http.port),
    instanceOrigin: config.servicenow.access?.instance ?? "https://doctor.service-now.com",
    scopes: scopesOf(config.servicenow),
    ...(registrationToken === undefined ? {} : { registrationToken }),
  });
  for await (const { name, ...step } of steps) yield { name: `ServiceNow, ${name}`, ...step };
}
