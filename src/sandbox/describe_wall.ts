/** The permission wall in words, for `doctor`. */
import type { RaceFreedom } from "./race_freedom.ts";
import type { ServerPermissions } from "./permissions.ts";

/** What the server will hold while it answers, and what the wall does not cover: a sentence each. */
export function describeWall(
  { net, read }: ServerPermissions,
  { dataDir, raceFreedom }: { readonly dataDir: readonly string[]; readonly raceFreedom: RaceFreedom },
): string[] {
  const kept = read.filter((path) => !dataDir.includes(path));
  return [
    `network: ${net.join(", ")} (the first to listen, at the start); the main thread fetches client metadata documents`,
    `files: ${kept.join(", ")} (and ${dataDir.join(", ")} until the database is open)`,
    "no environment, subprocess, foreign function, system information or code from elsewhere; no link can be made",
    raceFreedom.raceFree
      ? "links are followed only inside, race-free (caps.raceFree): the workspace is a file system of its own"
      : "not covered (caps.raceFree is off): another process that may write the workspace and swaps directories for " +
        "links at the right moment; mount a file system of its own on it, or start with `deno task start:hardened`",
    "not covered: links that others made there, for a tool that does not go by the workspace's own checks; " +
    "memory and time that a tool uses up; what an allowed upstream does with what it is sent",
  ];
}
