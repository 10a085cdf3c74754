/** The tool `servicenow_update`: changes fields of a record by labels: assigns, resolves, closes. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import type { ServicenowRecords } from "./port.ts";
import { updateNames } from "./argument_names_tool.ts";
import { answerWithReport } from "./change_lines_tool.ts";
import { callerOf, dryRunParameter, given, idParameter, optionalTable } from "./outcome_tool.ts";
import { valueParameters, valuesOf, valuesParameter } from "./values_tool.ts";

export function servicenowUpdateTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_update",
    title: "Update a ServiceNow record",
    description:
      "Changes fields of a record: assign, resolve, close, reopen, reschedule. Answers what ServiceNow took.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    aliases: updateNames,
    input: z.object({
      id: idParameter(),
      table: optionalTable(),
      values: valuesParameter.describe("As in servicenow_create"),
      if_version: z.string().optional().describe("Version that you read: refuses if it has changed since"),
      dry_run: dryRunParameter(),
      ...valueParameters,
    }),
    async run(input, context) {
      const values = valuesOf(input);
      if (!values.ok) return { ok: false, code: "servicenow_invalid_input", message: values.error };
      const { id, dry_run: dryRun } = input;
      const request = {
        id,
        table: given(input.table),
        values: values.value,
        ifVersion: input.if_version,
        dryRun,
      };
      return await answerWithReport(servicenow, servicenow.desk.update(request, callerOf(context)));
    },
  });
}
