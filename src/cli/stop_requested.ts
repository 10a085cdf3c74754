/** Stop requests by signal. */
import type { Clock } from "../lib/clock.ts";

interface StopRequest {
  /** The first signal: drain and stop. */
  readonly asked: Promise<void>;
  /** A later signal: end at once. */
  readonly insisted: Promise<void>;
}

/** Ctrl-C reaches the whole process group, and `deno task` forwards it too: one signal can arrive twice. */
const sameSignalMs = 500;

/** Listens for signals from now on. `elapsed` is in milliseconds. */
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
    if (elapsed() - askedAt >= sameSignalMs) insisted.resolve();
  };
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  return { asked: asked.promise, insisted: insisted.promise };
}
