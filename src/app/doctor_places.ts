/** The directories that the server uses, as they are or as the first start would make them. */
import { access, constants, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { dataFiles, type StorageSettings } from "../storage/mod_settings.ts";
import type { Config } from "./config/config.ts";
import { leadsInto, lookAtPath } from "./config/directories.ts";
import { faultWords, pathRemedy, systemCode } from "../lib/system_fault.ts";
import { exists, isReadOnly } from "../lib/system_path.ts";
import { requirePrivate } from "../storage/mod.ts";
import { type Check, UnusableError } from "../lib/result.ts";
import type { FreeSpace, KernelAccess } from "../lib/kernel/kernel.ts";

/** Makes the checks of one part. */
export function checksOf(name: string): Readonly<Record<Check["state"], (text: string, remedy?: string) => Check>> {
  const makerOf = (state: Check["state"]) => (text: string, remedy?: string): Check =>
    remedy === undefined ? { name, state, text } : { name, state, text, remedy };
  return { well: makerOf("well"), note: makerOf("note"), warning: makerOf("warning"), broken: makerOf("broken") };
}

const { R_OK, W_OK, X_OK } = constants;

/** Says at its end whether the directory can be used, so that no other check tells the same again. */
export async function* examineDataDirectory(
  { dataDir, database, masterKey }: StorageSettings,
): AsyncGenerator<Check, boolean> {
  const { well, broken } = checksOf("data directory");
  if (database !== undefined && masterKey !== undefined) {
    yield well("is not used: DATABASE_URL and MASTER_KEY take its place");
    return true;
  }
  const place = { part: "data directory", path: dataDir, mode: R_OK | W_OK | X_OK };
  const problem = await directoryProblem(place, "choose another with --data-dir (DATA_DIR)");
  if (problem !== null) {
    yield problem;
    return problem.state !== "broken";
  }
  try {
    requirePrivate(dataDir, "700");
    for (const path of Object.values(dataFiles).map((file) => join(dataDir, file))) {
      if (exists(path)) requirePrivate(path, "600");
    }
    yield well(`${dataDir} is for its owner alone`);
  } catch (error) {
    if (!(error instanceof UnusableError)) throw error;
    yield broken(error.problem, error.remedy);
  }
  return true;
}

/** The workspace, where it is on the disk. */
export async function* examineWorkspace({ workspace, storage }: Config): AsyncGenerator<Check> {
  const part = "workspace";
  const { well, warning } = checksOf(part);
  const another = "choose another with --workspace (WORKSPACE_DIR)";
  for (const { name, path, isReadOnly: isForReading } of workspace.directories) {
    if (leadsInto(path, storage.dataDir, lookAtPath)) {
      yield warning(
        `${path} lies in the data directory`,
        "choose another with --workspace: sharing one would expose the keys too",
      );
    }
    if (name !== "" && !exists(path)) {
      yield warning(`${path} is away`, `mount or make it; ${name} works again once it is there`);
      continue;
    }
    const problem = await directoryProblem({ part, path, mode: R_OK | X_OK }, another);
    if (problem !== null) yield problem;
    else if (isForReading) yield well(`${path} can be read, and is read-only for agents`);
    else if (!isReadOnly(path)) yield well(`${path} can be read and written`);
    else yield warning(`${path} can be read, but not written`, `chown or chmod it, or ${another}`);
  }
}

/** What is wrong with a directory that the server would use or make; `null` for one that is there. */
async function directoryProblem(
  { part, path, mode }: { readonly part: string; readonly path: string; readonly mode: number },
  another: string,
): Promise<Check | null> {
  const { broken, note } = checksOf(part);
  try {
    if (!(await stat(path)).isDirectory()) return broken(`${path} is not a directory`, another);
    await access(path, mode);
    return null;
  } catch (error) {
    if (systemCode(error) !== "ENOENT") {
      return broken(`${path} cannot be used: ${faultWords(error)}`, pathRemedy(error, another));
    }
  }
  const parent = await nearestParent(path);
  try {
    await access(parent, W_OK | X_OK);
    return note(`${path} does not exist yet: the first start makes it`);
  } catch (error) {
    const text = `${path} does not exist, and cannot be made in ${parent}: ${faultWords(error)}`;
    return broken(text, pathRemedy(error, another));
  }
}

async function nearestParent(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path) return path;
  return await stat(parent).then(() => parent, () => nearestParent(parent));
}

/** Less deserves a look. */
const leastFreeBytes = 1_000_000_000;
/** With less, writes fail: SQLite adds pages in runs, and a file comes beside the one it replaces. */
const fullBytes = 1_000_000;

/** Whether a path's disk is known to lack room for what will be written. */
export function isFull(path: string, kernel: KernelAccess | undefined): boolean {
  const space = kernel?.available ? kernel.freeSpace(path) : null;
  return space !== null && space.free < fullBytes;
}

/** One for the workspace and one for the data; one for both on the same file system. */
export function examineDisks(
  { workspace, storage: { database, dataDir } }: Config,
  kernel: KernelAccess | undefined,
): readonly Check[] {
  if (!kernel?.available) return [];
  const places = [
    ...workspace.store === "disk" ? workspace.directories.map(({ path }) => ({ what: "workspace", path })) : [],
    ...database === undefined ? [{ what: "data", path: dataDir }] : [],
  ];
  const checks = places.flatMap(({ what, path }) => {
    const space = kernel.freeSpace(path);
    return space === null || space.total === 0 ? [] : [examineSpace(`disk of the ${what}`, space)];
  });
  const [first] = checks;
  const isOne = first !== undefined && checks.length > 1 && checks.every(({ text }) => text === first.text);
  return isOne ? [{ ...first, name: "disk" }] : checks;
}

function examineSpace(name: string, { free, total }: FreeSpace): Check {
  const text = `${gigabytes(free)} of ${gigabytes(total)} GB free.`;
  if (free < fullBytes) return checksOf(name).broken(`is full: ${text}`, "free some space: no write works until then");
  return free < leastFreeBytes
    ? checksOf(name).warning(`${text} Writes fail once it is full: free some space.`)
    : checksOf(name).well(text);
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0);
}
