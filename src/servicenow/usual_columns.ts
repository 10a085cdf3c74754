/** Columns of the base system, for people who may not read the dictionary. */
import { knownTable } from "./known_tables.ts";

/** A line for each table, without what its list shows anyway. */
const lists = `
  task: description active urgency impact approval opened_by opened_at closed_by closed_at due_date work_start work_end cmdb_ci business_service parent location company contact_type watch_list work_notes_list reassignment_count made_sla comments work_notes close_notes sys_class_name
  incident: category subcategory severity hold_reason close_code resolved_at resolved_by reopen_count problem_id rfc caused_by parent_incident
  problem: category first_reported_by_task known_error workaround cause_notes fix_notes resolution_code rfc resolved_at resolved_by
  problem_task: problem_task_type close_code
  change_request: category requested_by justification implementation_plan risk_impact_analysis backout_plan test_plan cab_required conflict_status on_hold on_hold_reason close_code reason
  change_task: change_task_type planned_start_date planned_end_date close_code on_hold
  sc_request: special_instructions
  sc_req_item: quantity price due_date
  sc_task: request
  sysapproval_approver: comments due_date source_table document_id
  kb_knowledge: text kb_category valid_to active topic article_type
  cmdb_ci: short_description asset_tag serial_number install_status managed_by assigned_to ip_address environment department company
  task_sla: start_time end_time business_percentage
`;
const byTable: ReadonlyMap<string, string> = new Map(
  lists.trim().split("\n").map((line): [string, string] => {
    const [table = "", names = ""] = line.trim().split(": ");
    return [table, names];
  }),
);

/** Names of columns; `lineage` is the table and those that it extends. None of a table that is not known here. */
export function usualColumns(lineage: readonly string[]): readonly string[] {
  const names = lineage.flatMap((table) => {
    const known = knownTable(table);
    if (known === undefined) return [];
    return [...byTable.get(known.name)?.split(" ") ?? [], ...known.summaryFields, ...known.textFields];
  });
  const usual = names.filter((name) => !name.includes("."));
  return usual.length === 0 ? [] : [...new Set([...usual, "sys_created_on", "sys_created_by", "sys_updated_on"])];
}

const references = `
  sys_user: caller_id opened_by assigned_to requested_by requested_for approver author manager managed_by owned_by resolved_by closed_by user member watch_list work_notes_list additional_assignee_list
  sys_user_group: assignment_group group support_group
  cmdb_ci: cmdb_ci
  cmdb_ci_service: business_service
  cmn_department: department
  cmn_location: location
  core_company: company
  task: parent first_reported_by_task sysapproval task
  incident: parent_incident
  problem: problem_id problem
  change_request: rfc change_request caused_by
  sc_request: request
  sc_req_item: request_item
  sc_cat_item: cat_item
  kb_knowledge_base: kb_knowledge_base
  kb_category: kb_category
`;
/** By column: the table that it leads to in every instance. */
export const usualReferences: Readonly<Record<string, string>> = Object.fromEntries(
  references.trim().split("\n").flatMap((line) => {
    const [table = "", names = ""] = line.trim().split(": ");
    return names.split(" ").map((name) => [name, table]);
  }),
);

/** Labels of the base system that are not the column's name in words. */
const labels = "caller_id=Caller|start_date=Planned start date|end_date=Planned end date|work_start=Actual start|" +
  "work_end=Actual end|cmdb_ci=Configuration item|hold_reason=On hold reason|contact_type=Channel|opened_at=Opened|" +
  "closed_at=Closed|resolved_at=Resolved|rfc=Change request|problem_id=Problem|business_service=Service|" +
  "sys_created_on=Created|sys_updated_on=Updated|sys_class_name=Task type|first_reported_by_task=First reported by|" +
  "caused_by=Caused by change|cat_item=Item|kb_knowledge_base=Knowledge base";
export const usualLabels: ReadonlyMap<string, string> = new Map(
  labels.split("|").map((each): [string, string] => {
    const [name = "", label = ""] = each.split("=");
    return [name, label];
  }),
);

export const listsOfPeople = /^(watch_list|work_notes_list|additional_assignee_list)$/;
/** Columns with a list of choices. */
export const usualLists =
  /^(state|priority|urgency|impact|severity|category|subcategory|risk|type|approval|close_code|contact_type|hold_reason|resolution_code|stage|workflow_state|request_state|operational_status|install_status|conflict_status|(change|problem)_task_type)$/;
const types: readonly (readonly [type: string, names: RegExp])[] = [
  ["journal_input", /^(comments|work_notes)$/],
  ["boolean", /^(active|known_error|cab_required|on_hold|made_sla|vip|has_breached)$/],
  ["html", /^(text|workaround|cause_notes|fix_notes)$/],
  ["integer", /_count$|^(quantity|order|percentage)$/],
  ["glide_date_time", /(_at|_on|_date|_time|^due_date|^published|^valid_to|^work_(start|end))$/],
];

/** The type of a column that is no reference, by its name and by what a record holds in it. */
export function usualType(name: string, value: unknown): string {
  if (value === "true" || value === "false") return "boolean";
  return types.find(([, names]) => names.test(name))?.[0] ?? "string";
}
