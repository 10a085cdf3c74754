/**
 * Every setting there is: its name in the environment, its flag, its default and what it means. The help text, the
 * reference, the parser and the type of the configuration all come from this table.
 */
import type { Setting } from "./setting.ts";
import { addressSettings } from "./settings/address.ts";
import { clientSettings, signInSettings } from "../authorization_server/settings.ts";
import { ollamaSettings } from "../ollama/settings.ts";
import { operationSettings } from "./settings/operation.ts";
import { mcpSettings } from "../mcp/settings.ts";
import { servicenowSettings } from "../servicenow/settings.ts";
import { storageSettings } from "./settings/storage.ts";
import { workspaceSettings } from "../workspace/settings.ts";

type Settings =
  & typeof addressSettings
  & typeof storageSettings
  & typeof workspaceSettings
  & typeof ollamaSettings
  & typeof signInSettings
  & typeof clientSettings
  & typeof mcpSettings
  & typeof servicenowSettings
  & typeof operationSettings;

/** The table. Names that the ServiceNow guide fixed are kept as they are. */
export const settings: Settings = {
  ...addressSettings,
  ...storageSettings,
  ...workspaceSettings,
  ...ollamaSettings,
  ...signInSettings,
  ...clientSettings,
  ...mcpSettings,
  ...servicenowSettings,
  ...operationSettings,
};

/** The same by heading, for those who read it. */
export const settingSections:
  readonly (readonly [heading: string, settings: Readonly<Record<string, Setting<unknown>>>])[] = [
    ["Address", addressSettings],
    ["Storage", storageSettings],
    ["Workspace", workspaceSettings],
    ["Local model", ollamaSettings],
    ["Sign-in and tokens", signInSettings],
    ["OAuth clients", clientSettings],
    ["Protocol", mcpSettings],
    ["ServiceNow", servicenowSettings],
    ["Limits, logs and stopping", operationSettings],
  ];

/** The name of a setting in the table. */
export type SettingName = keyof typeof settings;

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** What the table gives once parsed: settings with a default are always there. */
export type SettingValues =
  & {
    readonly [Name in SettingName as (typeof settings)[Name] extends { default: string } ? Name : never]: ValueOf<
      (typeof settings)[Name]
    >;
  }
  & {
    readonly [Name in SettingName as (typeof settings)[Name] extends { default: string } ? never : Name]?: ValueOf<
      (typeof settings)[Name]
    >;
  };
