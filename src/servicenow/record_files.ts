/** Files on records: listed, fetched and added under the person's rights. */
import * as z from "zod";
import { counted } from "../lib/counted.ts";
import { type DeskParts, hasFixedFields } from "./table_api.ts";
import { invalidInput, Refusal } from "./failure.ts";
import { findRecord, type FoundRecord, type RecordName } from "./find_record.ts";
import { displayValue, oneLine } from "./field_values.ts";
import { nameOf } from "./search.ts";
import { askJson } from "./transport.ts";

/** A file that is fetched. It is written as it arrives. */
const maxFetchedBytes = 67_108_864;
/** A file that is sent, which is held in memory: a second try with a new token needs it again. */
export const maxSentBytes = 16_777_216;
const maxListed = 100;
const filesNotRead = "files of people and groups are not read here";
const tooLarge = (limitBytes: number) => new Refusal({ reason: "too_large", limitBytes });
const attachment = z.object({
  sys_id: z.string().regex(/^[0-9a-f]{32}$/),
  table_name: z.string(),
  file_name: z.string(),
  content_type: z.string(),
  size_bytes: z.coerce.number().int().nonnegative(),
}).transform(({ sys_id, table_name, file_name, content_type, size_bytes }) => ({
  sysId: sys_id,
  /** Files hang on records of every table; pictures of people have special names. */
  table: table_name.replace(/^ZZ_YY/, ""),
  fileName: file_name,
  contentType: content_type,
  sizeBytes: size_bytes,
}));

/** What is known of a file on a record. */
export type Attachment = z.output<typeof attachment>;

export async function listFiles(
  { callAs, person }: DeskParts,
  { table, sysId }: Pick<FoundRecord, "table" | "sysId">,
): Promise<readonly Attachment[]> {
  if (hasFixedFields(table)) throw invalidInput(filesNotRead);
  return await askJson(callAs, person, {
    path: "/api/now/attachment",
    query: {
      sysparm_query: `table_name=${table}^table_sys_id=${sysId}^ORDERBYsys_created_on`,
      sysparm_limit: String(maxListed),
    },
  }, z.array(attachment));
}

/** A file on its way: it has to be read to its end, or cancelled. `pieces` throws a {@link Refusal} where it is cut. */
async function fetchFile({ callAs, access, person }: DeskParts, { sysId, table, fileName, sizeBytes }: Attachment) {
  if (hasFixedFields(table)) throw invalidInput(filesNotRead);
  if (!access.mayRead(table)) throw new Refusal({ reason: "not_found" });
  if (sizeBytes > maxFetchedBytes) throw tooLarge(maxFetchedBytes);
  const path = `/api/now/attachment/${sysId}/file`;
  const answer = await callAs(person, { method: "GET", path, accept: "stream", maxBytes: maxFetchedBytes });
  if (!answer.ok) throw new Refusal(answer.error);
  const { file } = answer.value;
  if (file === undefined) throw new Refusal({ reason: "unavailable", because: "bad_reply" });
  return { fileName, ...file };
}

/** The file of a record that `name` means; without a name, its only file. */
export async function fetchNamedFile(
  parts: DeskParts,
  { name, ...record }: RecordName & { readonly name: string | undefined },
) {
  const found = await findRecord(parts, record, { fields: [] });
  const listed = await listFiles(parts, found);
  const fitting = listed.filter(({ fileName, sysId }) =>
    name === undefined || sysId === name.toLowerCase() || fileName.toLowerCase() === name.trim().toLowerCase()
  );
  const [file, second] = fitting;
  if (file !== undefined && second === undefined) return await fetchFile(parts, file);
  const among = (fitting.length > 0 ? fitting : listed).map(({ fileName, sizeBytes, sysId }) =>
    `${oneLine(fileName)} (${counted(sizeBytes, "byte")}, ${sysId})`
  );
  const all = `name one of its attachments: ${among.join("; ")}`;
  throw invalidInput(among.length === 0 ? "the record has no attachment that the user may see" : all);
}

/** A file to attach to a record. */
interface AttachRequest extends RecordName {
  /** `null` asks only whether the record may get one. */
  readonly file: {
    readonly fileName: string;
    readonly contentType: string;
    readonly bytes: Uint8Array<ArrayBuffer>;
  } | null;
}

/** The record's number or name, its title, and the attachment that was made: `null` where none was sent. */
export async function attachFile(
  parts: DeskParts,
  { id, table, file }: AttachRequest,
): Promise<{ readonly record: string; readonly title: string; readonly file: Attachment | null }> {
  const found = await findRecord(parts, { id, table }, { writing: true, fields: ["short_description"] });
  const record = nameOf(found.table, found.record);
  const title = oneLine(displayValue(found.record, "short_description"));
  if (file === null) return { record, title, file: null };
  const { fileName, contentType, bytes } = file;
  if (bytes.byteLength > maxSentBytes) throw tooLarge(maxSentBytes);
  const added = await askJson(parts.callAs, parts.person, {
    method: "POST",
    path: "/api/now/attachment/file",
    query: { table_name: found.table, table_sys_id: found.sysId, file_name: fileName },
    body: { type: contentType, content: bytes },
  }, attachment);
  return { record, title, file: added };
}
