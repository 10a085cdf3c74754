/**
 * Settings of the company's identity provider, and what they mean for a person: who may come in, and what their groups
 * let them do.
 */
import { failure, type Result, success } from "../../lib/result.ts";
import { didYouMean } from "../../lib/suggestible.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { isSafeUrl } from "../../lib/settings.ts";
import { effectiveScopes, scopeCatalogue } from "../../lib/principal.ts";

/** What the settings say about the company's provider. */
export interface CompanySettings {
  readonly issuer: string;
  /** This server as a client of the provider. */
  readonly clientId: string;
  /** The client secret, or a private key as JWK. */
  readonly clientSecret: string;
  /** Empty: only the owner, once linked. */
  readonly allow: readonly AllowRule[];
  /** `null`: groups limit nothing. */
  readonly groups: GroupRights | null;
  readonly groupsClaim: string;
  readonly recheckMs: number;
  /** Whether clients may present identity assertions (ID-JAG). */
  readonly assertions: boolean;
}

/** People who may sign in. Domains and addresses count only where the provider has verified the address. */
type AllowRule =
  | { readonly kind: "everyone" }
  | { readonly kind: "group" | "domain" | "email" | "subject"; readonly name: string };

/** What a group gives, by its name. */
type GroupRights = ReadonlyMap<string, { readonly scopes: readonly string[]; readonly administrator: boolean }>;

/** The grant type of identity assertions (RFC 7523 §2.1). */
export const assertionGrantType = "urn:ietf:params:oauth:grant-type:jwt-bearer" as const;

/** Rules and groups in one setting. */
const maxRules = 200;
const administrator = "administrator";

/** An issuer, kept as it is: it is compared byte for byte (OpenID Connect Discovery §4.3). */
export function parseIssuer(text: string): Result<string, string> {
  const url = URL.parse(text);
  return url !== null && isSafeUrl(url) && url.username === "" && url.password === "" && !/[?#\s]/.test(text)
    ? success(text)
    : failure("must be an https URL such as https://login.example.com, exactly as the provider writes it");
}

/** A client secret, or a private key as JWK. */
export function parseClientSecret(text: string): Result<string, string> {
  const secret = text.trim();
  const jwk = parseJson(secret);
  if (/^(\{|-----BEGIN)/.test(secret) && !(isObject(jwk) && typeof jwk["d"] === "string")) {
    return failure("must be the client secret, or a private key as JWK");
  }
  return secret === "" ? failure("must not be empty") : success(secret);
}

/** Rules such as `group:mcp-users; @example.com; ada@example.com; sub:00u1a2b3; *`. */
export function parseAllow(text: string): Result<readonly AllowRule[], string> {
  const rules: AllowRule[] = [];
  for (const item of itemsOf(text)) {
    const [, kind, name = ""] = /^(group|sub):\s*(.+)$/.exec(item) ?? [];
    if (item === "*") rules.push({ kind: "everyone" });
    else if (kind !== undefined) rules.push({ kind: kind === "sub" ? "subject" : "group", name });
    else if (/^@[^@\s]+\.[^@\s]+$/.test(item)) rules.push({ kind: "domain", name: item.slice(1).toLowerCase() });
    else if (/^[^@\s]+@[^@\s]+$/.test(item)) rules.push({ kind: "email", name: item.toLowerCase() });
    else {
      return failure(
        `has ${
          JSON.stringify(item)
        }; separate with semicolons: group:NAME, @example.com, ada@example.com, sub:SUBJECT, *`,
      );
    }
  }
  return rules.length > 0 && rules.length <= maxRules
    ? success(rules)
    : failure(`must have 1 to ${maxRules} rules, separated by semicolons`);
}

/** A map such as `mcp-users=files:read files:write; mcp-admins=administrator`. A group's name may hold `=` and commas. */
export function parseGroups(text: string): Result<GroupRights, string> {
  const known = [...scopeCatalogue.map(({ name }) => name), administrator];
  const rights = new Map<string, { scopes: readonly string[]; administrator: boolean }>();
  for (const item of itemsOf(text)) {
    const end = item.lastIndexOf("=");
    const [group, words] = [item.slice(0, Math.max(end, 0)).trim(), item.slice(end + 1).split(/[\s,]+/)];
    const names = words.filter((word) => word !== "");
    if (group === "" || names.length === 0) {
      return failure("must be GROUP=SCOPE SCOPE, or GROUP=administrator, separated by semicolons");
    }
    const unknown = names.find((name) => !known.includes(name));
    if (unknown !== undefined) {
      return failure(
        `gives ${JSON.stringify(unknown)}; use one or more of: ${known.join(" ")}${didYouMean(unknown, known)}`,
      );
    }
    if (rights.has(group)) return failure(`names the group ${JSON.stringify(group)} twice`);
    const scopes = names.filter((name) => name !== administrator);
    rights.set(group, { scopes, administrator: names.includes(administrator) });
  }
  return rights.size > 0 && rights.size <= maxRules
    ? success(rights)
    : failure(`must map 1 to ${maxRules} groups, separated by semicolons`);
}

function itemsOf(text: string): string[] {
  return text.split(/[;\n]/).map((item) => item.trim()).filter((item) => item !== "");
}

/** What the provider says of a person. */
export interface Claims {
  readonly subject: string;
  /** Lower case, and verified by the provider; `null` otherwise. */
  readonly email: string | null;
  /** The domain whose owner the provider vouches for; by the verified address where it says nothing else. */
  readonly domain: string | null;
  readonly groups: readonly string[];
}

/** Whether one of the rules fits a person. */
export function isAllowed(rules: readonly AllowRule[], { subject, email, domain, groups }: Claims): boolean {
  return rules.some((rule) => {
    if (rule.kind === "everyone") return true;
    return rule.kind === "group" ? groups.includes(rule.name) : { subject, email, domain }[rule.kind] === rule.name;
  });
}

/** Those of a person's groups that the settings name: no other is stored. */
export function namedGroups(
  { allow, groups }: Pick<CompanySettings, "allow" | "groups">,
  held: readonly string[],
): string[] {
  const named = new Set([
    ...groups?.keys() ?? [],
    ...allow.flatMap((rule) => rule.kind === "group" ? [rule.name] : []),
  ]);
  return [...new Set(held)].filter((group) => named.has(group));
}

/** What members of these groups may do: `scopes` with what they imply, `null` for any. */
export function rightsOf(rights: GroupRights | null, held: readonly string[]) {
  if (rights === null) return { scopes: null, administrator: false };
  const given = held.flatMap((group) => rights.get(group) ?? []);
  return {
    scopes: effectiveScopes(given.flatMap(({ scopes }) => scopes)),
    administrator: given.some((each) => each.administrator),
  };
}
