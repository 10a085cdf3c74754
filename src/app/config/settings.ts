/**
 * Every setting there is: each part's own table, by the part's name in the configuration. The help text, the reference,
 * the parser and the type of the configuration all come from these tables.
 */
import { optional, parseChoice, parseSeconds, required } from "../../lib/settings.ts";
import type { Setting, SettingTable, ValuesOf } from "../../lib/settings.ts";
import { auditSettings, telemetrySettings } from "../../audit/mod_settings.ts";
import { authorizationServerSettings } from "../../oauth/mod_settings.ts";
import { consoleSettings, noticeSettings } from "../../console/mod_settings.ts";
import { httpSettings, rateLimitSettings } from "../../http/mod_settings.ts";
import { mcpSettings } from "../../mcp/mod_settings.ts";
import { ollamaSettings } from "../../llm/mod_settings.ts";
import { servicenowSettings } from "../../servicenow/mod_settings.ts";
import { storageSettings } from "../../storage/mod_settings.ts";
import { workspaceSettings } from "../../files/mod_settings.ts";
import { closestWord } from "../../lib/suggestible.ts";

const serverSettings = {
  shutdownTimeoutSeconds: required({
    env: "SHUTDOWN_TIMEOUT",
    default: "10",
    defaultOnDeploy: "3",
    parse: parseSeconds(0, 3_600),
    help: "seconds to wait for requests in flight when the server stops",
  }),
  logLevel: optional({
    env: "LOG_LEVEL",
    parse: parseChoice(["debug", "info", "warn", "error"]),
    help: "lowest level that is logged, with all audit lines. Default: info; on a terminal warnings and errors alone",
  }),
  logFormat: optional({
    env: "LOG_FORMAT",
    parse: parseChoice(["json", "text"]),
    help: "format of log lines; by default text on a terminal, otherwise json",
  }),
};

const sections = {
  http: ["Address", httpSettings],
  server: ["Log and stopping", serverSettings],
  storage: ["Storage", storageSettings],
  workspace: ["Workspace", workspaceSettings],
  ollama: ["Local model", ollamaSettings],
  authorizationServer: ["Sign-in, tokens and clients", authorizationServerSettings],
  mcp: ["Protocol", mcpSettings],
  console: ["Console", consoleSettings],
  notices: ["Notices", noticeSettings],
  servicenow: ["ServiceNow", servicenowSettings],
  rateLimit: ["Rate limits", rateLimitSettings],
  telemetry: ["Metrics", telemetrySettings],
  audit: ["Audit", auditSettings],
} as const;

/** What the tables give once parsed, by part. */
export type SettingValues = { readonly [Part in keyof typeof sections]: ValuesOf<(typeof sections)[Part][1]> };

/** The tables by part, each with its heading, in the order of the reference. */
export const settingTables: Readonly<Record<keyof SettingValues, readonly [heading: string, SettingTable]>> = sections;

/** The same, for who reads one after the other. */
export const settingSections = Object.values(settingTables);

/** Every setting, in that order. */
export const settings: readonly Setting<unknown>[] = settingSections.flatMap(([, table]) => Object.values(table));

const maxNamesCompared = 1_000;
const maxNamesShown = 5;

/** Each setting, and the file of each secret. */
export const variableNames: readonly string[] = settings.flatMap(({ env, secret }) =>
  secret ? [env, `${env}_FILE`] : [env]
);

/** A warning about names of the environment that are one or two mistakes away from a setting; `null` without any. */
export function warnOfMistypedNames(names: readonly string[]): string | null {
  const known = new Set(variableNames);
  const mistyped = names.slice(0, maxNamesCompared)
    .filter((name) => !known.has(name) && !/^PG[A-Z]+$/.test(name)) // PGPORT and its like are libpq's
    .flatMap((name) => {
      // The first letter is seldom mistyped, and SSL_CERT_FILE and its like belong to others.
      const closest = closestWord(name, variableNames.filter((each) => each[0] === name[0]));
      return closest === null ? [] : [[name, closest] as const];
    });
  if (mistyped.length === 0) return null;
  return mistyped.slice(0, maxNamesShown)
    .map(([name, closest]) => `warning: ${name} is not a setting; did you mean ${closest}?\n`).join("");
}
