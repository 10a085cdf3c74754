/** Scope parameters: what they name, and what of it is known here. */
import { didYouMean } from "../lib/suggestible.ts";
import { offeredScopes, scopeCatalogue } from "../lib/principal.ts";

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
