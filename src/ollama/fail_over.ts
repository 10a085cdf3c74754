/**
 * One call over several hosts and attempts. As long as nothing of an answer has arrived, another host is asked when the
 * first is not well, is full, or lacks the model; when all are full or starting, the round is repeated after a pause.
 */
import type { Clock } from "../lib/time/clock.ts";
import { pause } from "../lib/time/pause.ts";
import type { OllamaClient } from "./client.ts";
import { type OllamaFailure, ollamaFailure, type OllamaFailureCode } from "./failure.ts";
import type { HostPool } from "./host_pool.ts";
import type { OllamaLimits } from "./limits.ts";
import type { ModelCall, ModelFailed } from "./port.ts";

interface FailOverOptions {
  readonly pool: HostPool;
  readonly limits: OllamaLimits;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Failures that another host may not have. */
const worthAnotherHost: ReadonlySet<OllamaFailureCode> = new Set<OllamaFailureCode>([
  "ollama_unreachable",
  "host_not_found",
  "not_ollama",
  "forbidden_host",
  "auth_required",
  "busy",
  "model_not_installed",
  "bad_upstream",
]);

/** Yields the events of the first host that answers; `end` is when, by the clock, the call has to be over. */
export async function* failOver<Event extends { readonly type: string }>(
  start: (client: OllamaClient, call: ModelCall) => AsyncGenerator<Event | ModelFailed, void>,
  { signal, end }: { readonly signal: AbortSignal; readonly end: number },
  { pool, limits, clock, random }: FailOverOptions,
): AsyncGenerator<Event | ModelFailed, void> {
  const remaining = (): number => Math.max(1, end - clock());
  for (let attempt = 1;; attempt++) {
    const failures: OllamaFailure[] = [];
    for await (const { client, version } of pool.candidates(signal)) {
      if (!version.ok) {
        failures.push(version.error);
        continue;
      }
      let begun = false;
      let failure: OllamaFailure | null = null;
      for await (const event of start(client, { signal, totalMilliseconds: remaining() })) {
        if (isFailed(event) && !begun) failure = event.failure;
        else yield event;
        begun = true;
      }
      pool.report(client, failure);
      if (failure === null) return;
      if (!worthAnotherHost.has(failure.code)) return yield { type: "failed", failure };
      failures.push(failure);
    }
    const failure = mostTelling(failures);
    if (attempt >= limits.maxAttempts || !failures.some((it) => it.mayRetry)) return yield { type: "failed", failure };
    const delay = limits.retryDelaySeconds * 1000 * 2 ** (attempt - 1) * (0.5 + random() / 2);
    if (delay >= remaining()) return yield { type: "failed", failure };
    await pause(delay, signal);
    if (signal.aborted) {
      return yield { type: "failed", failure: ollamaFailure("cancelled", "The call was cancelled.") };
    }
  }
}

function isFailed(event: { readonly type: string }): event is ModelFailed {
  return event.type === "failed";
}

/** Of several hosts' failures the one to tell: a full or lacking server says more than one that is not there. */
function mostTelling(failures: readonly OllamaFailure[]): OllamaFailure {
  for (const code of ["cancelled", "busy", "model_not_installed", "auth_required"] as const) {
    const found = failures.find((failure) => failure.code === code);
    if (found !== undefined) return found;
  }
  return failures[0] ?? ollamaFailure("ollama_unreachable", "No Ollama host is configured; set OLLAMA_HOST.");
}
