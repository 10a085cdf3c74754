/** The local model: bounds and admission before anything is sent, then the first host that answers. */
import type { Clock } from "../lib/time/clock.ts";
import type { Admission, Refusal } from "./admission.ts";
import type { OllamaClient } from "./client.ts";
import { failOver } from "./fail_over.ts";
import { type OllamaFailure, ollamaFailure } from "./failure.ts";
import { createHostPool } from "./host_pool.ts";
import type { OllamaLimits } from "./limits.ts";
import { reportHosts } from "./host_report.ts";
import type { LocalModel, ModelCall, ModelFailed, PrincipalCall } from "./port.ts";
import { chatPromptBytes, embedPromptBytes, generatePromptBytes } from "./prompt_bytes.ts";

interface LocalModelOptions {
  /** One client for each host, in order of preference. */
  readonly clients: readonly [OllamaClient, ...OllamaClient[]];
  readonly admission: Admission;
  readonly limits: OllamaLimits;
  /** The same as the clients'. */
  readonly clock: Clock;
  /** Uniform in [0, 1), for the pause before another attempt. */
  readonly random: () => number;
}

export function createLocalModel({ clients, admission, limits, clock, random }: LocalModelOptions): LocalModel {
  const pool = createHostPool(clients, { healthSeconds: limits.healthSeconds, clock });

  async function* admitted<Event extends { readonly type: string }>(
    start: (client: OllamaClient, call: ModelCall) => AsyncGenerator<Event | ModelFailed, void>,
    promptBytes: number,
    call: PrincipalCall,
  ): AsyncGenerator<Event | ModelFailed, void> {
    if (promptBytes > limits.maxPromptBytes) return yield failed(promptTooLarge(promptBytes, limits));
    const limit = limits.totalSeconds * 1000;
    const total = Math.min(call.totalMilliseconds ?? limit, limit);
    const end = clock() + total;
    const caller = { person: call.person ?? call.fairnessKey, client: call.fairnessKey };
    const { signal: cancelled, onWait } = call;
    const entered = await admission.enter(caller, { signal: cancelled, maxWaitMilliseconds: total, onWait });
    if (!entered.ok) return yield failed(fromRefusal(entered.error, limits));
    const place = entered.value;
    const signal = AbortSignal.any([call.signal, place.signal]);
    try {
      for await (const event of failOver(start, { signal, end }, { pool, limits, clock, random })) {
        const isPushedOut = event.type === "failed" && place.signal.aborted && !call.signal.aborted;
        yield isPushedOut ? failed(shareSpent) : event;
      }
    } finally {
      place.release();
    }
  }

  return {
    generate: (request, call) =>
      admitted((client, inner) => client.generate(request, inner), generatePromptBytes(request), call),
    chat: (request, call) => admitted((client, inner) => client.chat(request, inner), chatPromptBytes(request), call),
    embed: (request, call) =>
      admitted((client, inner) => client.embed(request, inner), embedPromptBytes(request), call),
    report: (signal) => reportHosts(pool, signal),
  };
}

const shareSpent = ollamaFailure(
  "busy",
  "The answer was stopped: others wait for the model, and you have another call running; try again when that has ended.",
);

function promptTooLarge(bytes: number, limits: OllamaLimits): OllamaFailure {
  return ollamaFailure(
    "invalid_request",
    `The prompt has ${bytes} bytes and may have ${limits.maxPromptBytes}; shorten it.`,
  );
}

function failed(failure: OllamaFailure): ModelFailed {
  return { type: "failed", failure };
}

function fromRefusal(refusal: Refusal, limits: OllamaLimits): OllamaFailure {
  switch (refusal) {
    case "cancelled":
      return ollamaFailure("cancelled", "The call was cancelled.");
    case "timed_out":
      return ollamaFailure("busy", "The model was busy with other calls all the time; try again later.");
    case "full":
      return ollamaFailure(
        "busy",
        `The model is busy: ${limits.maxInFlight} calls run and ${limits.maxWaiting} wait already; try again later.`,
      );
  }
}
