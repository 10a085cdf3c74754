/** The tool `servicenow_list_attachments`: which files hang on a record. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import type { ServicenowRecords } from "../../servicenow/port.ts";
import { callerOf, idParameter, tableParameter, toFailureOutcome, toJsonOutcome } from "./outcome.ts";

export function servicenowListAttachmentsTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_list_attachments",
    title: "List attachments of a ServiceNow record",
    description: "Lists the files on a record, at most 100, with the ids that servicenow_save_attachment takes.",
    scopes: ["servicenow:read"],
    annotations: { title: "List attachments of a ServiceNow record", readOnlyHint: true, openWorldHint: true },
    input: z.object({ table: tableParameter, id: idParameter }),
    output: z.object({
      attachments: z.array(z.object({
        attachment_id: z.string(),
        file_name: z.string(),
        content_type: z.string(),
        size_bytes: z.int(),
      })),
    }),
    async run({ table, id }, context) {
      const listed = await servicenow.attachments.list(table, id.trim(), callerOf(context));
      if (!listed.ok) return toFailureOutcome(servicenow, listed.error);
      return toJsonOutcome({
        attachments: listed.value.map(({ sysId, fileName, contentType, sizeBytes }) => ({
          attachment_id: sysId,
          file_name: fileName,
          content_type: contentType,
          size_bytes: sizeBytes,
        })),
      });
    },
  });
}
