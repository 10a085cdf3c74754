/** What a client tells of calls that ended early or brought something else than an answer. */
import type { DeadlineReason } from "./deadline.ts";
import { type OllamaFailure, ollamaFailure } from "./failure.ts";
import type { OllamaHost } from "./host.ts";
import type { OllamaLimits } from "./limits.ts";

/** The failure behind a {@link Deadline} that fired. */
export function fromDeadline(reason: DeadlineReason, limits: OllamaLimits, at: string): OllamaFailure {
  switch (reason) {
    case "cancelled":
      return ollamaFailure("cancelled", "The call was cancelled.");
    case "first_byte":
      return ollamaFailure(
        "timeout_first_byte",
        `Ollama at ${at} did not begin to answer within ${limits.firstByteSeconds} s; it may still be loading the ` +
          "model: try again, or use a smaller one.",
      );
    case "idle":
    case "linger":
      return ollamaFailure(
        "timeout_idle",
        `Ollama at ${at} stopped in the middle of its answer for ${limits.idleSeconds} s; try again.`,
      );
    case "total":
      return ollamaFailure(
        "timeout_total",
        "The call took longer than it may and was stopped; ask for less, or lower max_tokens.",
      );
  }
}

/** The failure of a probe that nobody answered in time. */
export function probeTimeout(host: OllamaHost, limits: OllamaLimits): OllamaFailure {
  return ollamaFailure(
    "timeout_first_byte",
    `Ollama at ${host.origin} did not answer within ${limits.probeSeconds} s; see that it runs and is not overloaded.`,
  );
}

/** The failure of an answer that Ollama does not give. */
export function notOllama(host: OllamaHost): OllamaFailure {
  return ollamaFailure("not_ollama", `What answers at ${host.origin} is not Ollama's API; correct OLLAMA_HOST.`);
}

/** The failure of embeddings that do not match the texts. */
export function wrongEmbeddings(host: OllamaHost): OllamaFailure {
  return ollamaFailure(
    "bad_upstream",
    `Ollama at ${host.origin} did not send one vector for each text; try fewer texts.`,
  );
}

/** The failure of an answer without a body. */
export function emptyAnswer(host: OllamaHost): OllamaFailure {
  return ollamaFailure("bad_upstream", `Ollama at ${host.origin} sent an empty answer; try again.`);
}
