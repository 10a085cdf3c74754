/** The tool `servicenow_get_record`: one record, for agents that see tools only. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import type { ServicenowRecords } from "../../servicenow/port.ts";
import {
  callerOf,
  contentWarning,
  fieldNames,
  idParameter,
  recordOutput,
  tableParameter,
  toFailureOutcome,
  toJsonOutcome,
  toRecordOutput,
} from "./outcome.ts";

export function servicenowGetRecordTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_get_record",
    title: "Read a ServiceNow record",
    description:
      "Reads an incident, change request, knowledge article or catalog item with the user's own ServiceNow " +
      `rights. ${contentWarning}`,
    scopes: ["servicenow:read"],
    annotations: { title: "Read a ServiceNow record", readOnlyHint: true, openWorldHint: true },
    input: z.object({
      table: tableParameter,
      id: idParameter,
      fields: z.string().optional()
        .describe("Names of the fields to answer with, separated by commas; all that the user may see when absent"),
    }),
    output: recordOutput,
    async run({ table, id, fields }, context) {
      const names = fieldNames(fields);
      const found = await servicenow.reader.read(
        table,
        id.trim(),
        callerOf(context),
        names === undefined ? {} : { fields: names },
      );
      if (!found.ok) return toFailureOutcome(servicenow, found.error);
      return toJsonOutcome(toRecordOutput(found.value));
    },
  });
}
