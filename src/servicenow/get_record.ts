/** One record as a person sees it, with its journal and related work where a caller asks for them. */
import { type Result, success } from "../lib/result.ts";
import { readAnswers } from "./read_answers.ts";
import type { DeskParts } from "./desk_parts.ts";
import { invalidInput, type ServicenowFailure } from "./failure.ts";
import { storedValue } from "./field_values.ts";
import type { RecordView, RecordViewRequest } from "./desk_port.ts";
import type { Person } from "./person_cache.ts";
import { findRecord, type FoundRecord } from "./find_record.ts";
import { journalFields, readJournal } from "./journal.ts";
import { listFiles } from "./record_files.ts";
import { readRelated } from "./related.ts";
import { chosenFields } from "./search.ts";
import { toShownRecord } from "./shown_record.ts";

const maxIncluded = 8;

/** One request without `include`, where the table is known from the number. */
export async function getRecord(
  parts: DeskParts,
  { id, table, fields, include = [] }: RecordViewRequest,
  person: Person,
): Promise<Result<RecordView, ServicenowFailure>> {
  if (include.length > maxIncluded) return invalidInput(`include: at most ${maxIncluded}`);
  const found = await findRecord(parts, { id, table }, person);
  if (!found.ok) return found;
  const { record } = found.value;
  const names = fields === undefined || fields.includes("*")
    ? success(undefined)
    : await chosenFields(parts, found.value.table, fields, person);
  if (!names.ok) return names;
  const paths = names.value?.filter((name) => name.includes(".")) ?? [];
  const taskField = parts.access.taskField(found.value.table);
  if (taskField !== null && paths.some((path) => path.startsWith(`${taskField}.`))) {
    return invalidInput(`read the ${taskField} by its number`);
  }
  const walked = paths.length === 0
    ? success(record)
    : await parts.tableApi.row(found.value.table, found.value.sysId, person, paths);
  if (!walked.ok) return walked;
  const asksForAll = fields?.includes("*") === true;
  const wanted = asksForAll ? Object.keys(record) : names.value;
  const origin = parts.instance.origin;
  const shown = toShownRecord(found.value.table, { ...record, ...walked.value }, { origin, names: wanted });
  const withJournal = include.includes("journal");
  const view: RecordView = {
    record: withJournal
      ? { ...shown, fields: shown.fields.filter(({ name }) => !journalFields.includes(name)) }
      : shown,
    version: storedValue(record, "sys_mod_count"),
    journal: null,
    files: null,
    answers: null,
    related: [],
  };
  const useful = fields === undefined ? usefulParts(found.value) : [];
  return await completeView(parts, view, { found: found.value, include, useful }, person);
}

/** What a reader of the whole record asks next: what exactly was ordered, and why it was rejected. */
function usefulParts({ table, record }: FoundRecord): readonly string[] {
  return [
    ...table === "sc_req_item" || table === "sc_task" ? ["answers"] : [],
    ...storedValue(record, "approval") === "rejected" ? ["approvals"] : [],
  ];
}

async function completeView(
  parts: DeskParts,
  view: RecordView,
  { found, include, useful }: {
    readonly found: FoundRecord;
    readonly include: readonly string[];
    /** Parts that were not asked for: without them the rest is told all the same. */
    readonly useful: readonly string[];
  },
  person: Person,
): Promise<Result<RecordView, ServicenowFailure>> {
  let whole = view;
  for (const kind of new Set([...include, ...useful])) {
    if (kind === "journal") {
      const journal = await readJournal(parts, found, person);
      if (!journal.ok) return journal;
      whole = { ...whole, journal: journal.value };
    } else if (kind === "attachments") {
      const files = await listFiles(parts, found, person);
      if (!files.ok) return files;
      whole = { ...whole, files: files.value };
    } else if (kind === "answers") {
      const answers = await readAnswers(parts, found, person);
      if (!answers.ok && include.includes(kind)) return answers;
      if (answers.ok && answers.value?.answers.length === 0 && !include.includes(kind)) continue; // many items ask nothing
      whole = { ...whole, answers: answers.ok ? answers.value ?? "hidden" : "unavailable" };
    } else {
      const related = await readRelated(parts, kind, found, person);
      if (!related.ok && !include.includes(kind)) continue;
      if (!related.ok) return related;
      whole = { ...whole, related: [...whole.related, related.value] };
    }
  }
  return success(whole);
}
