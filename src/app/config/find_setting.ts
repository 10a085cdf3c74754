/** Where a setting's value comes from: a flag outranks the environment, which outranks the file, then the default. */
import { faultWords } from "../../lib/system_fault.ts";
import { expandHome } from "../../lib/system_path.ts";
import type { ConfigFile, ConfigProblem } from "./config_file.ts";
import type { LookAt } from "./overlap.ts";
import type { readAdded } from "./directories.ts";
import type { Setting } from "../../lib/settings.ts";
import { httpSettings } from "../../http/mod_settings.ts";

/** Everything that settings are read from. An empty variable counts as absent. */
export interface ConfigSources {
  /** By flag name without dashes, as in the table of settings. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration file, where there is one. */
  readonly file?: ConfigFile | null;
  /** Reads the file that `<SECRET>_FILE`, or a setting for TLS, names. */
  readonly readFile: (path: string) => string;
  /** The home directory; `null` for a user without one. The system's answer unless given. */
  readonly home?: () => string | null;
  /** Whether the command listens, for which settings must be there that others do without. Yes unless given. */
  readonly listens?: boolean;
  /** Looks at the paths that must not overlap. Without it they are compared as they are written. */
  readonly lookAt?: LookAt;
  /** Reads which directories were added to the workspace; none unless given. */
  readonly readAdded?: typeof readAdded;
}

/** A value as text, before its parser. */
export interface FoundSetting {
  readonly source: "flag" | "environment" | "file" | "default";
  /** What to call it in a message. */
  readonly field: string;
  readonly text: string;
}

/** The text in force; adds to `problems` what cannot be read. Nothing where the setting is absent and has no default. */
export function findSetting(
  setting: Setting<unknown>,
  sources: Pick<ConfigSources, "flags" | "env" | "file" | "readFile">,
  problems: ConfigProblem[],
): FoundSetting | undefined {
  const { flags, env, file, readFile } = sources;
  const flagText = setting.flag === undefined ? undefined : flags[setting.flag];
  if (flagText !== undefined) return { source: "flag", field: `--${setting.flag}`, text: flagText };
  const variables = [
    { source: "environment" as const, values: env, where: "" },
    { source: "file" as const, values: file?.values ?? {}, where: ` in ${file?.path}` },
  ];
  for (const { source, values, where } of variables) {
    const text = values[setting.env];
    const secretFile = setting.secret ? values[`${setting.env}_FILE`] : undefined;
    const secretFileField = `${setting.env}_FILE${where}`;
    if (text && secretFile) {
      const hint = `cannot be set together with ${setting.env}`;
      problems.push({ field: secretFileField, value: secretFile, hint });
    }
    if (text) return { source, field: `${setting.env}${where}`, text };
    if (!secretFile) continue;
    try {
      return { source, field: secretFileField, text: readFile(expandHome(secretFile) ?? secretFile).trim() };
    } catch (error) {
      const hint = `names a file that cannot be read: ${faultWords(error)}`;
      problems.push({ field: secretFileField, value: secretFile, hint });
      return undefined;
    }
  }
  const preset =
    (isDeploy(env)
      ? setting.defaultOnDeploy
      : setting.defaultWhenPublic !== undefined && findSetting(httpSettings.publicDomain, sources, []) !== undefined
      ? setting.defaultWhenPublic
      : undefined) ?? setting.default;
  return preset === undefined ? undefined : { source: "default", field: setting.env, text: preset };
}

/** The platform sets the variable for every app, and no app can. */
export function isDeploy(env: ConfigSources["env"]): boolean {
  return Boolean(env["DENO_DEPLOY"]);
}

const maxShownCharacters = 200;

/** A value for a person: no secret, and no password of a URL. */
export function shownText({ secret }: Setting<unknown>, text: string): string {
  if (secret) return "(secret, not shown)";
  return JSON.stringify(text.replace(/\/\/[^/@]*@/, "//…@").slice(0, maxShownCharacters));
}

/** A value as people may see it. */
export function settingText(setting: Setting<unknown>, { text }: FoundSetting): string {
  return setting.secret ? "set" : shownText(setting, text).slice(1, -1);
}
