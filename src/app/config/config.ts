/** The only reader of the environment and of flags: turns them into one frozen {@link Config}, or into every problem. */
import { findSetting, isDeploy, settings, settingSections, settingTables, settingText, shownText } from "./settings.ts";
import type { ConfigProblem, SettingSources, SettingValues } from "./settings.ts";
import { faultWords } from "../../lib/system_fault.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { isLoopbackHost, parseCertificates, parsePrivateKey } from "../../lib/settings.ts";
import type { SettingParser, SettingTable } from "../../lib/settings.ts";
import { workspaceSettings } from "../../files/mod_settings.ts";
import { storageSettings } from "../../storage/mod_settings.ts";
import { completeCompany } from "../../oauth/mod_settings.ts";
import type { CompanySettings } from "../../oauth/mod.ts";
import { environmentHasProxy } from "../../lib/network.ts";
import { formatDirectory, leadsInto, lookAtPath, parseNamedDirectories, withAdded } from "./directories.ts";
import type { NamedDirectory, readAdded, WorkspaceDirectory } from "./directories.ts";
import { absolutePath, expandHome, homeDirectory, pathBelow } from "../../lib/system_path.ts";

/** What is wrong with a setting that is no secret; `undefined`: it is not set. */
function wrong(field: string, value: string | undefined, hint: string): ConfigProblem {
  return { field, value: value === undefined ? "(not set)" : JSON.stringify(value), hint };
}

// What Deno Deploy asks of a configuration: no instance there can make it for itself, and each loses its disk.

/** Reports what is absent or cannot be. */
function requireForDeploy(
  { http: { serverUrl, publicDomain }, storage: { database, masterKey }, workspace: { store } }: SettingValues,
  env: ConfigSources["env"],
  problems: ConfigProblem[],
): void {
  const require = (field: string, hint: string): void =>
    void problems.push(wrong(field, undefined, `must be set on Deno Deploy${hint}`));
  if (masterKey === undefined) {
    require("MASTER_KEY", ", as a secret, the same for every instance; make it with: openssl rand -base64 32");
  }
  if (serverUrl === undefined) {
    const [app = "APP", organization = "ORGANIZATION"] = [env["DENO_DEPLOY_APP_SLUG"], env["DENO_DEPLOY_ORG_SLUG"]];
    const address = `https://${app}.${organization}.deno.net`;
    require("SERVER_URL", ` to the address that clients type: ${address}, or the app's own domain`);
  }
  if (database === undefined && !env["DATA_DIR"]) {
    require("DATABASE_URL", ": assign a PostgreSQL database to the app, and the platform sets it");
  }
  if (publicDomain !== undefined) {
    const hint =
      "cannot be set on Deno Deploy, which issues certificates itself: give the app the domain there, and set SERVER_URL";
    problems.push(wrong("PUBLIC_DOMAIN", publicDomain, hint));
  }
  if (store === "disk") {
    const hint = "cannot be disk on Deno Deploy, where an instance's disk is not kept; leave it out";
    problems.push(wrong("WORKSPACE_STORE", store, hint));
  }
}

/** The address that PUBLIC_DOMAIN stands for; reports settings that contradict it. */
function publicUrl(
  { publicDomain, serverUrl, tlsCertificateFile, tlsKeyFile }: SettingValues["http"],
  problems: ConfigProblem[],
): string | undefined {
  if (publicDomain === undefined) return serverUrl;
  const url = `https://${publicDomain}`;
  const others = {
    SERVER_URL: serverUrl === url ? undefined : serverUrl,
    TLS_CERT_FILE: tlsCertificateFile,
    TLS_KEY_FILE: tlsKeyFile,
  };
  for (const [field, value] of Object.entries(others)) {
    if (value === undefined) continue;
    const hint = `cannot be set together with PUBLIC_DOMAIN, which makes the server ${url} with its own certificate`;
    problems.push(wrong(field, value, hint));
  }
  return url;
}

/** What https is served with, as PEM. */
export interface TlsConfig {
  readonly certificates: string;
  readonly privateKey: string;
  /** Where both were read from. */
  readonly files: readonly string[];
}

/** Both files or none. Adds to `problems`, in which no content of a file appears. */
function completeTls(
  { tlsCertificateFile: certificateFile, tlsKeyFile: keyFile }: SettingValues["http"],
  serverUrl: string | undefined,
  readFile: ConfigSources["readFile"],
  problems: ConfigProblem[],
): TlsConfig | null {
  if (certificateFile === undefined && keyFile === undefined) return null;
  const read = (field: string, path: string | undefined, parse: SettingParser<string>): string => {
    const content = path === undefined
      ? failure("must be set together with the other TLS file")
      : contentOf(expandHome(path) ?? path, parse, readFile);
    if (content.ok) return content.value;
    problems.push(wrong(field, path, content.error));
    return "";
  };
  if (serverUrl?.startsWith("http:")) {
    const hint = "must be https when TLS_CERT_FILE is set: the server then speaks https alone";
    problems.push(wrong("SERVER_URL", serverUrl, hint));
  }
  const certificates = read("TLS_CERT_FILE", certificateFile, parseCertificates);
  const privateKey = read("TLS_KEY_FILE", keyFile, parsePrivateKey);
  return { certificates, privateKey, files: [certificateFile ?? "", keyFile ?? ""] };
}

function contentOf(path: string, parse: SettingParser<string>, readFile: (path: string) => string) {
  try {
    return parse(readFile(path));
  } catch (error) {
    return failure(`names a file that cannot be read: ${faultWords(error)}`);
  }
}

/** Who may register OAuth clients (RFC 7591): anyone, holders of the token, no one. */
type RegistrationMode = "open" | "token" | "off";

/** The instance whose records are offered, with this server's credentials as its OAuth client. */
interface ServicenowAccess {
  readonly instance: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The whole configuration, by part. Paths are absolute. */
export interface Config extends Omit<SettingValues, "authorizationServer" | "http" | "servicenow" | "workspace"> {
  readonly authorizationServer: Omit<SettingValues["authorizationServer"], "registration"> & {
    readonly registration: RegistrationMode;
    /** The company's identity provider, where people sign in with it. */
    readonly company: CompanySettings | null;
  };
  readonly http: Omit<SettingValues["http"], "tlsCertificateFile" | "tlsKeyFile"> & {
    /** Without it, the server speaks plain http. */
    readonly tls?: TlsConfig;
  };
  readonly ollama: SettingValues["ollama"] & {
    /** Whether the environment names a proxy that Deno's fetch would use even for this machine. */
    readonly avoidProxy: boolean;
  };
  readonly servicenow: Omit<SettingValues["servicenow"], keyof ServicenowAccess> & {
    readonly access?: ServicenowAccess;
    /** The settings without which SERVICENOW_INSTANCE offers nothing; empty where nothing is missing. */
    readonly missing: readonly string[];
  };
  readonly workspace: SettingValues["workspace"] & {
    /** As WORKSPACE_DIR says, and those that were added; in the database: the path that is not used. */
    readonly directories: readonly WorkspaceDirectory[];
    /** What none of them may hold, by the names of its settings. */
    readonly apart: Readonly<Record<string, string>>;
  };
  /** What has a value, for the owner to see: secrets as "set". */
  readonly inForce: ReturnType<typeof settingsInForce>;
  /** The configuration file, where one was read. */
  readonly configFile?: string;
  /** Whether this is Deno Deploy, which starts the server without arguments and flags, and without a lasting disk. */
  readonly onDeploy: boolean;
}

/** Everything that a configuration is made of. */
export interface ConfigSources extends SettingSources {
  /** The home directory; `null` for a user without one. The system's answer unless given. */
  readonly home?: () => string | null;
  /** Whether the command listens, for which settings must be there that others do without. Yes unless given. */
  readonly listens?: boolean;
  /** Looks at the paths that must not overlap. Without it they are compared as they are written. */
  readonly lookAt?: typeof lookAtPath;
  /** Reads which directories were added to the workspace; none unless given. */
  readonly readAdded?: typeof readAdded;
}

/** Reads every setting, then the rules between settings. All problems are reported together. */
export function loadConfig(given: ConfigSources): Result<Config, readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  const sources = { ...given, env: withPlatformDatabase(given.env) };
  const values = Object.fromEntries(
    Object.entries(settingTables).map(([part, [, table]]) => [part, readTable(table, sources, problems)]),
  );
  if (problems.length > 0) return failure(problems);
  const config = completeConfig(values as unknown as SettingValues, sources, problems);
  if (problems.length > 0) return failure(problems);
  for (const part of Object.values(config)) Object.freeze(part);
  return success(Object.freeze(config));
}

/** Deno Deploy describes the database of an app by DATABASE_URL, and by libpq's variables: one of the two is enough. */
function withPlatformDatabase(env: ConfigSources["env"]): ConfigSources["env"] {
  if (!isDeploy(env) || env["DATABASE_URL"] || env["DATABASE_URL_FILE"] || !env["PGHOST"]) return env;
  const [user, password, database, mode] = ["PGUSER", "PGPASSWORD", "PGDATABASE", "PGSSLMODE"]
    .map((name) => encodeURIComponent(env[name] ?? ""));
  const address = `${user}:${password}@${env["PGHOST"]}:${env["PGPORT"] || 5_432}/${database}`;
  const url = `postgres://${address}${mode ? `?sslmode=${mode}` : ""}`;
  return new Proxy(env, { get: (variables, name: string) => name === "DATABASE_URL" ? url : variables[name] });
}

function readTable(
  table: SettingTable,
  sources: ConfigSources,
  problems: ConfigProblem[],
): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const found = findSetting(setting, sources, problems);
    if (found === undefined) continue;
    const parsed = setting.parse(found.text);
    if (parsed.ok) values[name] = parsed.value;
    else problems.push({ field: found.field, value: shownText(setting, found.text), hint: parsed.error });
  }
  return values;
}

function completeConfig(values: SettingValues, sources: ConfigSources, problems: ConfigProblem[]): Config {
  const { env, file, readFile, listens = true } = sources;
  const { tlsCertificateFile: _file, tlsKeyFile: _keyFile, ...given } = values.http;
  const { instance, clientId, clientSecret, ...servicenow } = values.servicenow;
  const serverUrl = publicUrl(values.http, problems);
  const http = { ...given, ...serverUrl === undefined ? {} : { serverUrl } };
  const onDeploy = isDeploy(env);
  const access = completeServicenow({ instance, clientId, clientSecret }, values.authorizationServer.signIn, problems);
  const tls = completeTls(values.http, serverUrl, readFile, problems);
  if (onDeploy) requireForDeploy(values, env, problems);
  else if (listens && serverUrl === undefined && !isLoopbackHost(http.host)) {
    const hint =
      `must be set when the server listens on ${http.host}: it is the address that clients type, such as https://mcp.example.com`;
    problems.push(wrong("SERVER_URL", undefined, hint));
  }
  const storage = { ...values.storage, dataDir: placeOf("DATA_DIR", values.storage.dataDir, sources, problems) };
  const apart = pathsApart({ ...values, storage }, sources);
  const workspace = completeWorkspace(values.workspace, apart, sources, problems);
  if (workspace.directories[0]?.name === "") requireSeparatePaths(workspace, sources, problems);
  return {
    ...values,
    authorizationServer: {
      ...values.authorizationServer,
      registration: registrationMode({ ...values, http }, listens, problems),
      company: completeCompany(values.authorizationServer, (problem) => {
        problems.push({ value: "(not set)", ...problem });
      }),
    },
    http: { ...http, ...(tls === null ? {} : { tls }) },
    ollama: {
      ...values.ollama,
      ...(values.ollama.baseUrl && { host: values.ollama.baseUrl }),
      avoidProxy: environmentHasProxy((name) => env[name]),
    },
    servicenow: {
      ...servicenow,
      ...(access === null ? {} : { access }),
      missing: instance === undefined || access !== null ? [] : ["SERVICENOW_CLIENT_ID", "SERVICENOW_CLIENT_SECRET"],
    },
    storage,
    workspace,
    inForce: settingsInForce(sources),
    ...(file ? { configFile: file.path } : {}),
    onDeploy,
  };
}

function registrationMode(
  { http: { serverUrl, publicDomain }, authorizationServer: { registration, registrationToken } }: SettingValues,
  listens: boolean,
  problems: ConfigProblem[],
): RegistrationMode {
  const isPublic = serverUrl !== undefined && !isLoopbackHost(new URL(serverUrl).hostname);
  const closed = publicDomain !== undefined && registrationToken === undefined ? "off" : "token"; // one setting is enough
  const mode = registration ?? (isPublic || registrationToken !== undefined ? closed : "open");
  if (mode === "token" && registrationToken === undefined && listens) {
    const hint = "must be set for REGISTRATION=token, the default on a public SERVER_URL: make one with " +
      "`openssl rand -base64 32`; or set REGISTRATION=off";
    problems.push(wrong("DCR_AUTH_TOKEN", undefined, hint));
  }
  return mode;
}

function placeOf(field: string, path: string, { env, home = homeDirectory }: ConfigSources, problems: ConfigProblem[]) {
  const expanded = expandHome(path, home);
  const hint = expanded === null && !isDeploy(env)
    ? "begins in the home directory, and this user has none: set it to an absolute path, or set HOME"
    : expanded !== null && /^(\$\w|\$\{|%\w+%|~[^/])/.test(expanded)
    ? "begins with a name that is not expanded: write the whole path, or begin it with ~ or $HOME"
    : null;
  if (hint !== null) problems.push(wrong(field, path, hint));
  return expanded === null ? pathBelow("/", path.replace(/^[^/]+/, "")) : absolutePath(expanded);
}

/** The workspace with its directories; none where there is a problem. */
function completeWorkspace(
  settings: SettingValues["workspace"],
  apart: Readonly<Record<string, string>>,
  sources: ConfigSources,
  problems: ConfigProblem[],
): Config["workspace"] {
  const { lookAt = () => null, readAdded } = sources;
  const refuse = (problem: ConfigProblem): Config["workspace"] => {
    problems.push(problem);
    return { ...settings, directories: [], apart };
  };
  const { dir, store } = settings;
  const written = parseDirectories(dir);
  if (!written.ok) return refuse(wrong("WORKSPACE_DIR", dir, written.error));
  if (store === "storage" && written.value[0]?.name !== "") {
    const hint = "names directories of the disk, which WORKSPACE_STORE=storage does not use";
    return refuse(wrong("WORKSPACE_DIR", dir, hint));
  }
  const own = written.value.map((each) => ({ ...each, path: placeOf("WORKSPACE_DIR", each.path, sources, problems) }));
  const added = store === "disk" && readAdded?.(apart["DATA_DIR"] ?? "") || success([]);
  if (!added.ok) return refuse(added.error);
  const all = withAdded(own, added.value, { paths: apart, lookAt });
  if (!all.ok) return refuse(all.error);
  return { ...settings, dir: own.map(formatDirectory).join(), directories: all.value, apart };
}

/** The configuration with other added directories, for a server that runs and for one that starts next. */
export function changeAdded(config: Config, added: readonly NamedDirectory[]): Result<Config, ConfigProblem> {
  const { dir, apart } = config.workspace;
  const own = parseDirectories(dir);
  const all = withAdded(own.ok ? own.value : [], added, { paths: apart, lookAt: lookAtPath });
  return all.ok ? success({ ...config, workspace: { ...config.workspace, directories: all.value } }) : all;
}

/** What holds a secret, or decides whom the server trusts, by the names of its settings. */
function pathsApart({ http, storage: { database, dataDir } }: SettingValues, { env, file }: ConfigSources) {
  const secretFiles = settings.filter(({ secret }) => secret).map((setting) => `${setting.env}_FILE`)
    .map((name) => [name, env[name] || file?.values[name]] as const);
  const paths: Readonly<Record<string, string | undefined>> = {
    ...Object.fromEntries(secretFiles),
    DATABASE_URL: database?.rootCertificatePath,
    TLS_CERT_FILE: http.tlsCertificateFile,
    TLS_KEY_FILE: http.tlsKeyFile,
    DATA_DIR: dataDir,
    "--config": file?.path,
  };
  const given = Object.entries(paths).flatMap(([name, path]) => path ? [[name, path] as const] : []);
  return Object.fromEntries(given.map(([name, path]) => [name, absolutePath(expandHome(path) ?? path)]));
}

/** None of these may lie in the only directory of a workspace on the disk. */
function requireSeparatePaths(
  { dir, store, apart }: Config["workspace"],
  sources: ConfigSources,
  problems: ConfigProblem[],
): void {
  const { lookAt = () => null } = sources;
  if (store !== "disk") return;
  const [data, workspace] = [storageSettings.dataDir, workspaceSettings.dir].map((setting) => {
    const found = findSetting(setting, sources, []);
    return found === undefined || found.source === "default" ? null : found.field;
  });
  for (const [name, path] of Object.entries(apart)) {
    if (!leadsInto(path, dir, lookAt)) continue;
    if (name === "DATA_DIR" && !data && workspace) { // the one that was chosen is the one to change
      const hint = `must not hold ${path}, which agents could read and replace: choose a separate directory`;
      problems.push(wrong(workspace, dir, hint));
    } else {
      const hint = `must not lie in the workspace ${dir}, where agents could read and replace it: move it elsewhere`;
      problems.push(wrong(name === "DATA_DIR" ? data ?? name : name, path, hint));
    }
  }
}

/** All three settings or none; the instance alone is checked and otherwise left, since the guide's servers set it so. */
function completeServicenow(
  { instance, clientId, clientSecret }: { readonly [Name in keyof ServicenowAccess]: string | undefined },
  signIn: "local" | "servicenow",
  problems: ConfigProblem[],
): ServicenowAccess | null {
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
    if (value === undefined) problems.push(wrong(field, value, hint));
  }
  return null;
}

/** Directories with names, or a path alone: the one directory. */
function parseDirectories(text: string): Result<readonly NamedDirectory[], string> {
  return parseNamedDirectories(text) ?? success([{ name: "", path: text, isReadOnly: false }]);
}

/** The settings that have a value, each with its value (of a secret "set") and source, for the console. */
function settingsInForce(sources: ConfigSources) {
  return settingSections.flatMap(([heading, table]) =>
    Object.values(table).flatMap((setting) => {
      const found = findSetting(setting, { ...sources, readFile: () => "" }, []); // a secret's text is not shown
      return found === undefined
        ? []
        : [{ heading, name: setting.env, value: settingText(setting, found), source: found.source }];
    })
  );
}
