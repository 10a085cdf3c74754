/** Approves or rejects an approval that waits for the person, their own or one that ServiceNow delegates to them. */
import { quantityWords, shownPrice } from "./order.ts";
import type { DeskParts } from "./table_api.ts";
import { attempt, excerpt, invalidInput } from "./failure.ts";
import { displayValue, isSysId, oneLine, plainText, type RecordFields, storedValue } from "./field_values.ts";
import { type ChangeReport, planChange } from "./write_record.ts";
import { maxTextCharacters } from "./resolve_values.ts";
import { delegatorsOf, findRecord, type RecordName } from "./find_record.ts";
import { columnNamed, columnsOf } from "./columns.ts";
import { shownValue } from "./search.ts";

const table = "sysapproval_approver";
const maxApprovals = 10;

/** A decision on an approval; `dryRun`: say what would be sent, and send nothing. */
interface ApprovalRequest extends RecordName {
  readonly dryRun: boolean;
  readonly decision: "approve" | "reject";
  readonly comment?: string | undefined;
}

/** The approval that waits for the person or for whom they stand in: by its sys_id, or by the record that it is about. */
async function waitingApproval(parts: DeskParts, { id, table: named }: ApprovalRequest) {
  const isApproval = isSysId(id.trim()) && (named === undefined || named.trim() === "");
  const about = isApproval
    ? { table, sysId: id.trim().toLowerCase() }
    : await findRecord(parts, { id, table: named }, { fields: [] });
  const { table: owner, sysId: of } = about;
  const target = owner === table ? `sys_id=${of}` : `sysapproval=${of}^ORdocument_id=${of}`;
  const waiting = async (query: string): Promise<readonly RecordFields[]> => {
    const { rows } = await parts.tableApi.rows(table, { query: `${target}^${query}`, limit: maxApprovals });
    return rows.filter((row) => storedValue(row, "state") === "requested");
  };
  const { sysId } = parts.person.account;
  const asked = await waiting(`approver=${sysId}^state=requested`);
  const own = asked.filter((row) => storedValue(row, "approver") === sysId);
  if (own.length > 0) return onlyOne(own, false);
  const others = await attempt(waiting("state=requested"));
  const all = others.ok ? others.value : [];
  const delegators = all.length === 0 ? [] : await delegatorsOf(parts);
  const delegated = all.filter((row) => delegators.some(({ sysId }) => sysId === storedValue(row, "approver")));
  if (delegated.length > 0) return onlyOne(delegated, true);
  const names = new Set(all.map((row) => shownValue(row, "approver")));
  const waits = names.size === 0 ? "" : `; it waits for ${[...names].join(", ")}`;
  throw invalidInput(`nothing about ${excerpt(id)} waits for this user's approval${waits}`);
}

function onlyOne(rows: readonly RecordFields[], isDelegated: boolean) {
  const [approval, second] = rows;
  if (approval !== undefined && second === undefined) {
    /** `inPlaceOf`: who was asked, where the person is their delegate. */
    return { approval, inPlaceOf: isDelegated ? shownValue(approval, "approver") : null };
  }
  const ids = rows.map((row) =>
    `${storedValue(row, "sys_id")} for ${shownValue(row, "approver")}, of ${shownValue(row, "sys_created_on")}`
  );
  throw invalidInput(`several approvals wait for this user; give one's sys_id: ${ids.join("; ")}`);
}

export async function decideApproval(parts: DeskParts, request: ApprovalRequest): Promise<ChangeReport> {
  const { decision, comment = "", dryRun } = request;
  if (decision === "reject" && comment.trim() === "") throw invalidInput("comment is required to reject");
  if (comment.length > maxTextCharacters) {
    throw invalidInput(`comment must have at most ${maxTextCharacters} characters`);
  }
  parts.access.readable(table);
  const { approval: before, inPlaceOf } = await waitingApproval(parts, request);
  const columns = await columnsOf(parts, table);
  const column = columnNamed(columns, "state");
  if (column === undefined) throw invalidInput("ServiceNow does not show this user the state of approvals");
  const [stored, shown] = decision === "approve" ? ["approved", "Approved"] : ["rejected", "Rejected"];
  const values = [{ name: column.name, column, stored, shown }];
  const about = displayValue(before, "sysapproval") || displayValue(before, "document_id");
  const name = inPlaceOf === null ? `Approval of ${about}` : `Approval of ${about} on behalf of ${inPlaceOf}`;
  const { planned, finish } = planChange(parts, { table, before, values });
  if (dryRun) {
    const said = { name: "comments", label: "Comments", before: "", after: plainText(comment) };
    const changes = comment === "" ? planned.changes : [...planned.changes, said];
    return { ...planned, name, changes, title: await whatIsApproved(parts, before) };
  }
  const body = { state: stored, ...(comment === "" ? {} : { comments: comment }) };
  const after = await parts.tableApi.update(table, storedValue(before, "sys_id"), body);
  return { ...finish(after), name, notes: await stateOf(parts, before) };
}

const maxItemsNamed = 20;

/** `2 × Developer Laptop for Petra Wolf, CHF 4,800.00`: what was ordered, or the title of any other record. */
async function whatIsApproved({ tableApi, access }: DeskParts, approval: RecordFields): Promise<string> {
  const [sysId, actual] = [storedValue(approval, "sysapproval"), storedValue(approval, "source_table")];
  if (!isSysId(sysId) || !access.mayRead(actual)) return "";
  const isRequest = actual === "sc_request";
  if (!access.mayRead("sc_req_item") || (!isRequest && actual !== "sc_req_item")) {
    const found = await attempt(tableApi.row(actual, sysId, ["short_description"]));
    return found.ok ? oneLine(shownValue(found.value, "short_description")) : "";
  }
  const fields = ["short_description", "quantity", "request.requested_for", "request.price"];
  const query = `${isRequest ? "request" : "sys_id"}=${sysId}`;
  const rows = await tableApi.rowsIfShown("sc_req_item", { query, fields, limit: maxItemsNamed });
  const [first = {}] = rows;
  const items = rows.map((row) => quantityWords(row).replace(/^1 × /, ""));
  const recipient = shownValue(first, "request.requested_for");
  const price = isRequest ? shownPrice(first, "request.price") : "";
  const whole = rows.length === maxItemsNamed ? [...items, "and more"] : items;
  return oneLine(
    `${whole.join(", ")}${recipient === "" ? "" : ` for ${recipient}`}${price === "" ? "" : `, ${price}`}`,
  );
}

/** What the decision did to the record that it is about. */
async function stateOf({ tableApi, access }: DeskParts, approval: RecordFields): Promise<readonly string[]> {
  const sysId = storedValue(approval, "sysapproval");
  const actual = storedValue(approval, "source_table");
  if (!isSysId(sysId) || !access.mayRead(actual)) return [];
  const state = actual === "sc_request" ? "request_state" : "state"; // a request's own state stays open until all is closed
  const found = await attempt(tableApi.row(actual, sysId, ["number", "approval", state]));
  if (!found.ok) return [];
  const [number, approved, now] = ["number", "approval", state].map((field) => shownValue(found.value, field));
  return [`${number}: approval ${approved}, state ${now}`];
}
