/** What is kept of a stranger's words: cut, and only signs that no terminal or page obeys. */
import { doctorAgent } from "../../lib/doctor_agent.ts";

const maxNameCharacters = 60;
const maxHostCharacters = 80;
const maxUserAgentRead = 300;
/** What every browser counts as. */
export const browserAgent = "browser";

/** A name, on one line; `null` where nothing is left. */
export function shownName(name: string | null): string | null {
  const clean = (name ?? "").slice(0, 4 * maxNameCharacters).replaceAll(/[\p{C}\p{Z}\s]+/gu, " ").trim();
  return clean === "" ? null : [...clean].slice(0, maxNameCharacters).join("");
}

/** The product of a User-Agent header: `claude-code/2.1`, `browser`. What could be a secret, or is no product, is "other". */
export function agentFamily(header: string | null): string {
  const text = (header ?? "").slice(0, maxUserAgentRead).trim();
  if (text === "") return "none";
  if (text.includes(doctorAgent)) return doctorAgent;
  if (/^Mozilla\/5\.0 .*(Gecko|AppleWebKit)/.test(text)) return browserAgent;
  const [, product, version] = /^([A-Za-z][\w .-]{0,31}?)(\/\d[\d.]{0,11})?(?=[ /(;+]|$)/.exec(text) ?? [];
  return product === undefined ? "other" : `${product.trim()}${version ?? ""}`;
}

/** A host with its port, as it is in a URL. */
export function shownHost(host: string | null): string | null {
  if (host === null || host === "" || host.length > maxHostCharacters) return null;
  return /^[A-Za-z0-9.:[\]_-]+$/.test(host) ? host.toLowerCase() : null;
}

/** A path of plain words; anything else could hold a secret. */
export function shownPath(path: string): string {
  return path === "/" || /^(\/[a-z.][a-z0-9._-]{0,30}){1,4}\/?$/.test(path) ? path : "(another path)";
}
