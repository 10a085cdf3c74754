/** How long, how much and how many: the bounds of a call to Ollama that no operator has to set. Tests pass smaller ones. */
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
  /** The body of a probe or of embeddings. */
  maxReplyBytes: 16_777_216,
  /** Calls that wait for a place; any more are refused at once. */
  maxWaiting: 16,
  /** How long a person keeps a second place while another person waits without any. */
  shareMs: 30_000,
  /** How often a call that found no server, or a full one, is sent, the first time included. */
  maxAttempts: 3,
  /** Pause before the second attempt; it doubles for each further one, and half of it is random. */
  retryDelayMs: 250,
};

export type OllamaLimits = Readonly<typeof ollamaLimits>;
