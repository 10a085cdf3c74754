/**
 * Settings of the ServiceNow instance: its address, this server's client there, which tables are open, and whether
 * tools may write. `app` reads them before the rest of servicenow is loaded.
 */
import { optional, parseInstanceUrl, parseSwitch, parseText, required } from "../lib/settings.ts";
import { defaultTables, parseTableList } from "./tables.ts";

/** Settings under the heading ServiceNow. */
export const servicenowSettings = {
  instance: optional({
    env: "SERVICENOW_INSTANCE",
    parse: parseInstanceUrl,
    help: "address of the ServiceNow instance; each user reaches its records with their own rights",
  }),
  clientId: optional({
    env: "SERVICENOW_CLIENT_ID",
    parse: parseText,
    help: "this server's OAuth client ID at the instance",
  }),
  clientSecret: optional({
    env: "SERVICENOW_CLIENT_SECRET",
    parse: parseText,
    secret: true,
    help: "the secret that belongs to SERVICENOW_CLIENT_ID",
  }),
  tables: required({
    env: "SERVICENOW_TABLES",
    default: defaultTables.join(","),
    parse: parseTableList,
    help: "tables that the tools may use, names or beginnings such as cmdb_ci_*, or * for all; role, credential and " +
      "script tables stay closed",
  }),
  write: required({
    env: "SERVICENOW_WRITE",
    default: "off",
    parse: parseSwitch,
    help: "offer the tools that write to ServiceNow, and their scope",
  }),
};
