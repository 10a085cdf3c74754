/**
 * Fetches a small JSON document from the internet, and only from there: https alone, no redirects, and the address that
 * is connected to is the very one that was checked, so that a name which resolves differently the second time (DNS
 * rebinding) leads nowhere.
 */
import type { TLSSocket } from "node:tls";
import { joinBytes } from "./request_text.ts";
import { failure, type Result, success } from "./result.ts";
import { isPublicAddress } from "./client_document_url.ts";
import { parseIpAddress } from "./network.ts";

// Reads one HTTP/1.1 response from a connection, with hard limits on every part (RFC 9112).

/** What is read from, a chunk at a time; `null` at the end. */
interface ByteSource {
  read(): Promise<Uint8Array | null>;
}

interface Http1Response {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Why a response is not accepted. */
type Http1Problem = "malformed_response" | "response_too_large";

const maxHeadBytes = 16_384;

interface Reader {
  /** A line without its CRLF; `null` at the end or past the limit. */
  line(maxBytes: number): Promise<string | null>;
  /** Exactly so many bytes, or `null`. */
  bytes(count: number): Promise<Uint8Array | null>;
  /** Everything up to the end, or `null` past the limit. */
  rest(maxBytes: number): Promise<Uint8Array | null>;
}

function createReader(source: ByteSource): Reader {
  let buffered = new Uint8Array(0);
  const fill = async (): Promise<boolean> => {
    const chunk = await source.read();
    if (chunk === null) return false;
    buffered = joinBytes([buffered, chunk]);
    return true;
  };
  const take = (count: number): Uint8Array => {
    const taken = buffered.slice(0, count);
    buffered = buffered.slice(count);
    return taken;
  };
  return {
    async line(maxBytes) {
      for (;;) {
        const end = buffered.indexOf(10);
        if (end >= 0) return new TextDecoder("latin1").decode(take(end + 1)).replace(/\r?\n$/, "");
        if (buffered.byteLength > maxBytes || !await fill()) return null;
      }
    },
    async bytes(count) {
      while (buffered.byteLength < count) if (!await fill()) return null;
      return take(count);
    },
    async rest(maxBytes) {
      while (buffered.byteLength <= maxBytes) if (!await fill()) return take(buffered.byteLength);
      return null;
    },
  };
}

/** Reads the response to a GET. Bodies of more than `maxBodyBytes` are given up at once, whatever they declare. */
async function readHttp1Response(
  source: ByteSource,
  maxBodyBytes: number,
): Promise<Result<Http1Response, Http1Problem>> {
  const reader = createReader(source);
  const statusLine = await reader.line(maxHeadBytes);
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine ?? "")?.[1] ?? "0");
  if (status < 200) return failure("malformed_response");
  const headers = await readHeaders(reader);
  if (headers === null) return failure("malformed_response");
  const body = await readBody(reader, headers, maxBodyBytes);
  return body.ok ? success({ status, headers, body: body.value }) : body;
}

async function readHeaders(reader: Reader): Promise<Headers | null> {
  const headers = new Headers();
  let budget = maxHeadBytes;
  for (;;) {
    const line = await reader.line(budget);
    if (line === null) return null;
    if (line === "") return headers;
    budget -= line.length + 2;
    const colon = line.indexOf(":");
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1)];
    // No pattern for the value: one that trims blanks is quadratic in them. `Headers` trims.
    if (budget < 0 || colon < 1 || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /[\0\r]/.test(value)) return null;
    headers.append(name, value);
  }
}

async function readBody(
  reader: Reader,
  headers: Headers,
  maxBytes: number,
): Promise<Result<Uint8Array, Http1Problem>> {
  const encoding = headers.get("transfer-encoding");
  if (encoding !== null) {
    return encoding.toLowerCase() === "chunked" ? await readChunks(reader, maxBytes) : failure("malformed_response");
  }
  const declared = headers.get("content-length");
  if (declared === null) {
    const body = await reader.rest(maxBytes);
    return body === null ? failure("response_too_large") : success(body);
  }
  if (!/^\d{1,15}$/.test(declared)) return failure("malformed_response");
  if (Number(declared) > maxBytes) return failure("response_too_large");
  const body = await reader.bytes(Number(declared));
  return body === null ? failure("malformed_response") : success(body);
}

async function readChunks(reader: Reader, maxBytes: number): Promise<Result<Uint8Array, Http1Problem>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const length = parseInt(/^([0-9a-f]{1,8})(?:;.*)?$/i.exec(await reader.line(256) ?? "")?.[1] ?? "", 16);
    if (Number.isNaN(length)) return failure("malformed_response");
    if (length === 0) break; // trailers are of no interest, and the connection is closed
    size += length;
    if (size > maxBytes) return failure("response_too_large");
    const chunk = await reader.bytes(length);
    if (chunk === null || await reader.line(2) !== "") return failure("malformed_response");
    chunks.push(chunk);
  }
  return success(joinBytes(chunks));
}

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
interface SecureConnection extends ByteSource {
  write(bytes: Uint8Array): Promise<void>;
  close(): void;
}

interface ConnectTarget {
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

// The real network for the document fetcher: the system's resolver, and TLS over a pinned TCP connection.

/** Connects as the machine does. `authorities` (PEM) take the place of the certificate authorities that it trusts. */
export function createInternet(authorities?: string): Network {
  return {
    async resolve(host) {
      const { lookup } = await import("node:dns/promises"); // here, since few starts ever ask
      return (await lookup(host, { all: true })).map(({ address }) => address);
    },
    connectTls: (target) => connectTls(target, authorities),
  };
}

async function connectTls(
  { address, port, host, signal }: ConnectTarget,
  authorities: string | undefined,
): Promise<SecureConnection> {
  // `Deno.startTls` keeps the descriptor of a handshake that fails or hangs until the other end closes it;
  // `destroy` of a Node socket does not. Loaded here, since the main thread seldom needs it.
  const { connect } = await import("node:tls");
  signal.throwIfAborted();
  const socket = connect({
    host: address,
    port,
    servername: host,
    ALPNProtocols: ["http/1.1"],
    ...(authorities === undefined ? {} : { ca: authorities }),
  });
  const destroy = (): void => void socket.destroy();
  signal.addEventListener("abort", destroy, { once: true });
  try {
    await untilSecure(socket);
    // The address that counts is the one at the other end.
    if (!isSameAddress(socket.remoteAddress ?? "", address)) throw new Error("Connected to another address");
    return toConnection(socket);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", destroy);
  }
}

function untilSecure(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.on("error", reject); // stays: an error without a listener would end the process
    socket.once("close", () => reject(new Error("The connection was closed")));
  });
}

function toConnection(socket: TLSSocket): SecureConnection {
  const chunks = socket[Symbol.asyncIterator]();
  return {
    async read() {
      const { done, value } = await chunks.next();
      return done ? null : value;
    },
    write: (bytes) =>
      new Promise((resolve, reject) => void socket.write(bytes, (error) => error ? reject(error) : resolve())),
    close: () => void socket.destroy(),
  };
}

function isSameAddress(left: string, right: string): boolean {
  const number = parseIpAddress(left)?.number;
  return number !== undefined && number === parseIpAddress(right)?.number;
}
