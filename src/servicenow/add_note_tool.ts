/** The tool `servicenow_add_note`: a work note for the team, or a reply to the caller. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import type { ServicenowRecords } from "./port.ts";
import { noteNames } from "./argument_names_tool.ts";
import { answerWithReport } from "./change_lines_tool.ts";
import { callerOf, dryRunParameter, given, idParameter, optionalTable } from "./outcome_tool.ts";

export function servicenowAddNoteTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_add_note",
    title: "Add a note to a ServiceNow record",
    description: "Writes into a record's journal, for good.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    aliases: noteNames,
    input: z.object({
      id: idParameter(),
      table: optionalTable(),
      audience: z.enum(["team", "caller"]).describe("caller: the customer reads it and is notified"),
      text: z.string(),
      dry_run: dryRunParameter(),
    }),
    async run({ id, table, audience, text, dry_run: dryRun }, context) {
      const request = { id, table: given(table), audience, text, dryRun };
      return await answerWithReport(servicenow, servicenow.desk.addNote(request, callerOf(context)));
    },
  });
}
