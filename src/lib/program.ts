/**
 * Modules that are loaded by their place. A literal import would do, but Deno reads every module behind one, and all
 * that those may import, before the first line runs.
 */
import type Crypto from "node:crypto";
import type Fs from "node:fs";
import type Process from "node:process";
import type { AsyncLocalStorage } from "node:async_hooks";
import { LoadFailure } from "./system_fault.ts";

/** The bundler writes the way from this module to the program's root over this text; from source it stays as it is. */
const rootOfBundle = "@PORTCULLIS_ROOT@";

/** Where the module at `path` lies, a path of the sources from their root. */
export function programModuleUrl(path: string): URL {
  const place = rootOfBundle.startsWith("@") ? `../../${path}` : `${rootOfBundle}${path.replace(/ts$/, "js")}`;
  return new URL(place, import.meta.url);
}

/** The worker in which documents are read, and the directory of all modules that it may load. */
export function documentModules(): { readonly holder: URL; readonly directory: URL } {
  const holder = programModuleUrl("src/files/documents/holder.ts");
  return { holder, directory: new URL(".", holder) };
}

/** Loads the module at `path`. scripts/bundle.ts lists each. */
export async function loadProgramModule<Module>(path: string): Promise<Module> {
  return await import(programModuleUrl(path).href);
}

// * Modules of Node, loaded by their first use: an import would load them at the start, where `crypto`, `fs` and
// `process` take longer than all code of ours. `Buffer`, `setTimeout` and their like are globals that Deno loads by
// their first use: the first of them takes 4 ms.

let crypto: typeof Crypto | undefined;
let fs: typeof Fs | undefined;

/** Already to look at this global loads what the three modules share. */
export function nodeProcess(): typeof Process {
  return Reflect.get(globalThis, "process");
}

export function nodeCrypto(): typeof Crypto {
  return crypto ??= nodeProcess().getBuiltinModule("node:crypto");
}

export function nodeFs(): typeof Fs {
  return fs ??= nodeProcess().getBuiltinModule("node:fs");
}

// * What is current where code runs, kept by Node's AsyncLocalStorage, which is loaded when the first context is
// entered: few requests carry a trace.

let outside: ReturnType<typeof AsyncLocalStorage.snapshot> | undefined;

export type AsyncContext<T> = ReturnType<typeof createAsyncContext<T>>;

/** One value that is current. */
export function createAsyncContext<T>() {
  let storage: AsyncLocalStorage<T> | undefined;
  return {
    run: <R>(value: T, work: () => R): R => (storage ??= new (loadAsyncContexts())<T>()).run(value, work),
    current: (): T | undefined => storage?.getStore(),
  };
}

/** To be called outside of calls where others than {@link createAsyncContext} may make contexts. */
export function loadAsyncContexts(): typeof AsyncLocalStorage {
  const hooks = nodeProcess().getBuiltinModule("node:async_hooks");
  outside ??= hooks.AsyncLocalStorage.snapshot();
  return hooks.AsyncLocalStorage;
}

/** Loads on the first call. A failure is not kept: the next call tries again. */
export function loadOnce<Loaded>(load: () => Promise<Loaded>) {
  let loading: Promise<Loaded> | undefined;
  // Deno goes on in the context of an import() when its module is there: the trace of the call that was first would be
  // that of whatever comes after.
  const get = (): Promise<Loaded> =>
    loading ??= (outside === undefined ? load() : outside(load)).catch((error) => {
      loading = undefined;
      if (!(error instanceof TypeError)) throw error; // what a module did that was loaded
      throw new LoadFailure("a part of the program could not be loaded", { cause: error });
    });
  return Object.assign(get, {
    /** Runs only where it was loaded. */
    async ifLoaded(use: (loaded: Loaded) => void | Promise<void>): Promise<void> {
      const loaded = await loading?.catch(() => undefined);
      if (loaded !== undefined) await use(loaded);
    },
  });
}
