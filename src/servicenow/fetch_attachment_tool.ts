/** The tool `servicenow_fetch_attachment`: a record's file into the workspace. */
import * as z from "zod";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../mcp/tool.ts";
import type { AttachmentContent } from "./desk_port.ts";
import type { ServicenowRecords } from "./port.ts";
import { showName } from "../files/workspace/file_display.ts";
import { fileNames } from "./argument_names_tool.ts";
import type { AttachmentFiles } from "./files_tool.ts";
import { callerOf, given, idParameter, optionalTable, toFailureOutcome, toTextOutcome } from "./outcome_tool.ts";

export function servicenowFetchAttachmentTool(servicenow: ServicenowRecords, files: AttachmentFiles): Tool {
  return defineTool({
    name: "servicenow_fetch_attachment",
    title: "Save a ServiceNow attachment",
    description: "Saves a record's file to the workspace. Replaces a file that filename names.",
    scopes: ["servicenow:read", "files:write"],
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    aliases: fileNames,
    input: z.object({
      id: idParameter(),
      table: optionalTable(),
      name: z.string().optional().describe("Of the attachment, where there are several"),
      filename: z.string().optional().describe("Where to save it; a new file when absent"),
    }),
    async run({ id, table, name, filename }, context) {
      const fetched = await servicenow.desk.fetchFile(
        { id, table: given(table), name: given(name) },
        callerOf(context),
      );
      if (!fetched.ok) return toFailureOutcome(servicenow, fetched.error);
      return await saveAttachment({ servicenow, files }, fetched.value, given(filename), context);
    },
  });
}

/** A file by a name that the caller did not choose replaces nothing. */
export async function saveAttachment(
  { servicenow, files }: { readonly servicenow: ServicenowRecords; readonly files: AttachmentFiles },
  { pieces, fileName, cancel, failureOf }: AttachmentContent,
  chosen: string | undefined,
  context: ToolContext,
): Promise<ToolOutcome> {
  try {
    const saved = chosen === undefined
      ? await files.create(fileName, pieces, context)
      : await files.write(chosen, pieces, context);
    return saved.ok
      ? toTextOutcome([`Saved ${showName(saved.value.name)} (${saved.value.sizeBytes} bytes)`])
      : { ok: false, ...saved.error };
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return toFailureOutcome(servicenow, failure);
  } finally {
    await cancel();
  }
}
