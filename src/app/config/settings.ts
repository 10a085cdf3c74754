/**
 * Every setting there is: each part's own table, by the part's name in the configuration. The help text, the reference,
 * the parser and the type of the configuration all come from these tables.
 */
import { auditSettings } from "../../audit/mod_settings.ts";
import { authorizationServerSettings } from "../../oauth/mod_settings.ts";
import { consoleSettings } from "../../console/mod_settings.ts";
import { httpSettings } from "../../http/mod_settings.ts";
import { mcpSettings } from "../../mcp/mod_settings.ts";
import { ollamaSettings } from "../../llm/mod_settings.ts";
import { rateLimitSettings } from "../../http/rate_limit_settings.ts";
import { servicenowSettings } from "../../servicenow/mod_settings.ts";
import { storageSettings } from "../../storage/mod_settings.ts";
import { telemetrySettings } from "../../audit/telemetry_settings.ts";
import { workspaceSettings } from "../../files/mod_settings.ts";
import { serverSettings } from "./server_settings.ts";
import type { Setting, SettingTable, ValuesOf } from "../../lib/setting.ts";

const tables = {
  http: httpSettings,
  server: serverSettings,
  storage: storageSettings,
  workspace: workspaceSettings,
  ollama: ollamaSettings,
  authorizationServer: authorizationServerSettings,
  mcp: mcpSettings,
  console: consoleSettings,
  servicenow: servicenowSettings,
  rateLimit: rateLimitSettings,
  telemetry: telemetrySettings,
  audit: auditSettings,
};

/** The tables by part, for who reads one after the other. */
export const settingTables: Readonly<Record<keyof typeof tables, SettingTable>> = tables;

/** What the tables give once parsed, by part. */
export type SettingValues = { readonly [Part in keyof typeof tables]: ValuesOf<(typeof tables)[Part]> };

/** In the order of the reference. */
export const settings: readonly Setting<unknown>[] = Object.values(settingTables).flatMap((table) =>
  Object.values(table)
);

/** The same by heading, for people. */
export const settingSections: readonly (readonly [heading: string, settings: SettingTable])[] = [
  ["Address", httpSettings],
  ["Threads, log and stopping", serverSettings],
  ["Storage", storageSettings],
  ["Workspace", workspaceSettings],
  ["Local model", ollamaSettings],
  ["Sign-in, tokens and clients", authorizationServerSettings],
  ["Protocol", mcpSettings],
  ["Console", consoleSettings],
  ["ServiceNow", servicenowSettings],
  ["Rate limits", rateLimitSettings],
  ["Metrics", telemetrySettings],
  ["Audit", auditSettings],
];
