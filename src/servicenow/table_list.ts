/** The setting `SERVICENOW_TABLES`: which tables the operator opens. */
import { failure, type Result, success } from "../lib/result.ts";
import { isRefusedTable } from "./refused_tables.ts";

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
