/** Files on records: listed, fetched and added under the person's rights. */
import * as z from "zod";
import { counted } from "../lib/counted.ts";
import { failure, success } from "../lib/result.ts";
import { type DeskParts, hasFixedFields } from "./table_api.ts";
import { type Answer, invalidInput, type ServicenowFailure } from "./failure.ts";
import { findRecord, type FoundRecord, type RecordName } from "./find_record.ts";
import { displayValue, oneLine, parseSysId } from "./field_values.ts";
import { CutFile } from "./transport.ts";
import { nameOf } from "./search.ts";
import { askJson } from "./calls.ts";

/** A file that is fetched. It is written as it arrives. */
const maxFetchedBytes = 67_108_864;
/** A file that is sent, which is held in memory: a second try with a new token needs it again. */
export const maxSentBytes = 16_777_216;
const maxListed = 100;
const filesNotRead = "files of people and groups are not read here";
const tooLarge = (limitBytes: number) => failure({ reason: "too_large", limitBytes } as const);
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
): Answer<readonly Attachment[]> {
  if (hasFixedFields(table)) return invalidInput(filesNotRead);
  return await askJson(callAs, person, {
    path: "/api/now/attachment",
    query: {
      sysparm_query: `table_name=${table}^table_sys_id=${sysId}^ORDERBYsys_created_on`,
      sysparm_limit: String(maxListed),
    },
  }, z.array(attachment));
}

/** A file by its own sys_id, on its way: it has to be read to its end, or cancelled. */
async function fetchFile({ callAs, access, person }: DeskParts, attachmentId: string) {
  const sysId = parseSysId(attachmentId);
  if (!sysId.ok) return sysId;
  const path = `/api/now/attachment/${sysId.value}`;
  const parsed = await askJson(callAs, person, { path }, attachment);
  if (!parsed.ok) return parsed;
  const { table, sizeBytes } = parsed.value;
  if (hasFixedFields(table)) return invalidInput(filesNotRead);
  if (!access.mayRead(table)) return failure<ServicenowFailure>({ reason: "not_found" });
  if (sizeBytes > maxFetchedBytes) return tooLarge(maxFetchedBytes);
  const content = { method: "GET", path: `${path}/file`, accept: "stream", maxBytes: maxFetchedBytes } as const;
  const file = await callAs(person, content);
  if (!file.ok) return file;
  if (file.value.file === undefined) return failure<ServicenowFailure>({ reason: "unavailable", because: "bad_reply" });
  /** What cut the file, if `error` is what `pieces` threw for it. */
  const failureOf = (error: unknown) => error instanceof CutFile ? error.failure : null;
  return success({ ...parsed.value, ...file.value.file, failureOf });
}

/** The file of a record that `name` means; without a name, its only file. */
export async function fetchNamedFile(
  parts: DeskParts,
  { name, ...record }: RecordName & { readonly name: string | undefined },
) {
  const found = await findRecord(parts, record, { fields: [] });
  if (!found.ok) return found;
  const listed = await listFiles(parts, found.value);
  if (!listed.ok) return listed;
  const fitting = listed.value.filter(({ fileName, sysId }) =>
    name === undefined || sysId === name.toLowerCase() || fileName.toLowerCase() === name.trim().toLowerCase()
  );
  const [file, second] = fitting;
  if (file !== undefined && second === undefined) return await fetchFile(parts, file.sysId);
  const among = (fitting.length > 0 ? fitting : listed.value).map(({ fileName, sizeBytes, sysId }) =>
    `${oneLine(fileName)} (${counted(sizeBytes, "byte")}, ${sysId})`
  );
  const all = `name one of its attachments: ${among.join("; ")}`;
  return invalidInput(among.length === 0 ? "the record has no attachment that the user may see" : all);
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
): Answer<{ readonly record: string; readonly title: string; readonly file: Attachment | null }> {
  const found = await findRecord(parts, { id, table }, { writing: true, fields: ["short_description"] });
  if (!found.ok) return found;
  const record = nameOf(found.value.table, found.value.record);
  const title = oneLine(displayValue(found.value.record, "short_description"));
  if (file === null) return success({ record, title, file: null });
  const { fileName, contentType, bytes } = file;
  if (bytes.byteLength > maxSentBytes) return tooLarge(maxSentBytes);
  const parsed = await askJson(parts.callAs, parts.person, {
    method: "POST",
    path: "/api/now/attachment/file",
    query: { table_name: found.value.table, table_sys_id: found.value.sysId, file_name: fileName },
    body: { type: contentType, content: bytes },
  }, attachment);
  return parsed.ok ? success({ record, title, file: parsed.value }) : parsed;
}
