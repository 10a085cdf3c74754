/** The tool `servicenow_create`: a new record by labels. */
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import { defineTool, type Tool, type ToolOutcome } from "../mcp/mod.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { ChangeReport, FieldChange, ServicenowRecords } from "./port.ts";
import {
  answerWith,
  callerOf,
  dryRunParameter,
  given,
  idParameter,
  joinOutcomes,
  listedIds,
  maxListedRecords,
  optionalTable,
  toFailureOutcome,
  tooManyRecords,
  toTextOutcome,
} from "./outcome_tool.ts";
import { createNames, noteNames, updateNames } from "./argument_names_tool.ts";

// What became of a change, as lines of text.

function changeLine({ name, before, after }: FieldChange): string {
  const now = after === "" ? "(empty)" : after;
  if (before === after && before !== "") return `${name}: ${now} (unchanged)`.replaceAll("\n", "\n  ");
  return `${name}: ${before === "" ? "" : `${before} → `}${now}`.replaceAll("\n", "\n  ");
}

function notTakenLine({ name, wanted, now, isUnknown }: ChangeReport["notTaken"][number]): string {
  const shown = now === null
    ? "ServiceNow does not show the field to this user"
    : `it is ${now === "" ? "empty" : now}`;
  return isUnknown
    ? `NOT known whether taken: ${name} ${wanted}; ${shown}`
    : `NOT taken: ${name} ${wanted}; ${shown}. The user's rights or a rule of the instance decided so.`;
}

export function reportLines(report: ChangeReport): readonly string[] {
  const { dryRun, table, name, link, changes, notTaken, alsoChanged, notes, version } = report;
  const isUnknown = notTaken.every(({ isUnknown: each }) => each);
  const refusal = isUnknown
    ? ": it is NOT known whether everything was taken"
    : changes.length === 0
    ? ": NOTHING was taken"
    : ": NOT everything was taken";
  const heading = dryRun
    ? `Dry run, nothing sent. ${name === null ? `A new ${table}` : name} would get:`
    : `${name} (${table}${version === null || version === "" ? "" : `, version ${version}`})${
      notTaken.length === 0 ? "" : refusal
    }`;
  return [
    heading,
    ...(link === null || dryRun ? [] : [link]),
    ...changes.map(changeLine),
    ...notTaken.map((each) => notTakenLine(each).replaceAll("\n", "\n  ")),
    ...(alsoChanged.length === 0 ? [] : [`ServiceNow ${changes.length + notTaken.length > 0 ? "also " : ""}set:`]),
    ...alsoChanged.map(changeLine),
    ...notes,
  ];
}

/** The lines of a change to a record; one of which the instance took nothing is a failure. */
export async function answerWithReport(
  servicenow: ServicenowRecords,
  answer: Promise<Result<ChangeReport, ServicenowFailure>>,
): Promise<ToolOutcome> {
  const made = await answer;
  if (!made.ok) return toFailureOutcome(servicenow, made.error);
  const { dryRun, changes, notTaken } = made.value;
  const lines = reportLines(made.value);
  return !dryRun && changes.length === 0 && notTaken.some((each) => !each.isUnknown)
    ? { ok: false, code: "servicenow_not_taken", message: lines.join("\n") }
    : toTextOutcome(lines, made.value.madeFrom);
}

// Values of fields as parameters: lines in `values`, and fields that agents guess as parameters of their own.

const valuesParameter: z.ZodOptional<z.ZodString> = z.string().optional().describe(
  'JSON object, in labels: {"state": "Resolved", "assigned_to": "ada"}; or name=value lines, a text last',
).meta({ written: "values" });

const unlisted = (): z.ZodOptional<z.ZodString> => z.string().optional().meta({ unlisted: true, written: "text" });

/** Understood and not listed; each stands for one of `values`. */
const valueParameters = {
  short_description: unlisted(),
  description: unlisted(),
  urgency: unlisted(),
  impact: unlisted(),
  category: unlisted(),
  state: unlisted(),
  priority: unlisted(),
  assigned_to: unlisted(),
  assignment_group: unlisted(),
  close_code: unlisted(),
  close_notes: unlisted(),
};

type Values =
  & { readonly values?: string | undefined }
  & {
    readonly [Name in keyof typeof valueParameters]?: string | undefined;
  };

/** All values as one text. */
function valuesOf(input: Values, mayBeEmpty = false): Result<string, string> {
  const own = Object.keys(valueParameters) as (keyof typeof valueParameters)[];
  const entries = own.flatMap((name) => given(input[name]) === undefined ? [] : [[name, input[name]] as const]);
  const text = given(input.values) ?? "";
  if (entries.length === 0) return text === "" && !mayBeEmpty ? failure("values parameter is required") : success(text);
  if (text === "") return success(JSON.stringify(Object.fromEntries(entries)));
  return failure(`give ${entries.map(([name]) => name).join(", ")} in values too`);
}

export function servicenowCreateTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_create",
    title: "Create a ServiceNow record",
    description:
      "Creates a record in the user's name. Search first: it may be there already. Catalog: servicenow_order.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    aliases: createNames,
    input: z.object({
      table: z.string(),
      values: valuesParameter,
      from: z.string().optional().describe("Number of the record it comes from: copies its texts and links both"),
      dry_run: dryRunParameter(),
      ...valueParameters,
    }),
    async run(input, context) {
      const values = valuesOf(input, given(input.from) !== undefined);
      if (!values.ok) return { ok: false, code: "servicenow_invalid_input", message: values.error };
      const request = { table: input.table, values: values.value, from: given(input.from), dryRun: input.dry_run };
      return await answerWith(servicenow, servicenow.desk.create(request, callerOf(context)), reportLines);
    },
  });
}

// The tool `servicenow_update`: changes fields of a record by labels: assigns, resolves, closes.

export function servicenowUpdateTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_update",
    title: "Update a ServiceNow record",
    description:
      "Changes fields of a record: assign, resolve, close, reopen, reschedule. Answers what ServiceNow took.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    aliases: updateNames,
    input: z.object({
      id: idParameter(),
      table: optionalTable(),
      values: valuesParameter.describe("As in servicenow_create"),
      if_version: z.string().optional().describe("Version that you read: refuses if it has changed since"),
      dry_run: dryRunParameter(),
      ...valueParameters,
    }),
    async run(input, context) {
      const values = valuesOf(input);
      if (!values.ok) return { ok: false, code: "servicenow_invalid_input", message: values.error };
      const { dry_run: dryRun, if_version: ifVersion } = input;
      const request = { table: given(input.table), values: values.value, ifVersion };
      const update = (id: string, isTrial: boolean) =>
        answerWithReport(servicenow, servicenow.desk.update({ ...request, id, dryRun: isTrial }, callerOf(context)));
      const ids = listedIds(input.id);
      if (ids.length === 1) return await update(input.id, dryRun);
      if (ids.length > maxListedRecords) return tooManyRecords;
      if (ifVersion !== undefined) {
        return {
          ok: false,
          code: "servicenow_invalid_input",
          message: "if_version is of one record: make a call for each",
        };
      }
      const trials = await Promise.all(ids.map((id) => update(id, true)));
      const isClear = trials.every(({ ok }) => ok);
      if (dryRun || !isClear) {
        return joinOutcomes(ids, trials, isClear ? "" : "Nothing was sent: not all could be changed.");
      }
      const done: ToolOutcome[] = [];
      for (const id of ids) done.push(await update(id, false));
      return joinOutcomes(ids, done);
    },
  });
}

// The tool `servicenow_add_note`: a work note for the team, or a reply to the caller.

export function servicenowAddNoteTool(servicenow: ServicenowRecords): Tool {
  return defineTool({
    name: "servicenow_add_note",
    title: "Add a note to a ServiceNow record",
    description: "Writes into a record's journal, for good.",
    scopes: ["servicenow:write"],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    aliases: noteNames,
    input: z.object({
      id: idParameter(),
      table: optionalTable(),
      audience: z.enum(["team", "caller"]).describe("caller: the customer reads it and is notified"),
      text: z.string(),
      dry_run: dryRunParameter(),
    }),
    async run({ id, table, audience, text, dry_run: dryRun }, context) {
      const request = { id, table: given(table), audience, text, dryRun };
      return await answerWithReport(servicenow, servicenow.desk.addNote(request, callerOf(context)));
    },
  });
}
