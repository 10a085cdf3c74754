/** Opens the installation for one of the owner's commands, and closes the storage after it. */
import { describeProblems, type Installation } from "../app/mod.ts";
import { loadInstallation } from "../app/later.ts";
import { problemText, UnusableError } from "../lib/result.ts";
import { type Clock, systemClock } from "../lib/time.ts";
import { type CommandContext, endWith, type ExitStatus } from "./command.ts";

/** An open installation, with the clock of the command. */
export interface OpenInstallation extends Installation {
  readonly clock: Clock;
}

/** Where the installation cannot be opened, says why and returns the exit status. */
export async function withInstallation(
  { loadConfig, say }: CommandContext,
  work: (installation: OpenInstallation) => Promise<ExitStatus>,
): Promise<ExitStatus> {
  const config = loadConfig();
  if (!config.ok) return endWith(say, describeProblems(config.error), 2);
  const { openInstallation } = await loadInstallation(); // with the storage
  const installation = await openInstallation(config.value.storage, systemClock);
  if (!installation.ok) return endWith(say, problemText(installation.error));
  try {
    return await work({ ...installation.value, clock: systemClock });
  } catch (error) {
    if (!(error instanceof UnusableError)) throw error;
    say(problemText(error));
    return 1;
  } finally {
    await installation.value.storage.close();
  }
}
