/** Being told to stop, by a signal. */
import type { Clock } from "../lib/time/clock.ts";

/** What signals ask for. */
interface StopRequest {
  /** Resolves at the first signal: stop in good order. */
  readonly asked: Promise<void>;
  /** Resolves at a later one: end at once. */
  readonly insisted: Promise<void>;
}

/** Ctrl-C reaches the whole process group, and `deno task` passes it on besides: one signal arrives as two. */
const sameSignalMilliseconds = 500;

/** Listens for signals from here on. `elapsed` gives milliseconds. */
export function stopRequested(elapsed: Clock): StopRequest {
  const signals: readonly Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM", "SIGHUP"];
  const asked = Promise.withResolvers<void>();
  const insisted = Promise.withResolvers<void>();
  let askedAt: number | null = null;
  const onSignal = (): void => {
    askedAt ??= elapsed();
    asked.resolve();
    if (elapsed() - askedAt >= sameSignalMilliseconds) insisted.resolve();
  };
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  return { asked: asked.promise, insisted: insisted.promise };
}
