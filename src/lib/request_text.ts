/** Reads a request's body as text: within a size, within a time, and only if it is UTF-8. */
import { collectBytes } from "./bounded_body.ts";
import { startDeadline } from "./deadline.ts";
import { failure, type Result, success } from "./result.ts";

/** Why a body was not read. */
export type BodyRefusal = "too_large" | "too_slow" | "unreadable" | "not_utf8";

/** What one body may take. */
export interface BodyBounds {
  readonly maxBytes: number;
  /** From the first look at the body to its last byte. */
  readonly timeoutSeconds: number;
}

/** Bodies up to this size are read at once; more has to be taken piece by piece, to be let go of when time is up. */
const readAtOnceBytes = 65_536;

/**
 * The body's text, or why there is none. A declared length is judged before a byte is read (the HTTP layer holds the
 * sender to it), any other counted as it streams in.
 */
export function readRequestText(request: Request, bounds: BodyBounds): Promise<Result<string, BodyRefusal>> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > bounds.maxBytes) return Promise.resolve(failure("too_large"));
  return new Promise((resolve) => {
    const reading = declared !== null && Number(declared) <= readAtOnceBytes
      ? { bytes: request.bytes(), stop: () => {} }
      : readPieces(request.body, bounds.maxBytes);
    const meet = startDeadline(bounds.timeoutSeconds * 1_000, () => {
      resolve(failure("too_slow"));
      reading.stop();
    });
    reading.bytes.then(
      (bytes) => {
        meet();
        resolve(bytes === null ? failure("too_large") : decode(bytes));
      },
      () => {
        meet();
        resolve(failure("unreadable")); // the sender hung up, or broke the framing
      },
    );
  });
}

function readPieces(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): { readonly bytes: Promise<Uint8Array | null>; readonly stop: () => void } {
  if (body === null) return { bytes: Promise.resolve(new Uint8Array()), stop: () => {} };
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => {}); // gone already is as good
  const read = async (): Promise<Uint8Array | null> => {
    const collected = collectBytes(maxBytes);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return collected.bytes();
      if (collected.add(value)) continue;
      stop();
      return null;
    }
  };
  return { bytes: read(), stop };
}

const lenient = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true });

/** RFC 8259 §8.1. What a lenient decoder replaces is looked at again: a strict one costs three times as much. */
function decode(bytes: Uint8Array): Result<string, "not_utf8"> {
  const text = lenient.decode(bytes);
  if (!text.includes("\ufffd")) return success(text);
  try {
    return success(strict.decode(bytes));
  } catch {
    return failure("not_utf8");
  }
}
