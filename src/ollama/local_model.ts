/** The local model: admission before anything is sent, and another attempt when nothing of the first was processed. */
import { Buffer } from "node:buffer";
import type { Clock } from "../lib/clock.ts";
import type { Admission, Refusal } from "./admission.ts";
import type { OllamaClient } from "./client.ts";
import { type OllamaFailure, ollamaFailure } from "./failure.ts";
import type { OllamaLimits } from "./limits.ts";
import type { GenerateRequest, LocalModel, ModelCall, ModelEvent, PrincipalCall } from "./port.ts";

/** What a {@link LocalModel} is made of. */
export interface LocalModelOptions {
  readonly client: OllamaClient;
  readonly admission: Admission;
  readonly limits: OllamaLimits;
  /** The same as the client's. */
  readonly clock: Clock;
  /** Uniform in [0, 1), for the pause before another attempt. */
  readonly random: () => number;
}

/** Builds a {@link LocalModel}. */
export function createLocalModel({ client, admission, limits, clock, random }: LocalModelOptions): LocalModel {
  async function* attempts(
    start: (call: ModelCall) => AsyncGenerator<ModelEvent, void>,
    call: PrincipalCall,
    remaining: () => number,
  ): AsyncGenerator<ModelEvent, void> {
    for (let attempt = 1;; attempt++) {
      let again = false;
      for await (const event of start({ signal: call.signal, totalMilliseconds: remaining() })) {
        again = event.type === "failed" && event.failure.mayRetry === true && attempt < limits.maxAttempts;
        if (!again) yield event;
      }
      if (!again) return;
      const pause = limits.retryDelaySeconds * 1000 * 2 ** (attempt - 1) * (0.5 + random() / 2);
      if (pause >= remaining()) return yield failed(ollamaFailure("timeout_total", tooLong));
      if (!await sleep(pause, call.signal)) return yield failed(ollamaFailure("cancelled", "The call was cancelled."));
    }
  }

  async function* admitted(
    start: (call: ModelCall) => AsyncGenerator<ModelEvent, void>,
    promptBytes: number,
    call: PrincipalCall,
  ): AsyncGenerator<ModelEvent, void> {
    if (promptBytes > limits.maxPromptBytes) return yield failed(promptTooLarge(promptBytes, limits));
    const limit = limits.totalSeconds * 1000;
    const end = clock() + Math.min(call.totalMilliseconds ?? limit, limit);
    const remaining = (): number => Math.max(1, end - clock());
    const entered = await admission.enter(call.fairnessKey, {
      signal: call.signal,
      maxWaitMilliseconds: remaining(),
    });
    if (!entered.ok) return yield failed(fromRefusal(entered.error, limits));
    try {
      yield* attempts(start, call, remaining);
    } finally {
      entered.value();
    }
  }

  return {
    generate: (request, call) =>
      admitted((inner) => client.generate(request, inner), generatePromptBytes(request), call),
  };
}

const tooLong = "The call took longer than it may and was stopped; ask for less, or lower max_tokens.";

function generatePromptBytes({ prompt, system = "", format }: GenerateRequest): number {
  return Buffer.byteLength(prompt) + Buffer.byteLength(system) + Buffer.byteLength(JSON.stringify(format) ?? "");
}

function promptTooLarge(bytes: number, limits: OllamaLimits): OllamaFailure {
  return ollamaFailure(
    "invalid_request",
    `The prompt has ${bytes} bytes and may have ${limits.maxPromptBytes}; shorten it.`,
  );
}

function failed(failure: OllamaFailure): ModelEvent {
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

/** False when the signal fired first. */
function sleep(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const wake = (slept: boolean): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      resolve(slept);
    };
    const onAbort = (): void => wake(false);
    const timer = setTimeout(() => wake(true), milliseconds);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
