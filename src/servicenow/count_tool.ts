/** The tool `servicenow_count`: how many records the person may see, all or by group. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import type { ServicenowRecords } from "./port.ts";
import { countNames } from "./argument_names_tool.ts";
import { conditionParameters, whereOf } from "./conditions_tool.ts";
import { callerOf, given, present, toFailureOutcome, toTextOutcome } from "./outcome_tool.ts";

const maxGroups = 50;

export function servicenowCountTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_count",
    title: "Count ServiceNow records",
    description: "Counts records that the user may see, all or by a field. words and where as in servicenow_search.",
    scopes: ["servicenow:read"],
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    aliases: countNames,
    input: z.object({
      table: z.string(),
      words: z.string().optional().meta({ written: "text" }),
      where: z.string().optional().meta({ written: "lines" }),
      group_by: z.string().optional().describe("Field"),
      ...conditionParameters,
    }),
    async run(input, context) {
      const request = {
        table: input.table,
        ...present({ words: given(input.words), where: whereOf(input), groupBy: given(input.group_by) }),
      };
      const counted = await servicenow.desk.count(request, callerOf(context));
      if (!counted.ok) return toFailureOutcome(servicenow, counted.error);
      const { table, understood, count, isWhole, instanceCount, groups } = counted.value;
      const what = understood.length === 0 ? "" : `, ${understood.join(", ")}`;
      const more = instanceCount === undefined || instanceCount === null
        ? "How many more is not known"
        : `ServiceNow counts ${instanceCount}, which may include records that the user may not see`;
      const shown = groups?.slice(0, maxGroups) ?? [];
      return toTextOutcome([
        `${table}: ${isWhole ? "" : "at least "}${count} that the user may see${what}`,
        ...shown.map(({ name, size }) => `${name.replace(/\s+/g, " ").slice(0, 100)}: ${size}`),
        ...(groups !== null && groups.length > maxGroups ? [`and ${groups.length - maxGroups} smaller groups`] : []),
        ...(isWhole ? [] : [`${more}. Narrow the conditions for an exact count.`]),
      ]);
    },
  });
}
