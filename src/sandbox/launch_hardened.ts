/** Starts the server as a process from which Linux itself keeps everything but the files that it needs. */
import { mkdirSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { libraryFlag } from "../kernel/library_paths.ts";
import { type FileRule, landlockVersion, leastLandlockVersion, restrictFiles } from "./landlock.ts";
import { becomeProgram, loadLibc } from "./libc.ts";
import { realPathOf, serverPermissions } from "./permissions.ts";

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

/** What {@link launchHardened} starts. */
interface HardenedProgram {
  /** The directory of the program's sources and its configuration file; read only. */
  readonly root: string;
  /** The program and its arguments, as `deno run` takes them after the flags. */
  readonly args: readonly string[];
  /** Deno's cache of packages; read only. */
  readonly denoDir: string;
}

/** Becomes the server: returns only when that fails, with the reason in words. */
export function launchHardened(config: Config, { root, args, denoDir }: HardenedProgram): string {
  if (Deno.build.os !== "linux") return "Landlock is a part of Linux; this system has none";
  // A compiled program holds no FFI, and would have to be started another way.
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") {
    return "the launcher needs FFI, which only `deno task start:hardened` gives it";
  }
  const libc = loadLibc();
  if (landlockVersion(libc) < leastLandlockVersion) {
    return "this kernel has no Landlock of version 3 (Linux 6.2), or has it switched off";
  }
  const { storage, workspace } = config;
  // A rule needs something to hold on to.
  const directories = workspace.store === "disk" ? [storage.dataDir, workspace.dir] : [storage.dataDir];
  for (const directory of directories) mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { read, write } = serverPermissions(config, realPathOf);
  restrictFiles(libc, [
    ...systemRules,
    { path: Deno.execPath(), use: "execute" },
    { path: root, use: "read" },
    { path: denoDir, use: "read" },
    ...[...config.http.tls?.files ?? [], ...config.configFile === undefined ? [] : [config.configFile]].map((path) => ({
      path,
      use: "read" as const,
    })),
    ...read.filter((path) => !write.includes(path)).map((path) => ({ path, use: "read" as const })),
    ...write.map((path) => ({ path, use: "change" as const })),
  ]);
  becomeProgram(libc, Deno.execPath(), ["run", ...startFlags, ...args]);
  return "Deno could not be started under Landlock";
}
