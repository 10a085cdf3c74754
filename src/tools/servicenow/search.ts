/** The tool `servicenow_search`: records by named filters. Encoded queries are built here, never accepted from callers. */
import * as z from "zod";
import { defineTool, type Tool } from "../../mcp/tool.ts";
import { maxSearchResults, type SearchRequest, type ServicenowRecords } from "../../servicenow/port.ts";
import type { FilterName } from "../../servicenow/tables.ts";
import {
  callerOf,
  contentWarning,
  fieldNames,
  fieldsParameter,
  given,
  recordOutput,
  tableParameter,
  toFailureOutcome,
  toJsonOutcome,
  toRecordOutput,
} from "./outcome.ts";

const defaultLimit = 10;
const maxOffset = 100_000;
/** Values in a list are for choosing; servicenow_get_record gives them whole. */
const maxListedCharacters = 2_000;

const filterParameters = {
  number: z.string().optional().describe("Record number, such as INC0010001"),
  state: z.string().optional().describe("State as stored, such as 2; for articles a word such as published"),
  priority: z.string().optional().describe("Priority as stored: 1 (critical) to 5 (planning)"),
  category: z.string().optional().describe("Category as stored; for articles and catalog items its sys_id"),
  active: z.boolean().optional().describe("Only active records, or only inactive ones"),
  assigned_to: z.string().optional().describe("Who works on it: me, a user name, a full name or a sys_id"),
  assignment_group: z.string().optional().describe("Which group works on it: its name or sys_id"),
  caller: z.string().optional().describe("Who opened, requested or wrote it: me, a user name, a full name or a sys_id"),
} satisfies Record<FilterName, z.ZodType>;

export function servicenowSearchTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_search",
    title: "Search ServiceNow",
    description: "Searches incidents, change requests, knowledge articles or catalog items with the user's own " +
      `ServiceNow rights; all filters must match. ${contentWarning}`,
    scopes: ["servicenow:read"],
    annotations: { title: "Search ServiceNow", readOnlyHint: true, openWorldHint: true },
    input: z.object({
      table: tableParameter,
      text: z.string().optional().describe("Words that the title or description contains"),
      ...filterParameters,
      updated_after: z.string().optional().describe("Date such as 2026-03-01 or 2026-03-01 08:00:00"),
      updated_before: z.string().optional().describe("Date such as 2026-03-01 or 2026-03-01 08:00:00"),
      order_by: z.string().optional().describe("Field to order by; sys_updated_on when absent"),
      descending: z.boolean().default(true).describe("Highest or newest first"),
      fields: fieldsParameter,
      limit: z.int().min(1).max(maxSearchResults).default(defaultLimit)
        .describe("At most this many records"),
      offset: z.int().min(0).max(maxOffset).default(0).describe("Records to skip: the next_offset of the page before"),
    }),
    output: z.object({
      table: z.string(),
      records: z.array(recordOutput),
      total: z.int().nullable().describe("Matching records, including those that the user may not see"),
      next_offset: z.int().nullable().describe("Where the next page starts, or null on the last one"),
    }),
    async run(input, context) {
      const request = toSearchRequest(input);
      const page = await servicenow.search(input.table, request, callerOf(context));
      if (!page.ok) return toFailureOutcome(servicenow, page.error);
      const { records, total, nextOffset } = page.value;
      return toJsonOutcome({
        table: input.table,
        records: records.map((record) => toRecordOutput(record, maxListedCharacters)),
        total,
        next_offset: nextOffset,
      });
    },
  });
}

interface SearchInput {
  readonly text?: string | undefined;
  readonly active?: boolean | undefined;
  readonly updated_after?: string | undefined;
  readonly updated_before?: string | undefined;
  readonly order_by?: string | undefined;
  readonly descending: boolean;
  readonly fields?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

function toSearchRequest(
  input: SearchInput & { readonly [Name in Exclude<FilterName, "active">]?: string | undefined },
): SearchRequest {
  const { active, descending, limit, offset } = input;
  const filters: Partial<Record<FilterName, string>> = active === undefined ? {} : { active: String(active) };
  for (
    const name of ["number", "state", "priority", "category", "assigned_to", "assignment_group", "caller"] as const
  ) {
    const value = given(input[name]);
    if (value !== undefined) filters[name] = value;
  }
  const text = given(input.text);
  const updatedAfter = given(input.updated_after);
  const updatedBefore = given(input.updated_before);
  const orderBy = given(input.order_by);
  const fields = fieldNames(input.fields);
  return {
    filters,
    descending,
    limit,
    offset,
    ...(text === undefined ? {} : { text }),
    ...(updatedAfter === undefined ? {} : { updatedAfter }),
    ...(updatedBefore === undefined ? {} : { updatedBefore }),
    ...(orderBy === undefined ? {} : { orderBy }),
    ...(fields === undefined ? {} : { fields }),
  };
}
