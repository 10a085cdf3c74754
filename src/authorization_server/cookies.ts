/** The two cookies: one ties pages to the browser they were sent to, one is the signed-in session. */

/** Reads and writes the cookies of one installation. */
export interface Cookies {
  readBrowser(request: Request): string | null;
  readSession(request: Request): string | null;
  setBrowser(value: string): string;
  setSession(value: string, maxAgeSeconds: number): string;
  clearSession(): string;
}

const browserMaxAgeSeconds = 31_536_000;

/** `__Host-` and Secure where the issuer is https (RFC 6265bis §4.1.3.2); plain http happens on loopback only. */
export function createCookies(issuer: string): Cookies {
  const secure = issuer.startsWith("https:");
  const prefix = secure ? "__Host-" : "";
  const browserName = `${prefix}portcullis-browser`;
  const sessionName = `${prefix}portcullis-session`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  return {
    readBrowser: (request) => readCookie(request, browserName),
    readSession: (request) => readCookie(request, sessionName),
    setBrowser: (value) => `${browserName}=${value}; Max-Age=${browserMaxAgeSeconds}; ${attributes}`,
    setSession: (value, maxAgeSeconds) => `${sessionName}=${value}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    clearSession: () => `${sessionName}=; Max-Age=0; ${attributes}`,
  };
}

/** The cookie's value, if it is one of our secrets by shape. */
function readCookie(request: Request, name: string): string | null {
  for (const pair of (request.headers.get("cookie") ?? "").split(";")) {
    const separator = pair.indexOf("=");
    if (separator < 0 || pair.slice(0, separator).trim() !== name) continue;
    const value = pair.slice(separator + 1).trim();
    if (/^[A-Za-z0-9_-]{43}$/.test(value)) return value;
  }
  return null;
}
