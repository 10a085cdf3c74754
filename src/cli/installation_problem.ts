/** A data directory that cannot be used, in words. */
import type { DataDirectoryProblem } from "../installation.ts";

/** `error:` then `hint:`. */
export function installationProblem({ path, problem, remedy }: DataDirectoryProblem): string {
  return `error: ${path} ${problem}\nhint: ${remedy}\n`;
}
