/**
 * The local model as agents may use it: Ollama, or an engine with OpenAI's API. `app` wires the client, the queue and
 * the tools; `console` shows the models.
 *
 * - Every call ends: with its caller, after a silence, or at its time limit. What the model wrote by then is returned.
 * - Users take turns, so one person's queue does not delay another.
 * - Each failure of an engine, or of a proxy in front of it, becomes a message that says what to do.
 * - Prompts go to the one host that is set, never past it through a redirect or a proxy on loopback.
 * - Agents are offered the models that are there. A prompt that a context has no room for is refused, or the answer says
 *   that it was cut.
 */
export { llmTools } from "./llm_tools.ts";
export { createLocalModel, createModelQueue, type LocalModel } from "./local_model.ts";
export { createModelClient } from "./model_client.ts";
export { type OllamaLimits, ollamaLimits } from "./port.ts";
