/** The tool `servicenow_describe`: a table's fields and their values, or a catalog item's questions. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/mod.ts";
import type { CatalogItem, DescribedField, ItemQuestion, ServicenowRecords, TableDescription } from "./port.ts";
import { usualMoves } from "./choices.ts";
import { describeNames } from "./argument_names_tool.ts";
import { answerWith, callerOf, given, toTextOutcome } from "./outcome_tool.ts";

export function servicenowDescribeTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_describe",
    title: "Describe a ServiceNow table",
    description:
      "Fields of a table: true names, types, choices, mandatory ones. Without table: which tables there are.",
    scopes: ["servicenow:read"],
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    aliases: describeNames,
    input: z.object({
      table: z.string().optional(),
      field: z.string().optional().describe("This field alone, with all choices"),
      item: z.string().optional().describe("Name, sys_id or link of a catalog item"),
    }),
    async run({ table, field, item }, context) {
      const asked = given(item);
      if (asked !== undefined) {
        return await answerWith(servicenow, servicenow.desk.describeItem(asked, callerOf(context)), itemLines);
      }
      const named = given(table);
      if (named === undefined) {
        const people = "to look up: sys_user, sys_user_group, sys_user_grmember";
        return toTextOutcome([`Tables: ${servicenow.desk.tables.join(", ")}; ${people}`]);
      }
      return await answerWith(
        servicenow,
        servicenow.desk.describe({ table: named, field: given(field) }, callerOf(context)),
        tableLines,
      );
    },
  });
}

function tableLines({ table, writable, source, fields, fieldsLeft }: TableDescription): readonly string[] {
  const moves = fields.length === 1 && fields[0]?.name === "state" ? usualMoves(table) : [];
  return [
    `${table}${writable ? "" : " (read only here)"}: name (label) type`,
    ...(source === "records"
      ? ["ServiceNow does not show this user its dictionary: types and mandatory fields are guessed."]
      : []),
    ...fields.map(fieldLine),
    ...(fieldsLeft > 0 ? [`and ${fieldsLeft} more fields`] : []),
    ...(moves.length === 0 ? [] : ["usual moves of the base system; this instance may have others:", ...moves]),
  ];
}

function fieldLine(
  { name, label, type, reference, mandatory, readOnly, choices, choicesLeft }: DescribedField,
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
    ...(questions.length === 0 ? ["It asks nothing."] : questions.map(questionLine)),
  ];
}

function questionLine({ name, label, kind, mandatory, reference, choices, initial }: ItemQuestion): string {
  const values = choices.map((choice) => choice.label).join(", ");
  return [
    `${name} (${label})`,
    reference === null ? kind : `→ ${reference}`,
    ...(mandatory ? ["mandatory"] : []),
    ...(values === "" ? [] : [`[${values}]`]),
    ...(initial === "" || kind === "masked" ? [] : [`default ${initial}`]),
  ].join(" ").replace(/\s+/g, " ");
}
