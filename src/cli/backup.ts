/** `backup`: the data directory, as it is now, to another directory. */
import { describeProblems } from "../config/describe_problems.ts";
import { backupDataDirectory } from "../storage/backup_data_directory.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";

/** Works beside a running server. */
export const backupCommand: Command = {
  name: "backup",
  summary: "copies the database and the master key, also while the server runs",
  usage: ["backup DIRECTORY [--data-dir D]   DIRECTORY must not exist, or be empty"],
  flags: {},
  run: backup,
};

function backup({ words, loadConfig, say }: CommandContext): ExitStatus {
  const [to, ...others] = words;
  if (to === undefined || others.length > 0) {
    say("error: backup takes one directory\nhint: backup DIRECTORY\n");
    return 2;
  }
  const config = loadConfig();
  if (!config.ok) {
    say(describeProblems(config.error));
    return 2;
  }
  if (config.value.database !== undefined) {
    say(
      "error: entries are kept where DATABASE_URL says, not in the data directory\nhint: back it up with the database's own tools, and keep a copy of master.key\n",
    );
    return 1;
  }
  const done = backupDataDirectory({ from: config.value.dataDir, to });
  if (!done.ok) {
    say(`error: ${done.error.path} ${done.error.problem}\nhint: ${done.error.remedy}\n`);
    return 1;
  }
  say(`${done.value.join(" and ")} are in ${to}; whoever can read them is the owner of this installation\n`);
  return 0;
}
