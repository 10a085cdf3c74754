/** Refusals name what a caller may have meant: what a rule keeps from it is not among that. */
import type { ToolOutcome } from "../mcp/tool.ts";
import { foldName } from "../workspace/name_folding.ts";
import { type JudgedCall, placesThatDecide, type Rule } from "./rule.ts";

const suggestion = /; did you mean [^]*$/;

export function withoutHiddenNames(
  outcome: ToolOutcome,
  { call, rules, now }: { readonly call: JudgedCall; readonly rules: readonly Rule[]; readonly now: number },
): ToolOutcome {
  if (outcome.ok) return outcome;
  const said = foldName(suggestion.exec(outcome.message)?.[0] ?? "");
  const hidden = placesThatDecide(rules.filter(({ verdict }) => verdict !== "allow"), call, now);
  const isNamed = hidden.some((place) => said.includes(foldName(place.split("/").at(-1) ?? place)));
  return isNamed ? { ...outcome, message: outcome.message.replace(suggestion, "") } : outcome;
}
