/**
 * Where the engine is, its key, and which of its models agents are offered. `app` reads the settings, and asks for the
 * offer at a start, before the rest of llm is loaded.
 */
import { optional, parseList, parseText, required } from "../lib/settings.ts";
import { failure } from "../lib/result.ts";
import { isObject, present } from "../lib/json.ts";
import { parseModelBaseUrl, parseOllamaHost } from "./host.ts";
import type { HostReport, InstalledModel } from "./port.ts";

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
  baseUrl: optional({
    env: "LLM_BASE_URL",
    parse: parseModelBaseUrl,
    help: "OpenAI-compatible server in place of Ollama, such as http://127.0.0.1:8080/v1",
  }),
  baseUrlKey: optional({
    env: "LLM_API_KEY",
    parse: parseText,
    secret: true,
    help: "API key for LLM_BASE_URL; sent over https, or to this machine, only",
  }),
  models: optional({
    env: "LLM_MODELS",
    parse: parseList(parseText),
    help:
      "models that agents may use, comma-separated, the first by default; NAME@TOKENS sets a context; default: those " +
      "that are installed",
  }),
};

/** What the source documents name: offered while the engine cannot be asked, and first where they are installed. */
const documentedModels: readonly [string, ...string[]] = ["tinyllama", "phi3"];

/** Names in the list of tools: each costs every agent some tokens. */
const maxOffered = 20;

/** A model of `LLM_MODELS`: `qwen3:4b`, or with its context in tokens `qwen3:4b@16384`. */
interface AllowedModel {
  readonly name: string;
  readonly contextTokens?: number;
}

/** Reads an entry of `LLM_MODELS`. */
export function parseAllowedModel(entry: string): AllowedModel {
  const [, name = "", tokens] = /^(.+)@(\d{3,8})$/.exec(entry) ?? [];
  return tokens === undefined ? { name: entry } : { name, contextTokens: Number(tokens) };
}

/** A name without a tag means `latest`. */
export function isSameModel(one: string, other: string): boolean {
  return withoutLatest(one) === withoutLatest(other);
}

function withoutLatest(name: string): string {
  return name.replace(/:latest$/, "");
}

/** What is offered, the default first. */
interface Offer {
  readonly names: readonly [string, ...string[]];
  /** Whether the engine has at least the first. */
  readonly isUsable: boolean;
  /** What is missing, and what the operator can do. */
  readonly problem: { readonly what: string; readonly remedy: string } | null;
}

/** What an engine reports, as far as an offer depends on it. */
type KnownModels = Pick<HostReport, "installed" | "isElsewhere" | "isOllama">;

/** The offer for `LLM_MODELS`, where it is set, and what is known of the engine: `null` where it could not be asked. */
export function offerOf(allowed: readonly string[] | undefined, known: KnownModels | null): Offer {
  const named = allowed?.map((entry) => parseAllowedModel(entry).name) ?? [];
  const [first = documentedModels[0], ...others] = named.length > 0 ? named : documentedModels;
  if (known === null) return { names: [first, ...others], isUsable: false, problem: null };
  const isThere = (name: string): boolean => known.installed.some((it) => isSameModel(it.name, name));
  const [best, ...rest] = named.length > 0 ? named.filter(isThere) : usableModels(known);
  const missing = named.filter((name) => !isThere(name));
  return {
    names: best === undefined ? [first, ...others] : [best, ...rest],
    isUsable: best !== undefined,
    problem: best === undefined || missing.length > 0 ? problemOf(missing, best !== undefined, known) : null,
  };
}

/** The models on this machine that write text: those of the documents, then by what is in memory, then by size. */
function usableModels({ installed, isElsewhere }: KnownModels): readonly string[] {
  const rank = ({ name, isLoaded }: InstalledModel): number => {
    const documented = documentedModels.findIndex((each) => isSameModel(each, name));
    return documented >= 0 ? documented - documentedModels.length : isLoaded === true ? 0 : 1;
  };
  return installed.filter((it) => !isElsewhere && it.isRemote !== true && writesText(it))
    .sort((a, b) => rank(a) - rank(b) || (a.sizeBytes ?? Infinity) - (b.sizeBytes ?? Infinity) || 0)
    .slice(0, maxOffered)
    .map(({ name }) => withoutLatest(name));
}

/** By what the engine says of it, or by its name where it says nothing. */
function writesText({ name, capabilities }: InstalledModel): boolean {
  return capabilities?.includes("completion") ??
    !/embed|bert|bge|minilm|rerank|whisper|tts|stable-diffusion/i.test(name);
}

const maxNamesShown = 3;

function problemOf(missing: readonly string[], isUsable: boolean, known: KnownModels): Offer["problem"] {
  const { installed, isElsewhere, isOllama } = known;
  const [wanted = documentedModels[0]] = missing;
  const remedy = isOllama ? `\`ollama pull ${wanted}\`` : `load ${missing[0] ?? "one"} in the model server`;
  if (missing.length > 0) {
    const others = isUsable ? [] : usableModels(known).slice(0, maxNamesShown);
    return {
      what: `${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not installed`,
      remedy: others.length > 0 ? `set LLM_MODELS=${others.join(",")} to use what is` : remedy,
    };
  }
  return installed.some(({ isRemote }) => isElsewhere || isRemote === true)
    ? {
      what: "the models run on another machine, where files would go",
      remedy: "name those that agents may use in LLM_MODELS",
    }
    : { what: "no model is installed", remedy };
}

/** A problem in one sentence. */
export function problemWords(problem: NonNullable<Offer["problem"]>): string {
  return `${problem.what}; ${problem.remedy}`;
}

/**
 * The models in an engine's list: Ollama's `GET /api/tags`, the `GET /v1/models` of llama.cpp, vLLM, LM Studio,
 * llama-swap and Ollama, and LM Studio's own. `null` for anything else. Engines leave out, or write null for, what they
 * do not know.
 */
export function readModelList(reply: unknown): readonly InstalledModel[] | null {
  if (!isObject(reply)) return null;
  const list = reply["data"] === undefined ? reply["models"] : reply["data"];
  if (list === null) return [];
  if (!Array.isArray(list)) return null;
  return list.flatMap((entry: unknown) => {
    if (!isObject(entry)) return [];
    const name = entry["id"] ?? entry["name"]; // where there are both, the name is for people
    return typeof name === "string" && name !== "" ? [toInstalled(name, entry)] : [];
  });
}

function toInstalled(name: string, entry: Readonly<Record<string, unknown>>): InstalledModel {
  const part = (key: string): Readonly<Record<string, unknown>> => {
    const value = entry[key];
    return isObject(value) ? value : {};
  };
  const [details, meta] = [part("details"), part("meta")];
  return {
    name,
    ...present({
      sizeBytes: countIn(entry["size"], meta["size"]),
      family: textIn(details["family"], entry["arch"]),
      parameterSize: textIn(details["parameter_size"]),
      quantization: textIn(details["quantization_level"], entry["quantization"]),
      capabilities: capabilitiesOf(entry),
      contextTokens: countIn(
        entry["loaded_context_length"],
        meta["n_ctx"],
        entry["max_model_len"],
        details["context_length"],
        entry["context_length"],
        entry["max_context_length"],
        meta["n_ctx_train"],
      ),
      isLoaded: entry["state"] === "loaded" || part("status")["value"] === "loaded" || undefined,
      isRemote: textIn(entry["remote_host"], entry["remote_model"]) !== undefined || /[:-]cloud$/.test(name) ||
        undefined,
    }),
  };
}

function capabilitiesOf(entry: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { capabilities, type, architecture } = entry;
  if (Array.isArray(capabilities)) return capabilities.filter((each) => typeof each === "string");
  if (type === "embeddings") return ["embedding"];
  if (type === "vlm") return ["completion", "vision"];
  const inputs = isObject(architecture) ? architecture["input_modalities"] : undefined;
  if (Array.isArray(inputs)) return inputs.includes("image") ? ["completion", "vision"] : ["completion"];
  return type === "llm" ? ["completion"] : undefined;
}

function countIn(...values: readonly unknown[]): number | undefined {
  return values.find((value) => typeof value === "number" && value > 0) as number | undefined;
}

function textIn(...values: readonly unknown[]): string | undefined {
  return values.find((value) => typeof value === "string" && value !== "") as string | undefined;
}
