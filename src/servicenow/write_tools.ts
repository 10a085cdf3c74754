/** The tools that write to ServiceNow, and their messages to the caller and to a person who decides about the call. */
import * as z from "zod";
import { membersOf, otherNames, type Tool, type ToolContext, type ToolOutcome } from "../mcp/mod.ts";
import { addNote, type ChangeReport, createRecord, shortened, updateRecord } from "./write_record.ts";
import { decideApproval, servicenowOrderTool } from "./order.ts";
import type { Job, ServicenowRecords } from "./servicenow.ts";
import {
  answerWith,
  defineWritingTool,
  dryRun,
  indented,
  invalidArguments,
  joinOutcomes,
  listedIds,
  maxListedRecords,
  nameText,
  type Reader,
  recordNames,
  recordParameters,
  tooManyRecords,
  toTextOutcome,
  writing,
} from "./outcome_tool.ts";
import { given, knownTable } from "./tables.ts";

function changeLine(
  { name, before, after }: Pick<ChangeReport["changes"][number], "name" | "before" | "after">,
): string {
  const now = after === "" ? "(empty)" : after;
  if (before === after && before !== "") return indented(`${name}: ${now} (unchanged)`);
  return indented(`${name}: ${before === "" ? "" : `${before} → `}${now}`);
}

function notTakenLine({ name, wanted, now, was, isUnknown }: ChangeReport["notTaken"][number]): string {
  const shown = now === null
    ? "ServiceNow does not show the field to this user"
    : `it is ${now === "" ? "empty" : now}${was === "" ? "" : `, and WAS ${was}`}`;
  return isUnknown ? `NOT known whether taken: ${name} ${wanted}; ${shown}` : `NOT taken: ${name} ${wanted}; ${shown}`;
}

/** A person who decides about a change reads all that would be sent, by the fields' labels; a caller reads it shortened. */
function reportLines(report: ChangeReport, reader: Reader): readonly string[] {
  const { dryRun, table, name, title, link, changes, notTaken, alsoChanged, notes, version } = report;
  if (reader === "person") {
    const what = name === null ? `A new ${knownTable(table)?.label.toLowerCase() ?? table}` : name;
    const about = title === "" || title === name ? "" : ` (${title})`;
    return [`${what}${about}:`, ...changes.map((change) => changeLine({ ...change, name: change.label })), ...notes];
  }
  const isUnknown = notTaken.every(({ isUnknown: each }) => each);
  const refusal = isUnknown
    ? ": it is NOT known whether everything was taken"
    : changes.length === 0
    ? ": NOTHING was taken"
    : ": NOT everything was taken";
  const about = table === "sysapproval_approver" && title !== "" ? ` (${title})` : "";
  const heading = dryRun
    ? `Dry run, nothing sent. ${name === null ? `A new ${table}` : name}${about} would get:`
    : `${name} (${table}${version === null || version === "" ? "" : `, version ${version}`})${
      notTaken.length === 0 ? "" : refusal
    }`;
  return [
    heading,
    ...(link === null || dryRun ? [] : [link]),
    ...changes.map(shortened).map(changeLine),
    ...notTaken.map((each) => indented(notTakenLine(each))),
    ...(isUnknown ? [] : ["The user's rights or a rule of the instance decided so."]),
    ...(alsoChanged.length === 0 ? [] : [`ServiceNow ${changes.length + notTaken.length > 0 ? "also " : ""}set:`]),
    ...alsoChanged.map(shortened).map(changeLine),
    ...notes,
  ];
}

/** A change for the client's view. */
function shownChange({ dryRun, table, name, title, link, changes, notTaken, alsoChanged }: ChangeReport) {
  const label = knownTable(table)?.label ?? table;
  return {
    ...{ name: name ?? `A new ${label.toLowerCase()}`, title, link, dry_run: dryRun },
    changes: [...changes, ...alsoChanged].map(shortened),
    not_taken: notTaken,
  };
}

/** What comes of a change, in the words of its reader; one of which the instance took nothing is a failure. */
function reported<Request>(
  call: { readonly servicenow: ServicenowRecords; readonly context: ToolContext; readonly reader: Reader },
  job: Job<Request, ChangeReport>,
  request: Request,
): Promise<ToolOutcome> {
  return answerWith(call, job, request, (report) => {
    const { dryRun, name, changes, notTaken, madeFrom } = report;
    const lines = reportLines(report, call.reader);
    return !dryRun && name !== null && changes.length === 0 && notTaken.some((each) => !each.isUnknown)
      ? { ok: false, code: "servicenow_not_taken", message: lines.join("\n") }
      : { ...toTextOutcome(lines, madeFrom), view: () => ({ records: [shownChange(report)] }) };
  });
}

const valuesForm =
  'JSON object, in labels: {"state": "Resolved", "assigned_to": "ada"}; or name=value lines, a text last';

const valuesText = z.string({
  error: ({ input }) => input === undefined ? undefined : 'values must be a JSON object such as {"state": "Resolved"}',
});

/** Fields that callers give as parameters of their own. */
const valueNames = membersOf(
  "values",
  "short_description description urgency impact category subcategory state priority assigned_to assignment_group " +
    "close_code close_notes caller caller_id cmdb_ci contact_type hold_reason work_notes",
);

const { annotations } = writing;

/** `servicenow_create`: a new record by labels. */
function servicenowCreateTool(servicenow: ServicenowRecords): Tool {
  return defineWritingTool({
    name: "servicenow_create",
    title: "Create a ServiceNow record",
    description:
      "Creates a record in the user's name. Search first: it may be there already. Catalog: servicenow_order.",
    aliases: { ...otherNames({ table: "table_name", values: "data fields record" }), ...valueNames },
    knownAs: "servicenow_create_incident servicenow_create_record",
    input: z.object({
      table: nameText,
      values: valuesText.optional().describe(valuesForm).meta({ written: "values" }),
      from: nameText.optional().describe("Number of the record it comes from: copies its texts and links both"),
      dry_run: dryRun,
    }),
  }, async ({ table, values = "", from, dry_run: dryRun }, context, reader) => {
    const request = { table, values, from: given(from), dryRun };
    return await reported({ servicenow, context, reader }, createRecord, request);
  });
}

/** `servicenow_update`: changes fields of a record by labels: assigns, resolves, closes. */
function servicenowUpdateTool(servicenow: ServicenowRecords): Tool {
  return defineWritingTool({
    name: "servicenow_update",
    title: "Update a ServiceNow record",
    description:
      "Changes fields of a record: assign, resolve, close, reopen, reschedule. Answers what ServiceNow took.",
    annotations: { ...annotations, destructiveHint: true, idempotentHint: true },
    aliases: { ...otherNames({ ...recordNames, values: "data fields changes", if_version: "version" }), ...valueNames },
    input: z.object({
      ...recordParameters,
      values: valuesText.describe("As in servicenow_create").meta({ written: "values" }),
      if_version: nameText.optional().describe("Version that you read: refuses if it has changed since")
        .meta({ written: "exact" }),
      dry_run: dryRun,
    }),
  }, async (input, context, reader) => {
    const { table, values, dry_run: dryRun, if_version: ifVersion } = input;
    const request = { table: given(table), values, ifVersion };
    const update = (id: string, dryRun: boolean) =>
      reported({ servicenow, context, reader }, updateRecord, { ...request, id, dryRun });
    const ids = listedIds(input.id);
    if (ids.length === 1) return await update(input.id, dryRun);
    if (ids.length > maxListedRecords) return tooManyRecords;
    if (ifVersion !== undefined) return invalidArguments("if_version is of one record: make a call for each");
    const trials = await Promise.all(ids.map((id) => update(id, true)));
    const isClear = trials.every(({ ok }) => ok);
    if (dryRun || !isClear) {
      return joinOutcomes(ids, trials, isClear ? "" : "Nothing was sent: not all could be changed.");
    }
    const done: ToolOutcome[] = [];
    for (const id of ids) done.push(await update(id, false));
    return joinOutcomes(ids, done);
  });
}

/** `servicenow_add_note`: a work note for the team, or a reply to the caller. */
function servicenowAddNoteTool(servicenow: ServicenowRecords): Tool {
  return defineWritingTool({
    name: "servicenow_add_note",
    title: "Add a note to a ServiceNow record",
    description: "Writes into a record's journal, permanently.",
    aliases: {
      ...otherNames({ ...recordNames, text: "note comment message body content" }),
      audience: {
        to: "audience",
        values: { work_notes: "team", internal: "team", comments: "caller", customer: "caller" },
      },
      work_notes: { to: "text", sets: { audience: "team" } },
    },
    knownAs: "servicenow_add_comment servicenow_add_work_note",
    input: z.object({
      ...recordParameters,
      audience: z.enum(["team", "caller"]).describe("caller: the customer reads it and is notified"),
      text: z.string(),
      dry_run: dryRun,
    }),
  }, async ({ id, table, audience, text, dry_run: dryRun }, context, reader) => {
    const request = { id, table: given(table), audience, text, dryRun };
    return await reported({ servicenow, context, reader }, addNote, request);
  });
}

/** `servicenow_approve`: the person's own decision on what waits for it. */
function servicenowApproveTool(servicenow: ServicenowRecords): Tool {
  return defineWritingTool({
    name: "servicenow_approve",
    title: "Approve or reject in ServiceNow",
    description:
      "Gives the user's own decision, or as a delegate. What waits: servicenow_search sysapproval_approver, approver=me, " +
      "state=Requested.",
    annotations: { ...annotations, destructiveHint: true },
    aliases: {
      ...otherNames({ id: recordNames.id, comment: "comments reason" }),
      decision: { to: "decision", values: { approved: "approve", rejected: "reject" } },
    },
    places: ["sysapproval_approver"],
    input: z.object({
      id: nameText.describe("Number of what is to be approved, or the approval's sys_id"),
      decision: z.enum(["approve", "reject"]),
      comment: z.string().optional().describe("Required to reject"),
      dry_run: dryRun,
    }),
  }, async ({ id, decision, comment, dry_run: dryRun }, context, reader) => {
    const request = { id, decision, comment: given(comment), dryRun };
    return await reported({ servicenow, context, reader }, decideApproval, request);
  });
}

/** The tools that write records, orders and decisions, each in the user's own name. */
export function writeTools(servicenow: ServicenowRecords): readonly Tool[] {
  return [
    servicenowCreateTool,
    servicenowUpdateTool,
    servicenowAddNoteTool,
    servicenowOrderTool,
    servicenowApproveTool,
  ].map((make) => make(servicenow));
}
