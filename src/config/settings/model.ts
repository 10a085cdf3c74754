/** Ollama and its bounds. */
import { failure, type Result, success } from "../../lib/result.ts";
import { type OllamaHost, parseOllamaHosts } from "../../ollama/host.ts";
import { parseInteger, parseList, parseText, type SettingParser } from "../parsers.ts";
import { day, mebibyte, optional, required } from "../setting.ts";

/** A list that is never empty, as a type says it. */
function nonEmpty<T>(items: readonly T[]): Result<readonly [T, ...T[]], string> {
  const [first, ...rest] = items;
  return first === undefined ? failure("must name at least one") : success([first, ...rest]);
}

const parseOllama: SettingParser<readonly [OllamaHost, ...OllamaHost[]]> = (text) => {
  const hosts = parseOllamaHosts(text);
  return hosts.ok ? nonEmpty(hosts.value) : failure(hosts.error.join("; "));
};

const parseModels: SettingParser<readonly [string, ...string[]]> = (text) => {
  const models = parseList(parseText)(text);
  return models.ok ? nonEmpty(models.value) : models;
};

/** Settings under the heading Local model. */
export const modelSettings = {
  ollamaHosts: required({
    env: "OLLAMA_HOST",
    default: "http://127.0.0.1:11434",
    parse: parseOllama,
    help:
      "where Ollama listens, in any form that Ollama's own client takes; several, comma-separated, stand in for each other",
  }),
  ollamaApiKey: optional({
    env: "OLLAMA_API_KEY",
    parse: parseText,
    secret: true,
    help: "API key of a hosted Ollama: the first https host of OLLAMA_HOST gets it, else the first on this machine",
  }),
  llmModels: required({
    env: "LLM_MODELS",
    default: "tinyllama,phi3",
    parse: parseModels,
    help: "models that agents may use, comma-separated; the first is the default",
  }),
  llmEmbeddingModels: optional({
    env: "LLM_EMBEDDING_MODELS",
    parse: parseList(parseText),
    help: "models that llm_embed may use, comma-separated; without any there is no llm_embed",
  }),
  llmMaxConcurrent: required({
    env: "LLM_MAX_CONCURRENT",
    default: "2",
    parse: parseInteger(1, 1_000),
    help: "generations that run at once",
  }),
  llmMaxWaiting: required({
    env: "LLM_MAX_WAITING",
    default: "16",
    parse: parseInteger(0, 10_000),
    help: "generations that wait for a place; more are refused",
  }),
  llmFirstByteTimeoutSeconds: required({
    env: "LLM_FIRST_BYTE_TIMEOUT",
    default: "120",
    parse: parseInteger(1, 3_600),
    help: "seconds until the model's first token",
  }),
  llmIdleTimeoutSeconds: required({
    env: "LLM_IDLE_TIMEOUT",
    default: "30",
    parse: parseInteger(1, 3_600),
    help: "seconds between two tokens",
  }),
  llmTotalTimeoutSeconds: required({
    env: "LLM_TOTAL_TIMEOUT",
    default: "300",
    parse: parseInteger(1, 86_400),
    help: "seconds for a whole generation",
  }),
  llmMaxPromptBytes: required({
    env: "LLM_MAX_PROMPT_BYTES",
    default: "262144",
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest prompt, in bytes",
  }),
  llmMaxOutputBytes: required({
    env: "LLM_MAX_OUTPUT_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1, 64 * mebibyte),
    help: "largest answer of a model, in bytes",
  }),
  llmProbeTimeoutSeconds: required({
    env: "LLM_PROBE_TIMEOUT",
    default: "3",
    parse: parseInteger(1, 600),
    help: "seconds for a question about models, such as which are installed",
  }),
  llmMaxAttempts: required({
    env: "LLM_MAX_ATTEMPTS",
    default: "3",
    parse: parseInteger(1, 100),
    help: "how often a call that found no Ollama, or a full one, is sent, the first time included",
  }),
  llmRetryDelayMilliseconds: required({
    env: "LLM_RETRY_DELAY_MS",
    default: "250",
    parse: parseInteger(1, 60_000),
    help: "milliseconds before the second attempt; they double for each further one",
  }),
  llmHealthSeconds: required({
    env: "LLM_HEALTH_LIFETIME",
    default: "15",
    parse: parseInteger(1, day),
    help: "seconds for which it counts what is known of a host's health, with several hosts",
  }),
  llmMaxLineBytes: required({
    env: "LLM_MAX_LINE_BYTES",
    default: String(mebibyte),
    parse: parseInteger(1_024, 64 * mebibyte),
    help: "longest line of an answer from Ollama, in bytes",
  }),
  llmMaxErrorBytes: required({
    env: "LLM_MAX_ERROR_BYTES",
    default: "65536",
    parse: parseInteger(1_024, 64 * mebibyte),
    help: "how much of an error from Ollama is read, in bytes",
  }),
  llmMaxReplyBytes: required({
    env: "LLM_MAX_REPLY_BYTES",
    default: String(16 * mebibyte),
    parse: parseInteger(1_024, 1024 * mebibyte),
    help: "largest list of models, and largest reply with embeddings, in bytes",
  }),
};
