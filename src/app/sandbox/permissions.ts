/**
 * Least privilege: the permissions of the worker that runs the server, as a function of the configuration. Whatever is
 * not named here is refused to all code of the server, its dependencies included.
 */
import type { Config } from "../config/config.ts";
import { parentOf, pathBelow } from "../../lib/system_path.ts";
import { portOf } from "../../lib/network.ts";
import { programName } from "../../lib/program_name.ts";

type WallSettings = Pick<Config, "http" | "notices" | "ollama" | "servicenow" | "storage" | "telemetry" | "workspace">;

/**
 * The permissions for a configuration: what the worker holds. Environment, subprocesses, system information and code
 * from elsewhere: never. `realPath` gives a path without symbolic links: Deno compares paths as they are
 * spelled, and the workspace is opened under its real one. `libraries`: the C libraries that may be loaded here.
 */
export function serverPermissions(
  settings: WallSettings,
  realPath: (path: string) => string,
  libraries: readonly string[] = [],
) {
  const { storage: { database, dataDir }, workspace } = settings;
  const spellings = (paths: readonly string[]): string[] => [
    ...new Set(paths.flatMap((path) => [path, realPath(path)])),
  ];
  const places = (isReadOnly: boolean): string[] =>
    workspace.store === "disk"
      ? workspace.directories.filter((each) => each.isReadOnly === isReadOnly).map(({ path }) => path)
      : [];
  const both = [...places(false), dataDir];
  const readOnly = places(true);
  if (database?.kind === "postgres") {
    if (database.host.startsWith("/")) both.push(pathBelow(database.host, `.s.PGSQL.${database.port}`));
    if (database.rootCertificatePath !== undefined) readOnly.push(database.rootCertificatePath);
  }
  return {
    /** `host:port` to listen on or connect to. */
    net: [...listenAddresses(settings), ...upstreamHosts(settings)],
    read: spellings([...both, ...readOnly]),
    write: spellings(both),
    env: false,
    run: false,
    /** The C library, where the kernel confines the workspace: given up before any other code runs. */
    ffi: workspace.store === "disk" ? libraries : [],
    sys: false,
    import: false,
  } as const;
}

/** What is needed by name only until the storage is open, in each spelling: given up then. */
export function storagePaths({ storage: { dataDir } }: WallSettings, realPath: (path: string) => string): string[] {
  return [...new Set([dataDir, realPath(dataDir)])];
}

/** Where the server listens: for clients, and for Prometheus where that is set. */
export function listenAddresses(
  { http: { host, port, httpPort, publicDomain }, telemetry: { metricsAddress } }: WallSettings,
): readonly string[] {
  const metrics = metricsAddress === undefined ? [] : [hostAndPort(metricsAddress.host, metricsAddress.port)];
  return [hostAndPort(host, port), ...publicDomain === undefined ? [] : [hostAndPort(host, httpPort)], ...metrics];
}

/**
 * Where the server connects to. Client metadata documents are not among it: their hosts are whatever a client says, so
 * the main thread fetches them, with the check of every address in between.
 */
export function upstreamHosts(settings: WallSettings): readonly string[] {
  const { http: { publicDomain, acmeDirectory }, notices, ollama, servicenow: { access }, storage: { database } } =
    settings;
  const urls = [
    ollama.host.baseUrl,
    ...access === undefined ? [] : [access.instance],
    ...publicDomain === undefined ? [] : [acmeDirectory],
    ...notices.url === undefined ? [] : [notices.url],
  ];
  const hosts = urls.map((text) => {
    const url = new URL(text);
    return hostAndPort(url.hostname, portOf(url));
  });
  if (database?.kind === "postgres" && !database.host.startsWith("/")) {
    hosts.push(hostAndPort(database.host, database.port));
  }
  return [...new Set(hosts)];
}

/** The real path of what is there, and of what is not there yet: its nearest parent's, with the rest appended. */
export function realPathBelow(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch (error) {
    const parent = parentOf(path);
    const isAbsent = error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
    if (!isAbsent || parent === path) return path;
    return pathBelow(realPathBelow(parent), path.slice(parent.length));
  }
}

/** An address as `net` permissions are written. */
export function hostAndPort(host: string, port: number): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Every kind of permission that Deno knows. */
export const permissionNames = ["read", "write", "net", "env", "run", "ffi", "sys", "import"] as const;

/**
 * Gives up whole kinds. There is no way back without a person: Deno would ask at a terminal unless it was started with
 * `--no-prompt`, as every task of ours is.
 */
export function giveUp(names: readonly ((typeof permissionNames)[number])[]): void {
  if (names.includes("env")) programName(); // reads the environment, and keeps the result
  for (const name of names) Deno.permissions.revokeSync({ name });
}

/**
 * Gives up reading and writing a file, or at and below a directory. Works only where a list of paths is held (under a
 * grant of everything Deno ignores it); paths below it that are on the list themselves stay.
 */
export function giveUpPath(path: string): void {
  for (const name of ["read", "write"] as const) Deno.permissions.revokeSync({ name, path });
}

/** Gives up one `host:port`; for a listed one, as above. What listens there already goes on listening. */
export function giveUpHost(host: string): void {
  Deno.permissions.revokeSync({ name: "net", host });
}

/**
 * For hosts that start the server with every permission and without a worker, such as Deno Deploy: called once the
 * storage is open and the workspace needs no disk, leaves network and environment.
 */
export function confineThisIsolate(): void {
  giveUp(["read", "write", "run", "ffi", "sys", "import"]);
}
