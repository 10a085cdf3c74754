/** Requests that Ollama refuses for what they ask of a model: what the caller can do, and what only the operator can. */
import { isObject, parseJson } from "../lib/json.ts";
import { type OllamaFailure, ollamaFailure } from "./failure.ts";

const maxUnwrappedBytes = 65_536;

/** The error of a reply: its text, and the numbers that a runner puts beside it when a prompt is too long. */
export interface UpstreamError {
  readonly text: string;
  readonly promptTokens?: number;
  readonly contextTokens?: number;
}

/** Reads the value of `error`: a text, an object, or a runner's JSON within a text. */
export function readUpstreamError(error: unknown): UpstreamError {
  if (typeof error === "string") {
    const isJson = Buffer.byteLength(error) <= maxUnwrappedBytes && error.trimStart().startsWith("{");
    return (isJson ? fromObject(parseJson(error)) : null) ?? { text: error };
  }
  return fromObject(error) ?? { text: JSON.stringify(error) };
}

function fromObject(value: unknown): UpstreamError | null {
  if (!isObject(value)) return null;
  if (typeof value["message"] === "string") {
    const { n_prompt_tokens: promptTokens, n_ctx: contextTokens } = value;
    return {
      text: value["message"],
      ...(typeof promptTokens === "number" ? { promptTokens } : {}),
      ...(typeof contextTokens === "number" ? { contextTokens } : {}),
    };
  }
  if (typeof value["error"] === "string") return { text: value["error"] };
  return fromObject(value["error"]);
}

const otherModel = "llm_models lists what each model can do";

/** The failure behind an error that is about the request, in words for its caller; null for any other error. */
export function refusedRequest(error: UpstreamError, model = "the model"): OllamaFailure | null {
  const { text } = error;
  const refuse = (message: string): OllamaFailure => ollamaFailure("invalid_request", message);
  if (/does not support thinking/i.test(text)) {
    return refuse(`${model} does not support thinking: leave out options.think, or use another model (${otherModel}).`);
  }
  if (/does not support (generate|chat|completion)/i.test(text)) {
    return refuse(`${model} does not write text: use another model (${otherModel}).`);
  }
  if (/image input is not supported|does not support (vision|image)/i.test(text)) {
    return refuse(
      `Image input is not supported by ${model}: leave out image files, or use another model (${otherModel}).`,
    );
  }
  if (/does not support embedding/i.test(text)) {
    return refuse(
      `${model} does not support embeddings: use another model of llm_embed. Only the operator can change which models those ` +
        "are, with LLM_EMBEDDING_MODELS.",
    );
  }
  return isTooLong(text) ? refuse(promptTooLong(error, model)) : null;
}

function isTooLong(text: string): boolean {
  return /exceeds the available context|longer than the context length|exceeds (the )?(maximum )?context length/i
    .test(text);
}

/** Of the context, what a prompt may take so that an answer fits beside it. */
const promptShare = 0.75;

function promptTooLong({ text, promptTokens, contextTokens }: UpstreamError, model: string): string {
  const [, length = promptTokens, limit = contextTokens] =
    /\((\d+) tokens\) exceeds the available context size \((\d+) tokens\)/.exec(text) ?? [];
  const what = length === undefined || limit === undefined
    ? `The ${/^the input/i.test(text) ? "text" : "prompt"} is longer than the context of ${model}`
    : `The prompt has ${length} tokens, with instructions and earlier messages, and the context of ${model} has room ` +
      `for ${limit}, the answer included`;
  const share = length === undefined || limit === undefined ? 1 : promptShare * Number(limit) / Number(length);
  const part = share < 1 ? ` to some ${Math.max(1, Math.floor(100 * share))} % of it` : "";
  return `${what}: shorten it${part} (of files name lines, such as a.log:1-200), or split it over several calls. ` +
    "Only the operator can make the context larger, with OLLAMA_CONTEXT_LENGTH on Ollama's side.";
}
