/** Scope parameters and their arithmetic. */
import { didYouMean } from "../lib/suggestible.ts";
import { effectiveScopes, offeredScopes, scopeCatalogue } from "../lib/principal.ts";

/** The default scopes. */
export const usualScopes: readonly string[] = offeredScopes({ servicenow: "off" });

/** The names in a scope parameter, once each. Separated by spaces (RFC 6749 §3.3), or commas as ServiceNow sends them. */
export function parseScope(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ""))];
}

/** Those of `names` that are offered (or at least known), in the catalogue's order. */
export function knownScopes(names: Iterable<string>, offered: readonly string[] = allScopes()): string[] {
  const wanted = new Set(names);
  return offered.filter((name) => wanted.has(name));
}

/** The names of all scopes that this server knows. */
export function allScopes(): string[] {
  return scopeCatalogue.map(({ name }) => name);
}

/** Why the operator cannot give these scopes, in words that follow the name of the argument, or `null`. */
export function scopeProblem(text: string): string | null {
  const known = allScopes();
  const scopes = parseScope(text);
  const unknown = scopes.filter((name) => !known.includes(name));
  if (scopes.length > 0 && unknown.length === 0) return null;
  const what = unknown.length === 0
    ? "is empty"
    : `has the unknown scope ${unknown.map((name) => JSON.stringify(name)).join(", ")}`;
  return `${what}; use one or more of: ${known.join(" ")}${didYouMean(unknown[0] ?? "", known)}`;
}

/** What is left of these scopes where a person may grant no more than `limit`, with what they imply; `null`: all. */
export function withinLimit(scopes: readonly string[], limit: ReadonlySet<string> | null): string[] {
  return limit === null ? [...scopes] : knownScopes(effectiveScopes(scopes).intersection(limit));
}

// Resource indicators (RFC 8707): which of a request's `resource` values mean this server's MCP endpoint.

/** Two spellings of a URL are the same target when only host case, default port or one trailing slash differ. */
function canonicalUrl(text: string): string | null {
  if (text.includes("#")) return null; // RFC 8707 §2: no fragment, not even an empty one
  const url = URL.parse(text);
  return url === null ? null : url.href.replace(/\/$/, "");
}

/**
 * Builds the predicate: every value is one of the accepted spellings, or the address of this server in one, since the
 * MCP endpoint is the only resource there; on a shared host, the origin is another's. No value at all is fine.
 */
export function createResourceCheck(accepted: readonly string[]): (values: readonly string[]) => boolean {
  const spellings = accepted.flatMap((resource) => [resource, new URL(".", resource).href]);
  const known = new Set(spellings.map(canonicalUrl).filter((url) => url !== null));
  return (values) =>
    values.every((value) => {
      const url = canonicalUrl(value);
      return url !== null && known.has(url);
    });
}
