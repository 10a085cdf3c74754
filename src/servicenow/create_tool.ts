/** The tool `servicenow_create`: a new record by labels. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import type { ServicenowRecords } from "./port.ts";
import { createNames } from "./argument_names_tool.ts";
import { reportLines } from "./change_lines_tool.ts";
import { answerWith, callerOf, dryRunParameter, given } from "./outcome_tool.ts";
import { valueParameters, valuesOf, valuesParameter } from "./values_tool.ts";

export function servicenowCreateTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_create",
    title: "Create a ServiceNow record",
    description:
      "Creates a record in the user's name. Search first: it may be there already. Catalog: servicenow_order.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    aliases: createNames,
    input: z.object({
      table: z.string(),
      values: valuesParameter,
      from: z.string().optional().describe("Number of the record it comes from: copies its texts and links both"),
      dry_run: dryRunParameter(),
      ...valueParameters,
    }),
    async run(input, context) {
      const values = valuesOf(input, given(input.from) !== undefined);
      if (!values.ok) return { ok: false, code: "servicenow_invalid_input", message: values.error };
      const request = { table: input.table, values: values.value, from: given(input.from), dryRun: input.dry_run };
      return await answerWith(servicenow, servicenow.desk.create(request, callerOf(context)), reportLines);
    },
  });
}
