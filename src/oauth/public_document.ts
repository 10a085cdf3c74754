/**
 * Fetches a small JSON document from the internet, and only from there: https alone, no redirects, and the address that
 * is connected to is the very one that was checked, so that a name which resolves differently the second time (DNS
 * rebinding) leads nowhere.
 */
import { failure, type Result, success } from "../lib/result.ts";
import { type ByteSource, type Http1Problem, readHttp1Response } from "./http1_response.ts";
import { isPublicAddress } from "./public_address.ts";

/** A document and what its headers say about keeping it. */
export interface PublicDocument {
  readonly json: unknown;
  /** From Cache-Control (RFC 9111 §5.2.2); 0 when it must not be kept, `null` when nothing is said. */
  readonly maxAgeSeconds: number | null;
}

/** Why there is no document. */
export type DocumentProblem =
  | Http1Problem
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

/** An open TLS connection whose certificate is valid for the host. */
export interface SecureConnection extends ByteSource {
  write(bytes: Uint8Array): Promise<void>;
  close(): void;
}

export interface ConnectTarget {
  readonly address: string;
  readonly port: number;
  readonly host: string;
  /** Gives the attempt up; an open connection is closed by its `close`. */
  readonly signal: AbortSignal;
}

/** The network as this module uses it; tests bring their own resolver and listeners. */
export interface Network {
  /** All addresses of a host name. */
  resolve(host: string): Promise<readonly string[]>;
  /** Connects to an IP address and no other, and proves by TLS that `host` is there. */
  connectTls(target: ConnectTarget): Promise<SecureConnection>;
}

/** What came of a fetch, and whether a failure lies with the host, whatever the path. */
export interface FetchOutcome {
  readonly document: Result<PublicDocument, DocumentProblem>;
  readonly isFailureOfHost: boolean;
}

/** A fetch that was begun. */
interface RunningFetch {
  /** Resolves at the deadline at the latest. */
  readonly outcome: Promise<FetchOutcome>;
  /** Resolves when nothing of it runs any more: a resolver cannot be told to stop. */
  readonly ended: Promise<unknown>;
}

/** draft-ietf-oauth-client-id-metadata-document-00 §6.6 */
const maxDocumentBytes = 5_120;
/** Of a name's addresses, no more than this many are tried. */
const maxAddresses = 4;

/** Begins a fetch that has no more time than `timeoutMs`. */
export function beginFetch(network: Network, timeoutMs: number, url: URL): RunningFetch {
  const deadline = new AbortController();
  let isConnected = false;
  const { promise: late, resolve } = Promise.withResolvers<Result<never, DocumentProblem>>();
  const timer = setTimeout(() => {
    resolve(failure("timed_out"));
    deadline.abort();
  }, timeoutMs);
  const ended = fetchDocument(network, timeoutMs, url, {
    signal: deadline.signal,
    onConnected: () => isConnected = true,
  })
    .finally(() => clearTimeout(timer));
  const outcome = Promise.race([ended, late]).then((document) => ({
    document,
    isFailureOfHost: !document.ok && !isConnected,
  }));
  return { outcome, ended };
}

async function fetchDocument(
  network: Network,
  timeoutMs: number,
  url: URL,
  { signal, onConnected }: { readonly signal: AbortSignal; readonly onConnected: () => void },
): Promise<Result<PublicDocument, DocumentProblem>> {
  let addresses: readonly string[];
  try {
    addresses = await network.resolve(url.hostname);
  } catch {
    return failure("unresolvable_host");
  }
  if (signal.aborted) return failure("timed_out");
  if (addresses.length === 0) return failure("unresolvable_host");
  // One forbidden address among public ones is not an accident.
  if (!addresses.every(isPublicAddress)) return failure("forbidden_address");
  const connection = await connectToAny(network, timeoutMs, url, { addresses, signal });
  if (connection === null) return failure("connection_failed"); // refused, or no valid certificate for this host
  onConnected();
  const hangUp = (): void => connection.close();
  signal.addEventListener("abort", hangUp, { once: true });
  try {
    if (signal.aborted) return failure("timed_out");
    await connection.write(requestOf(url));
    const response = await readHttp1Response(connection, maxDocumentBytes);
    return response.ok ? toDocument(response.value) : response;
  } catch {
    return failure("connection_failed"); // reset, or closed by the deadline
  } finally {
    signal.removeEventListener("abort", hangUp);
    hangUp();
  }
}

/** Tries the addresses in turn, each for its part of the time: a host may answer at one of them and not at another. */
async function connectToAny(
  network: Network,
  timeoutMs: number,
  url: URL,
  { addresses, signal }: { readonly addresses: readonly string[]; readonly signal: AbortSignal },
): Promise<SecureConnection | null> {
  const tried = addresses.slice(0, maxAddresses);
  for (const address of tried) {
    if (signal.aborted) return null;
    const attempt = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(timeoutMs / tried.length))]);
    try {
      const port = Number(url.port || "443");
      return await network.connectTls({ address, port, host: url.hostname, signal: attempt });
    } catch {
      // the next one may answer
    }
  }
  return null;
}

function requestOf(url: URL): Uint8Array {
  // `url` is a parsed URL: its parts hold no space and no line break that could end the request line or a header.
  const lines = [
    `GET ${url.pathname}${url.search} HTTP/1.1`,
    `Host: ${url.host}`,
    "Accept: application/json",
    "Accept-Encoding: identity",
    "User-Agent: Portcullis",
    "Connection: close",
  ];
  return new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`);
}

function toDocument(
  { status, headers, body }: { status: number; headers: Headers; body: Uint8Array },
): Result<PublicDocument, DocumentProblem> {
  if (status >= 500 || status === 429) return failure("host_unavailable");
  if (status !== 200) return failure("unexpected_status"); // a redirect too: its target was not checked
  const type = (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const encoding = headers.get("content-encoding") ?? "identity";
  if (!/^application\/([a-z0-9.+-]+\+)?json$/.test(type) || encoding !== "identity") {
    return failure("unexpected_content_type");
  }
  try {
    const json: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return success({ json, maxAgeSeconds: maxAgeOf(headers.get("cache-control")) });
  } catch {
    return failure("not_json");
  }
}

function maxAgeOf(cacheControl: string | null): number | null {
  const directives = (cacheControl ?? "").toLowerCase().split(",").map((directive) => directive.trim());
  if (directives.includes("no-store") || directives.includes("no-cache")) return 0;
  const maxAge = directives.map((directive) => /^max-age="?(\d{1,9})"?$/.exec(directive)?.[1]).find((age) =>
    age !== undefined
  );
  return maxAge === undefined ? null : Number(maxAge);
}
