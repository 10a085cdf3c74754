/**
 * An HTTP listener that outlives a failing `accept`, above all one that fails because the process is out of
 * descriptors: it listens again on its port. Open connections, and what is in flight on them, stay.
 */
import type { Log } from "./log.ts";
import { pause, systemTimers } from "./time.ts";

/** The used part of what `Deno.serve` returns. */
export type HttpServer = Pick<Deno.HttpServer<Deno.NetAddr>, "addr" | "finished" | "shutdown">;

/** A listener that keeps its port. */
export interface PersistentListener {
  readonly port: number;
  /** Accepts no more connections; resolves when the requests in flight have been answered. */
  shutdown(): Promise<void>;
}

const firstPauseMs = 50;
const longestPauseMs = 1_000;
/** Accepting for this long ends an outage. */
const steadyMs = 5_000;
/** Each failure leaves a server behind that answers on the connections it has; beyond this, the oldest is shut down. */
const maxFormerServers = 32;

/**
 * Listens with `listen`, which is called with `null` at first and then with the port to take again. Throws what the
 * first call throws.
 */
export function listenPersistently(
  { listen, log }: { readonly listen: (port: number | null) => HttpServer; readonly log: Log },
): PersistentListener {
  const first = listen(null);
  const { port } = first.addr;
  const servers = [first];
  const stopping = new AbortController();

  /** Tries until the port can be had; `null` when there is no more need. */
  const listenAgain = async (firstWait: number): Promise<HttpServer | null> => {
    for (let wait = firstWait;; wait = longer(wait)) {
      await pause(wait, stopping.signal);
      if (stopping.signal.aborted) return null;
      try {
        return listen(port);
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error; // waiting brings no permission back
      }
    }
  };
  const keepListening = async (): Promise<void> => {
    let wait = 0; // 0: no outage
    for (let server: HttpServer | null = first; server !== null;) {
      const began = systemTimers.elapsed();
      const failure = await server.finished.then(() => null, (error: unknown) => ({ error }));
      if (failure === null || stopping.signal.aborted) return;
      if (systemTimers.elapsed() - began > steadyMs) wait = 0;
      if (wait === 0) log.write("error", "accept_failed", { port, error: String(failure.error), hint });
      wait = longer(wait);
      server = await listenAgain(wait);
      if (server !== null) servers.push(server);
      if (servers.length > maxFormerServers) servers.shift()?.shutdown().catch(() => {}); // its failure is known
    }
  };
  const kept = keepListening();
  return {
    port,
    async shutdown() {
      stopping.abort();
      await Promise.allSettled([kept, ...servers.map((server) => server.shutdown())]);
    },
  };
}

const hint = "open connections stay; put a proxy with connection limits in front, or raise the limit of descriptors";

function longer(milliseconds: number): number {
  return Math.min(Math.max(milliseconds * 2, firstPauseMs), longestPauseMs);
}
