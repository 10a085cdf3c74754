/**
 * Who may call from a browser, and under which name the server may be called. A page that a victim visits can reach a
 * server on the victim's own machine, directly or by DNS rebinding; both are refused here (MCP transports, "Security
 * Warning": Origin MUST be validated).
 */
import { requestHost } from "../lib/network.ts";

/** The names under which this server is known. All lower case. */
export interface KnownNames {
  /** Origins whose pages may call: our own spellings and those the operator allows. */
  readonly origins: ReadonlySet<string>;
  /** Values of `Host` that are us, with port where there is one. IP literals need no entry. */
  readonly hosts: ReadonlySet<string>;
}

/** Whether `Origin` is absent (not a browser) or one of ours. `null`, the origin of no one, never is. */
export function isKnownOrigin(origin: string | null, names: KnownNames): boolean {
  return origin === null || names.origins.has(origin.toLowerCase());
}

/**
 * Whether `Host` can be trusted to be us. Rebinding needs a name that the attacker's DNS serves, so an address is
 * always fine and a name must be known.
 */
export function isKnownHost(host: string, names: KnownNames): boolean {
  return names.hosts.has(host.toLowerCase()) || /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])(:\d+)?$/i.test(host);
}

/** What a request is addressed to: one of our names, another one, or nothing that a URL can have. */
type Addressee = "known" | "unknown" | "malformed";

/**
 * Judges `Host` and the request target before anything else parses them: Deno joins both into `request.url` unseen, so
 * that it may be no URL at all, or one of another host than `Host` (RFC 9112 §3.2: such a request is answered 400).
 */
export function addresseeOf(request: Request, names: KnownNames): Addressee {
  const host = requestHost(request);
  if (host === null) return "malformed";
  if (!names.hosts.has(host.toLowerCase())) {
    const named = URL.parse(`http://${host}`);
    if (named === null || named.href !== `${named.origin}/`) return "malformed";
    if (!isKnownHost(host, names)) return "unknown";
  }
  return isTargetAt(request.url, host) ? "known" : "malformed";
}

/** Whether a URL that `Host` went into, or that was sent whole (RFC 9112 §3.2.2), is of this host. */
function isTargetAt(url: string, host: string): boolean {
  const start = url.indexOf("://") + 3;
  if (url.startsWith(host, start) && url.charAt(start + host.length) === "/") return true;
  const target = URL.parse(url);
  return target !== null && target.username === "" && target.host === URL.parse(`${target.protocol}//${host}`)?.host;
}

/** Our own names for a server URL, its spellings on loopback, and what the operator adds. */
export function knownNames(
  serverUrls: readonly string[],
  allowedOrigins: readonly string[],
  allowedHosts: readonly string[],
): KnownNames {
  const ports = new Set(serverUrls.map((url) => url.startsWith("https:") ? ":443" : ":80"));
  const hosts = [...serverUrls.map((url) => new URL(url).host), ...allowedHosts].map((host) => host.toLowerCase());
  const origins = [...serverUrls, ...allowedOrigins].map((origin) => origin.toLowerCase());
  return {
    origins: new Set(
      origins.flatMap((origin) => withDefaultPort(origin, origin.startsWith("https:") ? ":443" : ":80")),
    ),
    hosts: new Set(hosts.flatMap((host) => [...ports].flatMap((port) => withDefaultPort(host, port)))),
  };
}

/** A host or origin with the default port of its scheme, and without: both name one server (RFC 9110 §4.2.3). */
function withDefaultPort(name: string, port: string): readonly string[] {
  if (name.endsWith(port)) return [name, name.slice(0, -port.length)];
  return /:\d+$/.test(name) ? [name] : [name, `${name}${port}`];
}
