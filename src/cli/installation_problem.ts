/** The message for an installation that cannot be opened. */
import type { InstallationProblem } from "../composition/installation.ts";

/** `error:` then `hint:`. */
export function installationProblem({ problem, remedy }: InstallationProblem): string {
  return `error: ${problem}\nhint: ${remedy}\n`;
}
