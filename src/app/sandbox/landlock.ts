/**
 * Landlock (Linux): takes files away from this thread and from all that it starts, for good. The kernel decides by what
 * a path leads to at the moment of use, so that neither a link nor a race leads past it.
 */
import { mkdirSync } from "node:fs";
import { libraryFlag, permittedLibraries } from "../../lib/library_paths.ts";
import type { Config } from "../config/config.ts";
import { realPathBelow, serverPermissions } from "./permissions.ts";

// The few calls of Linux that Deno does not offer, by FFI, for the launcher of Landlock: the server does not import it.

const functions = {
  createRuleset: { name: "syscall", parameters: ["i64", "buffer", "usize", "u32"], result: "i32" },
  addRule: { name: "syscall", parameters: ["i64", "i32", "u32", "buffer", "u32"], result: "i32" },
  restrictSelf: { name: "syscall", parameters: ["i64", "i32", "u32"], result: "i32" },
  prctl: { parameters: ["i32", "u64", "u64", "u64", "u64"], result: "i32" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  strdup: { parameters: ["buffer"], result: "u64" },
  execv: { parameters: ["buffer", "buffer"], result: "i32" },
} as const;

type LauncherLibc = Deno.DynamicLibrary<typeof functions>["symbols"];

/** Loads glibc, the only C library that Deno runs on; `null` where the permission or the library is missing. */
export function loadLauncherLibc(): LauncherLibc | null {
  for (const path of permittedLibraries()) {
    try {
      return Deno.dlopen(path, functions).symbols;
    } catch {
      continue; // not where this distribution keeps it
    }
  }
  return null;
}

function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

/** Becomes another program, in this process: same id, streams and environment. Returns only when it cannot. */
export function becomeProgram(libc: LauncherLibc, path: string, args: readonly string[]): void {
  // with a list of libraries, Deno tells no buffer's address: C's own copies have one
  const addresses = BigUint64Array.from([...[path, ...args].map((text) => libc.strdup(cString(text))), 0n]);
  libc.execv(cString(path), new Uint8Array(addresses.buffer));
}

/** What a path is needed for. */
type FileUse = "read" | "execute" | "change";

/** A path with everything below it, and its use. */
interface FileRule {
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

// Starts the server as a process from which Linux itself keeps everything but the files that it needs.

/** The flags of `deno task start`, kept the same by a test. */
export const startFlags: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-env",
  "--allow-read",
  "--allow-write",
  "--allow-sys=homedir,statfs,uid,gid",
  libraryFlag,
];
/** What deno.json asks for, which a bundle has none of; kept the same by a test. */
export const unstableFlags: readonly string[] = ["no-legacy-abort", "net", "worker-options"].map(
  (feature) => `--unstable-${feature}`,
);

/** What Deno itself reads: its libraries, and what the system says of names, certificates, time and memory. */
const systemRules: readonly FileRule[] = [
  ...["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"].map((path) => ({ path, use: "execute" as const })),
  ...[
    "/etc/ld.so.cache",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/usr/share/zoneinfo",
    "/dev/random",
    "/dev/urandom",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/proc/stat",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
  ].map((path) => ({ path, use: "read" as const })),
  { path: "/dev/null", use: "change" },
];

interface HardenedProgram {
  /** What the program itself reads: its sources and Deno's cache of packages, or nothing where it is compiled. */
  readonly reads: readonly string[];
  /** Its arguments, with those of `deno` where it is not compiled. */
  readonly args: readonly string[];
}

/** A program that Deno runs: `root` holds its sources, or the bundle that it is, `denoDir` is Deno's cache. */
export function sourceProgram(root: string, denoDir: string, args: readonly string[]): HardenedProgram {
  return { reads: [root, denoDir], args: ["run", ...startFlags, ...unstableFlags, ...args] };
}

/** Becomes the server: returns only when that fails, with the reason in words. */
export function launchHardened(config: Config, { reads, args }: HardenedProgram): string {
  if (Deno.build.os !== "linux") return "Landlock is a part of Linux; this system has none";
  const libc = loadLauncherLibc();
  if (libc === null) return "the launcher needs the permission for the C library, which `portcullis harden` has";
  if (landlockVersion(libc) < leastLandlockVersion) {
    return "this kernel has no Landlock of version 3 (Linux 6.2), or has it switched off";
  }
  const { storage, workspace } = config;
  // A rule needs something to hold on to.
  const directories = workspace.store === "disk" ? [storage.dataDir, workspace.dir] : [storage.dataDir];
  for (const directory of directories) mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { read, write } = serverPermissions(config, realPathBelow);
  restrictFiles(libc, [
    ...systemRules,
    { path: Deno.execPath(), use: "execute" },
    ...[...reads, ...config.http.tls?.files ?? [], ...config.configFile === undefined ? [] : [config.configFile]].map((
      path,
    ) => ({ path, use: "read" as const })),
    ...read.filter((path) => !write.includes(path)).map((path) => ({ path, use: "read" as const })),
    ...write.map((path) => ({ path, use: "change" as const })),
  ]);
  becomeProgram(libc, Deno.execPath(), args);
  return "the server could not be started under Landlock";
}
