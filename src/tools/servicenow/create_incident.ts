/** The tool `servicenow_create_incident`: opens an incident for the user. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { maxTextCharacters, type ServicenowRecords } from "../../servicenow/port.ts";
import { callerOf, given, recordOutput, toFailureOutcome, toJsonOutcome, toRecordOutput } from "./outcome.ts";

const level = z.enum(["1", "2", "3"]).optional();

export function servicenowCreateIncidentTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_create_incident",
    title: "Open a ServiceNow incident",
    description: "Opens an incident with the user as its caller. Search first: an incident may be open already.",
    scopes: ["servicenow:write"],
    annotations: {
      title: "Open a ServiceNow incident",
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true,
    },
    input: z.object({
      short_description: z.string().min(1).max(160).describe("What is wrong, in one line"),
      description: z.string().max(maxTextCharacters).optional().describe("What is wrong, in full"),
      urgency: level.describe("1 (high), 2 (medium) or 3 (low)"),
      impact: level.describe("1 (high), 2 (medium) or 3 (low)"),
      category: z.string().max(100).optional().describe("Category as stored, such as hardware or software"),
    }),
    output: recordOutput,
    async run({ short_description: shortDescription, description, urgency, impact, category }, context) {
      const details = Object.entries({ description: given(description), urgency, impact, category: given(category) });
      const incident = {
        shortDescription,
        ...Object.fromEntries(details.filter(([, value]) => value !== undefined)),
      };
      const created = await servicenow.changes.createIncident(incident, callerOf(context));
      if (!created.ok) return toFailureOutcome(servicenow, created.error);
      return toJsonOutcome(toRecordOutput(created.value));
    },
  });
}
