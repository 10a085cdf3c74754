/** The tool `servicenow_get_record`: one record as a person sees it, with its journal and related work. */
import * as z from "zod";
import { counted } from "../lib/result.ts";
import { defineTool, otherNames, type Tool } from "../mcp/mod.ts";
import { showName } from "../files/mod.ts";
import { allOf, anyOf, hasFixedFields, mayShowField, noRows, readOn, toQueryValue } from "./table_api.ts";
import type { DeskParts } from "./table_api.ts";
import { attempt, ifShown, invalidInput, Refusal } from "./failure.ts";
import { cutText, displayValue, isStoredSysId, isSysId, oneLine, storedValue, wordsOf } from "./field_values.ts";
import type { RecordFields } from "./field_values.ts";
import { findRecord, type FoundRecord, type RecordName } from "./find_record.ts";
import { readAnswers } from "./catalog_item.ts";
import { chosenFields, isHidden, type ShownRecord, stepsOf, toShownRecord } from "./search.ts";
import {
  given,
  isKept,
  kindsOf,
  knownTable,
  listOf,
  namedLines,
  namesIn,
  namingFields,
  tablesOfKind,
} from "./tables.ts";
import { choicesOfColumn, distinctChoices } from "./choices.ts";
import { columnsOf } from "./columns.ts";
import { lengthNames, lengthWords } from "./dates.ts";
import { askJson } from "./transport.ts";
import type { ServicenowRecords } from "./servicenow.ts";
import {
  answerWith,
  contentWarning,
  indented,
  joinOutcomes,
  listedIds,
  listLines,
  maxListedRecords,
  nameText,
  reading,
  recordNames,
  recordParameters,
  tooManyRecords,
  toTextOutcome,
  viewOf,
} from "./outcome_tool.ts";

/** A value of a field that was asked for by name. */
const maxChosenCharacters = 20_000;
const fewFields = 5;

/** `servicenow_get_record`: one record, its journal and related work. */
export function servicenowGetRecordTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_get_record",
    title: "Read a ServiceNow record",
    description: `Reads a record, or several by their numbers; ${contentWarning}.`,
    hasView: true,
    ...reading,
    aliases: otherNames({ ...recordNames, fields: "columns field_names sysparm_fields", include: "with expand" }),
    knownAs: "servicenow_my_profile servicenow_list_attachments",
    input: z.object({
      ...recordParameters,
      id: recordParameters.id.describe("Number, link, or with table a name or sys_id; me is the user"),
      fields: nameText.optional().describe("Field names, by commas; * for all").meta({ written: "commas" }),
      include: nameText.optional().describe(
        "By commas: journal, history, attachments, tasks, items, answers, approvals, ci (with relations), similar, slas, work, members, on_call",
      ).meta({ written: "commas" }),
    }),
    async run({ id, table, fields, include }, context) {
      const names = listOf(fields)?.map((name) => name === "all" ? "*" : name);
      const ids = listedIds(id);
      if (ids.length > maxListedRecords) return tooManyRecords;
      const request = { table: given(table), fields: names, include: kindsOf(include) };
      const isChosen = names !== undefined && names.length <= fewFields && !names.includes("*");
      const max = isChosen ? maxChosenCharacters : undefined;
      const isOne = ids.length === 1;
      const outcomes = ids.map((each) =>
        answerWith({ servicenow, context }, getRecord, { ...request, id: each }, (view) => ({
          ...toTextOutcome(viewLines(view, max, isOne)),
          view: viewOf([view.record]),
        }))
      );
      return joinOutcomes(ids, await Promise.all(outcomes), contentWarning);
    },
  });
}

// A record as lines of text.

function viewLines(
  { record, version, journal, files, answers, related }: RecordView,
  maxCharacters: number | undefined,
  isOne: boolean,
): readonly string[] {
  const warning = isOne ? `; ${contentWarning}` : "";
  return [
    `${record.name} (${record.table}${version === "" ? "" : `, version ${version}`}${warning})`,
    record.link,
    ...fieldLines(record, maxCharacters),
    ...(journal === null ? [] : journalLines(journal)),
    ...(files === null ? [] : fileLines(files)),
    ...(answers === null ? [] : itemAnswerLines(answers)),
    ...related.flatMap(relatedLines),
  ];
}

function fileLines(files: NonNullable<RecordView["files"]>): readonly string[] {
  if (files.length === 0) return ["attachments: none"];
  const line = ({ fileName, sizeBytes, contentType }: typeof files[number]): string =>
    `- ${showName(fileName)} (${counted(sizeBytes, "byte")}, ${contentType.slice(0, 60)})`;
  const more = files.length < maxListedFiles ? "" : " (the first; fetch further ones by name)";
  return [`attachments${more}:`, ...files.map(line)];
}

/** Of one value; a caller that asks for the field alone gets more. */
const maxValueCharacters = 4_000;
const journals = /^(comments|work_notes|comments_and_work_notes)$/;

/** A line for each field. */
function fieldLines({ fields }: ShownRecord, maxCharacters = maxValueCharacters): readonly string[] {
  return fields.map(({ name, value }) => {
    const label = journals.test(name) && value !== ""
      ? `${name} (times as ServiceNow shows this user; include=journal: UTC)`
      : name;
    return `${label}: ${indented(cutText(value, maxCharacters))}`;
  });
}

function journalLines({ entries, isCut }: NonNullable<RecordView["journal"]>): readonly string[] {
  if (entries.length === 0) return ["journal: no single entry that the user may see"];
  return [
    `journal, newest first${isCut ? " (older entries are left out: read fields=comments,work_notes)" : ""}:`,
    ...entries.map(({ isForCaller, author, at, text }) => {
      const kind = isForCaller ? "comment, seen by the caller" : "work note";
      return `- ${at} ${author} (${kind}): ${indented(cutText(text, maxValueCharacters))}`;
    }),
  ];
}

function itemAnswerLines(answers: NonNullable<RecordView["answers"]>): readonly string[] {
  if (answers === "hidden") return ["answers: ServiceNow hides them from this user"];
  if (answers.answers.length === 0) return ["answers: none that the user may see"];
  return [
    `answers${answers.isCut ? " (the first; read each item by its number)" : ""}:`,
    ...answers.answers.map(({ item, label, value }) =>
      `- ${item === null ? "" : `${item} `}${oneLine(label)}: ${indented(cutText(value, maxValueCharacters))}`
    ),
  ];
}

function relatedLines({ kind, records, isCut, note }: RelatedRecords): readonly string[] {
  const more = [...isCut ? ["the first"] : [], ...note === undefined ? [] : [note]].join("; ");
  const heading = more === "" ? kind : `${kind} (${more})`;
  if (kind === "history" && records.length === 0) return [`${kind}: ${note}`];
  if (records.length === 0) return [`${heading}: none that the user may see`];
  return [`${heading}:`, ...listLines(records).map((line) => `- ${line}`.replace(/^- {3}/, "    "))];
}

/** A record as its reader may see it. */
interface RecordView {
  record: ShownRecord;
  /** Grows with each change of the record. */
  version: string;
  journal: Awaited<ReturnType<typeof readJournal>> | null;
  files: readonly Attachment[] | null;
  /** What a person answered when they ordered an item. `hidden`: ServiceNow keeps that from the person. */
  answers: Awaited<ReturnType<typeof readAnswers>> | "hidden";
  related: RelatedRecords[];
}

// Comments and work notes, one entry at a time, with their author and date as the instance stored them.

/** The newest are kept. */
const maxEntries = 50;

const journalFields: readonly string[] = ["comments", "work_notes"];

/** The newest entries first; empty where there are none, or the instance keeps its table of entries from the person. */
async function readJournal({ tableApi }: DeskParts, { sysId }: FoundRecord) {
  const query = `element_id=${sysId}^elementIN${journalFields.join(",")}^ORDERBYDESCsys_created_on`;
  const fields = ["element", "value", "sys_created_on", "sys_created_by"];
  const request = { query, fields, limit: maxEntries };
  const { rows, isCut } = await ifShown(tableApi.rows("sys_journal_field", request), noRows);
  const entries = rows.map((entry) => ({
    isForCaller: storedValue(entry, "element") === "comments",
    /** The user name. */
    author: oneLine(storedValue(entry, "sys_created_by")),
    at: `${storedValue(entry, "sys_created_on")} UTC`,
    text: wordsOf(storedValue(entry, "value")),
  }));
  return { entries, isCut };
}

// Files on a record.

const maxListedFiles = 100;
export const attachment = z.object({
  sys_id: z.string().regex(/^[0-9a-f]{32}$/),
  table_sys_id: z.string(),
  file_name: z.string(),
  content_type: z.string(),
  size_bytes: z.coerce.number().int().nonnegative(),
}).transform(({ sys_id, table_sys_id, file_name, content_type, size_bytes }) => ({
  sysId: sys_id,
  recordId: table_sys_id,
  fileName: file_name,
  contentType: content_type,
  sizeBytes: size_bytes,
}));

/** What is known of a file on a record. */
export type Attachment = z.output<typeof attachment>;

/** The first files on a record, of this name or sys_id where one is given. */
export async function listFiles(
  { callAs, person }: DeskParts,
  { table, sysId }: Pick<FoundRecord, "table" | "sysId">,
  name?: string,
): Promise<readonly Attachment[]> {
  if (hasFixedFields(table)) throw invalidInput("files of people and groups are not read here");
  const value = name === undefined ? null : toQueryValue(name);
  if (value?.ok === false) return [];
  const named = value === null ? "" : `${isSysId(value.value) ? "sys_id" : "file_name"}=${value.value}`;
  const query = allOf(`table_name=${table}`, `table_sys_id=${sysId}`, named, "ORDERBYsys_created_on");
  const files = await askJson(callAs, person, {
    path: "/api/now/attachment",
    query: { sysparm_query: query, sysparm_limit: String(maxListedFiles) },
  }, z.array(attachment));
  // an instance that passes over conditions shows other records' files, and maybe none of this one
  if (files.some(({ recordId }) => recordId !== sysId)) {
    throw new Refusal({ reason: "unavailable", because: "bad_reply" });
  }
  return files;
}

// Work that belongs to a record: its tasks, items, approvals, configuration items, SLAs.

/** Records that belong to another, of one kind. */
interface RelatedRecords {
  readonly kind: string;
  readonly records: readonly ShownRecord[];
  readonly isCut: boolean;
  /** What a reader should know of the list. */
  readonly note?: string;
}

const maxPeople = 30;
const onShift = z.array(z.object({ userId: z.string().nullish(), order: z.coerce.number().nullish().catch(null) }));

/** `null` where the instance has no such API, or keeps it from the person. */
async function readOnCall(parts: DeskParts, { sysId }: FoundRecord): Promise<RelatedRecords | null> {
  const { callAs, tableApi, person } = parts;
  const request = { path: "/api/now/on_call_rota/whoisoncall", query: { group_ids: sysId } };
  const shifts = await ifShown(askJson(callAs, person, request, onShift), null);
  if (shifts === null) return null;
  const order = shifts.toSorted((a, b) => (a.order ?? maxPeople) - (b.order ?? maxPeople));
  const ids = [...new Set(order.map(({ userId }) => userId ?? ""))].filter(isSysId);
  const note = "by ServiceNow's schedule at this moment, the first to call first";
  if (ids.length === 0) return { kind: "on_call", records: [], isCut: false, note };
  const names = ["name", "phone", "mobile_phone", "email"];
  const query = `sys_idIN${ids.slice(0, maxPeople).join(",")}`;
  const { rows } = await tableApi.rows("sys_user", { query, fields: names, limit: maxPeople });
  const placeOf = (row: RecordFields): number => ids.indexOf(storedValue(row, "sys_id"));
  const people = rows.toSorted((a, b) => placeOf(a) - placeOf(b));
  const records = people.map((row) => toShownRecord(parts, "sys_user", row, names));
  return { kind: "on_call", records, isCut: ids.length > maxPeople, note };
}

// Who changed which field when: from the instance's audit, or from the history that it derives for a form.

const maxChanges = 100;
/** By table: what a change belongs to, when and by whom it was made, and its field with the values. */
const histories: readonly (readonly [table: string, fields: string])[] = [
  ["sys_audit", "documentkey sys_created_on user fieldname oldvalue newvalue"],
  ["sys_history_line", "set.id update_time user_name field old new"],
];

/** Changes of the fields that the person may read of the record, the newest first. */
async function readHistory(parts: DeskParts, { table, sysId, record }: FoundRecord): Promise<RelatedRecords> {
  for (const [history, names] of histories) {
    const [of = "", at = "", by = "", ...texts] = namesIn(names);
    const query = `${of}=${sysId}^ORDERBYDESC${at}`;
    const request = { query, fields: namesIn(names), limit: maxChanges };
    const { rows, isCut } = await ifShown(parts.tableApi.rows(history, request), noRows);
    const changes = rows.filter((row) => {
      const field = storedValue(row, texts[0] ?? "");
      // an instance ignores unknown conditions
      return storedValue(row, of) === sysId && field in record && mayShowField(table, field);
    });
    if (changes.length === 0) continue;
    const named = await namesOf(parts, table, changes.flatMap((row) => texts.map((text) => storedValue(row, text))));
    const entries = Map.groupBy(changes, (row) => `${storedValue(row, at)} UTC ${oneLine(storedValue(row, by))}`);
    const records = [...entries].map(([name, rows]) => ({
      ...{ table: history, sysId: name, name, namedBy: [], link: "" },
      fields: rows.map((row) => {
        const [field, ...values] = texts.map((text) => storedValue(row, text));
        const [old, now] = values.map((value) =>
          named.get(`${field} ${value}`) ?? named.get(value) ??
            ((lengthNames.test(field ?? "") ? lengthWords(value) : value) || "(empty)")
        );
        return { name: field ?? "", value: `${old} → ${now}` };
      }),
    }));
    const note = "newest first; of the fields that the instance audits and the user may read";
    return { kind: "history", records, isCut, note };
  }
  const note = `NOT known: ServiceNow shows this user no history of its fields. It was changed ${
    storedValue(record, "sys_mod_count") || "an unknown number of"
  } times, last by ${storedValue(record, "sys_updated_by")}; include=journal has what people wrote`;
  return { kind: "history", records: [], isCut: false, note };
}

/** What people call the sys_ids and stored choices among these values. */
async function namesOf(parts: DeskParts, table: string, values: readonly string[]) {
  const names = new Map<string, string>();
  const ids = [...new Set(values.filter(isStoredSysId))];
  for (const named of ids.length === 0 ? [] : ["sys_user", "sys_user_group", "cmdb_ci"]) {
    if (isKept(named)) continue;
    const query = `sys_idIN${ids.join(",")}`;
    const rows = await parts.tableApi.rowsIfShown(named, { query, fields: ["name"], limit: maxChanges * 2 });
    for (const row of rows) names.set(storedValue(row, "sys_id"), displayValue(row, "name"));
  }
  const columns = await attempt(columnsOf(parts, table));
  if (!columns.ok) return names;
  for (const column of columns.value.columns) {
    if (column.choice === "none" || !values.includes(column.name)) continue;
    const known = await attempt(choicesOfColumn(parts, columns.value, column));
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

/** Which tables of a kind refer to a record of a table (`*`: any other), and how: `kind table: table condition; …`. */
const references: ReadonlyMap<string, string> = new Map(namedLines(`
  tasks change_request: change_task change_request=ID
  tasks problem: problem_task problem=ID; incident problem_id=ID
  tasks sc_req_item: sc_task request_item=ID
  tasks sc_request: sc_task request_item.request=ID
  tasks incident: incident parent_incident=ID
  tasks *: task parent=ID
  items sc_request: sc_req_item request=ID
  items sys_user: sc_req_item request.requested_for=ID^active=true
  approvals sc_request: sysapproval_approver sysapproval=ID^ORsysapproval.ref_sc_req_item.request=ID
  approvals *: sysapproval_approver sysapproval=ID^ORdocument_id=ID
  work cmdb_ci: task cmdb_ci=ID^active=true
  work sys_user_group: task assignment_group=ID^active=true
  work *: task assigned_to=ID^active=true
  slas *: task_sla task=ID
  members sys_user_group: sys_user_grmember group=ID
  members sys_user: sys_user_grmember user=ID
  on_call sys_user_group: cmn_rota_member roster.rota.group=ID
  on_call sys_user: cmn_rota_member member=ID
`));

/** Where the records of a kind are; empty where a record of the table has none of it. */
function queriesOf(kind: string, { table, sysId, record }: FoundRecord): readonly RelatedQuery[] {
  const isCi = table === "cmdb_ci" || table.startsWith("cmdb_ci_");
  const referredTo = (named: string, field: string): readonly RelatedQuery[] => {
    const id = storedValue(record, field);
    return isStoredSysId(id) ? [{ table: named, query: `sys_id=${id}` }] : [];
  };
  if (kind === "ci") {
    const ci = isCi ? sysId : storedValue(record, "cmdb_ci");
    if (!isStoredSysId(ci)) return [{ table: "cmdb_ci", query: null }];
    const relations = { table: "cmdb_rel_ci", query: `parent=${ci}^ORchild=${ci}` };
    return isCi ? [relations] : [...referredTo("cmdb_ci", "cmdb_ci"), relations];
  }
  if (kind === "similar") {
    const alike = titleWords(record).slice(0, maxSimilarWords).map((word) => `short_descriptionLIKE${word}`);
    if (table !== "incident" || alike.length === 0) return [];
    const query = `${anyOf(alike)}^resolved_atISNOTEMPTY^sys_id!=${sysId}^ORDERBYDESCresolved_at`;
    return [{ table, query, more: ["resolved_at", "close_notes"] }];
  }
  const listed = references.get(`${kind} ${isCi ? "cmdb_ci" : table}`) ?? references.get(`${kind} *`);
  const queries = listed?.split("; ").map((each): RelatedQuery => {
    const [owner = "", query = ""] = each.replaceAll("ID", sysId).split(" ");
    return { table: owner, query };
  }) ?? [];
  if (kind === "tasks" && table === "incident") {
    return [...queries, ...referredTo("problem", "problem_id"), ...referredTo("change_request", "rfc")];
  }
  if (kind !== "approvals") return queries;
  // An item is often approved with its whole request.
  const request = table === "sc_req_item" ? storedValue(record, "request") : "";
  const others = isStoredSysId(request) ? `^ORsysapproval=${request}` : "";
  return queries.map((each) => ({ ...each, query: `${each.query}${others}`, more: ["comments", "sys_updated_on"] }));
}

function titleWords(record: RecordFields): readonly string[] {
  return [...new Set(displayValue(record, "short_description").match(/[\p{L}\p{N}]{4,}/gu))];
}

/** All of one kind; tables that are closed here, or to the person, are left out and named. */
async function readRelated(parts: DeskParts, kind: string, of: FoundRecord): Promise<RelatedRecords> {
  const { access, tableApi } = parts;
  if (kind === "history") return await readHistory(parts, of);
  const tables = Object.hasOwn(tablesOfKind, kind) ? tablesOfKind[kind] : undefined;
  if (tables === undefined) {
    const kinds = Object.keys(tablesOfKind).join(", ");
    throw invalidInput(`include takes journal, attachments, ${kinds}, history, not ${kind.slice(0, 40)}`);
  }
  // The rules about calls judge these tables.
  const queries = queriesOf(kind, of).filter(({ table }) => tables.includes(table));
  // Said to be none, it would be taken for the truth.
  if (queries.length === 0) throw invalidInput(`a record of ${of.table} has no ${kind}; leave it out of include`);
  if (kind === "on_call" && of.table === "sys_user_group" && access.mayRead("cmn_rota_member")) {
    const now = await readOnCall(parts, of);
    if (now !== null) return now;
  }
  const notes = new Set<string>();
  if (kind === "on_call") notes.add("the rota's order, not who is on shift now");
  if (kind === "similar") notes.add("resolved, with one of the title's words, the most words in common first");
  const records: ShownRecord[] = [];
  let isCut = false;
  for (const { table, query, more = [] } of queries) {
    if (query === null) continue;
    if (!access.mayRead(table)) {
      notes.add(`${table} is not open here`);
      continue;
    }
    const names = [...knownTable(table)?.summaryFields ?? [], ...more];
    const links = [...query.matchAll(/([\w.]+)=([0-9a-f]{32})/g)].map(([, field = "", id = ""]) => ({ field, id }));
    const linking = links.map(({ field }) => field);
    const fields = [...names, "number", "sys_class_name", ...namingFields(table), ...linking];
    const narrowed = { query: allOf(query, access.openRows(table)), fields };
    const found = await ifShown(readOn(tableApi, table, narrowed, { wanted: maxRelated, maxRequests }), null);
    if (found === null) {
      notes.add(`ServiceNow hides ${table} from this user`);
      continue;
    }
    const isLinked = (row: RecordFields): boolean => links.some(({ field, id }) => storedValue(row, field) === id);
    if (links.length > 0 && found.rows.length > 0 && !found.rows.some(isLinked)) {
      notes.add(
        `ServiceNow shows this user no ${linking.join(" or ")} of ${table}, so some may belong to other records`,
      );
    }
    isCut ||= found.next !== null;
    records.push(...found.rows.map((row) => toShownRecord(parts, table, row, names)));
  }
  const words = new Set(titleWords(of.record).map((word) => word.toLowerCase()));
  const inCommon = ({ fields }: ShownRecord): number => {
    const title = fields.find(({ name }) => name === "short_description")?.value.toLowerCase() ?? "";
    return [...words].filter((word) => title.includes(word)).length;
  };
  if (kind === "similar") records.sort((a, b) => inCommon(b) - inCommon(a));
  return { kind, records, isCut, ...(notes.size === 0 ? {} : { note: [...notes].join("; ") }) };
}

const maxIncluded = 8;

/** Which record to show, with which fields and related records. */
interface RecordViewRequest extends RecordName {
  /** Without them, the fields with a value of interest; `*` is all. */
  readonly fields?: readonly string[] | undefined;
  readonly include?: readonly string[];
}

/** One request without `include`, where the table is known from the number. */
async function getRecord(
  parts: DeskParts,
  { id, table: named, fields, include = [] }: RecordViewRequest,
): Promise<RecordView> {
  if (include.length > maxIncluded) throw invalidInput(`include: at most ${maxIncluded}`);
  const asksForAll = fields?.includes("*") === true;
  const whole = await attempt(findRecord(parts, { id, table: named }));
  const isTooLarge = !whole.ok && whole.error.reason === "too_large" && fields !== undefined && !asksForAll;
  if (!whole.ok && !isTooLarge) throw new Refusal(whole.error);
  const found = whole.ok ? whole.value : await findRecord(parts, { id, table: named }, { fields: [] });
  const { table, sysId, record } = found;
  parts.seen.note(record);
  const names = fields === undefined || asksForAll ? undefined : await chosenFields(parts, table, fields);
  const paths = names?.filter((name) => name.includes(".") || isTooLarge) ?? [];
  const taskField = parts.access.taskField(table);
  if (taskField !== null && paths.some((path) => path.startsWith(`${taskField}.`))) {
    throw invalidInput(`read the ${taskField} by its number`);
  }
  const all = { ...record, ...paths.length === 0 ? {} : await parts.tableApi.row(table, sysId, stepsOf(paths)) };
  const wanted = asksForAll ? Object.keys(record) : names;
  const shown = toShownRecord(parts, table, all, wanted);
  const unshown = names?.filter((name) => isHidden(all, name)) ?? [];
  const fieldsShown = [...shown.fields, ...unshown.map((name) => ({ name, value: "(not shown to this user)" }))];
  const view: RecordView = {
    ...{ record: { ...shown, fields: fieldsShown }, version: storedValue(record, "sys_mod_count") },
    ...{ journal: null, files: null, answers: null, related: [] },
  };
  // What a reader of the whole record asks next: what exactly was ordered, and why it was rejected. If they fail, the
  // rest is still answered.
  const useful = fields !== undefined ? [] : [
    ...table === "sc_req_item" || table === "sc_task" ? ["answers"] : [],
    ...storedValue(record, "approval") === "rejected" ? ["approvals"] : [],
  ];
  for (const kind of new Set(include)) await addPart(parts, view, kind, found);
  const brought = useful.filter((kind) => !include.includes(kind) && !tablesOfKind[kind]?.some(isKept));
  for (const kind of brought) await attempt(addPart(parts, view, kind, found));
  return view;
}

async function addPart(parts: DeskParts, view: RecordView, kind: string, found: FoundRecord): Promise<void> {
  if (kind === "journal") {
    view.journal = await readJournal(parts, found);
    // Where entries are hidden, these two have what the instance shows of them, as one text.
    const texts = toShownRecord(
      parts,
      found.table,
      found.record,
      view.journal.entries.length === 0 ? journalFields : [],
    );
    const others = view.record.fields.filter(({ name }) => !journalFields.includes(name));
    view.record = { ...view.record, fields: [...others, ...texts.fields.filter(({ value }) => value !== "")] };
  } else if (kind === "attachments") view.files = await listFiles(parts, found);
  else if (kind === "answers") view.answers = await readAnswers(parts, found) ?? "hidden";
  else view.related.push(await readRelated(parts, kind, found));
}
