/** What other parts use of llm. */
export { createOllamaClient, type OllamaClient } from "./client.ts";
export { describeModels, llmModelsResource, llmTools } from "./llm_models.ts";
export { createLocalModel } from "./local_model.ts";
export { createModelQueue } from "./local_model.ts";
export {
  type LocalModel,
  type ModelCompletion,
  type ModelDelta,
  type ModelFailed,
  type OllamaLimits,
  ollamaLimits,
} from "./port.ts";
