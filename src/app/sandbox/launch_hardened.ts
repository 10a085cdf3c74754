/** Starts the server as a process from which Linux itself keeps everything but the files that it needs. */
import { mkdirSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { libraryFlag } from "../../lib/library_paths.ts";
import { type FileRule, landlockVersion, leastLandlockVersion, restrictFiles } from "./landlock.ts";
import { becomeProgram, loadLauncherLibc } from "./libc.ts";
import { realPathBelow, serverPermissions } from "./permissions.ts";

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
export const unstableFlags: readonly string[] = ["no-legacy-abort", "kv", "net", "worker-options"].map(
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
  if (libc === null) return "the launcher needs the C library, which `deno task start:hardened` permits it";
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
