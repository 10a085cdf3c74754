/** The cookies: some tie pages to the browser they were sent to, one is the signed-in session. */
import { hashSecret } from "../lib/random_secret.ts";

/** Reads and writes the cookies of one installation. */
interface Cookies {
  /** What the browser is known by, the lasting cookie first. */
  readBrowsers(request: Request): readonly string[];
  readSession(request: Request): string | null;
  /** The lasting cookie, and one beside it for a while: two tabs that open at once each replace the lasting one. */
  setBrowser(value: string, tabMaxAgeSeconds: number): readonly string[];
  setSession(value: string, maxAgeSeconds: number): string;
  clearSession(): string;
}

const browserMaxAgeSeconds = 31_536_000;
const maxBrowserCookies = 8;

/** `__Host-` and Secure where the issuer is https (RFC 6265bis §4.1.3.2); plain http happens on loopback only. */
export function createCookies(issuer: string): Cookies {
  const secure = issuer.startsWith("https:");
  const prefix = secure ? "__Host-" : "";
  const browserName = `${prefix}portcullis-browser`;
  const sessionName = `${prefix}portcullis-session`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  return {
    readBrowsers(request) {
      const tabs = readCookies(request, (name) => name.startsWith(`${browserName}-`));
      const values = [...readCookies(request, (name) => name === browserName), ...tabs];
      return [...new Set(values)].slice(0, maxBrowserCookies);
    },
    readSession: (request) => readCookies(request, (name) => name === sessionName)[0] ?? null,
    setBrowser: (value, tabMaxAgeSeconds) => [
      `${browserName}=${value}; Max-Age=${browserMaxAgeSeconds}; ${attributes}`,
      `${browserName}-${tabNameOf(value)}=${value}; Max-Age=${tabMaxAgeSeconds}; ${attributes}`,
    ],
    setSession: (value, maxAgeSeconds) => `${sessionName}=${value}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    clearSession: () => `${sessionName}=; Max-Age=0; ${attributes}`,
  };
}

/** A name that two tabs do not share; it is no part of the secret. */
function tabNameOf(value: string): string {
  return hashSecret(value).slice(0, 8);
}

/** The values of the cookies with such a name that have the shape of our secrets. */
function readCookies(request: Request, isNamed: (name: string) => boolean): string[] {
  return (request.headers.get("cookie") ?? "").split(";").flatMap((pair) => {
    const separator = pair.indexOf("=");
    if (separator < 0 || !isNamed(pair.slice(0, separator).trim())) return [];
    const value = pair.slice(separator + 1).trim();
    return /^[A-Za-z0-9_-]{43}$/.test(value) ? [value] : [];
  });
}
