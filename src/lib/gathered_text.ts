/**
 * Gathers texts as UTF-8, for the log and the audit. As texts they would be many small objects, which the garbage
 * collector copies again and again while they wait: a tenth of what a call costs (`bench` echo). Once that row takes no
 * more without it, it can go.
 */
import { collectBytes } from "./request_text.ts";

const encoder = new TextEncoder();
/** Encoding costs less for several texts at once. */
const encodedAtOnce = 4_096;

export type GatheredText = ReturnType<typeof gatherText>;

/** `finish` may change pieces that hold more than printable ASCII; they end where something that was added ends. */
export function gatherText(finish: (text: string) => string = (text) => text) {
  const collected = collectBytes(Infinity);
  let waiting = "";
  const encode = (): void => {
    const bytes = encoder.encode(waiting);
    const isPlain = bytes.length === waiting.length && !waiting.includes("\u007f");
    collected.add(isPlain ? bytes : encoder.encode(finish(waiting)));
    waiting = "";
  };
  return {
    add(text: string): void {
      waiting += text;
      if (waiting.length >= encodedAtOnce) encode();
    },
    /** Of all so far, roughly: bytes, and characters that are no bytes yet. */
    get size(): number {
      return collected.size + waiting.length;
    },
    /** All so far. */
    bytes(): Uint8Array<ArrayBuffer> {
      encode();
      return collected.bytes();
    },
  };
}
