/** `backup`: copies the data directory to another directory. */
import type { CommandWork } from "./command.ts";
import { type CopyCommand, runCopyCommand } from "./client_configurations.ts";

const backup: CopyCommand = {
  name: "backup",
  elsewhere: "back it up with the database's own tools, and keep a copy of master.key",
  copy: async (to, from) => {
    const { backupDataDirectory } = await import("../storage/mod.ts").then((part) => part.loadBackup());
    return backupDataDirectory({ from, to });
  },
  done: (files, to) => `${files} are in ${to}; anyone who can read them owns this installation`,
};

/** Works beside a running server. */
export const backupCommand: CommandWork = {
  usage: ["backup DIRECTORY"],
  remarks: ["DIRECTORY must not exist, or be empty. A configuration file is not copied."],
  flags: {},
  run: (context) => runCopyCommand(backup, context),
};
