/** What became of a change, as lines of text. */
import type { Result } from "../lib/result.ts";
import type { ToolOutcome } from "../mcp/tool.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { ServicenowRecords } from "./port.ts";
import { toFailureOutcome, toTextOutcome } from "./outcome_tool.ts";
import type { ChangeReport, FieldChange } from "./changes_port.ts";

function changeLine({ name, before, after }: FieldChange): string {
  const now = after === "" ? "(empty)" : after;
  if (before === after && before !== "") return `${name}: ${now} (unchanged)`.replaceAll("\n", "\n  ");
  return `${name}: ${before === "" ? "" : `${before} → `}${now}`.replaceAll("\n", "\n  ");
}

function notTakenLine({ name, wanted, now, isUnknown }: ChangeReport["notTaken"][number]): string {
  const shown = now === null
    ? "ServiceNow does not show the field to this user"
    : `it is ${now === "" ? "empty" : now}`;
  return isUnknown
    ? `NOT known whether taken: ${name} ${wanted}; ${shown}`
    : `NOT taken: ${name} ${wanted}; ${shown}. The user's rights or a rule of the instance decided so.`;
}

export function reportLines(report: ChangeReport): readonly string[] {
  const { dryRun, table, name, link, changes, notTaken, alsoChanged, notes, version } = report;
  const isUnknown = notTaken.every(({ isUnknown: each }) => each);
  const refusal = isUnknown
    ? ": it is NOT known whether everything was taken"
    : changes.length === 0
    ? ": NOTHING was taken"
    : ": NOT everything was taken";
  const heading = dryRun
    ? `Dry run, nothing sent. ${name === null ? `A new ${table}` : name} would get:`
    : `${name} (${table}${version === null || version === "" ? "" : `, version ${version}`})${
      notTaken.length === 0 ? "" : refusal
    }`;
  return [
    heading,
    ...(link === null || dryRun ? [] : [link]),
    ...changes.map(changeLine),
    ...notTaken.map((each) => notTakenLine(each).replaceAll("\n", "\n  ")),
    ...(alsoChanged.length === 0 ? [] : [`ServiceNow ${changes.length + notTaken.length > 0 ? "also " : ""}set:`]),
    ...alsoChanged.map(changeLine),
    ...notes,
  ];
}

/** The lines of a change to a record; one of which the instance took nothing is a failure. */
export async function answerWithReport(
  servicenow: ServicenowRecords,
  answer: Promise<Result<ChangeReport, ServicenowFailure>>,
): Promise<ToolOutcome> {
  const made = await answer;
  if (!made.ok) return toFailureOutcome(servicenow, made.error);
  const { dryRun, changes, notTaken } = made.value;
  const lines = reportLines(made.value);
  return !dryRun && changes.length === 0 && notTaken.some((each) => !each.isUnknown)
    ? { ok: false, code: "servicenow_not_taken", message: lines.join("\n") }
    : toTextOutcome(lines);
}
