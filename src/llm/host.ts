/**
 * Where Ollama is, read from `OLLAMA_HOST` by the rules of Ollama's own programs (Go: `envconfig.Host`), so that a
 * value which works for `ollama` works here.
 */
import { parseIpAddress } from "../lib/network.ts";
import { failure, type Result, success } from "../lib/result.ts";

export interface OllamaHost {
  /** Where paths such as `api/generate` are appended; ends with `/` and holds no credentials. */
  readonly baseUrl: string;
  /** Scheme, name and port: what messages may show. */
  readonly origin: string;
  readonly protocol: "http" | "https";
  /** Without the brackets of IPv6. */
  readonly hostname: string;
  readonly port: number;
  readonly isLoopback: boolean;
  /** The value of an `Authorization` header, when the setting held `user:password@`. */
  readonly basicAuthorization?: string;
}

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
    baseUrl: url.href,
    origin: url.origin,
    protocol,
    hostname,
    port,
    isLoopback: hostname === "localhost" || hostname === "::1" || /^127(\.\d{1,3}){3}$/.test(hostname),
    ...(credentials === "" ? {} : { basicAuthorization: basicAuthorization(credentials) }),
  });
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
