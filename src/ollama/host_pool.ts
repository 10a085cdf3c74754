/**
 * Which of several Ollama servers to ask: the first of the operator's order that is well. With one host nothing is
 * checked beforehand; with several a host's health is looked up when it is not known, because a machine that is
 * switched off would otherwise swallow the whole time until the first byte.
 */
import type { Clock } from "../lib/time/clock.ts";
import type { Result } from "../lib/result.ts";
import type { OllamaClient } from "./client.ts";
import type { OllamaFailure, OllamaFailureCode } from "./failure.ts";

/** What is known of one host. */
export interface HostHealth {
  readonly client: OllamaClient;
  readonly version: Result<string, OllamaFailure>;
}

/** The hosts in the operator's order. */
export interface HostPool {
  /** The hosts to try one after the other: those that are well first, then those that may be well again. */
  candidates(signal: AbortSignal): AsyncGenerator<HostHealth, void>;
  /** What a call learned about a host. */
  report(client: OllamaClient, failure: OllamaFailure | null): void;
  /** Asks every host now. */
  check(signal: AbortSignal): Promise<readonly HostHealth[]>;
}

interface Known {
  readonly version: Result<string, OllamaFailure>;
  readonly at: number;
}

/** What says that another host may do better: the host is not there, not itself, or not for us. */
const hostFailures: ReadonlySet<OllamaFailureCode> = new Set<OllamaFailureCode>([
  "ollama_unreachable",
  "host_not_found",
  "not_ollama",
  "forbidden_host",
  "auth_required",
]);

/** Builds a {@link HostPool}; what is known of a host counts for `healthSeconds`. */
export function createHostPool(
  clients: readonly OllamaClient[],
  { healthSeconds, clock }: { readonly healthSeconds: number; readonly clock: Clock },
): HostPool {
  const known = new Map<OllamaClient, Known>();
  const isFresh = (it: Known | undefined): it is Known => it !== undefined && clock() - it.at < healthSeconds * 1000;

  const probe = async (client: OllamaClient, signal: AbortSignal): Promise<HostHealth> => {
    const version = await client.version(signal);
    if (version.ok || version.error.code !== "cancelled") known.set(client, { version, at: clock() });
    return { client, version };
  };

  return {
    async *candidates(signal) {
      const [only, ...others] = clients;
      if (only === undefined) return;
      if (others.length === 0) return yield { client: only, version: { ok: true, value: "" } };
      const unwell: OllamaClient[] = [];
      for (const client of clients) {
        const last = known.get(client);
        if (isFresh(last) && !last.version.ok) unwell.push(client);
        else yield isFresh(last) ? { client, version: last.version } : await probe(client, signal);
      }
      for (const client of unwell) yield await probe(client, signal);
    },
    report(client, failure) {
      if (failure === null || !hostFailures.has(failure.code)) return;
      known.set(client, { version: { ok: false, error: failure }, at: clock() });
    },
    check: (signal) => Promise.all(clients.map((client) => probe(client, signal))),
  };
}
