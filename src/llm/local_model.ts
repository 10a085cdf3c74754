/** The local model: bounds and the queue before anything is sent, and further attempts while the server is full. */
import {
  type ChatRequest,
  type GenerateRequest,
  type HostReport,
  type LocalModel,
  type ModelCall,
  type ModelFailed,
  type OllamaLimits,
  ollamaLimits,
  type PrincipalCall,
} from "./port.ts";
import { type Clock, pause } from "../lib/time.ts";
import type { OllamaClient } from "./client.ts";
import { type OllamaFailure, ollamaFailure } from "./failure.ts";
import type { ModelQueue, QueueRefusal } from "./model_queue.ts";

// How much text a request hands to the model, in bytes of UTF-8. Images are bounded where they are read.

function generatePromptBytes({ prompt, system = "", format }: GenerateRequest): number {
  return Buffer.byteLength(prompt) + Buffer.byteLength(system) + jsonBytes(format);
}

/** All messages and the schema. */
function chatPromptBytes({ messages, format }: ChatRequest): number {
  return messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), jsonBytes(format));
}

function jsonBytes(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}

interface LocalModelOptions {
  readonly client: OllamaClient;
  readonly queue: ModelQueue;
  /** How long a call may take, its time in the queue included. */
  readonly totalMs: number;
  readonly limits?: OllamaLimits;
  /** The same as the client's. */
  readonly clock: Clock;
  /** Uniform in [0, 1), for the pause before another attempt. */
  readonly random: () => number;
}

export function createLocalModel(options: LocalModelOptions): LocalModel {
  const { client, queue, limits = ollamaLimits, clock, random } = options;

  /** Sends the call again while the server is full or not yet there: nothing of it was processed then. */
  async function* attempt<Event extends { readonly type: string }>(
    start: (call: ModelCall) => AsyncGenerator<Event | ModelFailed, void>,
    { signal, end }: { readonly signal: AbortSignal; readonly end: number },
  ): AsyncGenerator<Event | ModelFailed, void> {
    const remainingMs = (): number => Math.max(1, end - clock());
    for (let attempts = 1;; attempts++) {
      let refused: ModelFailed | null = null;
      for await (const event of start({ signal, totalMs: remainingMs() })) {
        if (isFailed(event) && event.failure.mayRetry) refused = event;
        else yield event;
      }
      if (refused === null) return;
      const delayMs = limits.retryDelayMs * 2 ** (attempts - 1) * (0.5 + random() / 2);
      if (attempts >= limits.maxAttempts || delayMs >= remainingMs()) return yield refused;
      await pause(delayMs, signal);
      if (signal.aborted) return yield failed(cancelled);
    }
  }

  async function* admitted<Event extends { readonly type: string }>(
    start: (call: ModelCall) => AsyncGenerator<Event | ModelFailed, void>,
    promptBytes: number,
    call: PrincipalCall,
  ): AsyncGenerator<Event | ModelFailed, void> {
    if (promptBytes > limits.maxPromptBytes) return yield failed(promptTooLarge(promptBytes, limits));
    const totalMs = Math.min(call.totalMs ?? options.totalMs, options.totalMs);
    const end = clock() + totalMs;
    const caller = { person: call.person ?? call.fairnessKey, client: call.fairnessKey };
    const entered = await queue.enter(caller, { signal: call.signal, maxWaitMs: totalMs, onWait: call.onWait });
    if (!entered.ok) return yield failed(fromRefusal(entered.error, queue));
    const place = entered.value;
    const signal = AbortSignal.any([call.signal, place.signal]);
    try {
      for await (const event of attempt(start, { signal, end })) {
        const isPushedOut = isFailed(event) && place.signal.aborted && !call.signal.aborted;
        yield isPushedOut ? failed(shareSpent) : event;
      }
    } finally {
      place.release();
    }
  }

  return {
    maxPromptBytes: limits.maxPromptBytes,
    generate: (request, call) =>
      admitted((inner) => client.generate(request, inner), generatePromptBytes(request), call),
    chat: (request, call) => admitted((inner) => client.chat(request, inner), chatPromptBytes(request), call),
    report: (signal) => report(client, signal),
  };
}

async function report(client: OllamaClient, signal: AbortSignal): Promise<HostReport> {
  const [version, installed, loaded] = await Promise.all([
    client.version(signal),
    client.tags(signal),
    client.ps(signal),
  ]);
  const { origin } = client.host;
  if (!version.ok) return { origin, failure: version.error, installed: [], loaded: [] };
  if (!installed.ok) return { origin, version: version.value, failure: installed.error, installed: [], loaded: [] };
  return { origin, version: version.value, installed: installed.value, loaded: loaded.ok ? loaded.value : [] };
}

const cancelled = ollamaFailure("cancelled", "The call was cancelled.");

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

function isFailed(event: { readonly type: string }): event is ModelFailed {
  return event.type === "failed";
}

function fromRefusal(refusal: QueueRefusal, queue: ModelQueue): OllamaFailure {
  switch (refusal) {
    case "cancelled":
      return cancelled;
    case "timed_out":
      return ollamaFailure("busy", "The model was busy with other calls all the time; try again later.");
    case "full": {
      const { inFlight, waiting } = queue.occupancy();
      return ollamaFailure("busy", `The model is busy: ${inFlight} calls run and ${waiting} wait; try again later.`);
    }
  }
}
