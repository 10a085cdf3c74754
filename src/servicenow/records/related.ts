/** Work that belongs to a record: its tasks, items, approvals, configuration items, SLAs, files. */
import { type Result, success } from "../../lib/result.ts";
import { knownTable, namingFields } from "../access/known_tables.ts";
import type { DeskParts } from "../desk/desk_parts.ts";
import { invalidInput, type ServicenowFailure } from "../failure.ts";
import { storedValue } from "../field_values.ts";
import type { RelatedRecords } from "../desk/port.ts";
import { isStoredSysId } from "../record_id.ts";
import type { Person } from "../schema/person_cache.ts";
import type { Found } from "./find_record.ts";
import { toShownRecord } from "./shown_record.ts";

interface RelatedQuery {
  readonly table: string;
  /** `null` where the record has nothing of the kind. */
  readonly query: string | null;
}

const maxRelated = 30;

/** What a caller may include, by name: which tables hold it, and how they refer to the record. */
const kinds: Readonly<Record<string, (found: Found) => readonly RelatedQuery[]>> = {
  tasks: ({ table, sysId, record }) => {
    switch (table) {
      case "change_request":
        return [{ table: "change_task", query: `change_request=${sysId}` }];
      case "problem":
        return [{ table: "problem_task", query: `problem=${sysId}` }, {
          table: "incident",
          query: `problem_id=${sysId}`,
        }];
      case "sc_req_item":
        return [{ table: "sc_task", query: `request_item=${sysId}` }];
      case "sc_request":
        return [{ table: "sc_task", query: `request_item.request=${sysId}` }];
      case "incident":
        return [
          { table: "incident", query: `parent_incident=${sysId}` },
          ...by("problem", storedValue(record, "problem_id")),
          ...by("change_request", storedValue(record, "rfc")),
        ];
      default:
        return [{ table: "task", query: `parent=${sysId}` }];
    }
  },
  items: ({ table, sysId }) => [
    { table: "sc_req_item", query: table === "sc_request" ? `request=${sysId}` : null },
  ],
  approvals: ({ table, sysId }) => [{
    table: "sysapproval_approver",
    query: table === "sc_request"
      ? `sysapproval=${sysId}^ORsysapproval.ref_sc_req_item.request=${sysId}`
      : `sysapproval=${sysId}^ORdocument_id=${sysId}`,
  }],
  ci: ({ table, sysId, record }) => {
    const ci = isCi(table) ? sysId : storedValue(record, "cmdb_ci");
    if (!isStoredSysId(ci)) return [{ table: "cmdb_ci", query: null }];
    return [
      ...isCi(table) ? [] : [{ table: "cmdb_ci", query: `sys_id=${ci}` }],
      { table: "cmdb_rel_ci", query: `parent=${ci}^ORchild=${ci}` },
    ];
  },
  work: ({ table, sysId }) => {
    const column = isCi(table) ? "cmdb_ci" : table === "sys_user_group" ? "assignment_group" : "assigned_to";
    return [{ table: "task", query: `${column}=${sysId}^active=true` }];
  },
  slas: ({ sysId }) => [{ table: "task_sla", query: `task=${sysId}` }],
  members: ({ table, sysId }) => [
    { table: "sys_user_grmember", query: table === "sys_user_group" ? `group=${sysId}` : `user=${sysId}` },
  ],
  on_call: ({ table, sysId }) => [
    { table: "cmn_rota_member", query: table === "sys_user_group" ? `roster.rota.group=${sysId}` : `member=${sysId}` },
  ],
};

function by(table: string, sysId: string): readonly RelatedQuery[] {
  return !isStoredSysId(sysId) ? [] : [{ table, query: `sys_id=${sysId}` }];
}

function isCi(table: string): boolean {
  return table === "cmdb_ci" || table.startsWith("cmdb_ci_");
}

/** All of one kind; tables that are closed here are left out, and named. */
export async function readRelated(
  { access, tableApi, instance }: DeskParts,
  kind: string,
  found: Found,
  person: Person,
): Promise<Result<RelatedRecords, ServicenowFailure>> {
  const queries = Object.hasOwn(kinds, kind) ? kinds[kind]?.(found) : undefined;
  if (queries === undefined) {
    return invalidInput(
      `include takes journal, attachments, ${Object.keys(kinds).join(", ")}, not ${kind.slice(0, 40)}`,
    );
  }
  const records: RelatedRecords["records"][number][] = [];
  let isCut = false;
  for (const { table, query } of queries) {
    if (query === null || !access.mayRead(table)) continue;
    const narrowed = [query, access.openRows(table)].filter((term) => term !== "").join("^");
    const names = knownTable(table)?.summaryFields ?? [];
    const fields = [...names, "number", "sys_class_name", ...namingFields(table)];
    const rows = await tableApi.rows(table, { query: narrowed, fields, limit: maxRelated }, person);
    if (!rows.ok) {
      if (rows.error.reason === "forbidden" || rows.error.reason === "rejected") continue;
      return rows;
    }
    isCut ||= rows.value.nextOffset !== null;
    const own = { origin: instance.origin, names };
    records.push(...rows.value.rows.map((row) => toShownRecord(table, row, own)));
  }
  return success({ kind, records, isCut });
}
