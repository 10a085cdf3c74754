/** Opens an installation: its storage, and the secrets derived from the master key in the data directory. */
import {
  bindMasterKey,
  boundMark,
  type Foundation,
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
import type { Telemetry } from "../audit/mod.ts";
import type { Clock, Timers } from "../lib/time.ts";
import type { Log, RepeatBounds } from "../lib/log.ts";
import { pathBelow } from "../lib/system_path.ts";
import { createSecretBox, type SecretBox } from "../lib/secrets.ts";
import { dataFiles, type StorageSettings } from "../storage/mod_settings.ts";
import type { Config } from "./config/config.ts";
import type { KernelAccess } from "../lib/kernel/kernel.ts";
import type { McpLimits, Tool } from "../mcp/mod.ts";
import type { Lifetimes, Limits } from "../oauth/mod.ts";
import type { EventStreamOptions } from "../http/mod.ts";
import type { OllamaLimits } from "../llm/mod.ts";
import type { TransferLimits, WorkspaceLimits } from "../files/mod.ts";

/** An open storage and the key box that belongs to it. The caller closes the storage. */
export interface Installation {
  readonly storage: Storage;
  readonly secrets: SecretBox;
}

/** What a server, over HTTP or stdio, gives its parts. */
export interface Parts extends Installation, Foundation {
  /** The issuer: an origin without a trailing slash. */
  readonly serverUrl: string;
  readonly timers: Timers;
  readonly telemetry: Telemetry;
  readonly bounds: Bounds;
  /** Takes a directory that was added out of the workspace, and starts the server anew; absent where none can be. */
  readonly takeOutDirectory?: (name: string) => void;
  readonly kernel?: KernelAccess | undefined;
  /** Tools in addition to the configuration's; see docs/tools.md. */
  readonly extraTools: readonly Tool[];
}

/**
 * Bounds that tests may change, by part; a number that is left out is the part's constant. Plain data, so that a worker
 * can be given it in its address.
 */
export interface Bounds {
  /**
   * How long a client is kept waiting for a person, how soon it cannot answer for one, and how long a sign-in counts for
   * dangerous acts in the console.
   */
  readonly approval?: {
    readonly patienceMs?: number;
    readonly leastReadingMs?: number;
    readonly signInCountsMs?: number;
  };
  readonly authorizationServer?: Partial<Limits>;
  readonly lifetimes?: Partial<Lifetimes>;
  readonly healthChecksPerMinute?: number;
  readonly http?: { readonly bodyTimeoutMs?: number; readonly maxPublicBodyBytes?: number };
  /** How often it is looked at. */
  readonly certificate?: { readonly lookMs?: number };
  readonly eventStreams?: Partial<EventStreamOptions>;
  readonly log?: RepeatBounds;
  readonly mcp?: Partial<McpLimits>;
  readonly ollama?: Partial<OllamaLimits>;
  readonly storage?: StorageBounds;
  readonly sweepIntervalMs?: number;
  readonly transfers?: Partial<TransferLimits>;
  readonly workspace?: Partial<WorkspaceLimits>;
}

/**
 * Opens what a configuration names, making the data directory and the database on the first start. Throws
 * {@link UnusableError} where they, or the key, cannot be used. With a `log`, as a server has one, it goes on while its
 * database is lost.
 */
export async function openInstallation(
  settings: StorageSettings,
  clock: Clock,
  options: Pick<OpenStorageOptions, "log" | "bounds" | "kernel"> = {},
): Promise<Installation> {
  const early = readMasterKey(settings);
  const storage = await openStorage({ ...options, ...placeOf(settings), clock });
  try {
    const secrets = createSecretBox(early ?? await makeMasterKeyFor(storage, settings));
    if (settings.previousMasterKey !== undefined) {
      const { moveToMasterKey } = await import("./move_to_master_key.ts"); // hardly ever needed
      await moveToMasterKey({ storage, clock }, { from: createSecretBox(settings.previousMasterKey), to: secrets });
    }
    await bindMasterKey(storage, masterKeyMark(secrets));
    return { storage, secrets };
  } catch (error) {
    await storage.close().catch(() => {}); // why it is closed says more
    throw error;
  }
}

/** Whether another instance may answer the next request. */
export function mayHaveSeveralInstances({ storage: { database }, onDeploy }: Config): boolean {
  return database !== undefined || onDeploy;
}

/**
 * Whether what a configuration names can be used, and its master key fits; makes and changes nothing. `null` when there
 * is nothing yet: the first start makes it. Says, too, whether the entry to look for is there. Throws
 * {@link UnusableError}.
 */
export async function examineInstallation(
  settings: StorageSettings,
  lookFor: StorageKey,
): Promise<{ readonly isFound: boolean } | null> {
  const { examineStorage } = await loadExamineStorage();
  const examined = await examineStorage({ ...placeOf(settings), lookFor });
  if (examined === null || examined.mark === null) return null;
  const { dataDir, masterKey } = settings;
  const key = masterKey ?? peekMasterKey(dataDir);
  if (key === null) throw missingMasterKey(dataDir);
  if (examined.mark !== masterKeyMark(createSecretBox(key))) throw wrongMasterKey();
  return examined;
}

/** Where the storage is that a configuration names. */
function placeOf({ database, dataDir }: StorageSettings) {
  const sqlitePath = pathBelow(dataDir, dataFiles.database);
  return database === undefined ? { sqlitePath } : { sqlitePath, location: database };
}

/**
 * The key from the setting or the data directory; `null` where there is none yet. The directory is not touched when
 * nothing of it is needed.
 */
function readMasterKey({ masterKey, database, dataDir }: StorageSettings): Uint8Array | null {
  if (masterKey === undefined) return readDataDirectory(dataDir);
  if (database === undefined) openDataDirectory(dataDir);
  return masterKey;
}

/** For a database that no key was used with yet. */
async function makeMasterKeyFor(storage: Storage, { dataDir }: StorageSettings): Promise<Uint8Array> {
  // Another instance that starts for the first time makes its key before it leaves its mark.
  const isUsed = await boundMark(storage) !== null;
  const masterKey = isUsed ? readDataDirectory(dataDir) : openDataDirectory(dataDir);
  if (masterKey === null) throw missingMasterKey(dataDir);
  return masterKey;
}

/** What each way means. */
export const confinementWords = {
  kernel: "confined by the Linux kernel: no other process can make a call reach files outside",
  checked: "paths are checked before and after each use: another process of this machine that swaps directories for " +
    "links at the right moment can make a call reach files outside",
} as const;

/** One line of the log; none without files on the disk. */
export function logConfinement({ store }: Config["workspace"], kernel: KernelAccess | undefined, log: Log): void {
  if (store !== "disk") return;
  if (kernel?.available) {
    return log.write("info", "workspace_confinement", { by: "kernel", meaning: confinementWords.kernel });
  }
  const because = kernel?.reason ?? "the program was started without it";
  log.write("info", "workspace_confinement", { by: "checks", because, meaning: confinementWords.checked });
}
