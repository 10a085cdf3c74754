/** Approves or rejects what waits for the person's own decision. */
import { type Result, success } from "../../lib/result.ts";
import type { DeskParts } from "../desk/desk_parts.ts";
import { invalidInput, type ServicenowFailure } from "../failure.ts";
import { displayValue, storedValue } from "../field_values.ts";
import type { RecordFields } from "../port.ts";
import { columnNamed } from "../query/columns_by_name.ts";
import { findRecord } from "../records/find_record.ts";
import { shownValue } from "../records/shown_record.ts";
import type { Person } from "../schema/person_cache.ts";
import { finishedReport, plannedReport } from "./change_report.ts";
import { type ApprovalRequest, type ChangeReport, maxTextCharacters } from "./port.ts";

const table = "sysapproval_approver";
const maxApprovals = 10;

/** The approval that waits for the person: by its sys_id, or by the record that it is about. */
async function ownApproval(
  parts: DeskParts,
  { id, table: named }: ApprovalRequest,
  person: Person,
): Promise<Result<RecordFields, ServicenowFailure>> {
  const mine = `approver=${person.account.sysId}^state=requested`;
  const isApproval = /^[0-9a-f]{32}$/i.test(id.trim()) && (named === undefined || named.trim() === "");
  const about = isApproval ? null : await findRecord(parts, { id, table: named }, person, { fields: [] });
  if (about !== null && !about.ok) return about;
  const target = about === null
    ? `sys_id=${id.trim().toLowerCase()}`
    : about.value.table === table
    ? `sys_id=${about.value.sysId}`
    : `sysapproval=${about.value.sysId}^ORdocument_id=${about.value.sysId}`;
  const rows = (query: string) => parts.tableApi.rows(table, { query, limit: maxApprovals }, person);
  const found = await rows(`${target}^${mine}`);
  if (!found.ok) return found;
  const own = found.value.rows.filter((row) =>
    storedValue(row, "approver") === person.account.sysId && storedValue(row, "state") === "requested"
  );
  const [first, second] = own;
  if (first === undefined) {
    const others = await rows(`${target}^state=requested`);
    const names = others.ok ? new Set(others.value.rows.map((row) => shownValue(row, "approver"))) : new Set();
    const waits = names.size === 0 ? "" : `; it waits for ${[...names].join(", ")}`;
    return invalidInput(`nothing about ${id.trim().slice(0, 80)} waits for this user's approval${waits}`);
  }
  if (second === undefined) return success(first);
  const ids = own.map((row) => `${storedValue(row, "sys_id")} of ${shownValue(row, "sys_created_on")}`);
  return invalidInput(`several approvals wait for this user; give one's sys_id: ${ids.join("; ")}`);
}

export async function decideApproval(
  parts: DeskParts,
  request: ApprovalRequest,
  person: Person,
): Promise<Result<ChangeReport, ServicenowFailure>> {
  const { decision, comment = "", dryRun } = request;
  if (decision === "reject" && comment.trim() === "") return invalidInput("comment is required to reject");
  if (comment.length > maxTextCharacters) {
    return invalidInput(`comment must have at most ${maxTextCharacters} characters`);
  }
  const open = parts.access.readable(table);
  if (!open.ok) return open;
  const approval = await ownApproval(parts, request, person);
  if (!approval.ok) return approval;
  const before = approval.value;
  const columns = await parts.columnsOf(table, person);
  if (!columns.ok) return columns;
  const column = columnNamed(columns.value, "state");
  if (column === undefined) return invalidInput("ServiceNow does not show this user the state of approvals");
  const [stored, shown] = decision === "approve" ? ["approved", "Approved"] : ["rejected", "Rejected"];
  const { origin } = parts.instance;
  const values = [{ name: column.name, column, stored, shown }];
  const about = displayValue(before, "sysapproval") || displayValue(before, "document_id");
  const planned = { ...plannedReport({ table, record: before, origin, values }), name: `Approval of ${about}` };
  if (dryRun) return success({ ...planned, notes: comment === "" ? [] : [`comment: ${comment}`] });
  const body = { state: stored, ...(comment === "" ? {} : { comments: comment }) };
  const after = await parts.tableApi.update(table, storedValue(before, "sys_id"), body, person);
  if (!after.ok) return after;
  const report = finishedReport(planned, { before, after: after.value, origin, values });
  return success({ ...report, name: planned.name, notes: await stateOf(parts, before, person) });
}

/** What the decision did to the record that it is about. */
async function stateOf(
  { tableApi, access }: DeskParts,
  approval: RecordFields,
  person: Person,
): Promise<readonly string[]> {
  const sysId = storedValue(approval, "sysapproval");
  const actual = storedValue(approval, "source_table");
  if (!/^[0-9a-f]{32}$/.test(sysId) || !access.mayRead(actual)) return [];
  const found = await tableApi.row(actual, sysId, person, ["number", "approval", "state"]);
  if (!found.ok) return [];
  const { value: record } = found;
  return [
    `${shownValue(record, "number")}: approval ${shownValue(record, "approval")}, state ${shownValue(record, "state")}`,
  ];
}
