/** `restore`: a backup becomes the data directory. */
import { describeProblems } from "../config/describe_problems.ts";
import { restoreDataDirectory } from "../storage/restore_data_directory.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";

/** Never overwrites anything. */
export const restoreCommand: Command = {
  name: "restore",
  summary: "makes a data directory out of a backup",
  usage: ["restore DIRECTORY [--data-dir D]   the data directory must not exist, or be empty"],
  flags: {},
  run: restore,
};

function restore({ words, loadConfig, say }: CommandContext): ExitStatus {
  const [from, ...others] = words;
  if (from === undefined || others.length > 0) {
    say("error: restore takes the directory of one backup\nhint: restore DIRECTORY\n");
    return 2;
  }
  const config = loadConfig();
  if (!config.ok) {
    say(describeProblems(config.error));
    return 2;
  }
  if (config.value.database !== undefined) {
    say(
      "error: entries are kept where DATABASE_URL says, not in the data directory\nhint: restore it with the database's own tools, and put master.key back\n",
    );
    return 1;
  }
  const done = restoreDataDirectory({ from, to: config.value.dataDir });
  if (!done.ok) {
    say(`error: ${done.error.path} ${done.error.problem}\nhint: ${done.error.remedy}\n`);
    return 1;
  }
  say(
    `${done.value.join(" and ")} are in ${config.value.dataDir}\n` +
      "hint: what was revoked after the backup was made is valid again: revoke it once more\n",
  );
  return 0;
}
