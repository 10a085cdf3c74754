/** Redirect URIs: which may be registered, and when a request's matches a registered one. */

type RedirectUriKind =
  | "https"
  /** http on this machine, for native clients (RFC 8252 §7.3). */
  | "loopback"
  /** On a known desktop application's own scheme (RFC 8252 §7.1). */
  | "native_application"
  /** Another application's own scheme: for clients that the operator made with it. */
  | "private_use"
  /** Well-formed, but nothing is sent there: http to another machine. */
  | "unsupported"
  /** Malformed, or a scheme that browsers act on. No honest client lists one. */
  | "forbidden";

const maxUriLength = 2_048;
// scheme and host, port, and the rest of a loopback URI
const loopbackPattern = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::(\d{1,5}))?((?:[/?].*)?)$/;
// Schemes that browsers or the system act on by themselves: a redirect there runs code or reads files.
const activeSchemes = new Set(
  ("about apt blob chrome chrome-extension content data devtools edge facetime feed file filesystem ftp ftps hcp " +
    "help http intent itms itms-services jar javascript jscript ldap livescript mailto market mhtml mk mocha " +
    "moz-extension news nfs res resource search search-ms sftp shell sip skype smb sms ssh tel telnet urn " +
    "vbscript view-source webcal ws wss wyciwyg").split(" "),
);
const httpsHostPattern = /^https:\/\/([^/?:[]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?]|$)/i;
const responseParameters = ["code", "error", "iss", "state"];

export function classifyRedirectUri(uri: string): RedirectUriKind {
  // Visible ASCII without characters that parsers disagree about; no fragment (RFC 6749 §3.1.2), no wildcard.
  if (uri.length > maxUriLength || !/^[\x21-\x7e]+$/.test(uri) || /[#*\\"<>^`{|}]/.test(uri)) return "forbidden";
  const url = URL.parse(uri);
  if (url === null || url.username !== "" || url.password !== "") return "forbidden";
  if (/^https?:\/\/[^/?]*@/i.test(uri)) return "forbidden"; // an empty user name, which parsers drop
  if (/(^|\/)(\.|%2e){1,2}(\/|$)/i.test(uri.split("?", 1)[0] ?? "")) return "forbidden";
  if (responseParameters.some((name) => url.searchParams.has(name))) return "forbidden";
  if (url.protocol === "https:") return isHttpsHost(httpsHostPattern.exec(uri)?.[1], url) ? "https" : "forbidden";
  if (url.protocol === "http:") {
    const match = loopbackPattern.exec(uri);
    return match !== null && isPort(match[2]) ? "loopback" : "unsupported";
  }
  if (nativeApplicationOf(uri) !== null) return "native_application";
  const scheme = url.protocol.slice(0, -1);
  if (!/^[a-z][a-z0-9+.-]+$/.test(scheme) || activeSchemes.has(scheme) || scheme.startsWith("ms-")) return "forbidden";
  // `localhost:8080` would be read as an address of the scheme `localhost`
  return uri.startsWith(`${scheme}:`) && !/^[^:]+:\d/.test(uri) ? "private_use" : "unsupported";
}

/**
 * Whether the host is spelled as a host name, by letters, digits and hyphens (RFC 1123 §2.1; underscores occur), or as
 * an address. Other spellings of either (`%2a`, `0x7f.1`) and characters that mean something in a header (`;`, `,`) are
 * not.
 */
function isHttpsHost(text: string | undefined, { hostname }: URL): boolean {
  if (text === undefined) return false;
  if (text.startsWith("[")) return hostname.startsWith("[");
  if (text.toLowerCase() !== hostname) return false;
  return hostname.length <= 254 && hostname.replace(/\.$/, "").split(".")
    .every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label));
}

function isPort(port: string | undefined): boolean {
  return port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
}

/** The part after host and port; an empty path is `/` (RFC 3986 §6.2.3). */
function pathOf(rest: string | undefined): string {
  return rest?.startsWith("/") ? rest : `/${rest ?? ""}`;
}

/**
 * Whether the requested URI is the registered one: the same text exactly (RFC 9700 §2.1), except that the port of a
 * loopback URI may differ (RFC 8252 §7.3), since a native client takes any free one, and its empty path is `/`.
 */
export function matchesRedirectUri(requested: string, registered: string): boolean {
  if (requested === registered) return true;
  const left = loopbackPattern.exec(requested);
  const right = loopbackPattern.exec(registered);
  if (left === null || right === null || classifyRedirectUri(requested) !== "loopback") return false;
  return left[1] === right[1] && pathOf(left[3]) === pathOf(right[3]);
}

/** Whether two texts are one address, port included: what a token request names, and what the code was sent to. */
export function isSameRedirectUri(one: string, other: string): boolean {
  if (one === other) return true;
  const [left, right] = [loopbackPattern.exec(one), loopbackPattern.exec(other)];
  return left !== null && right !== null && left[2] === right[2] && matchesRedirectUri(one, other);
}

/**
 * The redirect URI to use: the requested one if it is registered, the only registered one if none was requested. `null`
 * when there is none: then there is no redirect.
 */
export function selectRedirectUri(requested: string | undefined, registered: readonly string[]): string | null {
  const allowable = registered.filter(isAllowableRedirectUri);
  // OAuth 2.1 §2.3.3: with several registered, the request has to name one.
  if (requested === undefined) return registered.length === 1 ? allowable[0] ?? null : null;
  return allowable.some((uri) => matchesRedirectUri(requested, uri)) ? requested : null;
}

/** Whether the operator may give it to a client: a usable one, or any application's own scheme (RFC 8252 §7.1). */
export function isAllowableRedirectUri(uri: string): boolean {
  return isUsableRedirectUri(uri) || classifyRedirectUri(uri) === "private_use";
}

/** Whether a client may register it by itself. */
export function isUsableRedirectUri(uri: string): boolean {
  const kind = classifyRedirectUri(uri);
  return kind === "https" || kind === "loopback" || kind === "native_application";
}

/**
 * Schemes of desktop applications that sign in to MCP servers (RFC 8252 §7.1). MCP asks for https or loopback; these
 * are a deliberate deviation for applications that register nothing else. Another program can claim a scheme, but
 * cannot redeem the code without the PKCE verifier, which is mandatory here.
 */
const applications: Readonly<Record<string, string>> = {
  claude: "Claude",
  cursor: "Cursor",
  goose: "Goose",
  kiro: "Kiro",
  raycast: "Raycast",
  vscode: "VS Code",
  "vscode-insiders": "VS Code Insiders",
  vscodium: "VSCodium",
  warp: "Warp",
  windsurf: "Windsurf",
  zed: "Zed",
};

/** Where a redirect leads, for people: its host, or an application's scheme (`com.example.app:`). */
export function redirectTarget(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return host === "" ? protocol : host;
}

/** The known application whose scheme a redirect URI has; `null` for others. */
export function nativeApplicationOf(redirectUri: string): string | null {
  const scheme = /^([a-z][a-z0-9-]*):\/\//.exec(redirectUri)?.[1];
  return scheme !== undefined && Object.hasOwn(applications, scheme) ? applications[scheme] ?? null : null;
}

/** Authorization responses (RFC 6749 §4.1.2): the query that is added to a redirect URI known to be the client's. */
export function locationOf(
  issuer: string,
  target: { readonly redirectUri: string; readonly state: string | null },
  parameters: Record<string, string>,
): string {
  const query = new URLSearchParams(parameters);
  if (target.state !== null) query.set("state", target.state);
  query.set("iss", issuer); // RFC 9207 §2
  // The registered text is kept as it is, its own query included (RFC 6749 §3.1.2).
  return `${target.redirectUri}${target.redirectUri.includes("?") ? "&" : "?"}${query}`;
}
