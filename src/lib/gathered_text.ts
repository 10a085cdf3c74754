/**
 * Gathers texts as UTF-8, for the log and the audit. As texts they would be many small objects, which the garbage
 * collector copies again and again while they wait: a tenth of what a call costs (`bench` echo). Once that row takes no
 * more without it, it can go.
 */

const encoder = new TextEncoder();
/** Encoding costs less for several texts at once. */
const encodedAtOnce = 4_096;
const maxBytesOfCharacter = 3;
/** A larger buffer is given up when it is taken from. */
const maxKeptBytes = 524_288;

/** `finish` may change pieces that hold more than printable ASCII; they end where something that was added ends. */
export function gatherText(finish: (text: string) => string = (text) => text) {
  let buffer = new Uint8Array(0);
  let used = 0;
  let waiting = "";
  const write = (text: string): number => {
    const room = used + text.length * maxBytesOfCharacter;
    if (room > buffer.length) {
      const larger = new Uint8Array(2 * room);
      larger.set(buffer.subarray(0, used));
      buffer = larger;
    }
    return encoder.encodeInto(text, buffer.subarray(used)).written;
  };
  const encode = (): void => {
    const written = write(waiting);
    const isPlain = written === waiting.length && !waiting.includes("\u007f");
    used += isPlain ? written : write(finish(waiting));
    waiting = "";
  };
  return {
    add(text: string): void {
      waiting += text;
      if (waiting.length >= encodedAtOnce) encode();
    },
    /** Of all so far, roughly: bytes, and characters that are no bytes yet. */
    get size(): number {
      return used + waiting.length;
    },
    /** All so far, as a copy: memory that is used again costs less than new memory for each batch. Begins anew. */
    take(): Uint8Array<ArrayBuffer> {
      encode();
      const taken = buffer.slice(0, used);
      used = 0;
      if (buffer.length > maxKeptBytes) buffer = new Uint8Array(0);
      return taken;
    },
  };
}
