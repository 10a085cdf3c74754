/** The tool `servicenow_add_attachment`: a workspace file onto a record. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { maxAttachmentBytes, type ServicenowRecords } from "../../servicenow/port.ts";
import type { AttachmentFiles } from "./files.ts";
import { callerOf, idParameter, tableParameter, toFailureOutcome, toJsonOutcome } from "./outcome.ts";

const contentTypes: Readonly<Record<string, string>> = {
  csv: "text/csv",
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  log: "text/plain",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  txt: "text/plain",
  xml: "application/xml",
  zip: "application/zip",
};

export function servicenowAddAttachmentTool(servicenow: ServicenowRecords, files: AttachmentFiles): Tool {
  return defineTool({
    name: "servicenow_add_attachment",
    title: "Attach a file to a ServiceNow record",
    description: `Attaches a workspace file of at most ${maxAttachmentBytes} bytes to a ServiceNow ` +
      "record, in the user's name. Everyone who sees the record can read it.",
    scopes: ["servicenow:write", "files:read"],
    annotations: {
      title: "Attach a file to a ServiceNow record",
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true,
    },
    input: z.object({
      table: tableParameter,
      id: idParameter,
      filename: z.string().describe("The file's path in the workspace"),
    }),
    output: z.object({ attachment_id: z.string(), file_name: z.string(), size_bytes: z.int() }),
    async run({ table, id, filename }, context) {
      const bytes = await files.read(filename, context.principal);
      if (!bytes.ok) return { ok: false, ...bytes.error };
      const fileName = filename.slice(filename.lastIndexOf("/") + 1);
      const extension = /\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? "";
      const contentType = contentTypes[extension] ?? "application/octet-stream";
      const file = { fileName, contentType, bytes: bytes.value };
      const added = await servicenow.attachments.add(table, id.trim(), file, callerOf(context));
      if (!added.ok) return toFailureOutcome(servicenow, added.error);
      const { sysId, sizeBytes } = added.value;
      return toJsonOutcome({ attachment_id: sysId, file_name: fileName, size_bytes: sizeBytes });
    },
  });
}
