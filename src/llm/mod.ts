/**
 * The local model: Ollama as agents may use it. `app` wires the client, the queue and the tools; `console` shows the
 * models.
 *
 * - Every call ends: with its caller, after a silence, or at its time limit. What the model wrote by then is returned.
 * - Users take turns, so one person's queue does not delay another.
 * - Each failure of Ollama, or of a proxy in front of it, becomes a message that says what to do.
 * - Prompts go to the one host of `OLLAMA_HOST`, never past it through a redirect or a proxy on loopback.
 */
export { createOllamaClient, type OllamaClient } from "./client.ts";
export { describeModels, llmModelsResource, llmTools } from "./llm_models.ts";
export { createLocalModel, createModelQueue } from "./local_model.ts";
export {
  type LocalModel,
  type ModelCompletion,
  type ModelDelta,
  type ModelFailed,
  type OllamaLimits,
  ollamaLimits,
} from "./port.ts";
