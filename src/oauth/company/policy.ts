/** Who may come in by the company's provider, and what their groups let them do. */
import { effectiveScopes } from "../../lib/scopes.ts";
import type { AllowRule, CompanySettings, GroupRights } from "./settings.ts";

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
    switch (rule.kind) {
      case "everyone":
        return true;
      case "group":
        return groups.includes(rule.name);
      case "domain":
        return domain === rule.name;
      case "email":
        return email === rule.name;
      case "subject":
        return subject === rule.name;
    }
  });
}

/** Whether a decision depends on groups. */
export function needsGroups({ allow, groups }: Pick<CompanySettings, "allow" | "groups">): boolean {
  return groups !== null || allow.some(({ kind }) => kind === "group");
}

/** Whether a decision depends on a verified address. */
export function needsEmail({ allow }: Pick<CompanySettings, "allow">): boolean {
  return allow.some(({ kind }) => kind === "email" || kind === "domain");
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
export interface Rights {
  readonly scopes: ReadonlySet<string> | null;
  readonly administrator: boolean;
}

export function rightsOf(rights: GroupRights | null, held: readonly string[]): Rights {
  if (rights === null) return { scopes: null, administrator: false };
  const given = held.flatMap((group) => rights.get(group) ?? []);
  return {
    scopes: effectiveScopes(given.flatMap(({ scopes }) => scopes)),
    administrator: given.some((each) => each.administrator),
  };
}
