/** The only reader of the environment and of flags: turns them into one frozen {@link Config}, or into every problem. */
import { homedir } from "node:os";
import { join, resolve, sep } from "node:path";
import { failure, type Result, success } from "../lib/result.ts";
import { environmentHasProxy } from "../lib/environment_proxy.ts";
import { type ConfigSources, findSetting, isDeploy, layeredVariables, shownText } from "./find_setting.ts";
import { type FormerSetting, formerSettingsIn } from "./former_settings.ts";
import { leadsInto } from "./overlap.ts";
import { isLoopbackHost } from "./parsers.ts";
import type { ConfigProblem } from "./problem.ts";
import { requireForDeploy } from "./require_for_deploy.ts";
import type { Setting } from "./setting.ts";
import { type SettingName, settings, type SettingValues } from "./settings.ts";
import { readTelemetryRequest, type TelemetryRequest } from "./telemetry.ts";
import { completeTls, type TlsConfig } from "./tls.ts";
import { variableNames } from "./variable_names.ts";

/** Who may register OAuth clients (RFC 7591): anyone, holders of the token, no one. */
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
  /** Whether the environment names a proxy that Deno's fetch would use even for this machine. */
  readonly hasProxy: boolean;
  /** What the environment asks of Deno; the server itself looks at what Deno does. */
  readonly telemetry: TelemetryRequest;
  /** Variables that are set and have no effect any more. */
  readonly formerSettings: readonly FormerSetting[];
  /** The configuration file, where one was read. */
  readonly configFile?: string;
  /** Whether this is Deno Deploy, which starts the server without arguments and flags, and without a lasting disk. */
  readonly onDeploy: boolean;
}

/** Reads every setting, then the rules between settings. All problems are reported together. */
export function loadConfig(sources: ConfigSources): Result<Config, readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(settings) as SettingName[]) {
    const setting: Setting<unknown> = settings[name];
    const found = findSetting(setting, sources, problems);
    if (found === undefined) continue;
    const parsed = setting.parse(found.text);
    if (parsed.ok) values[name] = parsed.value;
    else problems.push({ field: found.field, value: shownText(setting, found.text), hint: parsed.error });
  }
  if (problems.length > 0) return failure(problems);
  const config = completeConfig(values as unknown as SettingValues, sources, problems);
  return problems.length > 0 ? failure(problems) : success(Object.freeze(config));
}

function completeConfig(
  values: SettingValues,
  { env, file, readFile, home = systemHome, lookAt = () => null }: ConfigSources,
  problems: ConfigProblem[],
): Config {
  const { registration, servicenowInstance: instance, ...others } = values;
  const { servicenowClientId: clientId, servicenowClientSecret: clientSecret, ...withTls } = others;
  const { tlsCertificateFile: certificateFile, tlsKeyFile: keyFile, ...rest } = withTls;
  const servicenow = completeServicenow({ instance, clientId, clientSecret }, values.signIn, problems);
  const { serverUrl } = values;
  const tls = completeTls({ certificateFile, keyFile, serverUrl, readFile }, problems);
  const onDeploy = isDeploy(env);
  const variables = layeredVariables({ env, file: file ?? null }, variableNames);
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
    const paths = { ...pathsOf(values, variables), DATA_DIR: dataDir, "--config": file?.path };
    for (const [field, path] of Object.entries(paths)) {
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
    onDeploy,
    hasProxy: environmentHasProxy((name) => env[name]),
    telemetry: readTelemetryRequest(env),
    formerSettings: formerSettingsIn(variables),
    ...(file ? { configFile: file.path } : {}),
    dataDir,
    workspaceDir,
  };
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
