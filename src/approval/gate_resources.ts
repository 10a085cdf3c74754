/** Resources behind the same rules: what no tool may read without a person, no resource gives, lists or completes. */
import type { Principal } from "../lib/principal.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Resource, ResourceFamily } from "../mcp/resource.ts";
import { firstFitting, type Rule } from "./rule.ts";
import type { RuleStore } from "./rule_store.ts";

interface ResourceGateOptions {
  readonly rules: RuleStore;
  readonly clock: Clock;
  /** `null` where the console is off: nothing can be approved. */
  readonly pageUrl: string | null;
  /** The tool that reads the same. */
  readonly tool: string;
  /** The names of the path or table that an address means. */
  placeOf(uri: string): readonly string[];
}

/** The family behind the gate. */
export function gateResources(family: ResourceFamily, options: ResourceGateOptions): ResourceFamily {
  const { rules, clock, tool, placeOf, pageUrl } = options;
  const stopping = ({ subject: person, clientId, grantId }: Principal, names: readonly string[]): Rule | null => {
    const [places, otherNames] = [names.slice(0, 1), names.slice(1)];
    const call = { person, clientId, grantId, tool, changes: false, places, otherNames };
    const rule = firstFitting(rules.current, call, clock());
    return rule?.verdict === "allow" ? null : rule;
  };
  const seen = (principal: Principal, listed: readonly Resource[]): readonly Resource[] =>
    rules.current.length === 0 ? listed : listed.filter(({ uri }) => stopping(principal, placeOf(uri)) === null);
  const { listPage, complete } = family;
  return {
    ...family,
    async list(principal) {
      return seen(principal, await family.list(principal));
    },
    ...listPage === undefined ? {} : {
      async listPage(principal, position, limit) {
        const page = await listPage(principal, position, limit);
        return page === null ? null : { ...page, resources: seen(principal, page.resources) };
      },
    },
    ...complete === undefined ? {} : {
      async complete(template, variable, value, others, principal) {
        const values = await complete(template, variable, value, others, principal);
        if (rules.current.length === 0) return values;
        return values.filter((each) => stopping(principal, placeOf(filledIn(template, variable, each))) === null);
      },
    },
    read(uri, context) {
      if (rules.current.length === 0) return family.read(uri, context);
      const rule = stopping(context.principal, placeOf(uri));
      if (rule === null) return family.read(uri, context);
      return {
        refusal: rule.verdict === "deny" || pageUrl === null
          ? "The owner of this server does not allow this."
          : "A person has to approve this. Use a tool, whose calls can wait for them.",
      };
    },
  };
}

/** The address that a template (RFC 6570) makes of a value. */
function filledIn(template: string, variable: string, value: string): string {
  return template.replace(/\{\+?([a-z_]+)\}/, (whole, name: string) => name === variable ? value : whole);
}
