/** Reads a request's body as text: within a size, within a time, and only if it is UTF-8. */
import { bytesAtHand, type HeaderHolder, headerOf } from "./served_request.ts";
import { pause } from "./time.ts";
import { failure, type Result, success } from "./result.ts";

// Reads a body that may be larger than anyone wants to hold.

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

/** Bytes that arrive in pieces, in one buffer: a kept piece of one byte takes 150. */
interface CollectedBytes {
  /** `false`, and nothing is kept, when it would be more than `maxBytes`. */
  add(piece: Uint8Array): boolean;
  bytes(): Uint8Array<ArrayBuffer>;
  readonly size: number;
}

const firstBufferBytes = 16_384;

function collectBytes(maxBytes: number): CollectedBytes {
  let buffer = new Uint8Array(0);
  let size = 0;
  return {
    add(piece) {
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
    bytes: () => buffer.subarray(0, size),
    get size() {
      return size;
    },
  };
}

export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((size, piece) => size + piece.byteLength, 0));
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.byteLength;
  }
  return bytes;
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
function isEncoded(request: HeaderHolder): boolean {
  const coding = headerOf(request, "content-encoding");
  return coding !== null && !/^\s*(?:identity)?\s*$/i.test(coding);
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
const piecesATurn = 64;

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

function readPieces(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  options: BodyOptions,
): { readonly bytes: Promise<Uint8Array | PieceRefusal>; readonly stop: () => void } {
  if (body === null) return { bytes: Promise.resolve(new Uint8Array()), stop: () => {} };
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => {}); // gone already is as good
  const collected = collectBytes(maxBytes);
  const refusalOf = (piece: Uint8Array, pieces: number): PieceRefusal | null => {
    if (options.admitMore?.(piece.byteLength) === false) return "over_share";
    if (!collected.add(piece)) return "too_large";
    return pieces > piecesOfAnySize + collected.size / leastAveragePieceBytes ? "too_fragmented" : null;
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
 * RFC 8259 §8.1. What a lenient decoder replaces is looked at again: a strict one costs three times as much. By HTTP/2, a
 * body that its sender cancels ends early, like a whole one (RFC 9113 §8.1).
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
