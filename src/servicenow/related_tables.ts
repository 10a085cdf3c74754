/** Tables by which the records of another one may be reached. */
import { knownTable, knownTables } from "./known_tables.ts";

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
  slas: ["task_sla"],
  members: ["sys_user_grmember", "sys_user", "sys_user_group"],
  groups: ["sys_user_grmember", "sys_user", "sys_user_group"],
  on_call: ["cmn_rota_member", "sys_user"],
};
