/** The tool `servicenow_search`: records by words and conditions in people's words. */
import * as z from "zod";
import { callerOf, contentWarning, given, listOf, present, toFailureOutcome, toTextOutcome } from "./outcome_tool.ts";
import { clamped, defineTool, type Tool } from "../mcp/mod.ts";
import { maxSearchResults, type MeanTime, type ServicenowRecords } from "./port.ts";
import { countNames, searchNames } from "./argument_names_tool.ts";
import { listLines } from "./get_record_tool.ts";

// Conditions as parameters: lines in `where`, and columns that agents guess as parameters of their own.

const whereParameter: z.ZodOptional<z.ZodString> = z.string().optional().describe(
  "Conditions, one a line, in labels:\nstate=New|In Progress\nassigned_to=me\nassignment_group=my groups\n" +
    "opened_at>=last week\ncmdb_ci is empty\nshort_description contains vpn",
).meta({ written: "lines" });

const unlisted = (): z.ZodOptional<z.ZodString> => z.string().optional().meta({ unlisted: true, written: "text" });

/** Understood and not listed; each stands for a line of `where`. */
const conditionParameters = {
  number: unlisted(),
  state: unlisted(),
  priority: unlisted(),
  category: unlisted(),
  active: z.boolean().optional().meta({ unlisted: true }),
  assigned_to: unlisted(),
  assignment_group: unlisted(),
  caller: unlisted(),
  cmdb_ci: unlisted(),
  updated_after: unlisted(),
  updated_before: unlisted(),
};

type Conditions =
  & { readonly where?: string | undefined; readonly active?: boolean | undefined }
  & {
    readonly [Name in Exclude<keyof typeof conditionParameters, "active">]?: string | undefined;
  };

const comparedNames = (Object.keys(conditionParameters) as (keyof typeof conditionParameters)[])
  .filter((name) => name !== "active" && name !== "updated_after" && name !== "updated_before");

/** All conditions as lines. */
function whereOf(input: Conditions): string | undefined {
  const lines = given(input.where) === undefined ? [] : [input.where ?? ""];
  for (const name of comparedNames) {
    const value = given(input[name])?.replaceAll(/\s+/g, " ");
    if (value !== undefined) lines.push(`${name} = ${value}`);
  }
  if (input.active !== undefined) lines.push(`active = ${input.active}`);
  for (const [name, sign] of [["updated_after", ">="], ["updated_before", "<="]] as const) {
    const value = given(input[name])?.replaceAll(/\s+/g, " ");
    if (value !== undefined) lines.push(`sys_updated_on ${sign} ${value}`);
  }
  return lines.length === 0 ? undefined : lines.join("\n");
}

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
      limit: z.int().min(1).max(maxSearchResults).default(defaultLimit).meta(clamped),
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
      const { table, records, understood, cursor, total, hint } = page.value;
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
        ...(hint === undefined ? [] : [hint]),
        ...listLines(records),
        ...(cursor === null ? [] : [`There may be more: cursor=${cursor}`]),
      ]);
    },
  });
}

// The tool `servicenow_count`: how many records the person may see, all or by group.

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
      group_by: z.string().optional().describe('Field; a date with "by day", "by week"'),
      mean_time: z.string().optional().describe("Two dates: opened_at,resolved_at").meta({ written: "commas" }),
      ...conditionParameters,
    }),
    async run(input, context) {
      const request = {
        table: input.table,
        ...present({
          words: given(input.words),
          where: whereOf(input),
          groupBy: given(input.group_by),
          meanTime: listOf(input.mean_time),
        }),
      };
      const counted = await servicenow.desk.count(request, callerOf(context));
      if (!counted.ok) return toFailureOutcome(servicenow, counted.error);
      const { table, understood, count, isWhole, instanceCount, groups, mean } = counted.value;
      const asked = given(input.mean_time);
      const meanWords = (each: MeanTime | null): string =>
        asked === undefined
          ? ""
          : each === null
          ? "; no record has both dates"
          : `; mean ${each.hours.toFixed(1)} h of ${each.records} with both dates`;
      const what = understood.length === 0 ? "" : `, ${understood.join(", ")}`;
      const more = instanceCount === undefined || instanceCount === null
        ? "How many more is not known"
        : `ServiceNow counts ${instanceCount}, which may include records that the user may not see`;
      const shown = groups?.slice(0, maxGroups) ?? [];
      return toTextOutcome([
        `${table}: ${isWhole ? "" : "at least "}${count} that the user may see${what}${meanWords(mean)}`,
        ...shown.map(({ name, size, mean: own }) =>
          `${name.replace(/\s+/g, " ").slice(0, 100)}: ${size}${meanWords(own)}`
        ),
        ...(groups !== null && groups.length > maxGroups ? [`and ${groups.length - maxGroups} smaller groups`] : []),
        ...(isWhole ? [] : [`${more}. Narrow the conditions for an exact count.`]),
      ]);
    },
  });
}
