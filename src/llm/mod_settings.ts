/**
 * Where the engine is, its key, and which of its models agents are offered. `app` reads the settings, and asks for the
 * offer at a start, before the rest of llm is loaded.
 */
import { optional, parseList, parseText, required } from "../lib/settings.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { isObject, present } from "../lib/json.ts";
import { decodeTriplets, isPublicAddress, isPublicHostName, parseIpAddress } from "../lib/network.ts";

/** Settings under the heading Local model. */
export const ollamaSettings = {
  host: required({
    env: "OLLAMA_HOST",
    default: "http://127.0.0.1:11434",
    parse: (text) =>
      text.includes(",") ? failure("must be one host: put a proxy in front of several") : parseOllamaHost(text),
    help: "address of Ollama, in any form that Ollama's own client accepts",
  }),
  baseUrl: optional({
    env: "LLM_BASE_URL",
    parse: parseModelBaseUrl,
    help: "OpenAI-compatible server in place of Ollama, such as http://127.0.0.1:8080/v1",
  }),
  apiKey: optional({
    env: "LLM_API_KEY",
    parse: parseText,
    secret: true,
    help: "API key of the model server, or of a hosted Ollama; sent over https, or to this machine, only",
  }),
  models: optional({
    env: "LLM_MODELS",
    parse: parseList(parseText),
    help:
      "models that agents may use, comma-separated, the first by default; NAME@TOKENS sets a context; default: those " +
      "that are installed",
  }),
};

/** How messages speak of an engine, and of the setting that says where it is. */
const ollamaEngine = {
  /** Ollama's own API; otherwise OpenAI's. */
  isOllama: true,
  engine: "Ollama",
  api: "Ollama's API",
  hostSetting: "OLLAMA_HOST",
};
const otherEngine: typeof ollamaEngine = {
  isOllama: false,
  engine: "The model server",
  api: "an OpenAI-compatible API",
  hostSetting: "LLM_BASE_URL",
};

/** One engine's address, and which API it speaks. */
export interface OllamaHost extends Readonly<typeof ollamaEngine> {
  /** Where paths such as `api/generate` are appended; ends with `/` and holds no credentials. */
  readonly baseUrl: string;
  /** Scheme, name and port: what messages may show. */
  readonly origin: string;
  readonly protocol: "http" | "https";
  /** Without the brackets of IPv6. */
  readonly hostname: string;
  readonly port: number;
  readonly isLoopback: boolean;
  /** Neither this machine nor a private network: files that a model reads leave both. */
  readonly isElsewhere: boolean;
  /** The value of an `Authorization` header, when the setting held `user:password@`. */
  readonly basicAuthorization?: string;
}

const ollamaPort = 11434;

/**
 * Parses `OLLAMA_HOST` as Ollama's own programs read it (Go: `envconfig.Host`), so that a value which works for `ollama`
 * works here. The failure is a sentence about the value that does not repeat it: it may hold a password.
 */
export function parseOllamaHost(setting: string): Result<OllamaHost, string> {
  const text = setting.trim().replace(/^["']+|["']+$/g, "").trim();
  if (/[\s?#\\]/.test(text)) return failure("spaces, `?`, `#` and backslashes have no place in a host");
  const address = text === "ollama.com" ? "https://ollama.com" : text; // the hosted service has no plain port
  const [, scheme, authority = ""] = /^(?:([^/]*):\/\/)?(.*)$/.exec(address) ?? [];
  const protocol = scheme?.toLowerCase() ?? "http";
  if (protocol !== "http" && protocol !== "https") {
    return failure(`the scheme must be http or https, as in http://127.0.0.1:${ollamaPort}`);
  }
  const bare = parseIpAddress(authority)?.family === 6 ? `[${authority}]` : authority;
  const url = URL.parse(`${protocol}://${/^(:|\/|$)/.test(bare) ? `127.0.0.1${bare}` : bare}`);
  if (url === null || url.port === "0") {
    return failure(`must be a host, HOST:PORT or a URL, such as http://127.0.0.1:${ollamaPort}`);
  }
  // The address that a client connects to when the server's setting says "every interface".
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") {
    url.hostname = url.hostname === "[::]" ? "[::1]" : "127.0.0.1";
  }
  if (scheme === undefined && address === text && !/:\d+(\/|$)/.test(bare)) url.port = String(ollamaPort);
  url.pathname = url.pathname.replace(/\/*$/, "/");
  const written = `${url.username}${url.password && `:${url.password}`}`;
  const credentials = decodeTriplets(written) ?? written; // a bare percent sign is meant as it stands
  [url.username, url.password] = ["", ""];
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  return success({
    ...ollamaEngine,
    baseUrl: url.href,
    origin: url.origin,
    protocol,
    hostname,
    port: Number(url.port) || (protocol === "https" ? 443 : 80),
    isLoopback: hostname === "localhost" || hostname === "::1" || /^127(\.\d{1,3}){3}$/.test(hostname),
    isElsewhere: isPublicHostName(hostname) || isPublicAddress(hostname),
    ...(credentials && { basicAuthorization: `Basic ${new TextEncoder().encode(credentials).toBase64()}` }),
  });
}

/** Parses `LLM_BASE_URL` as clients of OpenAI's API write it: `/v1` where no path is given, as all engines have it. */
export function parseModelBaseUrl(setting: string): Result<OllamaHost, string> {
  const text = setting.trim();
  const host = parseOllamaHost(text.includes("://") ? text : `http://${text}`);
  if (!host.ok) return failure("must be a URL such as http://127.0.0.1:8080/v1");
  const base = host.value.baseUrl.replace(/(chat\/completions|models)\/$/, "");
  const { pathname } = new URL(base);
  return success({ ...host.value, ...otherEngine, baseUrl: pathname === "/" ? `${base}v1/` : base });
}

/** What the source documents name: offered while the engine cannot be asked, and first where they are installed. */
const documentedModels: readonly [string, ...string[]] = ["tinyllama", "phi3"];

/** Names in the list of tools: each costs every agent some tokens. */
const maxOffered = 20;

/** Reads an entry of `LLM_MODELS`: `qwen3:4b`, or with its context in tokens `qwen3:4b@16384`. */
export function parseAllowedModel(entry: string) {
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

type Host = Pick<OllamaHost, "isElsewhere" | "isOllama">;

/** The offer for `LLM_MODELS`, where it is set, and what the engine has: `null` where it could not be asked. */
export function offerOf(
  allowed: readonly string[] | undefined,
  host: Host,
  installed: readonly InstalledModel[] | null,
): Offer {
  const named = allowed?.map((entry) => parseAllowedModel(entry).name) ?? [];
  const [first = documentedModels[0], ...others] = named.length > 0 ? named : documentedModels;
  if (installed === null) return { names: [first, ...others], isUsable: false, problem: null };
  const isThere = (name: string): boolean => installed.some((it) => isSameModel(it.name, name));
  const usable = usableModels(host, installed);
  const [best, ...rest] = named.length > 0 ? named.filter(isThere) : usable;
  const missing = named.filter((name) => !isThere(name));
  const offer = best === undefined
    ? { names: [first, ...others] as const, isUsable: false }
    : { names: [best, ...rest] as const, isUsable: true };
  if (missing.length > 0) {
    const what = `${missing.join(" and ")} ${missing.length === 1 ? "is" : "are"} not installed`;
    const others = offer.isUsable ? [] : usable.slice(0, maxNamesShown);
    const remedy = others.length > 0 ? `set LLM_MODELS=${others.join(",")} to use what is` : wayToGet(host, missing[0]);
    return { ...offer, problem: { what, remedy } };
  }
  if (offer.isUsable) return { ...offer, problem: null };
  const problem = installed.some(({ isRemote }) => host.isElsewhere || isRemote === true)
    ? {
      what: "the models run on another machine, where files would go",
      remedy: "name those that agents may use in LLM_MODELS",
    }
    : { what: "no model is installed", remedy: wayToGet(host) };
  return { ...offer, problem };
}

const maxNamesShown = 3;

function wayToGet({ isOllama }: Host, name?: string): string {
  return isOllama ? `\`ollama pull ${name ?? documentedModels[0]}\`` : `load ${name ?? "one"} in the model server`;
}

/** A problem in one sentence. */
export function problemWords({ what, remedy }: NonNullable<Offer["problem"]>): string {
  return `${what}; ${remedy}`;
}

/** The models on this machine that write text: those of the documents, then by what is in memory, then by size. */
function usableModels({ isElsewhere }: Host, installed: readonly InstalledModel[]): readonly string[] {
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

/** A model that an engine has. What it does not say of it is left out. */
export interface InstalledModel {
  readonly name: string;
  readonly sizeBytes?: number;
  readonly parameterSize?: string;
  readonly capabilities?: readonly string[];
  /** Tokens that prompt and answer have room for: as it is loaded, or else at most. */
  readonly contextTokens?: number;
  /** It is in memory. */
  readonly isLoaded?: boolean;
  /** It runs on another machine, and the engine passes prompts on. */
  readonly isRemote?: boolean;
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
      parameterSize: textIn(details["parameter_size"]),
      capabilities: capabilitiesOf(entry, part("architecture")["input_modalities"]),
      contextTokens: countIn(
        ...[entry["loaded_context_length"], meta["n_ctx"], entry["max_model_len"], details["context_length"]],
        ...[entry["context_length"], entry["max_context_length"], meta["n_ctx_train"]],
      ),
      isLoaded: entry["state"] === "loaded" || part("status")["value"] === "loaded" || undefined,
      isRemote: textIn(entry["remote_host"], entry["remote_model"]) !== undefined || /[:-]cloud$/.test(name) ||
        undefined,
    }),
  };
}

function capabilitiesOf({ capabilities, type }: Readonly<Record<string, unknown>>, inputs: unknown) {
  if (Array.isArray(capabilities)) return capabilities.filter((each) => typeof each === "string");
  if (type === "embeddings") return ["embedding"];
  if (type === "vlm" || (Array.isArray(inputs) && inputs.includes("image"))) return ["completion", "vision"];
  return type === "llm" || Array.isArray(inputs) ? ["completion"] : undefined;
}

function countIn(...values: readonly unknown[]): number | undefined {
  return values.find((value): value is number => typeof value === "number" && value > 0);
}

function textIn(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && value !== "");
}
