/**
 * Where the engine is. `OLLAMA_HOST` is read as Ollama's own programs read it (Go: `envconfig.Host`), so that a value
 * which works for `ollama` works here; `LLM_BASE_URL` as clients of OpenAI's API write it.
 */
import { decodeTriplets, isPublicAddress, isPublicHostName, parseIpAddress } from "../lib/network.ts";
import { failure, type Result, success } from "../lib/result.ts";

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

/** Parses one host; the failure is a sentence about the value that does not repeat it (it may hold a password). */
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

/** The base of an OpenAI-compatible API: `/v1` where no path is given, as all engines have it. */
export function parseModelBaseUrl(setting: string): Result<OllamaHost, string> {
  const text = setting.trim();
  const host = parseOllamaHost(text.includes("://") ? text : `http://${text}`);
  if (!host.ok) return failure("must be a URL such as http://127.0.0.1:8080/v1");
  const base = host.value.baseUrl.replace(/(chat\/completions|models)\/$/, "");
  const { pathname } = new URL(base);
  return success({ ...host.value, ...otherEngine, baseUrl: pathname === "/" ? `${base}v1/` : base });
}
