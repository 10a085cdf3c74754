/** The changes of a service desk, put together. */
import type { Result } from "../../lib/result.ts";
import { success } from "../../lib/result.ts";
import type { DeskParts } from "../desk/desk_parts.ts";
import type { ServicenowFailure } from "../failure.ts";
import type { Caller } from "../caller.ts";
import { findRecord } from "../records/find_record.ts";
import { addFile } from "../records/record_files.ts";
import { nameOf } from "../records/shown_record.ts";
import type { Person } from "../schema/person_cache.ts";
import { addNote } from "./add_note.ts";
import { decideApproval } from "./decide_approval.ts";
import type { AttachReport, DeskChanges } from "./port.ts";
import { createRecord, updateRecord } from "./write_record.ts";

type AsPerson = <T>(
  caller: Caller,
  job: (person: Person) => Promise<Result<T, ServicenowFailure>>,
) => Promise<Result<T, ServicenowFailure>>;

export function createDeskChanges(parts: DeskParts, asPerson: AsPerson): DeskChanges {
  return {
    create: (request, caller) => asPerson(caller, (person) => createRecord(parts, request, person)),
    update: (request, caller) => asPerson(caller, (person) => updateRecord(parts, request, person)),
    addNote: (request, caller) => asPerson(caller, (person) => addNote(parts, request, person)),
    decide: (request, caller) => asPerson(caller, (person) => decideApproval(parts, request, person)),
    attach: ({ id, table, file, dryRun }, caller) =>
      asPerson<AttachReport>(caller, async (person) => {
        const found = await findRecord(parts, { id, table }, person, { writing: true, fields: [] });
        if (!found.ok) return found;
        const record = nameOf(found.value.table, found.value.record);
        if (dryRun) return success({ record, file: null });
        const added = await addFile(parts, found.value, file, person);
        return added.ok ? success({ record, file: added.value }) : added;
      }),
  };
}
