/**
 * Gathers texts as UTF-8. As texts they would be many small objects, which the collector of garbage copies again and
 * again while they wait.
 */

/** Texts that wait together. */
interface GatheredText {
  /** Of all so far, roughly: bytes, and characters that are no bytes yet. */
  readonly size: number;
  add(text: string): void;
  /** All so far; begins anew. */
  take(): Uint8Array<ArrayBuffer>;
}

/** Encoding costs less for several lines at once. */
const encodedAtOnce = 4_096;
const maxBytesOfCharacter = 3;
/** A larger buffer is given up when it is taken from. */
const maxKeptBytes = 524_288;
const none = new Uint8Array(0);
const encoder = new TextEncoder();

/** Pieces that hold more than printable ASCII pass `finish`, which may change them; they end where something that was added ends. */
export function gatherText(finish?: (text: string) => string): GatheredText {
  let bytes = none;
  let used = 0;
  let waiting = "";
  const encode = (): void => {
    const given = waiting;
    waiting = "";
    const written = write(given);
    const isPlain = finish === undefined || (written === given.length && !given.includes("\u007f"));
    used += isPlain ? written : write(finish(given));
  };
  /** Behind what is used already. */
  const write = (text: string): number => {
    const room = used + text.length * maxBytesOfCharacter;
    if (room > bytes.length) {
      const larger = new Uint8Array(Math.max(2 * bytes.length, room));
      larger.set(bytes.subarray(0, used));
      bytes = larger;
    }
    return encoder.encodeInto(text, bytes.subarray(used)).written;
  };
  return {
    get size() {
      return used + waiting.length;
    },
    add(text) {
      waiting += text;
      if (waiting.length >= encodedAtOnce) encode();
    },
    take() {
      if (waiting !== "") encode();
      const taken = bytes.slice(0, used);
      used = 0;
      if (bytes.length > maxKeptBytes) bytes = none;
      return taken;
    },
  };
}
