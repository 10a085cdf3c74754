/** Which names may come into being: the same for every backend. */
import { failure, success } from "../../lib/result.ts";
import type { AccessRules } from "./name_folding.ts";
import { newNameProblem } from "./path.ts";
import type { Outcome } from "./port.ts";

/**
 * Refuses to make the entry with these names, of which the first `existing` are there already. `areReturning`: they
 * were there before, so only the rules of access are asked.
 */
export function checkNewNames(
  rules: AccessRules,
  segments: readonly string[],
  existing: number,
  areReturning = false,
): Outcome<null> {
  for (let count = existing + 1; count <= segments.length; count++) {
    if (rules.isDenied(segments.slice(0, count))) return failure({ reason: "denied", because: "denied_name" });
    const rule = areReturning ? null : newNameProblem(segments[count - 1] ?? "");
    if (rule !== null) return failure({ reason: "bad_name", rule });
  }
  return rules.isProtected(segments) ? failure({ reason: "denied", because: "protected_name" }) : success(null);
}
