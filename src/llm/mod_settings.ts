/**
 * Where Ollama is, its key, and which models agents may use. `app` reads these settings before the rest of llm is
 * loaded.
 */
import { optional, parseList, parseText, required, type SettingParser } from "../lib/settings.ts";
import { failure, success } from "../lib/result.ts";
import { parseOllamaHost } from "./host.ts";

/** At least one model: the first is the default. */
const parseModels: SettingParser<readonly [string, ...string[]]> = (text) => {
  const models = parseList(parseText)(text);
  return models.ok ? success(models.value as readonly [string, ...string[]]) : models;
};

/** Settings under the heading Local model. */
export const ollamaSettings = {
  host: required({
    env: "OLLAMA_HOST",
    default: "http://127.0.0.1:11434",
    parse: (text) =>
      text.includes(",") ? failure("must be one host: put a proxy in front of several") : parseOllamaHost(text),
    help: "address of Ollama, in any form that Ollama's own client accepts",
  }),
  apiKey: optional({
    env: "OLLAMA_API_KEY",
    parse: parseText,
    secret: true,
    help: "API key of a hosted Ollama; sent over https, or to this machine, only",
  }),
  models: required({
    env: "LLM_MODELS",
    default: "tinyllama,phi3",
    parse: parseModels,
    help: "models that agents may use, comma-separated; the first is the default",
  }),
};
