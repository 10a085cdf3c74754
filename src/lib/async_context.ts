/**
 * What is current where code runs, kept by Node's AsyncLocalStorage, which is loaded when the first context is entered:
 * few requests carry a trace.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { nodeProcess } from "./node_modules.ts";

/** One value that is current. */
export interface AsyncContext<T> {
  run<R>(value: T, work: () => R): R;
  current(): T | undefined;
}

let outside: ReturnType<typeof AsyncLocalStorage.snapshot> | undefined;

export function createAsyncContext<T>(): AsyncContext<T> {
  let storage: AsyncLocalStorage<T> | undefined;
  return {
    run: (value, work) => (storage ??= new (loadAsyncContexts())<T>()).run(value, work),
    current: () => storage?.getStore(),
  };
}

/** Runs this in the context of no call. */
export function outsideOfCalls<R>(work: () => R): R {
  return outside === undefined ? work() : outside(work);
}

/** To be called outside of calls where others than {@link createAsyncContext} may make contexts. */
export function loadAsyncContexts(): typeof AsyncLocalStorage {
  const hooks = nodeProcess().getBuiltinModule("node:async_hooks");
  outside ??= hooks.AsyncLocalStorage.snapshot();
  return hooks.AsyncLocalStorage;
}
