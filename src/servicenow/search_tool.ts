/** The tool `servicenow_search`: records by words and conditions in people's words. Encoded queries are never accepted. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import { maxSearchResults } from "./desk_port.ts";
import type { ServicenowRecords } from "./port.ts";
import { searchNames } from "./argument_names_tool.ts";
import { conditionParameters, whereOf, whereParameter } from "./conditions_tool.ts";
import { callerOf, contentWarning, given, listOf, present, toFailureOutcome, toTextOutcome } from "./outcome_tool.ts";
import { listLines } from "./record_lines_tool.ts";

const defaultLimit = 10;

export function servicenowSearchTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_search",
    title: "Search ServiceNow",
    description:
      "Finds records with the user's own rights: incident, problem, change_request, change_task, sc_request, " +
      "sc_req_item, sc_task, task (all of these), sysapproval_approver, kb_knowledge, sc_cat_item, cmdb_ci, task_sla, " +
      "sys_user, sys_user_group…",
    scopes: ["servicenow:read"],
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    aliases: searchNames,
    input: z.object({
      table: z.string(),
      words: z.string().optional().describe("Each has to occur, in any order").meta({ written: "text" }),
      where: whereParameter,
      fields: z.string().optional().describe("Field names, by commas").meta({ written: "commas" }),
      order_by: z.string().optional().describe('Field; "-field" descends'),
      limit: z.int().min(1).max(1_000_000).default(defaultLimit).meta({ maximum: maxSearchResults }),
      cursor: z.string().optional().describe("From the page before"),
      ...conditionParameters,
      offset: z.int().min(0).max(1_000_000).optional().meta({ unlisted: true }),
      descending: z.boolean().optional().meta({ unlisted: true }),
    }),
    async run(input, context) {
      const { limit, offset, descending } = input;
      const order = given(input.order_by);
      const search = {
        table: input.table,
        limit,
        ...present({
          words: given(input.words),
          where: whereOf(input),
          fields: listOf(input.fields),
          orderBy: order === undefined || descending !== true ? order : `-${order}`,
          cursor: given(input.cursor) ?? (offset === undefined ? undefined : String(offset)),
        }),
      };
      const page = await servicenow.desk.search(search, callerOf(context));
      if (!page.ok) return toFailureOutcome(servicenow, page.error);
      const { table, records, understood, cursor, total } = page.value;
      const what = understood.length === 0 ? "" : `, ${understood.join(", ")}`;
      const ofTotal = total === null || total <= records.length ? "" : ` of ${total} that ServiceNow counts`;
      const part = given(input.cursor) === undefined ? "the first " : "further ";
      const count = records.length === 0
        ? "none that the user may see"
        : cursor === null
        ? `${records.length}`
        : `${part}${records.length}${ofTotal}`;
      return toTextOutcome([
        `${table}: ${count}${what}${records.length === 0 ? "" : ` (${contentWarning})`}`,
        ...listLines(records),
        ...(cursor === null ? [] : [
          `There may be more: cursor=${cursor}${
            limit > maxSearchResults ? ` (limit is at most ${maxSearchResults})` : ""
          }`,
        ]),
      ]);
    },
  });
}
