/** The only reader of the environment and of flags: turns them into one frozen {@link Config}, or into every problem. */
import { homedir } from "node:os";
import { join, resolve, sep } from "node:path";
import { failure, type Result, success } from "../lib/result.ts";
import { faultWords } from "../lib/system_fault.ts";
import { environmentHasProxy } from "../ollama/direct_fetch.ts";
import { type FormerSetting, formerSettingsIn } from "./former_settings.ts";
import { leadsInto, type LookAt } from "./overlap.ts";
import { isLoopbackHost } from "./parsers.ts";
import { requireForDeploy } from "./require_for_deploy.ts";
import type { Setting } from "./setting.ts";
import { type SettingName, settings, type SettingValues } from "./settings.ts";
import { readTelemetryRequest, type TelemetryRequest } from "./telemetry.ts";
import { completeTls, type TlsConfig } from "./tls.ts";

/** Who may register OAuth clients (RFC 7591): anyone, holders of the token, nobody. */
type RegistrationMode = "open" | "token" | "off";

/** How the ServiceNow instance is reached. */
interface ServicenowConfig {
  readonly instance: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The whole configuration. Paths are absolute. */
export interface Config extends
  Omit<
    SettingValues,
    | "registration"
    | "maxBodyBytes"
    | "servicenowInstance"
    | "servicenowClientId"
    | "servicenowClientSecret"
    | "tlsCertificateFile"
    | "tlsKeyFile"
  > {
  /** The instance whose records are offered, with what this server needs as its OAuth client. */
  readonly servicenow?: ServicenowConfig;
  /** The settings without which SERVICENOW_INSTANCE offers nothing; empty where nothing is missing. */
  readonly servicenowMissing: readonly string[];
  /** Without it, the server speaks plain http. */
  readonly tls?: TlsConfig;
  readonly registration: RegistrationMode;
  /** The largest JSON body of a request. */
  readonly maxBodyBytes: number;
  /** Whether the environment names a proxy that Deno's fetch would use even for this machine. */
  readonly hasProxy: boolean;
  /** What the environment asks of Deno; the server itself looks at what Deno does. */
  readonly telemetry: TelemetryRequest;
  /** Variables that are set and have no effect any more. */
  readonly formerSettings: readonly FormerSetting[];
  /** Whether this is Deno Deploy, which starts the server without arguments and flags, and without a lasting disk. */
  readonly onDeploy: boolean;
}

/** What is wrong with one setting. `value` is redacted for secrets. */
export interface ConfigProblem {
  readonly field: string;
  /** Left out where there is none to show. */
  readonly value?: string;
  readonly hint: string;
}

/** Where settings come from. A flag outranks the environment, an empty variable counts as absent. */
export interface ConfigSources {
  /** By flag name without dashes, as in the table of settings. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads the file that `<SECRET>_FILE`, or a setting for TLS, names. */
  readonly readFile: (path: string) => string;
  /** The home directory; `null` for a user without one. The system's answer unless given. */
  readonly home?: () => string | null;
  /** Looks at the paths that must not overlap. Without it they are compared as they are written. */
  readonly lookAt?: LookAt;
}

/** Reads every setting, then the rules between settings. All problems are reported together. */
export function loadConfig(sources: ConfigSources): Result<Config, readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(settings) as SettingName[]) {
    const setting: Setting<unknown> = settings[name];
    const found = findText(setting, sources, problems);
    if (found === undefined) continue;
    const parsed = setting.parse(found.text);
    if (parsed.ok) values[name] = parsed.value;
    else problems.push({ field: found.field, value: shown(setting, found.text), hint: parsed.error });
  }
  if (problems.length > 0) return failure(problems);
  const config = completeConfig(values as unknown as SettingValues, sources, problems);
  return problems.length > 0 ? failure(problems) : success(Object.freeze(config));
}

interface FoundText {
  readonly field: string;
  readonly text: string;
}

function findText(
  setting: Setting<unknown>,
  { flags, env, readFile }: ConfigSources,
  problems: ConfigProblem[],
): FoundText | undefined {
  if (setting.flag !== undefined && flags[setting.flag] !== undefined) {
    return { field: `--${setting.flag}`, text: flags[setting.flag] ?? "" };
  }
  const text = env[setting.env];
  const file = setting.secret ? env[`${setting.env}_FILE`] : undefined;
  if (text && file) {
    problems.push({ field: `${setting.env}_FILE`, value: file, hint: `cannot be set together with ${setting.env}` });
  } else if (file) {
    try {
      return { field: `${setting.env}_FILE`, text: readFile(file).trim() };
    } catch (error) {
      const hint = `names a file that cannot be read: ${faultWords(error)}`;
      problems.push({ field: `${setting.env}_FILE`, value: file, hint });
    }
  }
  if (text) return { field: setting.env, text };
  const preset = isDeploy(env) ? setting.defaultOnDeploy ?? setting.default : setting.default;
  return preset === undefined ? undefined : { field: setting.env, text: preset };
}

/** The platform sets the variable for every app, and lets nobody else set it. */
function isDeploy(env: ConfigSources["env"]): boolean {
  return Boolean(env["DENO_DEPLOY"]);
}

function shown(setting: Setting<unknown>, text: string): string {
  if (setting.secret) return "(secret, not shown)";
  // A URL may hold a password: everything before the @ is left out.
  return JSON.stringify(text.replace(/\/\/[^/@]*@/, "//…@").slice(0, 200));
}

function completeConfig(
  values: SettingValues,
  { env, readFile, home = systemHome, lookAt = () => null }: ConfigSources,
  problems: ConfigProblem[],
): Config {
  const { registration, servicenowInstance: instance, ...others } = values;
  const { servicenowClientId: clientId, servicenowClientSecret: clientSecret, ...withTls } = others;
  const { tlsCertificateFile: certificateFile, tlsKeyFile: keyFile, ...rest } = withTls;
  const servicenow = completeServicenow({ instance, clientId, clientSecret }, values.signIn, problems);
  const { serverUrl } = values;
  const tls = completeTls({ certificateFile, keyFile, serverUrl, readFile }, problems);
  const onDeploy = isDeploy(env);
  if (onDeploy) requireForDeploy(values, serverUrl, env, problems);
  else if (serverUrl === undefined && !isLoopbackHost(values.host)) {
    problems.push({
      field: "SERVER_URL",
      value: "(not set)",
      hint: `must be set when the server listens on ${values.host}: it is the address that clients type`,
    });
  }
  const isPublic = serverUrl !== undefined && !isLoopbackHost(new URL(serverUrl).hostname);
  const mode = registration ?? (isPublic || values.registrationToken !== undefined ? "token" : "open");
  if (mode === "token" && values.registrationToken === undefined) {
    problems.push({
      field: "DCR_AUTH_TOKEN",
      value: "(not set)",
      hint: "must be set for REGISTRATION=token, the default on a public SERVER_URL; or set REGISTRATION=off",
    });
  }
  const absolutePath = (field: string, path: string): string => {
    if (path !== "~" && !path.startsWith("~/")) return resolve(path);
    const directory = home();
    if (directory === null && !onDeploy) {
      const hint = "begins in the home directory, and this user has none: set it to an absolute path, or set HOME";
      problems.push({ field, value: JSON.stringify(path), hint });
    }
    return join(directory ?? sep, path.slice(1));
  };
  const dataDir = absolutePath("DATA_DIR", values.dataDir);
  const workspaceDir = absolutePath("WORKSPACE_DIR", values.workspaceDir);
  if (values.workspaceStore === "disk") {
    for (const [field, path] of Object.entries({ ...pathsOf(values, env), DATA_DIR: dataDir })) {
      if (path === undefined || !leadsInto(resolve(path), workspaceDir, lookAt)) continue;
      const hint = "must not lie in the workspace, where agents could read and replace it";
      problems.push({ field, value: JSON.stringify(path), hint });
    }
  }
  return {
    ...rest,
    ...(serverUrl === undefined ? {} : { serverUrl }),
    ...(servicenow === null ? {} : { servicenow }),
    servicenowMissing: instance === undefined || servicenow !== null
      ? []
      : ["SERVICENOW_CLIENT_ID", "SERVICENOW_CLIENT_SECRET"],
    ...(tls === null ? {} : { tls }),
    registration: mode,
    maxBodyBytes: values.maxBodyBytes ?? bodyBytesFor(values.maxWriteBytes),
    onDeploy,
    hasProxy: environmentHasProxy((name) => env[name]),
    telemetry: readTelemetryRequest(env),
    formerSettings: formerSettingsIn(env),
    dataDir,
    workspaceDir,
  };
}

/** A body that writes a file of this size: JSON escapes every line end, quotation mark and backslash. */
function bodyBytesFor(fileBytes: number): number {
  return 2 * fileBytes + 65_536;
}

/** The files that hold secrets, or decide whom the server trusts, by the setting that names them. */
function pathsOf(
  { database, tlsCertificateFile, tlsKeyFile }: SettingValues,
  env: ConfigSources["env"],
): Readonly<Record<string, string | undefined>> {
  const secrets = (Object.values(settings) as Setting<unknown>[])
    .filter(({ secret }) => secret)
    .map(({ env: name }) => [`${name}_FILE`, env[`${name}_FILE`] || undefined] as const);
  return {
    ...Object.fromEntries(secrets),
    DATABASE_URL: database?.kind === "deno_kv" ? database.path : database?.rootCertificatePath,
    TLS_CERT_FILE: tlsCertificateFile,
    TLS_KEY_FILE: tlsKeyFile,
  };
}

/** All three settings or none; the instance alone is checked and otherwise left, since the guide's servers set it so. */
function completeServicenow(
  { instance, clientId, clientSecret }: { readonly [Name in keyof ServicenowConfig]: string | undefined },
  signIn: "local" | "servicenow",
  problems: ConfigProblem[],
): ServicenowConfig | null {
  if (instance !== undefined && clientId !== undefined && clientSecret !== undefined) {
    return { instance, clientId, clientSecret };
  }
  if (clientId === undefined && clientSecret === undefined && signIn === "local") return null;
  const needed = {
    SERVICENOW_INSTANCE: instance,
    SERVICENOW_CLIENT_ID: clientId,
    SERVICENOW_CLIENT_SECRET: clientSecret,
  };
  for (const [field, value] of Object.entries(needed)) {
    const hint = "must be set together with the other settings of the instance; see docs/servicenow.md";
    if (value === undefined) problems.push({ field, value: "(not set)", hint });
  }
  return null;
}

/** Node's types promise a text; Deno gives `null` without HOME and without an entry among the system's users. */
function systemHome(): string | null {
  return homedir() as string | null;
}
