/** Files on records: listing, fetching and adding them, as the caller may. */
import * as z from "zod";
import { failure, success } from "../lib/result.ts";
import type { CallAs } from "./calls.ts";
import { type Attachment, type Attachments, maxAttachmentBytes, type RecordReader } from "./port.ts";
import { parseSysId } from "./record_id.ts";
import { maxReplyBytes, parseResult } from "./reply.ts";
import { recordKinds, tables } from "./tables.ts";

const maxListed = 100;
const tooLarge = failure({ reason: "too_large", limitBytes: maxAttachmentBytes } as const);
const attachmentRecord = z.object({
  sys_id: z.string().regex(/^[0-9a-f]{32}$/),
  table_name: z.string(),
  file_name: z.string(),
  content_type: z.string(),
  size_bytes: z.coerce.number().int().nonnegative(),
});

export function createAttachments(
  { callAs, reader }: { readonly callAs: CallAs; readonly reader: RecordReader },
): Attachments {
  const readableTables = new Set(recordKinds.map((kind) => tables[kind].table));
  const json = { accept: "json", maxBytes: maxReplyBytes } as const;
  return {
    async list(kind, id, caller) {
      const sysId = await reader.resolve(kind, id, caller);
      if (!sysId.ok) return sysId;
      const answer = await callAs(caller, {
        ...json,
        method: "GET",
        path: "/api/now/attachment",
        query: {
          sysparm_query: `table_name=${tables[kind].table}^table_sys_id=${sysId.value}^ORDERBYsys_created_on`,
          sysparm_limit: String(maxListed),
        },
      });
      if (!answer.ok) return answer;
      const parsed = parseResult(answer.value, z.array(attachmentRecord));
      return parsed.ok ? success(parsed.value.map(toAttachment)) : parsed;
    },
    async fetch(attachmentId, caller) {
      const sysId = parseSysId(attachmentId);
      if (!sysId.ok) return sysId;
      const path = `/api/now/attachment/${sysId.value}`;
      const described = await callAs(caller, { ...json, method: "GET", path });
      if (!described.ok) return described;
      const parsed = parseResult(described.value, attachmentRecord);
      if (!parsed.ok) return parsed;
      // Files hang on records of every table; only those of the kinds offered here are.
      if (!readableTables.has(parsed.value.table_name)) return failure({ reason: "not_found" });
      if (parsed.value.size_bytes > maxAttachmentBytes) return tooLarge;
      const file = await callAs(caller, {
        method: "GET",
        path: `${path}/file`,
        accept: "file",
        maxBytes: maxAttachmentBytes,
      });
      return file.ok ? success({ ...toAttachment(parsed.value), bytes: file.value.bytes }) : file;
    },
    async add(kind, id, { fileName, contentType, bytes }, caller) {
      if (bytes.byteLength > maxAttachmentBytes) return tooLarge;
      const sysId = await reader.resolve(kind, id, caller);
      if (!sysId.ok) return sysId;
      const answer = await callAs(caller, {
        ...json,
        method: "POST",
        path: "/api/now/attachment/file",
        query: { table_name: tables[kind].table, table_sys_id: sysId.value, file_name: fileName },
        body: { type: contentType, content: bytes },
      });
      if (!answer.ok) return answer;
      const parsed = parseResult(answer.value, attachmentRecord);
      return parsed.ok
        ? success(toAttachment(parsed.value))
        : failure({ reason: "unavailable", because: "bad_reply", uncertain: true });
    },
  };
}

function toAttachment(record: z.output<typeof attachmentRecord>): Attachment {
  const { sys_id: sysId, file_name: fileName, content_type: contentType, size_bytes: sizeBytes } = record;
  return { sysId, fileName, contentType, sizeBytes };
}
