/** The local models that agents are offered, and what is missing: for the welcome, `doctor` and the console. */
import type { LocalModel } from "../llm/mod.ts";
import { offerOf } from "../llm/mod_settings.ts";
import type { Config } from "./config/config.ts";

/** By what the engine reported of itself. Names are those that can be used now. */
export function offeredModels(
  { host, models }: Config["ollama"],
  { failure, installed }: Awaited<ReturnType<LocalModel["report"]>>,
) {
  if (failure !== undefined) {
    const remedy = "the file tools work without it; the llm_* tools answer with this error until it is there";
    return { names: [], problem: { what: failure.message.replace(/\.$/, ""), remedy } };
  }
  const { names, isUsable, problem } = offerOf(models, host, installed);
  return { names: isUsable ? names : [], problem };
}
