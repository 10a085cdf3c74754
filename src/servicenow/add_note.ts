/** A work note for the team, or a reply that the caller sees. */
import { type Result, success } from "../lib/result.ts";
import type { DeskParts } from "./desk_parts.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import { namedColumn, unknownColumn } from "./columns_by_name.ts";
import { findRecord } from "./find_record.ts";
import type { Person } from "./person_cache.ts";
import { finishedReport, plannedReport, refusalOfWrite } from "./change_report.ts";
import { type ChangeReport, maxTextCharacters, type NoteRequest } from "./changes_port.ts";
import type { ResolvedValue } from "./resolve_values.ts";
import { columnsOf } from "./columns.ts";

const fields = { team: "work_notes", caller: "comments" } as const;

export async function addNote(
  parts: DeskParts,
  { id, table, audience, text, dryRun }: NoteRequest,
  person: Person,
): Promise<Result<ChangeReport, ServicenowFailure>> {
  if (text.trim() === "") return invalidInput("text must not be empty");
  if (text.length > maxTextCharacters) return invalidInput(`text must have at most ${maxTextCharacters} characters`);
  const found = await findRecord(parts, { id, table }, person, { writing: true });
  if (!found.ok) return found;
  const { record, sysId } = found.value;
  if (found.value.table === "sysapproval_approver") return invalidInput("use servicenow_approve for approvals");
  const name = fields[audience];
  const columns = await columnsOf(parts, found.value.table, person);
  if (!columns.ok) return columns;
  const column = await namedColumn(parts, columns.value, name, person);
  if (column === null) return invalidInput(unknownColumn(columns.value, name));
  const values: readonly ResolvedValue[] = [
    { name, column: { ...column, type: "journal_input" }, stored: text, shown: text },
  ];
  const { origin } = parts.instance;
  const before = { ...record, [name]: "" };
  const planned = plannedReport({ table: found.value.table, record: before, origin, values });
  if (dryRun) return success(planned);
  const after = await parts.tableApi.update(found.value.table, sysId, { [name]: text }, person);
  return after.ok
    ? success(finishedReport(planned, { before: record, after: after.value, origin, values }))
    : refusalOfWrite(after.error, record);
}
