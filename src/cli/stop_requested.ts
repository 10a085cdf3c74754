/** Being told to stop, by a signal. */

/** Resolves at the first signal to stop; a second one ends the process at once. */
export function stopRequested(): Promise<void> {
  const signals: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT", "SIGBREAK"] : ["SIGINT", "SIGTERM"];
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = false;
  for (const signal of signals) {
    Deno.addSignalListener(signal, () => {
      if (asked) Deno.exit(1);
      asked = true;
      resolve();
    });
  }
  return promise;
}
