/** What a request says of the way that it came: which step it is, and by which name of the server. */
import { isObject, parseJson } from "../../lib/json.ts";
import { requestHost } from "../../lib/request_host.ts";
import { shownHost } from "./shown_text.ts";
import type { StepKind } from "./step.ts";

/** The server as its documents name it. */
export interface NamedServer {
  /** Whether the server's documents name this host. */
  readonly isOwnHost: (host: string) => boolean;
  /** Of SERVER_URL: `http:` or `https:`. */
  readonly scheme: string;
  /** SERVER_URL: the issuer of the server's tokens. */
  readonly issuer?: string;
}

/** The host that the client used, and what is odd about it. */
export function cameBy(
  request: Request,
  { isOwnHost, scheme }: NamedServer,
): { readonly host: string | null; readonly sign: string | null } {
  const forwardedHost = request.headers.get("x-forwarded-host")?.split(",")[0]?.trim() ?? null;
  const host = shownHost(forwardedHost ?? requestHost(request));
  const proto = request.headers.get("x-forwarded-proto")?.split(",")[0]?.trim().toLowerCase();
  // A proxy that puts its own upstream's address into Host says nothing of the name that the client used.
  const isRewritten = forwardedHost === null && host !== null && isAddress(host) && isForwarded(request);
  const isOtherScheme = (proto === "http" || proto === "https") && `${proto}:` !== scheme;
  return {
    host,
    sign: host !== null && !isRewritten && !isOwnHost(host) ? "other_host" : isOtherScheme ? "other_scheme" : null,
  };
}

/** Reasons for which a token is refused before its signature was found to be ours. */
const unverified: ReadonlySet<string> = new Set([
  "malformed_token",
  "foreign_token_header",
  "unknown_signing_key",
  "bad_signature",
]);
const maxTokenCharacters = 8_192;

/** Whose token a refused one is, by what it says of itself; `null` where that says no more than the reason. */
export function foreignToken(
  { headers }: Request,
  reason: string,
  { issuer }: Pick<NamedServer, "issuer">,
): { readonly reason: string; readonly host?: string | null } | null {
  const [, token = ""] = /^bearer +(\S+) *$/i.exec((headers.get("authorization") ?? "").slice(0, maxTokenCharacters)) ??
    [];
  if (!unverified.has(reason)) return null;
  const [, payload = ""] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token) ?? [];
  if (payload === "") {
    const isCut = /^(eyJ|pc[a-z]_)/.test(token) && token.split(".").length !== 5; // five parts are encrypted
    return reason === "malformed_token" && !isCut ? { reason: "token_of_other_kind" } : null;
  }
  const claims = parseJson(new TextDecoder().decode(Buffer.from(payload, "base64url")));
  if (!isObject(claims) || issuer === undefined) return null;
  const { iss, aud } = claims;
  if (iss === issuer) return [aud].flat().includes(`${issuer}/mcp`) ? null : { reason: "wrong_audience" };
  const host = typeof iss === "string" ? shownHost(URL.parse(iss)?.host ?? null) : null;
  return { reason: "token_of_other_server", host };
}

/** Ways of other servers to prove oneself, which are none here. */
const keyHeaders = ["x-api-key", "api-key", "x-auth-token", "x-access-token"];
const keyParameters = ["access_token", "token", "api_key", "apikey", "key"];

export function hasKeyHeader({ headers }: Request): boolean {
  return keyHeaders.some((name) => headers.has(name));
}

export function hasKeyInUrl({ url }: Request): boolean {
  const parameters = new URL(url).searchParams;
  return keyParameters.some((name) => parameters.has(name));
}

/** `other` are routes that no client needs to connect; `unknown` may be none. */
export function kindOfPath(path: string): StepKind | "other" | "unknown" {
  if (path === "/mcp" || path === "/mcp/" || path.startsWith("/files/")) return "other";
  if (path.includes("/.well-known/")) {
    if (path.includes("/.well-known/oauth-protected-resource")) return "resource_metadata";
    return /\/\.well-known\/(oauth-authorization-server|openid-configuration)/.test(path) ? "server_metadata" : "other";
  }
  switch (path) {
    case "/oauth/register":
    case "/register":
      return "registration";
    case "/oauth/authorize":
    case "/authorize":
      return "authorization";
    case "/oauth/token":
    case "/token":
      return "token";
    case "/oauth/sign-in":
    case "/servicenow/callback":
      return "sign_in";
    case "/oauth/consent":
      return "consent";
    default:
      return "unknown";
  }
}

function isAddress(host: string): boolean {
  return /^(localhost|[\d.]+|\[[0-9a-f:.]+\])(:\d+)?$/.test(host);
}

function isForwarded({ headers }: Request): boolean {
  return ["x-forwarded-for", "forwarded", "via", "x-real-ip"].some((name) => headers.has(name));
}
