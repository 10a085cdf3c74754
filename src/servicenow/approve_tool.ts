/** The tool `servicenow_approve`: the person's own decision on what waits for it. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import type { ServicenowRecords } from "./port.ts";
import { approveNames } from "./argument_names_tool.ts";
import { answerWithReport } from "./change_lines_tool.ts";
import { callerOf, dryRunParameter, given } from "./outcome_tool.ts";

export function servicenowApproveTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_approve",
    title: "Approve or reject in ServiceNow",
    description:
      "Gives the user's own decision, or as a delegate. What waits: servicenow_search sysapproval_approver, approver=me, " +
      "state=Requested.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    aliases: approveNames,
    places: ["sysapproval_approver"],
    input: z.object({
      id: z.string().describe("Number of what is to be approved, or the approval's sys_id"),
      decision: z.enum(["approve", "reject"]),
      comment: z.string().optional().describe("Required to reject"),
      dry_run: dryRunParameter(),
    }),
    async run({ id, decision, comment, dry_run: dryRun }, context) {
      const request = { id, decision, comment: given(comment), dryRun };
      return await answerWithReport(servicenow, servicenow.desk.decide(request, callerOf(context)));
    },
  });
}
