/** Reads one HTTP/1.1 response from a connection, with hard limits on every part (RFC 9112). */
import { joinBytes } from "../lib/bounded_body.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** What is read from, a chunk at a time; `null` at the end. */
export interface ByteSource {
  read(): Promise<Uint8Array | null>;
}

interface Http1Response {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Why a response is not accepted. */
export type Http1Problem = "malformed_response" | "response_too_large";

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
export async function readHttp1Response(
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
