/** The main thread's side of a worker's screener: starts one when the worker wants it, and ends it once it is idle. */
import { memoryLayout, screenerModule, screenerStates } from "../../files/mod.ts";

/** Starts screeners for one worker, one at a time; none after one that failed. */
export interface ScreenerStarter {
  /** Whether a screener may be wanted, which takes the permission to load a library. */
  readonly isPossible: boolean;
  /** Takes the memory that a screener gets; only the first counts, which comes before the worker runs other code. */
  keep(memory: SharedArrayBuffer | null): void;
  start(): void;
}

const noPermissions = { read: false, write: false, net: false, env: false, run: false, sys: false, import: false };
const defaultIdleMs = 30_000;

/** `libraries`: what a screener may load; none where there is no core to run it. One that was idle for so long ends. */
export function createScreenerStarter(libraries: readonly string[], idleMs = defaultIdleMs): ScreenerStarter {
  let kept: SharedArrayBuffer | null | undefined;
  let running: Worker | null = null;
  let isWanted = false;
  const start = (memory: SharedArrayBuffer): void => {
    isWanted = false;
    const screener = running = new Worker(screenerModule(libraries, idleMs), {
      type: "module",
      name: "screener",
      deno: { permissions: { ...noPermissions, ffi: [...libraries] } },
    });
    screener.onmessage = () => {
      screener.terminate(); // it said that it ended
      running = null;
      if (isWanted) start(memory);
    };
    screener.onerror = (event) => {
      event.preventDefault();
      Atomics.store(new Int32Array(memory), memoryLayout.stateAt, screenerStates.failed);
    };
    screener.postMessage(memory);
  };
  return {
    get isPossible() {
      return kept !== null && kept !== undefined;
    },
    keep(memory) {
      if (kept === undefined) kept = libraries.length === 0 ? null : memory;
    },
    start() {
      if (kept === null || kept === undefined) return;
      if (running === null) start(kept);
      else isWanted = true; // one that ends has not said so yet
    },
  };
}
