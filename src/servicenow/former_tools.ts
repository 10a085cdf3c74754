/** Tools by the names that they had: not listed any more, and understood for agents that were set up with them. */
import * as z from "zod";
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from "../mcp/mod.ts";
import type { ServicenowRecords } from "./port.ts";
import { showName } from "../files/mod.ts";
import { reportLines } from "./write_tools.ts";
import { type AttachmentFiles, saveAttachment } from "./attach_tool.ts";
import { answerWith, callerOf, given, toFailureOutcome } from "./outcome_tool.ts";
import { fieldLines } from "./read_tools.ts";

const text = (): z.ZodOptional<z.ZodString> => z.string().optional();

export function formerReadingTools(servicenow: ServicenowRecords, files: AttachmentFiles): readonly Tool[] {
  const reading = {
    scopes: ["servicenow:read"],
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    unlisted: true,
  };
  return [
    defineTool({
      ...reading,
      name: "servicenow_my_profile",
      successor: "servicenow_get_record",
      places: ["sys_user"],
      title: "Read my ServiceNow profile",
      description: "Now servicenow_get_record with id=me.",
      input: z.object({}),
      async run(_input, context) {
        return await answerWith(
          servicenow,
          servicenow.desk.get({ id: "me" }, callerOf(context)),
          ({ record }) => [record.name, ...fieldLines(record)],
        );
      },
    }),
    defineTool({
      ...reading,
      name: "servicenow_list_attachments",
      successor: "servicenow_get_record",
      title: "List attachments of a ServiceNow record",
      description: "Now servicenow_get_record with include=attachments.",
      input: z.object({ table: z.string(), id: z.string() }),
      async run({ table, id }, context) {
        const request = { id, table, fields: [], include: ["attachments"] };
        return await answerWith(
          servicenow,
          servicenow.desk.get(request, callerOf(context)),
          ({ files }) =>
            files === null || files.length === 0
              ? ["No attachments"]
              : files.map(({ sysId, fileName, sizeBytes }) =>
                `${showName(fileName)}: ${sizeBytes} bytes, attachment_id ${sysId}`
              ),
        );
      },
    }),
    defineTool({
      ...reading,
      name: "servicenow_save_attachment",
      successor: "servicenow_fetch_attachment",
      places: [""],
      title: "Save a ServiceNow attachment",
      description: "Now servicenow_fetch_attachment.",
      scopes: ["servicenow:read", "files:write"],
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      input: z.object({ attachment_id: z.string(), filename: text() }),
      async run({ attachment_id: id, filename }, context) {
        const fetched = await servicenow.desk.fetchFileById(id.trim(), callerOf(context));
        return fetched.ok
          ? await saveAttachment({ servicenow, files }, fetched.value, given(filename), context)
          : toFailureOutcome(servicenow, fetched.error);
      },
    }),
  ];
}

export function formerWritingTools(
  servicenow: ServicenowRecords,
  { create, attach }: { readonly create: Tool; readonly attach: Tool },
): readonly Tool[] {
  const writing = {
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    unlisted: true,
  };
  return [
    defineTool({
      ...writing,
      name: "servicenow_add_comment",
      successor: "servicenow_add_note",
      title: "Comment on a ServiceNow record",
      description: "Now servicenow_add_note.",
      input: z.object({
        table: text(),
        id: z.string(),
        text: z.string(),
        // It once was the customer's by default.
        kind: z.enum(["comments", "work_notes"]).default("work_notes"),
      }),
      async run({ table, id, text: note, kind }, context) {
        const audience = kind === "comments" ? "caller" : "team";
        const request = { id, table: given(table), audience, text: note, dryRun: false } as const;
        return await answerWith(servicenow, servicenow.desk.addNote(request, callerOf(context)), reportLines);
      },
    }),
    defineTool({
      ...writing,
      name: "servicenow_create_incident",
      successor: "servicenow_create",
      places: ["incident"],
      title: "Open a ServiceNow incident",
      description: "Now servicenow_create with table=incident.",
      input: z.object({
        short_description: z.string(),
        description: text(),
        urgency: text(),
        impact: text(),
        category: text(),
      }),
      run: (input, context) => runAs(create, { table: "incident", ...input, dry_run: false }, context),
    }),
    defineTool({
      ...writing,
      name: "servicenow_add_attachment",
      successor: "servicenow_attach",
      title: "Attach a file to a ServiceNow record",
      description: "Now servicenow_attach.",
      scopes: attach.scopes,
      input: z.object({ table: text(), id: z.string(), filename: z.string() }),
      run: (input, context) => runAs(attach, { ...input, dry_run: false }, context),
    }),
  ];
}

function runAs(tool: Tool, input: object, context: ToolContext): ToolOutcome | Promise<ToolOutcome> {
  return tool.run(input as never, context);
}
