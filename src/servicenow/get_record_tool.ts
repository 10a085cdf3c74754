/** The tool `servicenow_get_record`: one record, its journal and related work. */
import * as z from "zod";
import { defineTool, type Tool } from "../mcp/tool.ts";
import { showName } from "../files/workspace/file_display.ts";
import type { RecordView } from "./desk_port.ts";
import type { ServicenowRecords } from "./port.ts";
import { recordNames } from "./argument_names_tool.ts";
import { answerWith, callerOf, contentWarning, given, idParameter, listOf, optionalTable } from "./outcome_tool.ts";
import { answerLines, fieldLines, journalLines, relatedLines } from "./record_lines_tool.ts";

/** A value of a field that was asked for by name. */
const maxChosenCharacters = 20_000;
const fewFields = 5;

export function servicenowGetRecordTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_get_record",
    title: "Read a ServiceNow record",
    description: `Reads one record; ${contentWarning}.`,
    scopes: ["servicenow:read"],
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    aliases: recordNames,
    input: z.object({
      id: idParameter().describe("Number, link, or with table a name or sys_id; me is the user"),
      table: optionalTable(),
      fields: z.string().optional().describe("Field names, by commas; * for all").meta({ written: "commas" }),
      include: z.string().optional().describe(
        "By commas: journal, attachments, tasks, items, answers, approvals, ci (with relations), slas, work, members, on_call",
      ).meta({ written: "commas" }),
    }),
    async run({ id, table, fields, include }, context) {
      const names = listOf(fields);
      const request = { id, table: given(table), fields: names, include: listOf(include) ?? [] };
      const isChosen = names !== undefined && names.length <= fewFields && !names.includes("*");
      const lines = (view: RecordView) => viewLines(view, isChosen ? maxChosenCharacters : undefined);
      return await answerWith(servicenow, servicenow.desk.get(request, callerOf(context)), lines);
    },
  });
}

function viewLines(
  { record, version, journal, files, answers, related }: RecordView,
  maxCharacters: number | undefined,
): readonly string[] {
  return [
    `${record.name} (${record.table}${version === "" ? "" : `, version ${version}`}; ${contentWarning})`,
    record.link,
    ...fieldLines(record, maxCharacters),
    ...(journal === null ? [] : journalLines(journal)),
    ...(files === null ? [] : fileLines(files)),
    ...(answers === null ? [] : answerLines(answers)),
    ...related.flatMap(relatedLines),
  ];
}

function fileLines(files: NonNullable<RecordView["files"]>): readonly string[] {
  if (files.length === 0) return ["attachments: none"];
  const line = ({ fileName, sizeBytes, contentType }: typeof files[number]): string =>
    `- ${showName(fileName)} (${sizeBytes} bytes, ${contentType.slice(0, 60)})`;
  return ["attachments:", ...files.map(line)];
}
