/** What other parts use of llm. */
export type { OllamaClient } from "./client.ts";
export { llmTools } from "./llm_tools.ts";
export { describeModels, llmModelsResource } from "./models_report.ts";
export {
  type LocalModel,
  type ModelCompletion,
  type ModelDelta,
  type ModelFailed,
  type OllamaLimits,
  ollamaLimits,
} from "./port.ts";
export const loadClient = (): Promise<typeof import("./client.ts")> => import("./client.ts");
export const loadLocalModel = (): Promise<typeof import("./local_model.ts")> => import("./local_model.ts");
export const loadModelQueue = (): Promise<typeof import("./model_queue.ts")> => import("./model_queue.ts");
