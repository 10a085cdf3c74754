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
  | "unresolvable_host"
  | "forbidden_address"
  | "connection_failed"
  | "timed_out"
  | "unexpected_status"
  | "unexpected_content_type"
  | "not_json";

/** Fetches a document by its https URL. */
export type FetchDocument = (url: string) => Promise<Result<PublicDocument, DocumentProblem>>;

/** An open TLS connection whose certificate is valid for the host. */
export interface SecureConnection extends ByteSource {
  write(bytes: Uint8Array): Promise<number>;
  close(): void;
}

/** The network as this module uses it; tests bring their own resolver and listeners. */
export interface Network {
  /** All addresses of a host name. */
  resolve(host: string): Promise<readonly string[]>;
  /** Connects to an IP address and no other, and proves by TLS that `host` is there. */
  connectTls(target: {
    readonly address: string;
    readonly port: number;
    readonly host: string;
    readonly signal: AbortSignal;
  }): Promise<SecureConnection>;
}

/** Bounds of a fetch. */
export interface DocumentLimits {
  readonly timeoutSeconds: number;
  readonly maxBytes: number;
  readonly maxConcurrentFetches: number;
}

/** Bounds that fit the draft on client ID metadata documents (5 KB, 5 s). */
export const defaultDocumentLimits: DocumentLimits = { timeoutSeconds: 5, maxBytes: 5_120, maxConcurrentFetches: 8 };

/** Builds the fetcher. Parallel fetches of one URL share one connection. */
export function createDocumentFetcher(network: Network, limits: DocumentLimits): FetchDocument {
  const underWay = new Map<string, ReturnType<FetchDocument>>();
  return (url) => {
    const present = underWay.get(url);
    if (present !== undefined) return present;
    if (underWay.size >= limits.maxConcurrentFetches) return Promise.resolve(failure("too_many_fetches"));
    const fetching = fetchWithDeadline(network, limits, new URL(url)).finally(() => underWay.delete(url));
    underWay.set(url, fetching);
    return fetching;
  };
}

async function fetchWithDeadline(
  network: Network,
  limits: DocumentLimits,
  url: URL,
): Promise<Result<PublicDocument, DocumentProblem>> {
  const deadline = new AbortController();
  const { promise: late, resolve } = Promise.withResolvers<Result<never, DocumentProblem>>();
  const timer = setTimeout(() => {
    deadline.abort();
    resolve(failure("timed_out"));
  }, limits.timeoutSeconds * 1_000);
  try {
    return await Promise.race([fetchDocument(network, limits, url, deadline.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function fetchDocument(
  network: Network,
  { maxBytes }: DocumentLimits,
  url: URL,
  signal: AbortSignal,
): Promise<Result<PublicDocument, DocumentProblem>> {
  const host = url.hostname;
  let addresses: readonly string[];
  try {
    addresses = await network.resolve(host);
  } catch {
    return failure("unresolvable_host");
  }
  const [address] = addresses;
  if (address === undefined) return failure("unresolvable_host");
  // One forbidden address among public ones is not an accident.
  if (!addresses.every(isPublicAddress)) return failure("forbidden_address");
  let connection: SecureConnection;
  try {
    connection = await network.connectTls({ address, port: Number(url.port || "443"), host, signal });
  } catch {
    return failure("connection_failed"); // refused, or no valid certificate for this host
  }
  let isOpen = true;
  const hangUp = (): void => {
    if (isOpen) connection.close();
    isOpen = false;
  };
  signal.addEventListener("abort", hangUp, { once: true });
  try {
    if (signal.aborted) return failure("timed_out");
    await writeAll(connection, requestOf(url));
    const response = await readHttp1Response(connection, maxBytes);
    return response.ok ? toDocument(response.value) : response;
  } catch {
    return failure("connection_failed"); // reset, or closed by the deadline
  } finally {
    signal.removeEventListener("abort", hangUp);
    hangUp();
  }
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

async function writeAll(connection: SecureConnection, bytes: Uint8Array): Promise<void> {
  for (let offset = 0; offset < bytes.byteLength;) offset += await connection.write(bytes.subarray(offset));
}

function toDocument(
  { status, headers, body }: { status: number; headers: Headers; body: Uint8Array },
): Result<PublicDocument, DocumentProblem> {
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
