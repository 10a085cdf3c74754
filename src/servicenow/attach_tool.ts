/** The tool `servicenow_attach`: a workspace file onto a record. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import type { ServicenowRecords } from "./port.ts";
import { showName } from "../files/workspace/file_display.ts";
import { fileNames } from "./argument_names_tool.ts";
import type { AttachmentFiles } from "./files_tool.ts";
import { callerOf, dryRunParameter, given, idParameter, optionalTable, toFailureOutcome, toTextOutcome } from "./outcome_tool.ts";

const contentTypes: ReadonlyMap<string, string> = new Map(Object.entries({
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
}));

export function servicenowAttachTool(servicenow: ServicenowRecords, files: AttachmentFiles): Tool {
  return defineTool({
    name: "servicenow_attach",
    title: "Attach a file to a ServiceNow record",
    description: "Attaches a workspace file. Everyone who sees the record can read it.",
    scopes: ["servicenow:write", "files:read"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    aliases: fileNames,
    input: z.object({
      id: idParameter(),
      table: optionalTable(),
      filename: z.string().describe("Path in the workspace"),
      dry_run: dryRunParameter(),
    }),
    async run({ id, table, filename, dry_run: dryRun }, context) {
      const bytes = await files.read(filename, context.principal);
      if (!bytes.ok) return { ok: false, ...bytes.error };
      const fileName = filename.slice(filename.lastIndexOf("/") + 1);
      const extension = /\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? "";
      const contentType = contentTypes.get(extension) ?? "application/octet-stream";
      const file = { fileName, contentType, bytes: bytes.value };
      const attached = await servicenow.desk.attach({ id, table: given(table), file, dryRun }, callerOf(context));
      if (!attached.ok) return toFailureOutcome(servicenow, attached.error);
      const { record, file: added } = attached.value;
      return toTextOutcome([
        added === null
          ? `Dry run, nothing sent. ${record} would get ${showName(fileName)} (${bytes.value.byteLength} bytes)`
          : `Attached ${showName(added.fileName)} (${added.sizeBytes} bytes) to ${record}`,
      ]);
    },
  });
}
