/** One record as a person sees it, with its journal and related work where a caller asks for them. */
import { success } from "../lib/result.ts";
import type { DeskParts } from "./table_api.ts";
import { type Answer, invalidInput, isKeptBack } from "./failure.ts";
import { displayValue, oneLine, storedValue, wordsOf } from "./field_values.ts";
import type { JournalEntry, RecordFields, RecordName, RecordView } from "./answers.ts";
import { readAnswers } from "./catalog_item.ts";
import { findRecord, type FoundRecord } from "./find_record.ts";
import { listFiles } from "./record_files.ts";
import { readRelated } from "./related.ts";
import { chosenFields, toShownRecord } from "./search.ts";

// Comments and work notes, one entry at a time, with their author and date as the instance stored them.

/** The newest are kept. */
const maxEntries = 50;

const journalFields: readonly string[] = ["comments", "work_notes"];

/**
 * The newest entries first. Where the instance keeps its table of entries from the person, the text that it shows for
 * the whole journal is one entry: to split it would let one author write in another's name.
 */
async function readJournal(
  { tableApi }: DeskParts,
  { sysId, record }: { readonly sysId: string; readonly record: RecordFields },
): Answer<readonly JournalEntry[]> {
  const query = `element_id=${sysId}^elementIN${journalFields.join(",")}^ORDERBYDESCsys_created_on`;
  const fields = ["element", "value", "sys_created_on", "sys_created_by"];
  const found = await tableApi.rows("sys_journal_field", { query, fields, limit: maxEntries });
  if (!found.ok && !isKeptBack(found.error)) return found;
  const entries = found.ok ? found.value.rows : [];
  if (entries.length > 0) {
    return success(entries.map((entry) => ({
      audience: storedValue(entry, "element") === "comments" ? "caller" : "team",
      author: oneLine(storedValue(entry, "sys_created_by")),
      at: `${storedValue(entry, "sys_created_on")} UTC`,
      text: wordsOf(storedValue(entry, "value")),
    })));
  }
  return success(journalFields.flatMap((field): readonly JournalEntry[] => {
    const text = wordsOf(displayValue(record, field));
    return text === "" ? [] : [{ audience: field === "comments" ? "caller" : "team", author: null, at: null, text }];
  }));
}

const maxIncluded = 8;

/** Which record to show, with which fields and related records. */
interface RecordViewRequest extends RecordName {
  /** Without them, the fields with a value of interest; `*` is all. */
  readonly fields?: readonly string[] | undefined;
  readonly include?: readonly string[];
}

/** One request without `include`, where the table is known from the number. */
export async function getRecord(
  parts: DeskParts,
  { id, table, fields, include = [] }: RecordViewRequest,
): Answer<RecordView> {
  if (include.length > maxIncluded) return invalidInput(`include: at most ${maxIncluded}`);
  const found = await findRecord(parts, { id, table });
  if (!found.ok) return found;
  const { record } = found.value;
  parts.seen.note(record);
  const names = fields === undefined || fields.includes("*")
    ? success(undefined)
    : await chosenFields(parts, found.value.table, fields);
  if (!names.ok) return names;
  const paths = names.value?.filter((name) => name.includes(".")) ?? [];
  const taskField = parts.access.taskField(found.value.table);
  if (taskField !== null && paths.some((path) => path.startsWith(`${taskField}.`))) {
    return invalidInput(`read the ${taskField} by its number`);
  }
  const walked = paths.length === 0
    ? success(record)
    : await parts.tableApi.row(found.value.table, found.value.sysId, paths);
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
  return await completeView(parts, view, { found: found.value, include, useful });
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
    /** Parts that were not asked for: if they fail, the rest is still answered. */
    readonly useful: readonly string[];
  },
): Answer<RecordView> {
  let whole = view;
  for (const kind of new Set([...include, ...useful])) {
    if (kind === "journal") {
      const journal = await readJournal(parts, found);
      if (!journal.ok) return journal;
      whole = { ...whole, journal: journal.value };
    } else if (kind === "attachments") {
      const files = await listFiles(parts, found);
      if (!files.ok) return files;
      whole = { ...whole, files: files.value };
    } else if (kind === "answers") {
      const answers = await readAnswers(parts, found);
      if (!answers.ok && include.includes(kind)) return answers;
      if (answers.ok && answers.value?.answers.length === 0 && !include.includes(kind)) continue; // many items ask nothing
      whole = { ...whole, answers: answers.ok ? answers.value ?? "hidden" : "unavailable" };
    } else {
      const related = await readRelated(parts, kind, found);
      if (!related.ok && !include.includes(kind)) continue;
      if (!related.ok) return related;
      whole = { ...whole, related: [...whole.related, related.value] };
    }
  }
  return success(whole);
}
