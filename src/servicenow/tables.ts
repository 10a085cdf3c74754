/** Tables of a service desk: what people call them, what their numbers start with, and which fields tell them apart. */
import { mayReadOnIn } from "../lib/suggestible.ts";
import { failure, type Result, success } from "../lib/result.ts";

interface KnownTable {
  readonly name: string;
  readonly label: string;
  /** What else agents call it. */
  readonly aliases?: readonly string[];
  readonly numberPrefix?: string;
  /** Tables that it extends, nearest first. */
  readonly parents?: readonly string[];
  /** Fields in which words are looked for. */
  readonly textFields: readonly string[];
  /** What a list shows of a record. */
  readonly summaryFields: readonly string[];
  /** The field by which people name a record that has no number. */
  readonly nameField?: string;
  /** What else its name is made of, for a record that ties others together. */
  readonly nameEnds?: readonly string[];
  readonly nameSeparator?: string;
}

/** Lines of `name: value`, as the lists of this part are written. */
export function namedLines(text: string): readonly (readonly [name: string, value: string])[] {
  return text.trim().split("\n").map((line) => {
    const [name = "", value = ""] = line.trim().split(": ");
    return [name, value];
  });
}

const taskText = ["number", "short_description", "description"];
const work = ["state", "assignment_group", "assigned_to"];
const ticket = { parents: ["task"], textFields: [...taskText, "cmdb_ci.name"] };
const title = ["number", "short_description"];

export const knownTables: readonly KnownTable[] = [
  {
    name: "incident",
    label: "Incident",
    numberPrefix: "INC",
    ...ticket,
    summaryFields: [...title, "state", "priority", "caller_id", "assignment_group", "assigned_to", "sys_updated_on"],
  },
  {
    name: "problem",
    label: "Problem",
    numberPrefix: "PRB",
    ...ticket,
    summaryFields: [...title, ...work, "priority", "cmdb_ci", "sys_updated_on"],
  },
  {
    name: "problem_task",
    label: "Problem task",
    numberPrefix: "PTASK",
    ...ticket,
    summaryFields: [...title, ...work, "problem", "sys_updated_on"],
  },
  {
    name: "change_request",
    label: "Change request",
    aliases: ["change"],
    numberPrefix: "CHG",
    ...ticket,
    summaryFields: [...title, "type", ...work, "risk", "cmdb_ci", "start_date", "end_date", "sys_updated_on"],
  },
  {
    name: "change_task",
    label: "Change task",
    numberPrefix: "CTASK",
    ...ticket,
    summaryFields: [...title, ...work, "change_request", "sys_updated_on"],
  },
  {
    name: "sc_request",
    label: "Request",
    aliases: ["request"],
    numberPrefix: "REQ",
    parents: ["task"],
    textFields: taskText,
    summaryFields: [...title, "request_state", "stage", "approval", "requested_for", "opened_at", "sys_updated_on"],
  },
  {
    name: "sc_req_item",
    label: "Requested item",
    aliases: ["requested_item", "ritm"],
    numberPrefix: "RITM",
    parents: ["task"],
    textFields: [...taskText, "cat_item.name"],
    summaryFields: [...title, "cat_item", "request", "stage", ...work, "approval", "sys_updated_on"],
  },
  {
    name: "sc_task",
    label: "Catalog task",
    aliases: ["catalog_task"],
    numberPrefix: "SCTASK",
    parents: ["task"],
    textFields: taskText,
    summaryFields: [...title, ...work, "request_item", "sys_updated_on"],
  },
  {
    name: "task",
    label: "Task of any kind",
    numberPrefix: "TASK",
    textFields: taskText,
    summaryFields: [...title, "sys_class_name", "priority", ...work, "sys_updated_on"],
  },
  {
    name: "sysapproval_approver",
    label: "Approval",
    aliases: ["approval"],
    textFields: ["sysapproval.number", "sysapproval.short_description"],
    summaryFields: ["sysapproval", "sysapproval.short_description", "state", "approver", "sys_created_on"],
    nameField: "sysapproval",
    nameEnds: ["approver"],
    nameSeparator: ", approver ",
  },
  {
    name: "kb_knowledge",
    label: "Knowledge article",
    aliases: ["knowledge", "article", "kb"],
    numberPrefix: "KB",
    textFields: ["number", "short_description", "text"],
    summaryFields: [...title, "workflow_state", "kb_knowledge_base", "author", "published", "sys_updated_on"],
  },
  {
    name: "kb_knowledge_base",
    label: "Knowledge base",
    textFields: ["title", "description"],
    summaryFields: ["title", "description", "owner"],
    nameField: "title",
  },
  {
    name: "kb_category",
    label: "Knowledge category",
    textFields: ["label"],
    summaryFields: ["label", "parent_id"],
    nameField: "label",
  },
  {
    name: "sc_cat_item",
    label: "Catalog item",
    aliases: ["catalog", "catalog_item"],
    textFields: ["name", "short_description"],
    summaryFields: ["name", "short_description", "category", "price", "active"],
    nameField: "name",
  },
  {
    name: "sc_category",
    label: "Catalog category",
    textFields: ["title"],
    summaryFields: ["title", "parent"],
    nameField: "title",
  },
  { name: "sc_catalog", label: "Service catalog", textFields: ["title"], summaryFields: ["title"], nameField: "title" },
  {
    name: "cmdb_ci",
    label: "Configuration item",
    aliases: ["ci", "configuration_item"],
    textFields: ["name", "short_description", "asset_tag", "serial_number"],
    summaryFields: ["name", "sys_class_name", "operational_status", "support_group", "owned_by", "location"],
    nameField: "name",
  },
  {
    name: "cmdb_rel_ci",
    label: "Relation of configuration items",
    textFields: ["parent.name", "child.name"],
    summaryFields: ["parent", "parent.sys_class_name", "type", "child", "child.sys_class_name"],
    nameField: "parent",
    nameEnds: ["type", "child"],
    nameSeparator: " ",
  },
  {
    name: "task_sla",
    label: "SLA of a task",
    aliases: ["sla"],
    textFields: ["task.number", "sla.name"],
    summaryFields: [
      ...["task", "task.short_description", "task.assigned_to", "sla", "stage", "has_breached", "percentage"],
      "planned_end_time",
    ],
    nameField: "task",
    nameEnds: ["sla"],
  },
  {
    name: "sys_user",
    label: "Person",
    aliases: ["user", "person", "people"],
    textFields: ["name", "user_name", "email", "title"],
    summaryFields: ["name", "user_name", "email", "title", "department", "manager", "active"],
    nameField: "name",
  },
  {
    name: "sys_user_group",
    label: "Group",
    aliases: ["group"],
    textFields: ["name", "description"],
    summaryFields: ["name", "description", "manager", "email"],
    nameField: "name",
  },
  {
    name: "sys_user_grmember",
    label: "Member of a group",
    aliases: ["group_member", "member"],
    textFields: ["user.name", "group.name"],
    summaryFields: ["user", "group"],
    nameField: "user",
    nameEnds: ["group"],
  },
  {
    name: "cmn_rota_member",
    label: "Member of an on-call rota",
    aliases: ["on_call", "rota"],
    textFields: ["member.name", "roster.rota.group.name"],
    summaryFields: ["member", "roster", "order", "from", "to"],
    nameField: "member",
    nameEnds: ["roster"],
  },
  { name: "core_company", label: "Company", textFields: ["name"], summaryFields: ["name"], nameField: "name" },
  { name: "cmn_department", label: "Department", textFields: ["name"], summaryFields: ["name"], nameField: "name" },
  { name: "cmn_location", label: "Location", textFields: ["name"], summaryFields: ["name"], nameField: "name" },
];

const byName: ReadonlyMap<string, KnownTable> = new Map(knownTables.map((table) => [table.name, table]));
const byAlias: ReadonlyMap<string, string> = new Map(
  knownTables.flatMap(({ name, label, aliases = [] }) =>
    [label.toLowerCase().replaceAll(" ", "_"), ...aliases].flatMap((alias) =>
      [[alias, name], [`${alias}s`, name]] as const
    )
  ),
);

export function knownTable(name: string): KnownTable | undefined {
  return byName.get(name) ?? (name.startsWith("cmdb_ci_") ? byName.get("cmdb_ci") : undefined);
}

/** The fields that a record's name is made of. */
export function namingFields(table: string): readonly string[] {
  const { nameField = "name", nameEnds = [] } = knownTable(table) ?? {};
  return [nameField, ...nameEnds];
}

/** The table that a caller means: its own name, its label, or what people call it. */
export function tableNameOf(text: string): string {
  const name = text.trim().toLowerCase().replaceAll(/[ -]+/g, "_");
  if (byName.has(name)) return name;
  return byAlias.get(name) ?? (byName.has(name.replace(/s$/, "")) ? name.replace(/s$/, "") : name);
}

/** The table whose numbers start so; any other number is a task's. */
export function tableOfNumber(number: string): string {
  const [, prefix = ""] = /^([A-Z]+)\d/.exec(number.toUpperCase()) ?? [];
  return knownTables.find(({ numberPrefix }) => numberPrefix === prefix)?.name ?? "task";
}

const platformTablesOffered: ReadonlySet<string> = new Set([
  "sys_user",
  "sys_user_group",
  "sys_user_grmember",
  "sysapproval_approver",
  "sysapproval_group",
]);

const platformPrefix =
  /^(sys|v_|oauth|ecc_|wf_|sp_|ldap_|saml|sso_|digest_|x509_|clone_|ha_|db_|discovery_|mid_|cert_)/;
const refusedWord =
  /credential|passw|secret|certificate|encrypt|multifactor|private_key|api_key|(^|_)(roles?|acls?|tokens?|scripts?|sessions?|cookies?|mfa)(_|$)/;

/**
 * Tables that no setting opens: roles, credentials, tokens, scripts and the platform's own configuration. A table whose
 * name begins with `sys` or `v_` is the platform's, but for people, groups, their members and approvals.
 */
export function isRefusedTable(table: string): boolean {
  return !/^[a-z][a-z0-9_]{1,79}$/.test(table) ||
    (!platformTablesOffered.has(table) && (platformPrefix.test(table) || refusedWord.test(table)));
}

/** What `SERVICENOW_TABLES` is when it is not set: the tables of IT service management. */
export const defaultTables: readonly string[] = [
  ...["incident", "problem", "problem_task", "change_request", "change_task"],
  ...["sc_request", "sc_req_item", "sc_task", "sc_cat_item", "sysapproval_approver", "kb_knowledge"],
  ...["cmdb_ci", "cmdb_ci_*", "cmdb_rel_ci", "task_sla", "cmn_rota_member"],
];

/** Read to name what a record refers to, whatever the setting says. */
export const lookupTables: readonly string[] = [
  "sys_user",
  "sys_user_group",
  "sys_user_grmember",
  "core_company",
  "cmn_department",
  "cmn_location",
  "kb_knowledge_base",
  "kb_category",
  "sc_category",
  "sc_catalog",
];

/** Parses the setting: names of tables, or the start of some followed by `*`; `*` alone is every table not refused. */
export function parseTableList(text: string): Result<readonly string[], string> {
  const items = text.split(",").map((item) => item.trim()).filter((item) => item !== "");
  if (items.length === 0) return failure("must name at least one table, such as incident,problem, or be *");
  for (const item of items) {
    if (item === "*") continue;
    if (!/^[a-z][a-z0-9_]{1,79}\*?$/.test(item)) {
      return failure("must be names of tables such as incident,change_request, or *");
    }
    if (isRefusedTable(item.replace("*", "")) || lookupTables.includes(item)) {
      return failure(`must not name ${item}: tables of people, roles, credentials and scripts are never opened`);
    }
  }
  return success(items);
}

/** Other names for a table's records: its label, its parent tables, and the tables that extend it. */
export function relatedTables(name: string): readonly string[] {
  const { label, parents = [] } = knownTable(name) ?? {};
  const extending = knownTables.filter((each) => each.parents?.includes(name) === true);
  const group = name.startsWith("cmdb_ci_") ? ["cmdb_ci"] : [];
  return [
    ...(label === undefined ? [] : [label]),
    ...parents,
    ...group,
    ...extending.flatMap((each) => [each.name, each.label]),
  ];
}

/** Whether a rule about calls keeps the table, by any of its names, from a call about another one. */
export function isKept(table: string): boolean {
  return [table, ...relatedTables(table)].some((name) => !mayReadOnIn(name));
}

/** Every table that each kind of related records may show. */
export const tablesOfKind: Readonly<Record<string, readonly string[]>> = {
  tasks: ["task", "change_task", "problem_task", "sc_task", "incident", "problem", "change_request"],
  items: ["sc_req_item"],
  approvals: ["sysapproval_approver"],
  ci: ["cmdb_ci", "cmdb_rel_ci"],
  work: ["task"],
  similar: ["incident"],
  slas: ["task_sla"],
  members: ["sys_user_grmember", "sys_user", "sys_user_group"],
  groups: ["sys_user_grmember", "sys_user", "sys_user_group"],
  on_call: ["cmn_rota_member", "sys_user"],
};
