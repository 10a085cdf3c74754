/** The tools that read from ServiceNow, and their answers as lines of text. */
import { counted } from "../lib/result.ts";
import * as z from "zod";
import { type CatalogItem, describeQuestion, readItem } from "./catalog_item.ts";
import { describeTable } from "./choices.ts";
import type { ServicenowRecords } from "./servicenow.ts";
import { searchWithOrders } from "./order.ts";
import { servicenowGetRecordTool } from "./get_record.ts";
import { countRecords, maxSearchResults, type RecordPage } from "./search.ts";
import { answerWith, contentWarning, listLines, nameText, reading, toTextOutcome, viewOf } from "./outcome_tool.ts";
import { given, listOf } from "./tables.ts";
import { clamped, defineTool, membersOf, otherNames, type Tool } from "../mcp/mod.ts";

/** What was counted. */
type RecordCount = Awaited<ReturnType<typeof countRecords>>;

/** The known fields of a table, as {@link describeTable} gives them. */
type TableDescription = Awaited<ReturnType<typeof describeTable>>;

const whereText = z.string({ error: "where must be lines such as state=New|On Hold, assigned_to is empty" });
const whereParameter: z.ZodOptional<z.ZodString> = whereText.optional().describe(
  "Conditions, one a line, in labels:\nstate=New|In Progress\nassigned_to=me\nassignment_group=my groups\n" +
    "opened_at>=last week\ncmdb_ci is empty\nshort_description contains vpn",
).meta({ written: "lines" });

/** Other names of what a search and a count take, and fields that callers give as parameters of their own. */
const foundNames = {
  ...otherNames({
    table: "table_name",
    words: "text query search keywords q",
    where: "filter filters conditions condition sysparm_query",
  }),
  ...membersOf(
    "where",
    "number state priority urgency impact category assigned_to assignment_group caller caller_id requested_for " +
      "opened_by cmdb_ci active sys_id",
  ),
  since: "where.sys_updated_on>",
  updated_after: "where.sys_updated_on>",
  updated_before: "where.sys_updated_on<",
  created_after: "where.sys_created_on>",
  created_before: "where.sys_created_on<",
};

const descending = { instead: 'name the field to descend by as order_by="-number"' };

function servicenowSearchTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_search",
    title: "Search ServiceNow",
    description:
      "Finds records with the user's own rights: incident, problem, change_request, change_task, sc_request, " +
      "sc_req_item, sc_task, task (all of these), sysapproval_approver, kb_knowledge, sc_cat_item, cmdb_ci, task_sla, " +
      "sys_user, sys_user_group…",
    hasView: true,
    ...reading,
    aliases: {
      ...foundNames,
      ...otherNames({
        fields: "columns field_names sysparm_fields",
        order_by: "sort sort_by sysparm_order_by",
        limit: "max_results max top page_size sysparm_limit",
        cursor: "offset sysparm_offset",
      }),
      ...{ order: descending, sort_order: descending },
    },
    input: z.object({
      table: nameText,
      words: z.string().optional().describe("Each has to occur, in any order").meta({ written: "text" }),
      where: whereParameter,
      fields: nameText.optional().describe("Field names, by commas").meta({ written: "commas" }),
      order_by: nameText.optional().describe('Field; "-field" descends').meta({ written: "commas" }),
      limit: z.int().min(1).max(maxSearchResults).default(10).meta(clamped),
      cursor: nameText.optional().describe("From the page before").meta({ written: "text" }),
    }),
    async run(input, context) {
      const search = {
        table: input.table,
        limit: input.limit,
        words: given(input.words),
        where: given(input.where),
        fields: listOf(input.fields),
        orderBy: given(input.order_by),
        cursor: given(input.cursor),
      };
      const isFirst = Number(search.cursor ?? "") === 0;
      return await answerWith({ servicenow, context }, searchWithOrders, search, (page) => ({
        ...toTextOutcome(pageLines(page, isFirst)),
        view: viewOf(page.records),
      }));
    },
  });
}

function pageLines({ table, records, understood, cursor, total }: RecordPage, isFirst: boolean): readonly string[] {
  const moved = isFirst ? [] : ["what changed since the page before may be missing or come twice"];
  const what = [...understood, ...moved].map((each) => `, ${each}`).join("");
  const shown = `${isFirst ? "the first" : "further"} ${records.length}`;
  const ofTotal = total === null || total <= records.length ? "" : ` of ${total} that ServiceNow counts`;
  const count = isFirst && cursor === null ? `${records.length}` : `${shown}${ofTotal}`;
  const none = `${table}: ${isFirst ? "none" : "no further ones"} that the user may see${what}`;
  const more = cursor === null ? [] : [`There may be more: cursor=${cursor}`];
  if (records.length === 0) return [none, ...more];
  return [`${table}: ${count}${what} (${contentWarning})`, ...listLines(records), ...more];
}

const maxGroups = 50;

/** `servicenow_count`: how many records the person may see, all or by group. */
function servicenowCountTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_count",
    title: "Count ServiceNow records",
    description: "Counts records that the user may see, all or by a field. words and where as in servicenow_search.",
    ...reading,
    aliases: { ...foundNames, ...otherNames({ group_by: "by group sysparm_group_by" }) },
    input: z.object({
      table: nameText,
      words: z.string().optional().meta({ written: "text" }),
      where: whereText.optional().meta({ written: "lines" }),
      group_by: nameText.optional().describe('Field; a date with "by day", "by week"')
        .meta({ written: "commas" }),
      mean_time: nameText.optional().describe("Two dates: opened_at,resolved_at").meta({ written: "commas" }),
    }),
    async run(input, context) {
      const request = {
        table: input.table,
        words: given(input.words),
        where: given(input.where),
        groupBy: given(input.group_by),
        meanTime: listOf(input.mean_time),
      };
      return await answerWith({ servicenow, context }, countRecords, request, countLines);
    },
  });
}

function countLines(
  { table, understood, count, isWhole, instanceCount, groups = [], isDated, hasMean, mean }: RecordCount,
) {
  const meanWords = (each: RecordCount["mean"]): string => {
    if (!hasMean) return "";
    if (each === null) return "; no record has both dates";
    const turned = each.hours < 0 ? " (the first date is the later one)" : "";
    return `; mean ${each.hours.toFixed(1)} h of ${each.records} with both dates${turned}`;
  };
  const what = understood.length === 0 ? "" : `, ${understood.join(", ")}`;
  const more = instanceCount === null
    ? "How many more is not known"
    : `ServiceNow counts ${instanceCount}, which may include records that the user may not see`;
  const left = groups.length - maxGroups;
  return [
    `${table}: ${isWhole ? "" : "at least "}${count} that the user may see${what}${meanWords(mean)}`,
    ...(isDated ? groups.slice(-maxGroups) : groups.slice(0, maxGroups)).map(({ name, size, mean: own }) =>
      `${name.replace(/\s+/g, " ").slice(0, 100)}: ${size}${meanWords(own)}`
    ),
    ...(left > 0 ? [`and ${counted(left, isDated ? "earlier group" : "smaller group")}`] : []),
    ...(isWhole ? [] : [`${more}. Narrow the conditions for an exact count.`]),
  ];
}

/** `servicenow_describe`: a table's fields and their values, or a catalog item's questions. */
function servicenowDescribeTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_describe",
    title: "Describe a ServiceNow table",
    description:
      "Fields of a table: true names, types, choices, mandatory ones. Without table: which tables there are.",
    ...reading,
    aliases: otherNames({ table: "table_name", field: "column columns fields", item: "item_name catalog_item" }),
    input: z.object({
      table: nameText.optional(),
      field: nameText.optional().describe("This field alone, with all choices").meta({ written: "commas" }),
      item: nameText.optional().describe("Name, sys_id or link of a catalog item"),
    }),
    async run({ table, field, item }, context) {
      const asked = given(item);
      if (asked !== undefined) return await answerWith({ servicenow, context }, readItem, asked, itemLines);
      const named = given(table);
      if (named === undefined) {
        const people = "to look up: sys_user, sys_user_group, sys_user_grmember";
        return toTextOutcome([`Tables: ${servicenow.tables.join(", ")}; ${people}`]);
      }
      const request = { table: named, field: given(field) };
      return await answerWith({ servicenow, context }, describeTable, request, tableLines);
    },
  });
}

function tableLines({ table, writable, source, fields, fieldsLeft, next }: TableDescription): readonly string[] {
  return [
    `${table}${writable ? "" : " (read only here)"}: name (label) type`,
    ...(source === "records"
      ? ["ServiceNow does not show this user its dictionary: types and mandatory fields are guessed."]
      : []),
    ...fields.map(fieldLine),
    ...(fieldsLeft > 0 ? [`and ${counted(fieldsLeft, "more field")}`] : []),
    ...next,
  ];
}

function fieldLine(
  { name, label, type, reference, mandatory, readOnly, choices, choicesLeft }: TableDescription["fields"][number],
): string {
  const labelled = label.toLowerCase().replaceAll(" ", "_") === name ? name : `${name} (${label})`;
  const values = choices.map((choice) =>
    choice.label.toLowerCase() === choice.value.toLowerCase() ? choice.label : `${choice.label}=${choice.value}`
  );
  return [
    labelled,
    reference === null ? type : `→ ${reference}`,
    ...(mandatory ? ["mandatory"] : []),
    ...(readOnly ? ["read only"] : []),
    ...(values.length === 0 ? [] : [`[${values.join(", ")}${choicesLeft > 0 ? `, ${choicesLeft} more` : ""}]`]),
  ].join(" ");
}

function itemLines({ name, about, price, isProducer, questions }: CatalogItem): readonly string[] {
  const kind = isProducer ? "record producer" : price;
  return [
    `${[name, about].join(": ").replace(/\s+/g, " ")}${kind === "" ? "" : ` (${kind})`}`,
    ...(questions.length === 0 ? ["It asks nothing."] : questions.map(describeQuestion)),
  ];
}

/** The tools that read records and tables. */
export function readTools(servicenow: ServicenowRecords): readonly Tool[] {
  return [servicenowSearchTool, servicenowCountTool, servicenowGetRecordTool, servicenowDescribeTool]
    .map((make) => make(servicenow));
}
