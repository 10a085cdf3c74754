/** Applies the rules to resources: what a tool may not read without approval, no resource returns, lists or completes. */
import type { Resource, ResourceFamily } from "../../mcp/mod.ts";
import type { GateOptions } from "./gate.ts";
import { judgeByNames, type JudgedCall, type Rule } from "./rule.ts";
import type { Principal } from "../../lib/principal.ts";

/** Times that a page of a list is filled up. */
const maxRounds = 100;

interface ResourceGateOptions extends Pick<GateOptions, "rules" | "clock" | "pageUrl" | "findTrueNames"> {
  /** The tool that reads the same. */
  readonly tool: string;
  /** The names of the path or table that an address means. */
  placeOf(uri: string): readonly string[];
  /** Whether they are paths of the workspace. */
  isPath(uri: string): boolean;
}

/** The family behind the gate. */
export function gateResources(family: ResourceFamily, options: ResourceGateOptions): ResourceFamily {
  const { rules, clock, tool, placeOf, pageUrl, isPath, findTrueNames } = options;
  const stopping = async (principal: Principal, uri: string): Promise<Rule | null> => {
    if (rules.current.length === 0) return null;
    const { subject: person, clientId, grantId } = principal;
    const names = placeOf(uri);
    const [places, otherNames] = [names.slice(0, 1), names.slice(1)];
    const paths = isPath(uri) ? names : [];
    const call: JudgedCall = { person, clientId, grantId, tool, changes: false, places, otherNames, paths };
    const rule = await judgeByNames(call, { principal, rules: rules.current, now: clock(), find: findTrueNames });
    return rule?.verdict === "allow" ? null : rule;
  };
  const isOpen = async (principal: Principal, uri: string): Promise<boolean> => await stopping(principal, uri) === null;
  const seen = async <T>(principal: Principal, all: readonly T[], uriOf: (each: T) => string): Promise<T[]> => {
    const open: T[] = [];
    for (const each of all) if (await isOpen(principal, uriOf(each))) open.push(each);
    return open;
  };
  const uriOf = ({ uri }: Resource): string => uri;
  const { listPage, listTop, complete } = family;
  return {
    ...family,
    async list(principal) {
      return await seen(principal, await family.list(principal), uriOf);
    },
    ...listPage === undefined ? {} : {
      async listPage(principal, position, limit) {
        // a page is filled up: one that is short would say how much is kept back
        const resources: Resource[] = [];
        for (let next = position, rounds = 1;; rounds++) {
          const page = await listPage(principal, next, limit - resources.length);
          if (page === null) return null;
          const open = await seen(principal, page.resources, uriOf);
          resources.push(...open);
          next = page.next;
          if (next === undefined) return { resources };
          const isFull = open.length === page.resources.length || resources.length >= limit;
          if (isFull || rounds === maxRounds) return { resources, next };
        }
      },
    },
    ...listTop === undefined ? {} : {
      listTop: async (principal) => await seen(principal, await listTop(principal), uriOf),
    },
    ...complete === undefined ? {} : {
      async complete(template, variable, value, others, principal) {
        const directory = value.slice(0, value.lastIndexOf("/") + 1);
        if (!await isOpen(principal, filledIn(template, variable, `${directory}%3F`))) return [];
        const values = await complete(template, variable, value, others, principal);
        return await seen(principal, values, (each) => filledIn(template, variable, each));
      },
    },
    mayWatch: (uri, principal) => isOpen(principal, uri),
    async read(uri, context) {
      const rule = await stopping(context.principal, uri);
      if (rule === null) return await family.read(uri, context);
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
