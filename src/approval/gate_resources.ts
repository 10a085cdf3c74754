/** Resources behind the same rules: what no tool may read without a person, no resource gives either. */
import type { Clock } from "../lib/time/clock.ts";
import type { ResourceFamily } from "../mcp/resource.ts";
import { firstFitting } from "./rule.ts";
import type { RuleStore } from "./rule_store.ts";

/** What rules call the reading of a resource. */
const toolName = "resources/read";

/** The family behind the gate; `placeOf` says which path or table an address means. */
export function gateResources(
  family: ResourceFamily,
  { rules, clock, placeOf }: {
    readonly rules: RuleStore;
    readonly clock: Clock;
    placeOf(uri: string): string | null;
  },
): ResourceFamily {
  return {
    ...family,
    read(uri, context) {
      if (rules.current.length === 0) return family.read(uri, context);
      const { subject: person, clientId, grantId } = context.principal;
      const places = [placeOf(uri)].filter((place) => place !== null);
      const rule = firstFitting(
        rules.current,
        { person, clientId, grantId, tool: toolName, changes: false, places },
        clock(),
      );
      if (rule === null || rule.verdict === "allow") return family.read(uri, context);
      return {
        refusal: rule.verdict === "deny"
          ? "The owner of this server does not allow this."
          : "A person has to approve this. Use a tool, whose calls can wait for them.",
      };
    },
  };
}
