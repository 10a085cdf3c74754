/** The directories that the server uses, as they are or as the first start would make them. */
import { access, constants, lstat, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { StorageSettings } from "../storage/mod_settings.ts";
import type { Config, TlsConfig } from "./config/config.ts";
import type { WorkspaceDirectory } from "./config/directories.ts";
import { leadsInto, lookAtPath } from "./config/overlap.ts";
import { faultWords, pathRemedy, systemCode } from "../lib/system_fault.ts";
import { requirePrivate } from "../storage/mod.ts";
import { type Check, UnusableError } from "../lib/result.ts";
import { dataFiles } from "../storage/mod_settings.ts";
import type { FreeSpace, KernelAccess } from "../files/mod.ts";
import type { Clock } from "../lib/time.ts";
import { withoutBrackets } from "../lib/network.ts";

/** Makes the checks of one part. */
export function checksOf(name: string): Readonly<Record<Check["state"], (text: string, remedy?: string) => Check>> {
  const makerOf = (state: Check["state"]) => (text: string, remedy?: string): Check =>
    remedy === undefined ? { name, state, text } : { name, state, text, remedy };
  return { well: makerOf("well"), note: makerOf("note"), warning: makerOf("warning"), broken: makerOf("broken") };
}

/** Says at its end whether the directory can be used, so that no other check tells the same again. */
export async function* examineDataDirectory(
  { dataDir, database, masterKey }: StorageSettings,
): AsyncGenerator<Check, boolean> {
  const name = "data directory";
  const { well } = checksOf(name);
  const files = [
    ...(masterKey === undefined ? [dataFiles.masterKey] : []),
    ...(database === undefined ? [dataFiles.database] : []),
  ];
  if (files.length === 0) {
    yield well("is not used: DATABASE_URL and MASTER_KEY take its place");
    return true;
  }
  const another = "choose another with --data-dir (DATA_DIR)";
  const problem = await directoryProblem(name, dataDir, another);
  if (problem !== null) {
    yield problem;
    return problem.state !== "broken";
  }
  const expected = [[dataDir, "700"], ...files.map((file) => [join(dataDir, file), "600"] as const)] as const;
  const hasDatabase = database === undefined &&
    await lstat(join(dataDir, dataFiles.database)).then(() => true, () => false);
  for (const [path, mode] of expected) {
    const check = await examinePrivacy(name, path, mode, another);
    if (check.state !== "note" || !hasDatabase) yield check; // a lost key is reported with the database
  }
  return true;
}

async function examinePrivacy(name: string, path: string, mode: "600" | "700", another: string): Promise<Check> {
  try {
    await lstat(path);
    requirePrivate(path, mode);
    return checksOf(name).well(`${path} is for its owner alone`);
  } catch (error) {
    if (error instanceof UnusableError) return checksOf(name).broken(error.problem, error.remedy);
    if (systemCode(error) === "ENOENT") {
      return checksOf(name).note(`${path} does not exist yet: the first start makes it`);
    }
    return unusable(name, path, error, another);
  }
}

/** The workspace, where it is on the disk. */
export async function* examineWorkspace({ workspace, storage }: Config): AsyncGenerator<Check> {
  for (const directory of workspace.directories) yield* examineDirectory(directory, storage.dataDir);
}

async function* examineDirectory(
  { name: folder, path: workspaceDir, isReadOnly }: WorkspaceDirectory,
  dataDir: string,
): AsyncGenerator<Check> {
  const name = "workspace";
  const { well, warning } = checksOf(name);
  const another = "choose another with --workspace (WORKSPACE_DIR)";
  if (leadsInto(workspaceDir, dataDir, lookAtPath)) {
    yield warning(
      `${workspaceDir} lies in the data directory`,
      "choose another with --workspace: sharing one would expose the keys too",
    );
  }
  if (folder !== "" && await stat(workspaceDir).then(() => false, (error) => systemCode(error) === "ENOENT")) {
    return void (yield warning(`${workspaceDir} is away`, `mount or make it; ${folder} works again once it is there`));
  }
  const problem = await directoryProblem(name, workspaceDir, another);
  if (problem !== null) return void (yield problem);
  try {
    await access(workspaceDir, constants.R_OK | constants.X_OK);
  } catch (error) {
    return void (yield unusable(name, workspaceDir, error, another));
  }
  if (isReadOnly) return void (yield well(`${workspaceDir} can be read, and is read-only for agents`));
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
  return checksOf(name).note(`${path} does not exist yet: the first start makes it`);
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

const { well, warning } = checksOf("certificate");
const renewalMs = 14 * 86_400_000;
const certificateText = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/**
 * Its dates, its names, and whether what comes between it and an authority is there. Says at its end whether clients
 * accept it.
 */
export function* examineCertificate(
  tls: TlsConfig | undefined,
  { serverUrl, clock }: { readonly serverUrl: string; readonly clock: Clock },
): Generator<Check, boolean> {
  if (tls === undefined) return true;
  const { certificates, files: [file] } = tls;
  const chain = certificates.match(certificateText) ?? [];
  const own = new X509Certificate(chain[0] ?? "");
  const host = withoutBrackets(new URL(serverUrl).hostname);
  const ends = Date.parse(own.validTo);
  const warnings: [isSo: boolean, text: string, remedy: string][] = [
    [ends <= clock(), `has expired, on ${own.validTo}`, "renew it, and start the server again"],
    [
      ends > clock() && ends <= clock() + renewalMs,
      `expires soon, on ${own.validTo}`,
      "renew it, and start the server again",
    ],
    [Date.parse(own.validFrom) > clock(), `is not valid before ${own.validFrom}`, "set this machine's clock"],
    [
      (isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host)) === undefined,
      `is not for ${host}`,
      "get one for the name in SERVER_URL",
    ],
    [
      own.issuer === own.subject,
      "is self-signed: clients elsewhere refuse it",
      "use one of a public authority; your own machines can be told to trust this one",
    ],
    [
      own.issuer !== own.subject && chain.length === 1,
      "is sent without its chain: clients that do not know its issuer refuse it",
      "name the full chain in TLS_CERT_FILE (fullchain.pem, not cert.pem)",
    ],
  ];
  const found = warnings.filter(([isSo]) => isSo);
  for (const [, text, remedy] of found) yield warning(`${file} ${text}`, remedy);
  if (found.length === 0) yield well(`${file} is for ${host} until ${own.validTo}`);
  return found.length === 0;
}
