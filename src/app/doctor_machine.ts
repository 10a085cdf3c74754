/**
 * What `doctor` looks at on this machine: the directories that the server uses, as they are or as the first start would
 * make them, their disks, and the certificate.
 */
import { access, constants, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { dataFiles, type StorageSettings } from "../storage/mod_settings.ts";
import type { Config, TlsConfig } from "./config/config.ts";
import { leadsInto, lookAtPath } from "./config/directories.ts";
import { faultWords, pathRemedy, systemCode } from "../lib/system_fault.ts";
import { exists, isReadOnly } from "../lib/system_path.ts";
import { requirePrivate, type Storage } from "../storage/mod.ts";
import { type Check, orUnusable, UnusableError } from "../lib/result.ts";
import type { FreeSpace, KernelAccess } from "../lib/kernel/kernel.ts";
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { type CertificateState, loadPublicCertificate } from "../http/mod.ts";
import { withoutBrackets } from "../lib/network.ts";
import { type Clock, durationWords, systemClock } from "../lib/time.ts";
import { ownerId, users } from "../oauth/mod.ts";
import { examineInstallation, openInstallation } from "./installation.ts";

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

/** Of the certificate that the server itself shows: of TLS_CERT_FILE, or the one that it gets for PUBLIC_DOMAIN. */
const certificate = checksOf("certificate");
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
  const left = Date.parse(own.validTo) - clock();
  const isSelfSigned = own.issuer === own.subject;
  const isForHost = (isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host)) !== undefined;
  const renewal = "renew it, and start the server again";
  const faults: readonly (readonly [isSo: boolean, text: string, remedy: string])[] = [
    [left <= 0, `has expired, on ${own.validTo}`, renewal],
    [left > 0 && left <= renewalMs, `expires soon, on ${own.validTo}`, renewal],
    [Date.parse(own.validFrom) > clock(), `is not valid before ${own.validFrom}`, "set this machine's clock"],
    [!isForHost, `is not for ${host}`, "get one for the name in SERVER_URL"],
    [
      isSelfSigned,
      "is self-signed: clients elsewhere refuse it",
      "use one of a public authority; your own machines can be told to trust this one",
    ],
    [
      !isSelfSigned && chain.length === 1,
      "is sent without its chain: clients that do not know its issuer refuse it",
      "name the full chain in TLS_CERT_FILE (fullchain.pem, not cert.pem)",
    ],
  ];
  const found = faults.filter(([isSo]) => isSo);
  for (const [, text, remedy] of found) yield certificate.warning(`${file} ${text}`, remedy);
  if (found.length === 0) yield certificate.well(`${file} is for ${host} until ${own.validTo}`);
  return found.length === 0;
}

/** Says at its end whether there is a certificate to be asked for. `storage`: where the caller has it open. */
export async function* examineStoredCertificate(
  config: Config,
  name: string,
  storage?: Storage,
): AsyncGenerator<Check, boolean> {
  const { readCertificateState } = await loadPublicCertificate();
  if (storage !== undefined) return yield* judgeCertificateState(await readCertificateState(storage, name), { name });
  const opened = await openExisting(config.storage);
  try {
    const state = opened === null ? { current: null, failed: null } : await readCertificateState(opened, name);
    return yield* judgeCertificateState(state, { name });
  } finally {
    await opened?.close();
  }
}

/** Opens what is there; `null` where that would make it, or move what a previous master key sealed. */
async function openExisting(place: Config["storage"]): Promise<Storage | null> {
  const found = await orUnusable(examineInstallation(place, users.key(ownerId)));
  if (found === null || found instanceof UnusableError || place.previousMasterKey !== undefined) return null;
  const opened = await orUnusable(openInstallation(place, systemClock));
  return opened instanceof UnusableError ? null : opened.storage;
}

export function* judgeCertificateState(
  { current, failed }: CertificateState,
  { name, clock = systemClock }: { readonly name: string; readonly clock?: Clock },
): Generator<Check, boolean> {
  const now = clock();
  const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
  const next = failed === null ? "" : ` (next attempt: ${new Date(failed.retryAt).toISOString()})`;
  if (current === null) {
    yield failed === null
      ? certificate.note(`none for ${name} yet: the first start gets one`)
      : certificate.broken(`none for ${name}: ${failed.problem}`, `${failed.remedy}${next}`);
    return false;
  }
  const { from, ends } = current;
  const left = durationWords(Math.abs(ends - now) / 1_000);
  const term = ends <= now ? `expired ${left} ago` : `ends in ${left}, on ${dayOf(ends)}`;
  if (from > now) {
    yield certificate.broken(`for ${name}, not valid before ${dayOf(from)}`, "set this machine's clock");
  } else if (failed !== null) {
    const text = `for ${name}, ${term}, and cannot be renewed: ${failed.problem}`;
    yield (ends <= now ? certificate.broken : certificate.warning)(text, `${failed.remedy}${next}`);
  } else if (ends <= now) {
    yield certificate.broken(`for ${name}, ${term}`, "start the server, which renews it");
  } else {
    yield certificate.well(`for ${name}, ${term}`);
  }
  return from <= now && now < ends;
}
