/** The local model as the tools see it: requests in Ollama's terms, answers as events, refusals as values. */
import type { InstalledModel, OllamaHost } from "./mod_settings.ts";

/** `"json"`, or a JSON schema that the answer has to follow. */
export type AnswerFormat = "json" | Readonly<Record<string, unknown>>;

/** One message of a conversation. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
  /** Base64. */
  readonly images?: readonly string[];
}

/** Turns of a conversation, the last one the question. */
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** How it samples; what is of one word has the same name on the wire. */
  readonly options: {
    readonly temperature?: number;
    /** At least 1: with 0 a real Ollama never stops. */
    readonly maxTokens: number;
    readonly seed?: number;
    readonly topP?: number;
    readonly topK?: number;
    readonly stop?: readonly string[];
  };
  readonly format?: AnswerFormat;
  /** Whether the model thinks before it answers, or how hard. */
  readonly think?: boolean | "low" | "medium" | "high" | "max";
  /** How long the model stays in memory after the answer; only Ollama's own API can be asked for that. */
  readonly keepAliveSeconds?: number;
  /** Tokens that prompt and answer may have together, where the operator sets it; else the engine decides. */
  readonly contextTokens?: number;
}

/** One piece of the answer. */
interface ModelDelta {
  readonly type: "delta";
  readonly text: string;
  readonly thinking: string;
}

/** What the engine says about a finished answer. Counts that it leaves out are zero or unknown, hence optional. */
export interface ModelCompletion {
  readonly type: "done";
  readonly doneReason?: string;
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  readonly loadMs?: number;
  readonly evaluationMs?: number;
}

/** A stable reason; the audit log keeps it, the text beside it is for people. */
type OllamaFailureCode =
  | "ollama_unreachable"
  | "host_not_found"
  | "model_not_installed"
  | "not_ollama"
  | "forbidden_host"
  | "busy"
  | "auth_required"
  | "model_failed"
  | "timeout_first_byte"
  | "timeout_idle"
  | "timeout_total"
  | "bad_upstream"
  | "truncated"
  | "output_too_large"
  | "invalid_request"
  | "cancelled";

/** A call that did not succeed. */
export interface OllamaFailure {
  readonly code: OllamaFailureCode;
  /** What happened and what to do; without credentials, and without file paths of either machine. */
  readonly message: string;
  /** The same request may be sent again: nothing of it was processed. `loading`: for as long as the call may take. */
  readonly mayRetry?: boolean | "loading";
  /** Nothing answers at the address. */
  readonly isAway?: true;
  /** A prompt that the context has no room for, with what is known of their lengths in tokens. */
  readonly tooLong?: { readonly promptTokens?: number; readonly contextTokens?: number };
}

/** A failure; `mayRetry` as {@link OllamaFailure} says. */
export function ollamaFailure(
  code: OllamaFailureCode,
  message: string,
  mayRetry: NonNullable<OllamaFailure["mayRetry"]> = false,
): OllamaFailure {
  return { code, message, ...(mayRetry && { mayRetry }) };
}

/** What a call ends with whose caller went away. */
export const cancelled: OllamaFailure = ollamaFailure("cancelled", "The call was cancelled.");

/** The end of a call that did not succeed. */
export interface ModelFailed {
  readonly type: "failed";
  readonly failure: OllamaFailure;
}

/** The last event of a call that fails. */
export function modelFailed(failure: OllamaFailure): ModelFailed {
  return { type: "failed", failure };
}

/** What a call yields: any number of deltas, then exactly one `done` or `failed`. */
export type ModelEvent = ModelDelta | ModelCompletion | ModelFailed;

/** Around every call. */
export interface ModelCall {
  /** Aborting it ends the call, upstream included, at whatever stage it is. */
  readonly signal: AbortSignal;
  /** How long the whole call may take. */
  readonly totalMs: number;
}

/** The engine, as it is now. */
export interface HostReport {
  /** Why it cannot be used. */
  readonly failure?: OllamaFailure;
  readonly installed: readonly InstalledModel[];
}

/** A client of one engine. Calls are independent of each other; nothing is retried here. */
export interface ModelClient {
  readonly host: OllamaHost;
  ask(request: ModelRequest, call: ModelCall): AsyncGenerator<ModelEvent, void>;
  /** Asks what it has. Gives a failure as part of the report. */
  report(signal: AbortSignal): Promise<HostReport>;
  /** Ends idle connections. */
  close(): void;
}

/** How long, how much and how many: the bounds of a model call that no operator has to set. Tests pass smaller ones. */
export const ollamaLimits = {
  /** Between two pieces of an answer. Before the first one a model may be loading: only the call's total counts. */
  idleMs: 30_000,
  /** A probe: version, installed models, loaded models. */
  probeMs: 3_000,
  /** UTF-8 bytes of prompt, system prompt, earlier turns and schema together. */
  maxPromptBytes: 262_144,
  /** UTF-8 bytes of answer and thinking together. */
  maxOutputBytes: 1_048_576,
  /** One line of the stream. */
  maxLineBytes: 1_048_576,
  /** How much of an error answer is read. */
  maxErrorBytes: 65_536,
  /** The body of a probe. */
  maxReplyBytes: 16_777_216,
  /** Generations that run at the same time. */
  maxInFlight: 2,
  /** Calls that wait for a place; any more are refused at once. */
  maxWaiting: 16,
  /** How long a person keeps a second place while another person waits without any. */
  shareMs: 30_000,
  /** How often a call that found no server, or a full one, is sent, the first time included. */
  maxAttempts: 3,
  /** Pause before the second attempt; it doubles for each further one, and half of it is random. */
  retryDelayMs: 250,
  /** The longest pause between two attempts while a model is loaded, which are made for as long as the call may take. */
  maxLoadingDelayMs: 5_000,
  /** How long a report of the engine's models is used again. */
  reportKeptMs: 10_000,
};

/** The bounds of one model call. */
export type OllamaLimits = Readonly<typeof ollamaLimits>;
