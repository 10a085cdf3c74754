/** The directories that the server uses, as they are or as the first start would make them. */
import { access, constants, lstat, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StorageSettings } from "../storage/mod_settings.ts";
import type { Config } from "./config/config.ts";
import { lookAtPath } from "./config/look_at_path.ts";
import { leadsInto } from "./config/overlap.ts";
import { faultWords, pathRemedy, systemCode } from "../lib/system_fault.ts";
import { exposure } from "../storage/data_directory.ts";
import { dataFiles } from "../storage/data_files.ts";
import { type Check, checksOf } from "./check.ts";

export async function* examineDataDirectory({ dataDir, database, masterKey }: StorageSettings): AsyncGenerator<Check> {
  const name = "data directory";
  const { well } = checksOf(name);
  const files = [
    ...(masterKey === undefined ? [dataFiles.masterKey] : []),
    ...(database === undefined ? [dataFiles.database] : []),
  ];
  if (files.length === 0) {
    yield well("is not used: DATABASE_URL and MASTER_KEY take its place");
    return;
  }
  const another = "choose another with --data-dir (DATA_DIR)";
  const problem = await directoryProblem(name, dataDir, another);
  if (problem !== null) return void (yield problem);
  const expected = [[dataDir, "700"], ...files.map((file) => [join(dataDir, file), "600"] as const)] as const;
  const hasDatabase = database === undefined &&
    await lstat(join(dataDir, dataFiles.database)).then(() => true, () => false);
  for (const [path, mode] of expected) {
    const check = await examinePrivacy(name, path, mode, another);
    if (check.state !== "warning" || !hasDatabase) yield check; // a key that is lost is told with the database
  }
}

async function examinePrivacy(name: string, path: string, mode: "600" | "700", another: string): Promise<Check> {
  try {
    await lstat(path);
    const problem = exposure(path, mode);
    return problem === null
      ? checksOf(name).well(`${path} is for its owner alone`)
      : checksOf(name).broken(`${path} ${problem.problem}`, problem.remedy);
  } catch (error) {
    if (systemCode(error) === "ENOENT") {
      return checksOf(name).warning(`${path} does not exist yet`, "the first start makes it");
    }
    return unusable(name, path, error, another);
  }
}

/** The workspace, where it is on the disk. */
export async function* examineWorkspace(
  { workspace: { dir: workspaceDir }, storage: { dataDir } }: Config,
): AsyncGenerator<Check> {
  const name = "workspace";
  const { well, warning } = checksOf(name);
  const another = "choose another with --workspace (WORKSPACE_DIR)";
  if (leadsInto(workspaceDir, dataDir, lookAtPath)) {
    yield warning(
      `${workspaceDir} lies in the data directory`,
      "choose another with --workspace: what opens the one to others then opens the keys too",
    );
  }
  const problem = await directoryProblem(name, workspaceDir, another);
  if (problem !== null) return void (yield problem);
  try {
    await access(workspaceDir, constants.R_OK | constants.X_OK);
  } catch (error) {
    return void (yield unusable(name, workspaceDir, error, another));
  }
  const isWritable = await access(workspaceDir, constants.W_OK).then(() => true, () => false);
  yield isWritable
    ? well(`${workspaceDir} can be read and written`)
    : warning(`${workspaceDir} can be read, but not written`, `chown or chmod it, or ${another}`);
}

/** What is wrong with a directory that the server would use or make; `null` for one that is there. */
async function directoryProblem(name: string, path: string, another: string): Promise<Check | null> {
  try {
    if ((await stat(path)).isDirectory()) return null;
    return checksOf(name).broken(`${path} is not a directory`, another);
  } catch (error) {
    if (systemCode(error) !== "ENOENT") return unusable(name, path, error, another);
  }
  const parent = await nearestParent(path);
  try {
    await access(parent, constants.W_OK | constants.X_OK);
  } catch (error) {
    const text = `${path} does not exist, and cannot be made in ${parent}: ${faultWords(error)}`;
    return checksOf(name).broken(text, pathRemedy(error, another));
  }
  return checksOf(name).warning(`${path} does not exist yet`, "the first start makes it");
}

async function nearestParent(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path) return path;
  return await stat(parent).then(() => parent, () => nearestParent(parent));
}

function unusable(name: string, path: string, error: unknown, another: string): Check {
  const text = `${path} cannot be used: ${faultWords(error)}`;
  return checksOf(name).broken(text, pathRemedy(error, another));
}
