/**
 * The screener: a thread that looks through files which a worker has opened, for those that hold nothing of what is
 * searched for. It gets descriptors and no names; it reads and closes, and can open nothing. {@link screen} is all that
 * it runs, started as text: the main thread, which starts it, has given up the right to read files.
 */
import { memoryLayout, placeStates, screenerStates, screensAtBytes } from "./screening.ts";

const given = { layout: memoryLayout, places: placeStates, states: screenerStates, screensAtBytes };

/** The module of a screener that may load one of these libraries, and ends when it was idle for so long. */
export function screenerModule(libraries: readonly string[], idleMs: number): string {
  const text = `await (${screen})(${JSON.stringify(libraries)}, ${idleMs}, ${JSON.stringify(given)})`;
  return `data:text/javascript,${encodeURIComponent(text)}`;
}

/** The program. It refers to nothing outside itself but the runtime. */
async function screen(
  libraries: readonly string[],
  idleMs: number,
  { layout, places, states, screensAtBytes }: typeof given,
) {
  const functions = {
    pread: { name: "pread64", parameters: ["i32", "buffer", "usize", "i64"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  } as const;
  const load = () => {
    for (const path of libraries) {
      try {
        return Deno.dlopen(path, functions).symbols;
      } catch {
        continue; // not where this distribution keeps it
      }
    }
    throw new Error("no library");
  };
  const libc = load();
  Deno.permissions.revokeSync({ name: "ffi" });
  const { Buffer, isUtf8 } = await import("node:buffer");
  const scope = globalThis as unknown as {
    onmessage: (event: MessageEvent<SharedArrayBuffer>) => void;
    postMessage: (message: "ended") => void;
  };
  scope.onmessage = ({ data: memory }) => {
    const words = new Int32Array(memory, 0, screensAtBytes / 4);
    const characters = new Uint16Array(memory, screensAtBytes);
    const bytes = Buffer.allocUnsafeSlow(layout.maxFileBytes + 1);
    const wanted = BigInt(bytes.length);
    let screens: readonly RegExp[] = [];
    let round = 0;
    const readScreens = () => {
      round = Atomics.load(words, layout.roundAt);
      const json = String.fromCharCode(...characters.subarray(0, words[layout.screensLengthAt]));
      screens = (JSON.parse(json) as [string, string][]).map(([source, flags]) => new RegExp(source, flags));
    };
    const holdsNothing = (length: number) => {
      const text = bytes.toString("latin1", 0, length);
      return !text.includes("\0") && isUtf8(bytes.subarray(0, length)) && !screens.every((each) => each.test(text));
    };
    Atomics.store(words, layout.stateAt, states.running);
    for (let next = 0;; next = (next + 1) % layout.places) {
      const at = layout.placesAt + next * layout.placeWords;
      while (Atomics.compareExchange(words, at, places.offered, places.taken) !== places.offered) {
        const seen = Atomics.load(words, layout.wakeAt);
        Atomics.store(words, layout.asleepAt, 1);
        const isIdle = Atomics.load(words, at) !== places.offered &&
          Atomics.wait(words, layout.wakeAt, seen, idleMs) === "timed-out";
        Atomics.store(words, layout.asleepAt, 0);
        if (!isIdle) continue;
        Atomics.store(words, layout.stateAt, states.none);
        return scope.postMessage("ended");
      }
      if (Atomics.load(words, layout.roundAt) !== round) readScreens();
      const descriptor = words[at + 1] ?? -1;
      const length = libc.pread(descriptor, bytes, wanted, 0n);
      const isWhole = length === words[at + 2];
      Atomics.store(words, at, places.closing);
      libc.close(descriptor);
      Atomics.store(words, at, isWhole && holdsNothing(length) ? places.nothing : places.look);
    }
  };
}
