/** How long, how much and how many: every bound of the local model, each of them a setting. */

/** Bounds on calls to Ollama. Seconds may be fractions. */
export interface OllamaLimits {
  /** From sending the request to the first byte of the answer: queueing, loading and reading the prompt come first. */
  readonly firstByteSeconds: number;
  /** Between two pieces of the answer. */
  readonly idleSeconds: number;
  /** The whole call, waiting for a free slot included. */
  readonly totalSeconds: number;
  /** A probe: version, installed models, loaded models. */
  readonly probeSeconds: number;
  /** UTF-8 bytes of prompt, system prompt, messages and schema together. */
  readonly maxPromptBytes: number;
  /** UTF-8 bytes of answer and thinking together. */
  readonly maxOutputBytes: number;
  /** One line of the stream. */
  readonly maxLineBytes: number;
  /** The body of an error answer; what is longer is not read. */
  readonly maxErrorBytes: number;
  /** The body of a probe or of embeddings. */
  readonly maxReplyBytes: number;
  /** Calls that run at the same time. */
  readonly maxInFlight: number;
  /** Calls that wait for one of those; any more are refused at once. */
  readonly maxWaiting: number;
  /** How often a call that found no server, or a full one, is sent, the first time included. */
  readonly maxAttempts: number;
  /** Pause before the second attempt; it doubles for each further one, and half of it is random. */
  readonly retryDelaySeconds: number;
  /** With several hosts: how long it counts what is known of a host's health. */
  readonly healthSeconds: number;
}

/** What holds unless the operator says otherwise. */
export const defaultOllamaLimits: OllamaLimits = {
  firstByteSeconds: 120,
  idleSeconds: 30,
  totalSeconds: 300,
  probeSeconds: 3,
  maxPromptBytes: 262_144,
  maxOutputBytes: 1_048_576,
  maxLineBytes: 1_048_576,
  maxErrorBytes: 65_536,
  maxReplyBytes: 16_777_216,
  maxInFlight: 2,
  maxWaiting: 16,
  maxAttempts: 3,
  retryDelaySeconds: 0.25,
  healthSeconds: 15,
};
