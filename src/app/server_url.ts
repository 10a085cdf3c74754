/** The addresses by which clients know this server. */
import type { Config } from "./config/config.ts";
import { isLoopbackHost } from "../lib/settings.ts";
import { withoutBrackets } from "../lib/network.ts";

/** The one address that is the issuer: SERVER_URL, or on this machine alone the address listened on. */
export function serverUrlFor(http: Config["http"], port: number): string {
  const { serverUrl, host } = http;
  if (serverUrl !== undefined) return serverUrl;
  const name = host.includes(":") ? `[${withoutBrackets(host)}]` : host;
  return new URL(`${servesTls(http) ? "https" : "http"}://${name}:${port}`).origin;
}

/** Whether the server itself ends TLS. */
export function servesTls({ tls, publicDomain }: Config["http"]): boolean {
  return tls !== undefined || publicDomain !== undefined;
}

/** Whether a proxy has to be in between, since someone ends TLS, and none is trusted: all people then share one address. */
export function missesTrustProxy({ http, onDeploy }: Config): boolean {
  const { serverUrl, trustedProxies } = http;
  return !onDeploy && serverUrl?.startsWith("https:") === true && !servesTls(http) && trustedProxies === undefined;
}

/** What that means for an operator. */
export const missingTrustWords =
  "SERVER_URL is https, which a proxy has to answer, and no proxy is trusted: all clients share one address";

/**
 * Every spelling of the server's address that people type for it, the canonical one first. On a loopback address
 * `localhost` and its numbers mean the same server, and clients insist on finding what they typed (RFC 9728 §3.3).
 */
export function serverUrlSpellings(serverUrl: string): readonly string[] {
  const url = new URL(serverUrl);
  if (!isLoopbackHost(url.hostname)) return [serverUrl];
  const spellings = ["localhost", "127.0.0.1", "[::1]"].map((hostname) => {
    const spelling = new URL(serverUrl);
    spelling.hostname = hostname;
    return spelling.href.replace(/\/$/, "");
  });
  return [...new Set([serverUrl, ...spellings])];
}
