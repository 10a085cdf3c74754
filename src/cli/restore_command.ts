/** `restore`: makes a data directory out of a backup. */
import type { CommandWork } from "./command.ts";
import { type CopyCommand, runCopyCommand } from "./client_configurations.ts";

const restore: CopyCommand = {
  name: "restore",
  elsewhere: "restore it with the database's own tools, and put master.key back",
  copy: async (from, to) => {
    const { restoreDataDirectory } = await import("../storage/mod.ts").then((part) => part.loadBackup());
    return restoreDataDirectory({ from, to });
  },
  done: (files, _, { storage: { dataDir } }) =>
    `${files} are in ${dataDir}\n` +
    "hint: what was revoked after the backup is valid again: revoke it once more; clients that were active since sign " +
    "in again",
};

/** Never overwrites anything. */
export const restoreCommand: CommandWork = {
  usage: ["restore DIRECTORY [--data-dir DIRECTORY]"],
  remarks: ["The data directory must not exist, or be empty."],
  flags: {},
  run: (context) => runCopyCommand(restore, context),
};
