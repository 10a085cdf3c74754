/** The four kinds of records that are resources: where they are, and what they are called. */
import { failure, type Result, success } from "../lib/result.ts";
import { knownTable, knownTables } from "./known_tables.ts";

/** A kind of record, by the name that URIs use. */
export type RecordKind = "incident" | "change_request" | "kb_knowledge" | "catalog";

export interface TableDefinition {
  readonly table: string;
  /** What a record number starts with; `null` when records of this kind have none. */
  readonly numberPrefix: string | null;
  /** The page of a record for users, below the instance's origin. */
  readonly pagePath: (sysId: string) => string;
}

const formPath = (table: string) => (sysId: string): string =>
  `/nav_to.do?uri=${encodeURIComponent(`${table}.do?sys_id=${sysId}`)}`;

/** Every kind by its name. */
export const tables: Readonly<Record<RecordKind, TableDefinition>> = {
  incident: { table: "incident", numberPrefix: "INC", pagePath: formPath("incident") },
  change_request: { table: "change_request", numberPrefix: "CHG", pagePath: formPath("change_request") },
  kb_knowledge: {
    table: "kb_knowledge",
    numberPrefix: "KB",
    pagePath: (sysId) => `/kb_view.do?sys_kb_id=${sysId}`,
  },
  catalog: {
    table: "sc_cat_item",
    numberPrefix: null,
    pagePath: (sysId) => `/sp?id=sc_cat_item&sys_id=${sysId}`,
  },
};

/** The names of all kinds. */
export const recordKinds: readonly [RecordKind, ...RecordKind[]] = [
  "incident",
  "change_request",
  "kb_knowledge",
  "catalog",
];

// * Tables that no setting opens: roles, credentials, tokens, scripts and the platform's own configuration. A table whose
// name begins with `sys` or `v_` is the platform's, but for people, groups, their members and approvals.

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

export function isRefusedTable(table: string): boolean {
  return !/^[a-z][a-z0-9_]{1,79}$/.test(table) ||
    (!platformTablesOffered.has(table) && (platformPrefix.test(table) || refusedWord.test(table)));
}

// The setting `SERVICENOW_TABLES`: which tables the operator opens.

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

// Tables by which the records of another one may be reached.

/** What else a table's records may be reached by: its label, the tables that it extends, and those that extend it. */
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
