/**
 * Fetches small JSON documents from the internet, and only from there: https alone, no redirects, and the address that
 * is connected to is the very one that was checked, so that a name which resolves differently the second time (DNS
 * rebinding) leads nowhere. Fetches are shared out, so that no asker and no hanging host can take all of it: those over
 * the limit are refused, and recent failures are not retried.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import { atMost, type Clock } from "./time.ts";
import { boundedMap } from "./bounded_map.ts";
import { failure, type Result, success } from "./result.ts";
import { isClientDocumentUrl, isPublicAddress } from "./network.ts";
import { collectBytes } from "./request_text.ts";

/** Why there is no document. */
export type DocumentProblem =
  | "malformed_response"
  | "response_too_large"
  | "too_many_fetches"
  | "forbidden_url"
  | "unresolvable_host"
  | "forbidden_address"
  | "connection_failed"
  | "timed_out"
  /** 5xx and 429: the host is there, and cannot answer now. */
  | "host_unavailable"
  | "unexpected_status"
  | "unexpected_content_type"
  | "not_json";

/** The network as the fetcher uses it; tests bring their own resolver and listeners. */
export interface Network {
  /** All addresses of a host name. */
  resolve(host: string): Promise<readonly string[]>;
  /** Begins a GET over TLS. `host` is an IP address, `servername` the name that the certificate there has to have. */
  get(options: RequestOptions): Promise<ClientRequest>;
}

/** The machine's own network. `authorities` (PEM) take the place of the certificate authorities that it trusts. */
export function createInternet(authorities?: string): Network {
  return { // loaded here, since few starts ever fetch
    async resolve(host) {
      const { lookup } = await import("node:dns/promises");
      return (await lookup(host, { all: true })).map(({ address }) => address);
    },
    async get(options) {
      const { get } = await import("node:https");
      return get({ ...options, ...(authorities === undefined ? {} : { ca: authorities }) });
    },
  };
}

/** Fetches a document by its https URL, on behalf of `asker`, which is any key: the network that a request came from. */
export type FetchDocument = (url: string, asker: string) => Promise<Answer>;

/** As the draft on client ID metadata documents suggests. */
const fetchTimeoutMs = 5_000;
const maxConcurrentFetches = 8;

/** One asker, and one host, have at most so many of the fetches that run at once. */
const maxFetchesOfOne = 2;
/** A failure is the answer for so long. */
const failureMs = 10_000;
const maxFailures = 1_000;
/** Documents are cached: more fetches than this in a minute are a flood, or data that a broken tool sends away. */
const maxFetchesPerMinute = 240;
/** Of one asker: a stranger's flood leaves some to others. */
const maxFetchesPerMinuteOfOne = 60;

/** Parallel fetches of one URL share one connection. */
export function createDocumentFetcher(
  network: Network,
  clock: Clock,
  { timeoutMs = fetchTimeoutMs }: { readonly timeoutMs?: number } = {},
): FetchDocument {
  /** The answers of fetches that run, by URL. */
  const coming = new Map<string, Promise<Answer>>();
  const running = new Set<{ readonly host: string; readonly asker: string }>();
  /** By URL, and by host if no path could have caused them, so that no client can block a host. */
  const failures = boundedMap<string, { readonly problem: DocumentProblem; readonly until: number }>(maxFailures);
  const isWithinRate = createRate(clock);

  const mayRun = ({ host }: URL, asker: string): boolean =>
    running.size < maxConcurrentFetches &&
    [...running].filter((each) => each.asker === asker).length < maxFetchesOfOne &&
    [...running].filter((each) => each.host === host).length < maxFetchesOfOne;
  /** Resolves at the deadline at the latest; its place is free when nothing of it runs any more. */
  const run = async (url: URL, asker: string): Promise<Answer> => {
    const { href, host } = url;
    const place = { host, asker };
    running.add(place);
    const deadline = new AbortController();
    let isConnected = false;
    const onConnected = (): void => void (isConnected = true);
    const ended = fetchDocument(network, url, { timeoutMs, signal: deadline.signal, onConnected })
      .finally(() => running.delete(place));
    const answer = await atMost(timeoutMs, ended, timedOut);
    deadline.abort();
    if (!answer.ok) failures.set(isConnected ? href : host, { problem: answer.error, until: clock() + failureMs });
    return answer;
  };
  return async (text, asker) => {
    if (!isClientDocumentUrl(text)) return failure("forbidden_url");
    const url = new URL(text);
    const known = [url.href, url.host].map((key) => failures.get(key)).find((each) => each && clock() < each.until);
    if (known !== undefined) return failure(known.problem);
    const shared = coming.get(url.href);
    if (shared !== undefined) return await shared;
    if (!mayRun(url, asker) || !isWithinRate(asker)) return failure("too_many_fetches");
    const answer = run(url, asker).finally(() => coming.delete(url.href));
    coming.set(url.href, answer);
    return await answer;
  };
}

function createRate(clock: Clock): (asker: string) => boolean {
  let minuteStart = -Infinity;
  let fetches = 0;
  const ofAsker = new Map<string, number>();
  return (asker) => {
    const now = clock();
    if (now < minuteStart || now >= minuteStart + 60_000) {
      minuteStart = now;
      fetches = 0;
      ofAsker.clear();
    }
    const own = ofAsker.get(asker) ?? 0;
    if (own >= maxFetchesPerMinuteOfOne || fetches >= maxFetchesPerMinute) return false;
    ofAsker.set(asker, own + 1);
    fetches++;
    return true;
  };
}

/**
 * A document and what its headers say about keeping it: `maxAgeSeconds` is from Cache-Control (RFC 9111 §5.2.2), 0 when
 * it must not be kept, `null` when nothing is said.
 */
type Answer = Result<{ readonly json: unknown; readonly maxAgeSeconds: number | null }, DocumentProblem>;

const timedOut: Answer = failure("timed_out");

/** draft-ietf-oauth-client-id-metadata-document-00 §6.6 */
const maxDocumentBytes = 5_120;
const maxHeadBytes = 16_384;
const maxInterimResponses = 10;
/** Of a name's addresses, no more than this many are tried. */
const maxAddresses = 4;

interface FetchLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called once TLS has proven that the host is there. */
  readonly onConnected: () => void;
}

/** Tries the host's addresses in turn, each for its part of the time: a host may answer at one and not at another. */
async function fetchDocument(network: Network, url: URL, limits: FetchLimits): Promise<Answer> {
  let addresses: readonly string[];
  try {
    addresses = await network.resolve(url.hostname);
  } catch {
    return failure("unresolvable_host"); // a resolver cannot be told to stop
  }
  if (addresses.length === 0) return failure("unresolvable_host");
  // One forbidden address among public ones is not an accident.
  if (!addresses.every(isPublicAddress)) return failure("forbidden_address");
  const tried = addresses.slice(0, maxAddresses);
  for (const address of tried) {
    if (limits.signal.aborted) return failure("timed_out");
    const answer = await fetchFrom(network, url, address, { ...limits, timeoutMs: limits.timeoutMs / tried.length });
    if (answer !== null) return answer;
  }
  return failure("connection_failed"); // refused, or no valid certificate for this host
}

/** Fetches from one address; `null` without a connection to the host within `timeoutMs`. */
async function fetchFrom(network: Network, url: URL, address: string, { timeoutMs, signal, onConnected }: FetchLimits) {
  const { promise, resolve } = Promise.withResolvers<Answer | null>();
  let request: ClientRequest;
  try {
    request = await network.get({
      host: address, // not a name: nothing resolves it again
      port: url.port || 443,
      servername: url.hostname,
      path: `${url.pathname}${url.search}`,
      headers: {
        host: url.host,
        accept: "application/json",
        "accept-encoding": "identity",
        "user-agent": "Portcullis",
      },
      agent: false,
      rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
      maxHeaderSize: maxHeadBytes,
      signal,
    });
  } catch {
    return null;
  }
  let isConnected = false;
  const timer = setTimeout(() => request.destroy(), timeoutMs);
  request.on("socket", (socket) =>
    socket.once("secureConnect", () => {
      clearTimeout(timer);
      isConnected = true;
      onConnected();
    }));
  const fail = (problem: DocumentProblem): void => resolve(isConnected ? failure(problem) : null);
  const onClose = (): void => fail("connection_failed");
  request.on("close", onClose);
  request.on("response", (response) => {
    request.off("close", onClose); // it may come before the last of the body is read
    readDocument(response).then(resolve, onClose);
  });
  let interim = 0;
  request.on("information", () => { // 1xx, each with its own head (RFC 9110 §15.2)
    if (++interim > maxInterimResponses) fail("malformed_response");
  });
  request.on("upgrade", () => fail("malformed_response")); // which was not asked for
  request.on("error", ({ code }: NodeJS.ErrnoException) => {
    fail(code?.startsWith("HPE_") ? "malformed_response" : "connection_failed");
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    request.destroy();
  }
}

/** Rejects where the connection is lost. */
async function readDocument(response: IncomingMessage): Promise<Answer> {
  const { statusCode = 0, headers } = response;
  if (statusCode >= 500 || statusCode === 429) return failure("host_unavailable");
  if (statusCode !== 200) return failure("unexpected_status"); // a redirect too: its target was not checked
  if ((headers["transfer-encoding"] ?? "chunked") !== "chunked") return failure("malformed_response");
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (
    !/^application\/([a-z0-9.+-]+\+)?json$/.test(type) || (headers["content-encoding"] ?? "identity") !== "identity"
  ) {
    return failure("unexpected_content_type");
  }
  if (Number(headers["content-length"] ?? 0) > maxDocumentBytes) return failure("response_too_large");
  const collected = collectBytes(maxDocumentBytes);
  for await (const chunk of response) if (!collected.add(chunk)) return failure("response_too_large");
  try {
    const json: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(collected.bytes()));
    return success({ json, maxAgeSeconds: maxAgeOf(headers["cache-control"]) });
  } catch {
    return failure("not_json");
  }
}

function maxAgeOf(cacheControl = ""): number | null {
  const directives = cacheControl.toLowerCase().split(",").map((directive) => directive.trim());
  if (directives.includes("no-store") || directives.includes("no-cache")) return 0;
  const maxAge = directives.flatMap((directive) => /^max-age="?(\d{1,9})"?$/.exec(directive)?.[1] ?? [])[0];
  return maxAge === undefined ? null : Number(maxAge);
}
