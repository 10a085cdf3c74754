/** Reads a request: its body as text, within a size, within a time, and only if it is UTF-8; its headers without a copy. */
import { pause } from "./time.ts";
import { failure, type Result, success } from "./result.ts";

/** The body's bytes, or `null` when there are more than `maxBytes`; the rest is not read. */
export async function readBounded(
  message: Request | Response,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const declared = Number(message.headers.get("content-length") ?? "0");
  if (declared > maxBytes) {
    await message.body?.cancel();
    return null;
  }
  const collected = collectBytes(maxBytes);
  for await (const chunk of message.body ?? []) {
    if (!collected.add(chunk)) return null; // leaving the loop cancels the body
  }
  return collected.bytes();
}

const firstBufferBytes = 16_384;

/** Gathers bytes that arrive in pieces, in one buffer: a kept piece of one byte takes 150. */
export function collectBytes(maxBytes: number) {
  let buffer = new Uint8Array(0);
  let size = 0;
  return {
    /** `false`, and nothing is kept, when it would be more than `maxBytes`. */
    add(piece: Uint8Array): boolean {
      const needed = size + piece.byteLength;
      if (needed > maxBytes) return false;
      if (needed > buffer.byteLength) {
        const larger = new Uint8Array(Math.min(maxBytes, Math.max(needed, 2 * buffer.byteLength, firstBufferBytes)));
        larger.set(buffer.subarray(0, size));
        buffer = larger;
      }
      buffer.set(piece, size);
      size = needed;
      return true;
    },
    bytes: (): Uint8Array<ArrayBuffer> => buffer.subarray(0, size),
    get size() {
      return size;
    },
  };
}

/** Why a body was not read. */
export type BodyRefusal =
  | "too_large"
  | "too_slow"
  | "too_fragmented"
  | "over_share"
  | "unreadable"
  | "not_utf8"
  | "encoded";

export interface BodyBounds {
  readonly maxBytes: number;
  /** From the first look at the body to its last byte. */
  readonly timeoutMs: number;
}

export const bodyTimeoutMs = 20_000;

/** What is known of one body, and asked about it. */
export interface BodyOptions {
  /** {@link declaredLength} of the request, where it was looked up already. */
  readonly declared?: number | null;
  /** Asked for each further piece of a body without a declared length; `false` refuses the body as `over_share`. */
  admitMore?(bytes: number): boolean;
}

/** Whether the body is compressed or the like, which no reader here undoes (RFC 9110 §15.5.16). */
export function isEncoded(request: HeaderHolder): boolean {
  const coding = headerOf(request, "content-encoding");
  return coding !== null && !/^\s*(?:identity)?\s*$/i.test(coding);
}

/** `Retry-After` in milliseconds, be it seconds or a date (RFC 9110 §10.2.3); `null` when absent or neither. */
export function retryAfterMs(headers: Headers, now: number): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  const wait = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}

/** Two equal lines come as a list (RFC 9110 §8.6): it declares nothing, and the body is counted as it comes. */
export function declaredLength(request: HeaderHolder): number | null {
  const declared = Number(headerOf(request, "content-length") ?? Number.NaN);
  return Number.isNaN(declared) ? null : declared;
}

/**
 * Each piece of a body costs the thread the same, whatever it holds: one of a million single bytes would keep it for a
 * minute. After the first pieces, the average has to be as large as this; TCP sends ten times as much at once.
 */
const piecesOfAnySize = 1_000;
const leastAveragePieceBytes = 64;
/** So many pieces are taken before others get their turn: what has already arrived comes without a pause. */
export const piecesATurn = 64;

/** Whether a body, as far as it is there, came in too many pieces for its size. */
export function isTooFragmented(pieces: number, bytes: number): boolean {
  return pieces > piecesOfAnySize + bytes / leastAveragePieceBytes;
}

/** Bodies up to this size are read at once; more has to be taken piece by piece, to be let go of when time is up. */
const readAtOnceBytes = 65_536;

/**
 * The body's text, or why there is none. A declared length is judged before a byte is read (the HTTP layer holds the
 * sender to it), any other counted as it streams in.
 */
export function readRequestText(
  request: Request,
  bounds: BodyBounds,
  options: BodyOptions = {},
): Promise<Result<string, BodyRefusal>> {
  const declared = options.declared === undefined ? declaredLength(request) : options.declared;
  if (isEncoded(request)) return Promise.resolve(failure("encoded"));
  if (declared !== null && declared > bounds.maxBytes) return Promise.resolve(failure("too_large"));
  return new Promise((resolve) => {
    const reading = declared !== null && declared <= readAtOnceBytes
      ? { bytes: request.bytes(), stop: () => {} }
      : readPieces(request.body, bounds.maxBytes, declared === null ? options : {});
    const timer = setTimeout(() => {
      resolve(failure("too_slow"));
      reading.stop();
    }, bounds.timeoutMs);
    Deno.unrefTimer(timer); // keeps no process alive
    reading.bytes.then(
      (bytes) => {
        clearTimeout(timer);
        resolve(typeof bytes === "string" ? failure(bytes) : decode(bytes, declared));
      },
      () => {
        clearTimeout(timer);
        resolve(failure("unreadable")); // the sender hung up, or broke the framing
      },
    );
  });
}

/** The same, given to `use`: at once where the body is there and small, as nearly all are. */
export function withRequestText<T>(
  request: Request,
  bounds: BodyBounds,
  options: BodyOptions & { readonly declared: number | null },
  use: (read: Result<string, BodyRefusal>) => T | Promise<T>,
): T | Promise<T> {
  const { declared } = options;
  if (declared !== null && declared <= Math.min(readAtOnceBytes, bounds.maxBytes) && !isEncoded(request)) {
    const bytes = bytesAtHand(request);
    if (bytes !== null) return use(decode(bytes, declared));
  }
  return readRequestText(request, bounds, options).then(use);
}

type PieceRefusal = "too_large" | "too_fragmented" | "over_share";

function readPieces(body: ReadableStream<Uint8Array> | null, maxBytes: number, options: BodyOptions) {
  if (body === null) return { bytes: Promise.resolve(new Uint8Array()), stop: () => {} };
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => {}); // gone already is as good
  const collected = collectBytes(maxBytes);
  const refusalOf = (piece: Uint8Array, pieces: number): PieceRefusal | null => {
    if (options.admitMore?.(piece.byteLength) === false) return "over_share";
    if (!collected.add(piece)) return "too_large";
    return isTooFragmented(pieces, collected.size) ? "too_fragmented" : null;
  };
  const read = async (): Promise<Uint8Array | PieceRefusal> => {
    for (let pieces = 1;; pieces++) {
      const { done, value } = await reader.read();
      if (done) return collected.bytes();
      const refusal = refusalOf(value, pieces);
      if (refusal !== null) {
        stop();
        return refusal;
      }
      if (pieces % piecesATurn === 0) await pause(0);
    }
  };
  return { bytes: read(), stop };
}

const lenient = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/**
 * RFC 8259 §8.1. What a lenient decoder replaces is looked at again: a strict one costs three times as much. By HTTP/2,
 * a body that its sender cancels ends early, like a whole one (RFC 9113 §8.1).
 */
function decode(bytes: Uint8Array, declared: number | null): Result<string, "not_utf8" | "unreadable"> {
  if (declared !== null && bytes.byteLength !== declared) return failure("unreadable");
  const text = lenient.decode(bytes);
  if (!text.includes("\ufffd")) return success(text);
  try {
    return success(strict.decode(bytes));
  } catch {
    return failure("not_utf8");
  }
}

/**
 * Deno's `InnerRequest` (ext/http/00_serve.ts), the used part: the head and body of a request as the server
 * has them, without a copy. Once `headers` was read, Deno copies all of them when it answers, and `bytes()` gives a
 * body that is already there by promise. Together with answers that are not promised this makes a third of a short
 * call: without it, the echo row of `deno task bench` takes 1.3 times the processor time, and a lone client waits 107
 * µs in place of 65. Once that row is within a tenth without it, it can go.
 *
 * It is no public interface. So its shape is checked at each request, its headers are compared with the public ones at
 * the first that has any, and where anything differs all goes the public way.
 */
interface ServedRequest {
  /** The value of all lines of a header, joined as `Headers.get` joins them. */
  header(name: string): string | null;
  /** `null` for methods without one; taking it takes the bytes from the connection. */
  readonly body: { // Deno's `InnerBody` (ext/fetch/22_body.js)
    readonly streamOrStatic: { readonly body?: unknown; readonly consumed?: boolean };
    consume(): unknown;
  } | null;
}

/** A request, or what has its headers. */
type HeaderHolder = Pick<Request, "headers">;

let key: symbol | undefined;
let agrees: boolean | undefined;

function servedRequest(request: HeaderHolder): ServedRequest | null {
  if (agrees === false) return null;
  key ??= Object.getOwnPropertySymbols(request).find(({ description }) => description === "request");
  const inner = key === undefined
    ? undefined
    : (request as unknown as Record<symbol, Partial<ServedRequest> | undefined>)[key];
  if (typeof inner?.header !== "function") return null; // made by `new Request`, or by another Deno
  agrees ??= hasSameHeaders(inner as ServedRequest, request.headers);
  return agrees === true ? inner as ServedRequest : null;
}

/** Undecided where there are none, such as in the probe of a load balancer, or where the caller has gone already. */
function hasSameHeaders(inner: ServedRequest, headers: Headers): boolean | undefined {
  const names = [...headers.keys()]; // from here on, Deno's `get` looks into the copy that this makes
  if (names.length === 0) return undefined;
  try {
    return names.every((name) => inner.header(name) === headers.get(name)) &&
      inner.header(`x-${crypto.randomUUID()}`) === null;
  } catch {
    return undefined;
  }
}

/** Whether requests of Deno's server are read without a copy, once the first has come. */
export function readsDirectly(request: Request): boolean {
  return servedRequest(request) !== null;
}

/** `request.headers.get(name)`, for a name in lower case. Once the request is answered, {@link keepHeaders} has to have kept it. */
export function headerOf(request: HeaderHolder, name: string): string | null {
  const served = servedRequest(request);
  if (served === null) return request.headers.get(name);
  try {
    return served.header(name);
  } catch {
    return request.headers.get(name); // it is answered: Deno has let go of all but what was kept
  }
}

/** The host, with its port, that a request is addressed to; `null` where its target is no URL. */
export function requestHost(request: Request): string | null {
  // HTTP/2 names it as the authority of the URL instead (RFC 9113 §8.3.1): by https, or by plain http from a proxy that
  // knows it can. HTTP/1 without Host arrives as `localhost`, which no page can make a browser send.
  return headerOf(request, "host") ?? URL.parse(request.url)?.host ?? null;
}

/** Keeps the headers for the time after the answer. */
export function keepHeaders(request: Request): void {
  void request.headers;
}

/** The whole body, where it is there already; `null` leaves it to `request.bytes()`. */
export function bytesAtHand(request: Request): Uint8Array | null {
  try {
    const body = servedRequest(request)?.body ?? null;
    if (body === null || !(body.streamOrStatic?.body instanceof Uint8Array)) return null;
    if (body.streamOrStatic.consumed !== false || typeof body.consume !== "function") return null;
    const bytes = body.consume();
    return bytes instanceof Uint8Array ? bytes : null;
  } catch {
    return null; // it is gone with its connection, which the public way tells by a rejection
  }
}
