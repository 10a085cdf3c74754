/** Says how the files of a workspace on the disk are confined, at the start and for `doctor`. */
import type { Config } from "./config/config.ts";
import type { KernelAccess } from "../files/kernel/kernel.ts";
import type { Log } from "../lib/log.ts";

/** What each way means. */
export const confinementWords = {
  kernel: "the kernel resolves each name below the workspace's directory (openat2): no other process can make a call " +
    "reach files outside",
  checked: "paths are checked before and after each use: another process of this machine that swaps directories for " +
    "links at the right moment can make a call reach files outside",
} as const;

/** One line of the log; none without files on the disk. */
export function tellConfinement(
  { store }: Config["workspace"],
  kernel: KernelAccess | undefined,
  log: Log,
): void {
  if (store !== "disk") return;
  if (kernel?.available) {
    return log.write("info", "workspace_confinement", { by: "kernel", meaning: confinementWords.kernel });
  }
  const because = kernel?.reason ?? "the program was started without it";
  log.write("info", "workspace_confinement", { by: "checks", because, meaning: confinementWords.checked });
}
