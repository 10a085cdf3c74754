/**
 * Landlock (Linux): takes files away from this thread and from all that it starts, for good. The kernel decides by what
 * a path leads to at the moment of use, so that neither a link nor a race leads past it.
 */
import { cString, type LauncherLibc } from "./libc.ts";

/** What a path is needed for. */
type FileUse = "read" | "execute" | "change";

/** A path with everything below it, and its use. */
export interface FileRule {
  readonly path: string;
  readonly use: FileUse;
}

/** From linux/landlock.h: the numbers of the calls are the same on every architecture. */
const createRuleset = 444n;
const addRule = 445n;
const restrictSelf = 446n;
const versionFlag = 1;
const pathBeneath = 1;
/** From linux/prctl.h. */
const setNoNewPrivileges = 38;
/** From fcntl.h, the same where Deno runs: O_PATH | O_CLOEXEC. */
const openPathOnly = 0x280000;

const execute = 1n << 0n;
const writeFile = 1n << 1n;
const readFile = 1n << 2n;
const readDirectory = 1n << 3n;
const removeDirectory = 1n << 4n;
const removeFile = 1n << 5n;
const makeDirectory = 1n << 7n;
const makeFile = 1n << 8n;
const makeLink = 1n << 12n;
const refer = 1n << 13n;
const truncate = 1n << 14n;
/** Every right of the third version: what no rule grants is refused, also making sockets and devices. */
const everyRight = (1n << 15n) - 1n;
const rightsOnFiles = execute | writeFile | readFile | truncate;

const rights: Readonly<Record<FileUse, bigint>> = {
  read: readFile | readDirectory,
  execute: readFile | readDirectory | execute,
  // a link that is moved, also to the trash, counts as made; whatever it leads to stays out of reach
  change: readFile | readDirectory | writeFile | removeDirectory | removeFile | makeDirectory | makeFile | makeLink |
    refer | truncate,
};

/** The third, of Linux 6.2, is the first that covers truncation. */
export const leastLandlockVersion = 3;

/** The kernel's version of Landlock; 0 where it has none or it is switched off. */
export function landlockVersion(libc: LauncherLibc | null): number {
  return libc === null ? 0 : Math.max(0, libc.createRuleset(createRuleset, null, 0n, versionFlag));
}

/** Leaves this thread nothing but what the rules grant. Paths that are not there grant nothing. Throws when it fails. */
export function restrictFiles(libc: LauncherLibc, rules: readonly FileRule[]): void {
  const attributes = new BigUint64Array([everyRight]);
  const ruleset = libc.createRuleset(createRuleset, attributes, 8n, 0);
  if (ruleset < 0) throw new Error("Landlock made no rule set");
  for (const { path, use } of rules) {
    const descriptor = libc.open(cString(path), openPathOnly);
    if (descriptor < 0) continue;
    const add = (allowed: bigint): boolean => {
      const rule = new DataView(new ArrayBuffer(12)); // struct landlock_path_beneath_attr, packed
      rule.setBigUint64(0, allowed, true);
      rule.setInt32(8, descriptor, true);
      return libc.addRule(addRule, ruleset, pathBeneath, rule, 0) === 0;
    };
    // The rights on directories are refused for a file.
    if (!add(rights[use]) && !add(rights[use] & rightsOnFiles)) {
      throw new Error(`Landlock did not take the rule for ${path}`);
    }
  }
  libc.prctl(setNoNewPrivileges, 1n, 0n, 0n, 0n);
  if (libc.restrictSelf(restrictSelf, ruleset, 0) !== 0) throw new Error("Landlock did not take effect");
}
