/** What names lead to: a link in the workspace does not lead around a rule about its target. */
import type { Principal } from "../../lib/principal.ts";
import { decidingRule, type JudgedCall, placesThatDecide, type Rule } from "./rule.ts";

/** The names that a path stands for, in the workspace of the principal; an empty one where that cannot be told. */
export type FindTrueNames = (principal: Principal, path: string) => Promise<readonly string[]>;

/** Names of the call that its caller did not write. */
export function namesBehindLinks({ places, otherNames = [], trueNames }: JudgedCall): readonly string[] {
  const written = new Set([...places, ...otherNames]);
  return trueNames?.ofCall.filter((name) => !written.has(name)) ?? [];
}

/** Whether a rule about a place may decide: without one, nothing has to be looked up. */
export function needsTrueNames(rules: readonly Rule[], call: JudgedCall, now: number): boolean {
  return placesThatDecide(rules, call, now).length > 0;
}

interface NamesOptions {
  readonly principal: Principal;
  readonly rules: readonly Rule[];
  readonly now: number;
  readonly find: FindTrueNames;
}

/** The rule that decides about the call by every name; `null` where none does. */
export async function judgeByNames(call: JudgedCall, options: NamesOptions): Promise<Rule | null> {
  const { rules, now } = options;
  const judged = needsTrueNames(rules, call, now) ? await withTrueNames(call, options) : call;
  return decidingRule(rules, judged, now);
}

/** The call with what its paths and the rules' places lead to. */
export async function withTrueNames(
  call: JudgedCall,
  { principal, rules, now, find }: NamesOptions,
): Promise<JudgedCall> {
  const ofCall = new Set<string>();
  for (const path of call.paths ?? []) for (const name of await find(principal, path)) ofCall.add(name);
  const ofRules = new Map<string, readonly string[]>();
  for (const place of new Set(placesThatDecide(rules, call, now))) ofRules.set(place, await find(principal, place));
  return { ...call, trueNames: { ofCall: [...ofCall], ofRules } };
}
