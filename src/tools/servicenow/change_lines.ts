/** What became of a change, as lines of text. */
import type { ChangeReport, FieldChange } from "../../servicenow/changes/port.ts";

function changeLine({ name, before, after }: FieldChange): string {
  const now = after === "" ? "(empty)" : after;
  return `${name}: ${before === "" ? "" : `${before} → `}${now}`.replaceAll("\n", "\n  ");
}

export function reportLines(report: ChangeReport): readonly string[] {
  const { dryRun, table, name, link, changes, notTaken, alsoChanged, notes, version } = report;
  const heading = dryRun
    ? `Dry run, nothing sent. ${name === null ? `A new ${table}` : name} would get:`
    : `${name} (${table}${version === null || version === "" ? "" : `, version ${version}`})${
      notTaken.length === 0 ? "" : changes.length === 0 ? ": NOTHING was taken" : ": NOT everything was taken"
    }`;
  return [
    heading,
    ...(link === null || dryRun ? [] : [link]),
    ...changes.map(changeLine),
    ...notTaken.map(({ name: field, wanted, now }) =>
      `NOT taken: ${field} ${wanted}; ${
        now === null ? "ServiceNow does not show the field to this user" : `it is ${now === "" ? "empty" : now}`
      }. The user's rights or a rule of the instance decided so.`.replaceAll("\n", "\n  ")
    ),
    ...(alsoChanged.length === 0 ? [] : [`ServiceNow ${changes.length + notTaken.length > 0 ? "also " : ""}set:`]),
    ...alsoChanged.map(changeLine),
    ...notes,
  ];
}
