/** What is loaded when it is first asked for. A failure is not kept: the next call tries again. */
import { LoadFailure } from "./system_fault.ts";
import { outsideOfCalls } from "./async_context.ts";

interface LoadOnce<Loaded> {
  (): Promise<Loaded>;
  /** Runs only where it was loaded. */
  ifLoaded(use: (loaded: Loaded) => void | Promise<void>): Promise<void>;
}

export function loadOnce<Loaded>(load: () => Promise<Loaded>): LoadOnce<Loaded> {
  let loading: Promise<Loaded> | undefined;
  // Deno goes on in the context of an import() when its module is there: the trace of the call that was first would be
  // that of whatever comes after.
  const get = (): Promise<Loaded> =>
    loading ??= outsideOfCalls(load).catch((error) => {
      loading = undefined;
      if (!(error instanceof TypeError)) throw error; // what a module did that was loaded
      throw new LoadFailure("a part of the program could not be loaded", { cause: error });
    });
  return Object.assign(get, {
    async ifLoaded(use: (loaded: Loaded) => void | Promise<void>) {
      const loaded = await loading?.catch(() => undefined);
      if (loaded !== undefined) await use(loaded);
    },
  });
}
