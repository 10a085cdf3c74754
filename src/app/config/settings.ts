/**
 * Every setting there is, and where the text of one comes from. The tables are each part's own, by the part's name in
 * the configuration: the help text, the reference, the parser and the type of the configuration all come from them.
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
import { faultWords } from "../../lib/system_fault.ts";
import { absolutePath, expandHome } from "../../lib/system_path.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { programName } from "../../lib/program_name.ts";

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

/** Where the text of a setting is looked for. An empty variable counts as absent. */
export interface SettingSources {
  /** By flag name without dashes, as in the table of settings. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration file, where there is one. */
  readonly file?: ConfigFile | null;
  /** Reads the file that `<SECRET>_FILE`, or a setting for TLS, names. */
  readonly readFile: (path: string) => string;
}

/** A value as text, before its parser. */
export interface FoundSetting {
  readonly source: "flag" | "environment" | "file" | "default";
  /** What to call it in a message. */
  readonly field: string;
  readonly text: string;
}

/**
 * The text in force: a flag outranks the environment, which outranks the file, then the default; nothing where the
 * setting is absent and has none. Adds to `problems` what cannot be read.
 */
export function findSetting(
  setting: Setting<unknown>,
  sources: SettingSources,
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
export function isDeploy(env: SettingSources["env"]): boolean {
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

/** What a configuration file sets, by name. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The file that is read without `--config`, below the home directory. */
export const defaultConfigFileName = ".portcullis.env";

const maxFileBytes = 65_536;
const maxProblems = 20;

/**
 * Reads the file at `path`: `KEY=value` lines with the names of the environment, of which `known` may be set; `null`
 * where there is none and `mayBeAbsent`. It may hold secrets, so no line is ever quoted in an error, and a file that
 * others can read or change is refused.
 */
export function readConfigFile(
  path: string,
  { known, mayBeAbsent }: { readonly known: readonly string[]; readonly mayBeAbsent: boolean },
): Result<ConfigFile | null, readonly ConfigProblem[]> {
  const absolute = absolutePath(expandHome(path) ?? path);
  const refuse = (hint: string) => failure([{ field: absolute, hint }]);
  try {
    const { isFile, mode, uid, size } = Deno.statSync(absolute); // before it is opened: opening a pipe would wait
    if (!isFile) return refuse("is not a file");
    const exposure = mode === null ? null : exposureOf(mode, uid);
    if (exposure !== null) return refuse(`${exposure}, and may hold secrets: chmod 600 ${absolute}`);
    if (size > maxFileBytes) return refuse(`is larger than ${maxFileBytes} bytes`);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(absolute));
    const values = parseConfigFile(text, absolute, known);
    return values.ok ? success({ path: absolute, values: values.value }) : values;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound && mayBeAbsent) return success(null);
    return refuse(error instanceof TypeError ? "is not UTF-8 text" : `cannot be read: ${faultWords(error)}`);
  }
}

/** A group may read what root gives it (root:portcullis, 0640): how a service reads a file that it may not change. */
function exposureOf(mode: number, uid: number | null): string | null {
  if ((mode & 0o022) !== 0) return "can be changed by others";
  return (mode & 0o004) !== 0 || ((mode & 0o040) !== 0 && uid !== 0) ? "can be read by others" : null;
}

/** Nothing is expanded or escaped. `path` is for the messages. */
export function parseConfigFile(
  text: string,
  path: string,
  known: readonly string[],
): Result<Readonly<Record<string, string>>, readonly ConfigProblem[]> {
  const lineOf = new Map<string, number>();
  const values: Record<string, string> = {};
  const problems: ConfigProblem[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (problems.length === maxProblems) break;
    const refuse = (hint: string) => void problems.push({ field: `${path}, line ${index + 1}`, hint });
    const content = line.trim();
    if (content === "" || content.startsWith("#")) continue;
    const [, name, rest] = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/.exec(content) ?? [];
    const value = rest === undefined ? null : valueOf(rest.trimStart());
    if (name === undefined) refuse("is not KEY=value");
    else if (!known.includes(name)) refuse(unknownName(name, known));
    else if (lineOf.has(name)) refuse(`sets ${name} again, which line ${lineOf.get(name)} sets`);
    else if (value === null) refuse(`the value of ${name} has a quote without its other one, or text after it`);
    else {
      lineOf.set(name, index + 1);
      values[name] = value;
    }
  }
  return problems.length > 0 ? failure(problems) : success(values);
}

/** A value in quotes is what is between them; another ends at a blank with a # behind it. */
function valueOf(text: string): string | null {
  const quote = text[0];
  if (quote !== "'" && quote !== '"') return text.replace(/(^|\s+)#.*$/, "").trimEnd();
  const end = text.indexOf(quote, 1);
  return end > 0 && /^\s*(#.*)?$/.test(text.slice(end + 1)) ? text.slice(1, end) : null;
}

/** The name is shown only where it is near a known one: it may be a part of a pasted secret. */
function unknownName(name: string, known: readonly string[]): string {
  const closest = known.includes(name.toUpperCase()) ? name.toUpperCase() : closestWord(name, known);
  return closest === null ? "does not set a setting" : `sets ${name}, which is not a setting; did you mean ${closest}?`;
}

/** What is wrong with one setting. `value` is redacted for secrets. */
export interface ConfigProblem {
  readonly field: string;
  /** Left out where there is none to show. */
  readonly value?: string;
  readonly hint: string;
}

/** `error:` then one line a problem: field, value, hint. Where only flags of a command are wrong, its help is the hint. */
export function describeProblems(problems: readonly ConfigProblem[], command?: string): string {
  const lines = problems.map(({ field, value, hint }) =>
    `  ${field}${value === undefined ? "" : ` = ${value}`}: ${hint}`
  );
  const areFlags = command !== undefined && problems.every(({ field }) => field.startsWith("-"));
  const noun = areFlags ? "flag" : "setting";
  const count = problems.length === 1 ? `1 ${noun} is` : `${problems.length} ${noun}s are`;
  const help = areFlags
    ? `\`${programName()} ${command} --help\` lists its flags`
    : `\`${programName()} config --all\` explains every setting`;
  return `error: ${count} not usable\n${lines.join("\n")}\nhint: ${help}\n`;
}
