/** The tool `servicenow_save_attachment`: a record's file into the workspace. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { maxAttachmentBytes, type ServicenowRecords } from "../../servicenow/port.ts";
import { showName } from "../../workspace/file_display.ts";
import type { AttachmentFiles } from "./files.ts";
import { callerOf, given, toFailureOutcome } from "./outcome.ts";

export function servicenowSaveAttachmentTool(servicenow: ServicenowRecords, files: AttachmentFiles): Tool {
  return defineTool({
    name: "servicenow_save_attachment",
    title: "Save a ServiceNow attachment",
    description: `Saves a file of a ServiceNow record to the workspace, at most ${maxAttachmentBytes} ` +
      "bytes. A file that filename names is replaced; without filename a new one is made, beside one of that name.",
    scopes: ["servicenow:read", "files:write"],
    annotations: {
      title: "Save a ServiceNow attachment",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
    input: z.object({
      attachment_id: z.string().describe("The attachment's id, as servicenow_list_attachments gives it"),
      filename: z.string().optional().describe(
        "Where to save it in the workspace; when absent, a free name like its own",
      ),
    }),
    output: z.object({ filename: z.string(), content_type: z.string(), size_bytes: z.int() }),
    async run({ attachment_id: id, filename }, context) {
      const fetched = await servicenow.attachments.fetch(id.trim(), callerOf(context));
      if (!fetched.ok) return toFailureOutcome(servicenow, fetched.error);
      const { bytes, fileName, contentType } = fetched.value;
      const chosen = given(filename);
      const saved = chosen === undefined
        ? await files.create(fileName, bytes, context) // a name from a stranger: it must replace nothing
        : await files.write(chosen, bytes, context);
      if (!saved.ok) return { ok: false, ...saved.error };
      return {
        ok: true,
        content: [{ type: "text", text: `Saved ${showName(saved.value)} (${bytes.byteLength} bytes)` }],
        structuredContent: { filename: saved.value, content_type: contentType, size_bytes: bytes.byteLength },
      };
    },
  });
}
