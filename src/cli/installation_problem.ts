/** An installation that cannot be opened, in words. */
import type { InstallationProblem } from "../composition/installation.ts";

/** `error:` then `hint:`. */
export function installationProblem({ problem, remedy }: InstallationProblem): string {
  return `error: ${problem}\nhint: ${remedy}\n`;
}
