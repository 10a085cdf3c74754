/** Comments and work notes, one entry at a time, with their author and date as the instance stored them. */
import { type Result, success } from "../lib/result.ts";
import type { DeskParts } from "./desk_parts.ts";
import type { ServicenowFailure } from "./failure.ts";
import { displayValue, storedValue } from "./field_values.ts";
import type { JournalEntry } from "./desk_port.ts";
import type { RecordFields } from "./port.ts";
import type { Person } from "./person_cache.ts";
import { oneLine, wordsOf } from "./plain_text.ts";

/** The newest are kept. */
const maxEntries = 50;

export const journalFields: readonly string[] = ["comments", "work_notes"];

/**
 * The newest entries first. Where the instance keeps its table of entries from the person, the text that it shows for
 * the whole journal is one entry: to split it would let one author write in another's name.
 */
export async function readJournal(
  { tableApi }: DeskParts,
  { sysId, record }: { readonly sysId: string; readonly record: RecordFields },
  person: Person,
): Promise<Result<readonly JournalEntry[], ServicenowFailure>> {
  const query = `element_id=${sysId}^elementIN${journalFields.join(",")}^ORDERBYDESCsys_created_on`;
  const fields = ["element", "value", "sys_created_on", "sys_created_by"];
  const found = await tableApi.rows("sys_journal_field", { query, fields, limit: maxEntries }, person);
  if (!found.ok && found.error.reason !== "forbidden" && found.error.reason !== "rejected") return found;
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
