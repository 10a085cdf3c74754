/**
 * Work that the runtime does on threads of its own: Web Crypto, loading modules. It ends when it ends, so each event of
 * the simulation waits for all of it, and results are handed out in the order in which they were asked for.
 */
import { setImmediate } from "node:timers";

interface Work {
  readonly done: Promise<unknown>;
  readonly release: () => void;
}

const waiting: Work[] = [];

/** Makes the event that runs wait for the promise. */
export function waitFor<T>(work: Promise<T>): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push({ done: work.then(() => {}, () => {}), release: resolve });
  return promise.then(() => work);
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Resolves when everything waits for something that the simulation decides. */
export async function settle(): Promise<void> {
  await turn();
  for (let work = waiting.shift(); work !== undefined; work = waiting.shift()) {
    await work.done;
    work.release();
    await turn();
  }
}

/** Puts Web Crypto under {@link settle}, until the returned function is called. */
export function watchWebCrypto(): () => void {
  const prototype = SubtleCrypto.prototype as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const names = ["sign", "verify", "importKey", "exportKey", "generateKey", "digest", "encrypt", "decrypt"];
  const originals = names.map((name) => [name, prototype[name]] as const);
  for (const [name, original] of originals) {
    if (original === undefined) continue;
    prototype[name] = function (this: SubtleCrypto, ...args) {
      return waitFor(original.apply(this, args));
    };
  }
  return () => {
    for (const [name, original] of originals) if (original !== undefined) prototype[name] = original;
  };
}
