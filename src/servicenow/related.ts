/** Work that belongs to a record: its tasks, items, approvals, configuration items, SLAs, files. */
import * as z from "zod";
import { success } from "../lib/result.ts";
import { type DeskParts, readOn } from "./table_api.ts";
import type { RecordFields, RelatedRecords, ShownRecord } from "./answers.ts";
import { type Answer, invalidInput, isKeptBack } from "./failure.ts";
import { displayValue, isStoredSysId, isSysId, oneLine, storedValue } from "./field_values.ts";
import type { FoundRecord } from "./find_record.ts";
import { toShownRecord } from "./search.ts";
import { askJson } from "./calls.ts";
import { knownTable, namingFields, tablesOfKind } from "./tables.ts";
import { anyOf } from "./conditions.ts";
import { choicesOfColumn, distinctChoices } from "./choices.ts";
import { resolvedStates } from "./states.ts";
import { columnsOf } from "./columns.ts";
import { isSecretField } from "./table_access.ts";

const maxPeople = 30;
const onShift = z.array(z.object({
  userId: z.string().nullish(),
  order: z.coerce.number().nullish().catch(null),
}));

/** `null` where the instance has no such API, or keeps it from the person. */
async function readOnCall(
  { callAs, tableApi, instance, person }: DeskParts,
  { sysId }: FoundRecord,
): Answer<RelatedRecords | null> {
  const request = { path: "/api/now/on_call_rota/whoisoncall", query: { group_ids: sysId } };
  const parsed = await askJson(callAs, person, request, onShift);
  if (!parsed.ok) {
    return isKeptBack(parsed.error) ? success(null) : parsed;
  }
  const order = parsed.value.toSorted((a, b) => (a.order ?? maxPeople) - (b.order ?? maxPeople));
  const ids = [...new Set(order.map(({ userId }) => userId ?? ""))].filter(isSysId);
  const note = "by ServiceNow's schedule at this moment, the first to call first";
  if (ids.length === 0) return success({ kind: "on_call", records: [], isCut: false, note });
  const names = ["name", "phone", "mobile_phone", "email"];
  const asked = ids.slice(0, maxPeople);
  const query = `sys_idIN${asked.join(",")}`;
  const rows = await tableApi.rows("sys_user", { query, fields: names, limit: maxPeople });
  if (!rows.ok) return rows;
  const people = rows.value.rows.toSorted((a, b) =>
    asked.indexOf(storedValue(a, "sys_id")) - asked.indexOf(storedValue(b, "sys_id"))
  );
  const records = people.map((row) => toShownRecord("sys_user", row, { origin: instance.origin, names }));
  return success({ kind: "on_call", records, isCut: ids.length > maxPeople, note });
}

// Who changed which field when: from the instance's audit, or from the history that it derives for a form.

const maxChanges = 100;
const histories = [
  {
    table: "sys_audit",
    of: "documentkey",
    at: "sys_created_on",
    by: "user",
    texts: ["fieldname", "oldvalue", "newvalue"],
  },
  { table: "sys_history_line", of: "set.id", at: "update_time", by: "user_name", texts: ["field", "old", "new"] },
] as const;

/** Changes of the fields that the person may read of the record, the newest first. */
async function readHistory(parts: DeskParts, { table, sysId, record }: FoundRecord): Answer<RelatedRecords> {
  for (const { table: history, of, at, by, texts } of histories) {
    const query = `${of}=${sysId}^ORDERBYDESC${at}`;
    const request = { query, fields: [of, at, by, ...texts], limit: maxChanges };
    const found = await parts.tableApi.rows(history, request);
    if (!found.ok && !isKeptBack(found.error)) return found;
    const changes = (found.ok ? found.value.rows : []).filter((row) =>
      // an instance ignores unknown conditions
      storedValue(row, of) === sysId && storedValue(row, texts[0]) in record &&
      !isSecretField(storedValue(row, texts[0]))
    );
    if (changes.length === 0) continue;
    const names = await namesIn(
      parts,
      table,
      changes.flatMap((row) => texts.map((text) => storedValue(row, text))),
    );
    const entries = Map.groupBy(changes, (row) => `${storedValue(row, at)} UTC ${oneLine(storedValue(row, by))}`);
    const records = [...entries].map(([name, rows]) => ({
      ...{ table: history, sysId: name, name, namedBy: [], link: "" },
      fields: rows.map((row) => {
        const [field, ...values] = texts.map((text) => storedValue(row, text));
        const [old, now] = values.map((value) =>
          names.get(`${field} ${value}`) ?? names.get(value) ?? (value || "(empty)")
        );
        return { name: field ?? "", value: `${old} → ${now}` };
      }),
    }));
    const note = "newest first; of the fields that the instance audits and the user may read";
    return success({ kind: "history", records, isCut: changes.length >= maxChanges, note });
  }
  const note = `NOT known: ServiceNow shows this user no history of its fields. It was changed ${
    storedValue(record, "sys_mod_count") || "an unknown number of"
  } times, last by ${storedValue(record, "sys_updated_by")}; include=journal has what people wrote`;
  return success({ kind: "history", records: [], isCut: false, note });
}

/** What people call the sys_ids and stored choices among these values. */
async function namesIn(
  parts: DeskParts,
  table: string,
  values: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  const ids = [...new Set(values.filter(isStoredSysId))];
  for (const named of ids.length === 0 ? [] : ["sys_user", "sys_user_group", "cmdb_ci"]) {
    const query = `sys_idIN${ids.join(",")}`;
    const found = await parts.tableApi.rows(named, { query, fields: ["name"], limit: maxChanges * 2 });
    for (const row of found.ok ? found.value.rows : []) {
      names.set(storedValue(row, "sys_id"), displayValue(row, "name"));
    }
  }
  const columns = await columnsOf(parts, table);
  if (!columns.ok) return names;
  for (const column of columns.value.columns) {
    if (column.choice === "none" || !values.includes(column.name)) continue;
    const known = await choicesOfColumn(parts, columns.value, column);
    for (const { value, label } of known.ok ? distinctChoices(known.value.choices) : []) {
      names.set(`${column.name} ${value}`, label);
    }
  }
  return names;
}

interface RelatedQuery {
  readonly table: string;
  /** `null` where the record has nothing of the kind. */
  readonly query: string | null;
  /** Fields beyond those of a list. */
  readonly more?: readonly string[];
}

const maxRelated = 30;
const maxRequests = 3;
/** Words of a title by which similar ones are looked for. */
const maxSimilarWords = 8;

/** What a caller may include, by name: which tables hold it, and how they refer to the record. */
const kinds: Readonly<Record<string, (found: FoundRecord) => readonly RelatedQuery[]>> = {
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
  items: ({ table, sysId }) => {
    if (table === "sc_request") return [{ table: "sc_req_item", query: `request=${sysId}` }];
    return table === "sys_user" ? [{ table: "sc_req_item", query: `request.requested_for=${sysId}^active=true` }] : [];
  },
  approvals: ({ table, sysId, record }) => {
    const approvers = (query: string): RelatedQuery => ({
      table: "sysapproval_approver",
      query,
      more: ["comments", "sys_updated_on"],
    });
    if (table === "sc_request") {
      return [approvers(`sysapproval=${sysId}^ORsysapproval.ref_sc_req_item.request=${sysId}`)];
    }
    // An item is often approved with its whole request.
    const request = table === "sc_req_item" ? storedValue(record, "request") : "";
    const others = isStoredSysId(request) ? `^ORsysapproval=${request}` : "";
    return [approvers(`sysapproval=${sysId}^ORdocument_id=${sysId}${others}`)];
  },
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
  similar: ({ table, sysId, record }) => {
    const words = displayValue(record, "short_description").match(/[\p{L}\p{N}]{4,}/gu) ?? [];
    const alike = [...new Set(words)].slice(0, maxSimilarWords).map((word) => `short_descriptionLIKE${word}`);
    if (table !== "incident" || alike.length === 0) return [];
    const query = `${anyOf(alike)}^resolved_atISNOTEMPTY^sys_id!=${sysId}^ORDERBYDESCresolved_at`;
    return [{ table, query, more: ["resolved_at", "close_notes"] }];
  },
  slas: ({ sysId }) => [{ table: "task_sla", query: `task=${sysId}` }],
  members,
  groups: members,
  on_call: ({ table, sysId }) => {
    if (table === "sys_user_group") return [{ table: "cmn_rota_member", query: `roster.rota.group=${sysId}` }];
    return table === "sys_user" ? [{ table: "cmn_rota_member", query: `member=${sysId}` }] : [];
  },
};

/** Of a group its members, of a person their groups. */
function members({ table, sysId }: FoundRecord): readonly RelatedQuery[] {
  if (table === "sys_user_group") return [{ table: "sys_user_grmember", query: `group=${sysId}` }];
  return table === "sys_user" ? [{ table: "sys_user_grmember", query: `user=${sysId}` }] : [];
}

function by(table: string, sysId: string): readonly RelatedQuery[] {
  return !isStoredSysId(sysId) ? [] : [{ table, query: `sys_id=${sysId}` }];
}

function isCi(table: string): boolean {
  return table === "cmdb_ci" || table.startsWith("cmdb_ci_");
}

/** A journal's newest entry begins with a line of who and when, in a time zone that it does not name. */
function withoutHeading(row: RecordFields): RecordFields {
  const comments = displayValue(row, "comments");
  return comments === "" ? row : { ...row, comments: comments.replace(/^\d[^\n]* - [^\n]*\([^\n]*\)\n/, "") };
}

/** How many words of the title another one has. */
function inCommon({ fields }: ShownRecord, record: RecordFields): number {
  const title = fields.find(({ name }) => name === "short_description")?.value.toLowerCase() ?? "";
  const words = displayValue(record, "short_description").toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [];
  return new Set(words.filter((word) => title.includes(word))).size;
}

/** All of one kind; tables that are closed here, or to the person, are left out and named. */
export async function readRelated(parts: DeskParts, kind: string, found: FoundRecord): Answer<RelatedRecords> {
  const { access, tableApi, instance } = parts;
  if (kind === "history") return await readHistory(parts, found);
  const queries = Object.hasOwn(kinds, kind)
    ? kinds[kind]?.(found).filter(({ table }) => tablesOfKind[kind]?.includes(table)) // the rules about calls judge these
    : undefined;
  if (queries === undefined) {
    return invalidInput(
      `include takes journal, attachments, answers, ${Object.keys(kinds).join(", ")}, history, not ${
        kind.slice(0, 40)
      }`,
    );
  }
  // Said to be none, it would be taken for the truth.
  if (queries.length === 0) return invalidInput(`a record of ${found.table} has no ${kind}; leave it out of include`);
  if (kind === "on_call" && found.table === "sys_user_group" && access.mayRead("cmn_rota_member")) {
    const now = await readOnCall(parts, found);
    if (!now.ok) return now;
    if (now.value !== null) return success(now.value);
  }
  const notes = new Set(kind === "on_call" ? ["the rota's order, not who is on shift now"] : []);
  if (kind === "similar") notes.add("resolved, with one of the title's words, the most words in common first");
  const records: RelatedRecords["records"][number][] = [];
  let isCut = false;
  let done = 0;
  for (const { table, query, more = [] } of queries) {
    if (query === null) continue;
    if (!access.mayRead(table)) {
      notes.add(`${table} is not open here`);
      continue;
    }
    const narrowed = [query, access.openRows(table)].filter((term) => term !== "").join("^");
    const names = [...knownTable(table)?.summaryFields ?? [], ...more];
    const fields = [...names, "number", "sys_class_name", ...namingFields(table)];
    const reading = { wanted: maxRelated, maxRequests };
    const rows = await readOn(tableApi, table, { query: narrowed, fields }, reading);
    if (!rows.ok) {
      if (!isKeptBack(rows.error)) return rows;
      notes.add(`ServiceNow hides ${table} from this user`);
      continue;
    }
    isCut ||= rows.value.next !== null;
    const own = { origin: instance.origin, names };
    const { states } = await resolvedStates(parts, kind === "work" ? ["incident", "problem"] : []);
    const shown = rows.value.rows.filter((row) => {
      const resolved = states.get(storedValue(row, "sys_class_name"));
      return resolved === undefined || resolved !== storedValue(row, "state");
    });
    done += rows.value.rows.length - shown.length;
    records.push(...shown.map((row) => toShownRecord(table, withoutHeading(row), own)));
  }
  if (kind === "similar") records.sort((a, b) => inCommon(b, found.record) - inCommon(a, found.record));
  if (done > 0) notes.add(`${done} resolved and not yet closed left out`);
  return success({ kind, records, isCut, ...(notes.size === 0 ? {} : { note: [...notes].join("; ") }) });
}
