/** The tool `servicenow_save_attachment`: a record's file into the workspace. */
import { z } from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import type { ServicenowRecords } from "../servicenow/port.ts";
import { showName } from "./file_display.ts";
import type { AttachmentFiles } from "./servicenow_files.ts";
import { callerOf, given, toFailureOutcome } from "./servicenow_outcome.ts";

/** Saves attachments of `servicenow` to `files`. */
export function servicenowSaveAttachmentTool(servicenow: ServicenowRecords, files: AttachmentFiles): Tool {
  return defineTool({
    name: "servicenow_save_attachment",
    title: "Save a ServiceNow attachment",
    description:
      `Saves a file of a ServiceNow record to the workspace, at most ${servicenow.limits.maxAttachmentBytes} ` +
      "bytes. An existing file of that name is replaced.",
    scopes: ["servicenow:read", "files:write"],
    annotations: {
      title: "Save a ServiceNow attachment",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: true,
    },
    input: z.object({
      attachment_id: z.string().describe("The attachment's id, as servicenow_list_attachments gives it"),
      filename: z.string().optional().describe("Where to save it in the workspace; its own name when absent"),
    }),
    output: z.object({ filename: z.string(), content_type: z.string(), size_bytes: z.int() }),
    async run({ attachment_id: id, filename }, context) {
      const fetched = await servicenow.attachments.fetch(id.trim(), callerOf(context));
      if (!fetched.ok) return toFailureOutcome(servicenow, fetched.error);
      const { bytes, fileName, contentType } = fetched.value;
      const saved = await files.write(given(filename) ?? safeName(fileName), bytes, context.principal);
      if (!saved.ok) return { ok: false, ...saved.error };
      return {
        ok: true,
        content: [{ type: "text", text: `Saved ${showName(saved.value)} (${bytes.byteLength} bytes)` }],
        structuredContent: { filename: saved.value, content_type: contentType, size_bytes: bytes.byteLength },
      };
    },
  });
}

/** A name from a stranger, without what could make it a path. */
function safeName(name: string): string {
  const safe = name.replace(/[\p{Cc}\p{Cf}\u2028\u2029\\/:*?"<>|]+/gu, "_").replace(/^\.+|[. ]+$/g, "").slice(0, 120);
  return safe === "" ? "attachment" : safe;
}
