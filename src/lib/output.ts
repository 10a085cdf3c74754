/**
 * Text written to standard output or standard error, in order and without blocking this thread. Output that cannot be
 * written is dropped, never thrown: a full disk, or a reader that is gone or slow, is no reason to stop working.
 */
import { pause } from "./pause.ts";

/** What text is written to. */
interface ByteSink {
  write(bytes: Uint8Array): Promise<number>;
}

/** How a write went: `gone` is a reader that left, `failed` anything else, such as a full disk. */
type OutputState = "well" | "gone" | "failed";

interface Output {
  /** Resolves with whether all of the text was written; never rejects. */
  write(text: string | Uint8Array): Promise<boolean>;
  /** Resolves when all text so far was written or dropped. */
  flush(): Promise<void>;
  /** Whether any text was dropped so far, and why. */
  readonly state: OutputState;
}

/** A sink in non-blocking mode does not say when it takes more. */
const retryMs = 20;
const newLine = new Uint8Array([10]);

/** Wraps a sink that nothing else in this isolate writes to. */
export function createOutput(sink: ByteSink): Output {
  const encoder = new TextEncoder();
  let state: OutputState = "well";
  let isWithinLine = false;
  let last: Promise<boolean> = Promise.resolve(true);

  const writeBytes = async (bytes: Uint8Array): Promise<void> => {
    for (let rest = bytes; rest.byteLength > 0;) {
      try {
        rest = rest.subarray(await sink.write(rest));
        isWithinLine = true;
      } catch (error) {
        if (!(error instanceof Deno.errors.WouldBlock || error instanceof Deno.errors.Interrupted)) throw error;
        await pause(retryMs);
      }
    }
    isWithinLine = bytes.byteLength > 0 && bytes.at(-1) !== newLine[0];
  };
  const writeOrDrop = async (bytes: Uint8Array): Promise<boolean> => {
    if (state === "gone") return false;
    try {
      if (isWithinLine && state === "failed") await writeBytes(newLine); // a line that broke off stays a line of its own
      await writeBytes(bytes);
      return true;
    } catch (error) {
      state = error instanceof Deno.errors.BrokenPipe ? "gone" : "failed";
      return false;
    }
  };
  return {
    write(text) {
      const bytes = typeof text === "string" ? encoder.encode(text) : text;
      return last = last.then(() => writeOrDrop(bytes));
    },
    flush: async () => void await last,
    get state() {
      return state;
    },
  };
}
