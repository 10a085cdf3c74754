/** The tool `servicenow_add_comment`: a comment or work note in the user's name. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { maxTextCharacters, type ServicenowRecords } from "../../servicenow/port.ts";
import { callerOf, idParameter, toFailureOutcome } from "./outcome.ts";

export function servicenowAddCommentTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_add_comment",
    title: "Comment on a ServiceNow record",
    description: "Adds a comment or a work note to an incident or change request, in the user's name. " +
      "Others are notified, and it cannot be undone.",
    scopes: ["servicenow:write"],
    annotations: {
      title: "Comment on a ServiceNow record",
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true,
    },
    input: z.object({
      table: z.enum(["incident", "change_request"]).describe("Which kind of record"),
      id: idParameter,
      text: z.string().min(1).max(maxTextCharacters).describe("What to say"),
      kind: z.enum(["comments", "work_notes"]).default("comments")
        .describe("comments: the person who opened the record sees it; work_notes: only those who work on it"),
    }),
    output: z.object({
      sys_id: z.string(),
      self_link: z.string().describe("The record's web page"),
      confirmed: z.boolean().describe("Whether ServiceNow's answer shows the new entry"),
    }),
    async run({ table, id, text, kind }, context) {
      const comment = { field: kind, text };
      const added = await servicenow.changes.addComment(table, id.trim(), comment, callerOf(context));
      if (!added.ok) return toFailureOutcome(servicenow, added.error);
      const { sysId, selfLink, confirmed } = added.value;
      const said = confirmed
        ? `Added to ${selfLink}`
        : `ServiceNow took the request but does not show the entry: the user's rights may not allow ${kind}. ` +
          `See ${selfLink} before trying again.`;
      return {
        ok: true,
        content: [{ type: "text", text: said }],
        structuredContent: { sys_id: sysId, self_link: selfLink, confirmed },
      };
    },
  });
}
