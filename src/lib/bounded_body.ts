/** Reads a body that may be larger than anyone wants to hold. */

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

export function collectBytes(maxBytes: number): CollectedBytes {
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
