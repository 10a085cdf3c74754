/**
 * Where the engine is. `OLLAMA_HOST` is read by the rules of Ollama's own programs (Go: `envconfig.Host`), so that a
 * value which works for `ollama` works here; `LLM_BASE_URL` as clients of OpenAI's API write it.
 */
import { holdsAddress, parseIpAddress, parseIpNetwork } from "../lib/network.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** One engine's address, and which API it speaks. */
export interface OllamaHost extends Engine {
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

/** How messages speak of an engine, and of the settings that say where it is. */
interface Engine {
  /** Ollama's own API; otherwise OpenAI's. */
  readonly isOllama: boolean;
  readonly engine: string;
  readonly api: string;
  readonly hostSetting: string;
  readonly keySetting: string;
}

const ollamaEngine: Engine = {
  isOllama: true,
  engine: "Ollama",
  api: "Ollama's API",
  hostSetting: "OLLAMA_HOST",
  keySetting: "OLLAMA_API_KEY",
};
const otherEngine: Engine = {
  isOllama: false,
  engine: "The model server",
  api: "an OpenAI-compatible API",
  hostSetting: "LLM_BASE_URL",
  keySetting: "LLM_API_KEY",
};

const ollamaPort = 11434;

/** Parses one host; the failure is a sentence about the value that does not repeat it (it may hold a password). */
export function parseOllamaHost(setting: string): Result<OllamaHost, string> {
  const text = setting.trim().replace(/^["']+|["']+$/g, "").trim();
  const schemeEnd = text.indexOf("://");
  let protocol = schemeEnd === -1 ? "http" : text.slice(0, schemeEnd).toLowerCase();
  let defaultPort = schemeEnd === -1 ? ollamaPort : protocol === "https" ? 443 : 80;
  if (text === "ollama.com") [protocol, defaultPort] = ["https", 443]; // the hosted service has no plain port
  if (protocol !== "http" && protocol !== "https") {
    return failure(`the scheme must be http or https, as in http://127.0.0.1:${ollamaPort}`);
  }

  const rest = schemeEnd === -1 ? text : text.slice(schemeEnd + 3);
  if (/[\s?#\\]/.test(rest)) return failure("spaces, `?`, `#` and backslashes have no place in a host");
  const slash = rest.indexOf("/");
  const authority = slash === -1 ? rest : rest.slice(0, slash);
  const path = slash === -1 ? "" : rest.slice(slash + 1).replace(/\/+$/, "");
  const at = authority.lastIndexOf("@");
  const credentials = authority.slice(0, Math.max(at, 0));

  const { name, port } = splitHostPort(authority.slice(at + 1), defaultPort);
  if (Number.isNaN(port)) return failure(`the port must be a number from 1 to 65535, such as ${ollamaPort}`);
  const hostname = reachable(name);
  const hostInUrl = hostname.includes(":") ? `[${hostname}]` : hostname;
  const url = URL.parse(`${protocol}://${hostInUrl}:${port}/${path === "" ? "" : `${path}/`}`);
  if (url === null) return failure(`must be a host, HOST:PORT or a URL, such as http://127.0.0.1:${ollamaPort}`);
  return success({
    ...ollamaEngine,
    baseUrl: url.href,
    origin: url.origin,
    protocol,
    hostname,
    port,
    isLoopback: hostname === "localhost" || hostname === "::1" || /^127(\.\d{1,3}){3}$/.test(hostname),
    isElsewhere: !isNear(hostname),
    ...(credentials === "" ? {} : { basicAuthorization: basicAuthorization(credentials) }),
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

const privateNetworks = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "100.64.0.0/10",
]
  .concat("::1/128", "fc00::/7", "fe80::/10").flatMap((text) => parseIpNetwork(text) ?? []);

/** By its address (RFC 1918, RFC 4193, RFC 6598), or by a name that the public DNS does not have (RFC 6762, RFC 8375). */
function isNear(hostname: string): boolean {
  const address = parseIpAddress(hostname);
  if (address !== null) return privateNetworks.some((network) => holdsAddress(network, address));
  return !hostname.includes(".") || /\.(localhost|local|internal|lan|home\.arpa)$/.test(hostname);
}

/** Go's `net.SplitHostPort`. `NaN` for a port that is none, where `envconfig.Host` would take the default instead. */
function splitHostPort(text: string, defaultPort: number): { name: string; port: number } {
  const match = /^\[([^\]]*)\]:([^:]*)$/.exec(text) ?? /^([^:[\]]*):([^:]*)$/.exec(text);
  if (match === null) {
    const bare = text.replace(/^[[\]]+|[[\]]+$/g, "");
    return { name: parseIpAddress(bare) === null ? text : bare, port: defaultPort };
  }
  const digits = match[2] ?? "";
  const port = digits === "" ? defaultPort : /^\d+$/.test(digits) ? Number(digits) : 0;
  return { name: match[1] ?? "", port: port >= 1 && port <= 65535 ? port : Number.NaN };
}

/** The address that a client connects to when the server's setting says "every interface" or nothing. */
function reachable(name: string): string {
  if (name === "" || name === "0.0.0.0") return "127.0.0.1";
  return name === "::" || name === "::0" ? "::1" : name;
}

function basicAuthorization(credentials: string): string {
  let decoded = credentials;
  try {
    decoded = decodeURIComponent(credentials);
  } catch { /* a bare percent sign: the text is meant as it stands */ }
  return `Basic ${new TextEncoder().encode(decoded).toBase64()}`;
}
