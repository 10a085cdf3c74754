/** The tool `servicenow_get_record`: one record, its journal and related work. */
import * as z from "zod";
import type { JournalEntry, RecordView, RelatedRecords, ServicenowRecords, ShownRecord } from "./port.ts";
import { defineTool, type Tool } from "../mcp/mod.ts";
import { showName } from "../files/mod.ts";
import { recordNames } from "./argument_names_tool.ts";
import {
  answerWith,
  callerOf,
  contentWarning,
  given,
  idParameter,
  joinOutcomes,
  listedIds,
  listOf,
  maxListedRecords,
  optionalTable,
  tooManyRecords,
} from "./outcome_tool.ts";

// Records as lines of text. No value can pass for a line of ours: further lines of a value are indented.

/** Values in a list are for choosing; servicenow_get_record gives them whole. */
const maxListedCharacters = 200;
/** Of one value; a caller that asks for the field alone gets more. */
const maxValueCharacters = 4_000;
const maxEntryCharacters = 4_000;
const journals = /^(comments|work_notes|comments_and_work_notes)$/;
const titles = /^(.*\.)?short_description$|^name$|^title$/;

function cut(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters
    ? text
    : `${text.slice(0, maxCharacters).toWellFormed()}… (${text.length - maxCharacters} more characters)`;
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n  ");
}

/** Two lines: what it is called, and what tells it apart. */
export function listLines(records: readonly ShownRecord[]): readonly string[] {
  const names = records.map(({ name }) => name);
  return records.flatMap(({ table, name, namedBy, sysId, fields }) => {
    // A person's title is what they do, not what they are called.
    const title = table === "sys_user"
      ? ""
      : fields.find((field) => titles.test(field.name) && field.value !== name)?.value ?? "";
    const isUnique = names.filter((each) => each === name).length === 1;
    const others = fields.filter((field) =>
      field.value !== "" && field.value !== name && field.value !== title && !namedBy.includes(field.name)
    );
    const details = others.map((field) => `${field.name} ${oneLine(cut(field.value, maxListedCharacters))}`);
    return [
      oneLine(
        `${name}${isUnique || sysId === name ? "" : ` (sys_id ${sysId})`}${
          namedBy.length > 2 && title !== "" ? "," : ""
        } ${cut(title, maxListedCharacters)}`,
      ),
      ...(details.length === 0 ? [] : [`  ${details.join(" | ")}`]),
    ];
  });
}

/** A line for each field. */
export function fieldLines({ fields }: ShownRecord, maxCharacters = maxValueCharacters): readonly string[] {
  return fields.map(({ name, value }) => {
    const label = journals.test(name) && value !== ""
      ? `${name} (times as ServiceNow shows this user; include=journal: UTC)`
      : name;
    return `${label}: ${indented(cut(value, maxCharacters))}`;
  });
}

function journalLines(entries: readonly JournalEntry[]): readonly string[] {
  if (entries.length === 0) return ["journal: no entry that the user may see"];
  return [
    `journal, newest first:`,
    ...entries.map(({ audience, author, at, text }) => {
      const [kind, who] = audience === "caller" ? ["comment", ", seen by the caller"] : ["work note", ""];
      const head = author === null ? `${kind}s${who}, as ServiceNow shows them` : `${at} ${author} (${kind}${who})`;
      return `- ${head}: ${indented(cut(text, maxEntryCharacters))}`;
    }),
  ];
}

function answerLines(answers: NonNullable<RecordView["answers"]>): readonly string[] {
  if (answers === "hidden") return ["answers: ServiceNow keeps them from this user"];
  if (answers === "unavailable") return ["answers: could not be read now; try include=answers"];
  if (answers.answers.length === 0) return ["answers: none that the user may see"];
  return [
    `answers${answers.isCut ? " (the first; read each item by its number)" : ""}:`,
    ...answers.answers.map(({ item, label, value }) =>
      `- ${item === null ? "" : `${item} `}${oneLine(label)}: ${indented(cut(value, maxValueCharacters))}`
    ),
  ];
}

function relatedLines({ kind, records, isCut, note }: RelatedRecords): readonly string[] {
  const more = [...isCut ? ["the first"] : [], ...note === undefined ? [] : [note]].join("; ");
  const heading = more === "" ? kind : `${kind} (${more})`;
  if (kind === "history" && records.length === 0) return [`${kind}: ${note}`];
  if (records.length === 0) return [`${heading}: none that the user may see`];
  return [
    `${heading}:`,
    ...listLines(records).map((line) => `- ${line}`.replace(/^- {3}/, "    ")),
  ];
}

/** A value of a field that was asked for by name. */
const maxChosenCharacters = 20_000;
const fewFields = 5;

export function servicenowGetRecordTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_get_record",
    title: "Read a ServiceNow record",
    description: `Reads a record, or several by their numbers; ${contentWarning}.`,
    scopes: ["servicenow:read"],
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    aliases: recordNames,
    input: z.object({
      id: idParameter().describe("Number, link, or with table a name or sys_id; me is the user"),
      table: optionalTable(),
      fields: z.string().optional().describe("Field names, by commas; * for all").meta({ written: "commas" }),
      include: z.string().optional().describe(
        "By commas: journal, history, attachments, tasks, items, answers, approvals, ci (with relations), similar, slas, work, members, on_call",
      ).meta({ written: "commas" }),
    }),
    async run({ id, table, fields, include }, context) {
      const names = listOf(fields);
      const ids = listedIds(id);
      if (ids.length > maxListedRecords) return tooManyRecords;
      const request = { table: given(table), fields: names, include: listOf(include) ?? [] };
      const isChosen = names !== undefined && names.length <= fewFields && !names.includes("*");
      const lines = (view: RecordView) => viewLines(view, isChosen ? maxChosenCharacters : undefined);
      const [first, ...others] = await Promise.all(
        ids.map((each) =>
          answerWith(servicenow, servicenow.desk.get({ ...request, id: each }, callerOf(context)), lines)
        ),
      );
      return first === undefined || others.length === 0
        ? first ?? tooManyRecords
        : joinOutcomes(ids, [first, ...others]);
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
