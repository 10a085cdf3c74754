/** Opens an installation: its storage, and the secrets derived from the master key in the data directory. */
import {
  type AbsentStorage,
  bindMasterKey,
  boundMark,
  type DataDirectoryProblem,
  loadExamineStorage,
  masterKeyMark,
  missingMasterKey,
  openDataDirectory,
  openStorage,
  type OpenStorageOptions,
  peekMasterKey,
  readDataDirectory,
  type Storage,
  type StorageBounds,
  type StorageKey,
  wrongMasterKey,
} from "../storage/mod.ts";
import { failure, type Problem, type Result, success, UnusableError } from "../lib/result.ts";
import type { Telemetry } from "../audit/mod.ts";
import type { Clock, Timers } from "../lib/time.ts";
import type { Log } from "../lib/log.ts";
import { pathBelow } from "../lib/system_path.ts";
import { createSecretBox, type SecretBox } from "../lib/secrets.ts";
import { dataFiles, type StorageSettings } from "../storage/mod_settings.ts";
import type { Config } from "./config/config.ts";
import type { KernelAccess } from "../files/mod.ts";
import type { Tool } from "../mcp/mod.ts";
import type { Bounds } from "./bounds.ts";

/** An open storage and the key box that belongs to it. The caller closes the storage. */
export interface Installation {
  readonly storage: Storage;
  readonly secrets: SecretBox;
}

/** What a server, over HTTP or stdio, gives its parts. */
export interface Parts extends Installation {
  /** The issuer: an origin without a trailing slash. */
  readonly serverUrl: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly telemetry: Telemetry;
  readonly bounds: Bounds;
  readonly kernel?: KernelAccess | undefined;
  /** Tools in addition to the configuration's; see docs/tools.md. */
  readonly extraTools: readonly Tool[];
}

/** How the storage is opened. */
interface StorageOptions {
  /** For a server, which goes on while its database is lost. */
  readonly log?: Log;
  readonly bounds?: StorageBounds;
  readonly watchPlace?: OpenStorageOptions["watchPlace"];
}

/** Opens what a configuration names, making the data directory and the database on the first start. */
export async function openInstallation(
  settings: StorageSettings,
  clock: Clock,
  options: StorageOptions = {},
): Promise<Result<Installation, Problem>> {
  const early = readMasterKey(settings);
  if (!early.ok) return early;
  const opened = await openStorageOf(settings, clock, options);
  if (!opened.ok) return opened;
  const storage = opened.value;
  let isOpen = false;
  try {
    const keyed = early.value === null ? await makeMasterKeyFor(storage, settings) : success(early.value);
    if (!keyed.ok) return keyed;
    const secrets = createSecretBox(keyed.value);
    if (settings.previousMasterKey !== undefined) {
      const { moveToMasterKey } = await import("./move_to_master_key.ts"); // hardly ever needed
      await moveToMasterKey({ storage, clock }, { from: createSecretBox(settings.previousMasterKey), to: secrets });
    }
    const bound = await bindMasterKey(storage, masterKeyMark(secrets));
    isOpen = bound.ok;
    return bound.ok ? success({ storage, secrets }) : bound;
  } catch (error) {
    if (!(error instanceof UnusableError)) throw error;
    return failure(error);
  } finally {
    if (!isOpen) await storage.close();
  }
}

/**
 * Whether what a configuration names can be used, and its master key fits; makes and changes nothing. `absent` when
 * there is nothing yet: the first start makes it. Says, too, whether the entry to look for is there.
 */
export async function examineInstallation(
  { database, dataDir, masterKey }: StorageSettings,
  lookFor: StorageKey,
): Promise<Result<{ readonly kind: "sound"; readonly isFound: boolean } | AbsentStorage, Problem>> {
  const { examineStorage } = await loadExamineStorage();
  const examined = await examineStorage({
    ...(database === undefined ? {} : { location: database }),
    sqlitePath: pathBelow(dataDir, dataFiles.database),
    lookFor,
  });
  if (!examined.ok) return examined;
  if (examined.value.kind === "absent" || examined.value.mark === null) return success({ kind: "absent" });
  const key = masterKey === undefined ? peekMasterKey(dataDir) : success(masterKey);
  if (!key.ok) return failure(asProblem(key.error));
  if (key.value === null) return failure(asProblem(missingMasterKey(dataDir)));
  if (examined.value.mark !== masterKeyMark(createSecretBox(key.value))) return failure(wrongMasterKey);
  return success({ kind: "sound", isFound: examined.value.isFound });
}

/** Opens the storage that a configuration names, whatever its master key. */
export async function openStorageOf(
  { database, dataDir }: StorageSettings,
  clock: Clock,
  { log, watchPlace, bounds = {} }: StorageOptions = {},
): Promise<Result<Storage, Problem>> {
  return await openStorage({
    ...(database === undefined ? {} : { location: database }),
    sqlitePath: pathBelow(dataDir, dataFiles.database),
    clock,
    log,
    bounds,
    watchPlace,
  });
}

/**
 * The key from the setting or the data directory; `null` where there is none yet. The directory is not touched when
 * nothing of it is needed.
 */
function readMasterKey({ masterKey, database, dataDir }: StorageSettings): Result<Uint8Array | null, Problem> {
  if (masterKey !== undefined && database !== undefined) return success(masterKey);
  const directory = masterKey === undefined ? readDataDirectory(dataDir) : openDataDirectory(dataDir);
  return directory.ok ? success(masterKey ?? directory.value.masterKey) : failure(asProblem(directory.error));
}

/** For a database that no key was used with yet. */
async function makeMasterKeyFor(
  storage: Storage,
  { dataDir }: StorageSettings,
): Promise<Result<Uint8Array, Problem>> {
  // Another instance that starts for the first time makes its key before it leaves its mark.
  const isUsed = await boundMark(storage) !== null;
  const directory = isUsed ? readDataDirectory(dataDir) : openDataDirectory(dataDir);
  if (!directory.ok) return failure(asProblem(directory.error));
  const { masterKey } = directory.value;
  return masterKey === null ? failure(asProblem(missingMasterKey(dataDir))) : success(masterKey);
}

function asProblem({ path, problem, remedy }: DataDirectoryProblem): Problem {
  return { problem: `${path} ${problem}`, remedy };
}

/** What each way means. */
export const confinementWords = {
  kernel: "the kernel resolves each name below the workspace's directory (openat2): no other process can make a call " +
    "reach files outside",
  checked: "paths are checked before and after each use: another process of this machine that swaps directories for " +
    "links at the right moment can make a call reach files outside",
} as const;

/** One line of the log; none without files on the disk. */
export function logConfinement(
  { store }: Config["workspace"],
  kernel: KernelAccess | undefined,
  log: Log,
): void {
  if (store !== "disk") return;
  if (kernel?.available) {
    return log.write("info", "workspace_confinement", { by: "kernel", meaning: confinementWords.kernel });
  }
  const because = kernel?.reason ?? "the program was started without it";
  log.write("info", "workspace_confinement", { by: "checks", because, meaning: confinementWords.checked });
}
