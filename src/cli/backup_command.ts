/** `backup` copies the data directory to another directory; `restore` makes a data directory out of one. */
import { resolve } from "node:path";
import { type Config, describeProblems, leadsInto, lookAtPath } from "../app/mod.ts";
import { commandLine } from "../lib/program_name.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";
import { stopRequested } from "./welcome.ts";

const backup: CopyCommand = {
  name: "backup",
  elsewhere: "back it up with the database's own tools, and keep a copy of master.key",
  copy: ({ backupDataDirectory }, to, from, stopped) => backupDataDirectory({ from, to, stopped }),
  done: (files, to) => `${files} are in ${to}; anyone who can read them owns this installation`,
};

/** Works beside a running server. */
export const backupCommand: CommandWork = {
  usage: ["backup DIRECTORY"],
  remarks: ["DIRECTORY must not exist, or be empty. A configuration file is not copied."],
  run: (context) => runCopyCommand(backup, context),
};

const restore: CopyCommand = {
  name: "restore",
  elsewhere: "restore it with the database's own tools, and put master.key back",
  copy: ({ restoreDataDirectory }, from, to) => restoreDataDirectory({ from, to }),
  done: (files, _, { storage: { dataDir } }) =>
    `${files} are in ${dataDir}\n` +
    "hint: what was revoked after the backup is valid again: revoke it once more; clients that were active since sign " +
    "in again",
};

/** Never overwrites anything. */
export const restoreCommand: CommandWork = {
  usage: ["restore DIRECTORY [--data-dir DIRECTORY]"],
  remarks: ["The data directory must not exist, or be empty."],
  run: (context) => runCopyCommand(restore, context),
};

interface CopyCommand {
  readonly name: "backup" | "restore";
  /** What to do instead where the entries are in another database. */
  readonly elsewhere: string;
  readonly copy: (
    part: Awaited<ReturnType<typeof import("../storage/mod.ts").loadBackup>>,
    directory: string,
    dataDir: string,
    stopped: Promise<void>,
  ) => readonly string[] | Promise<readonly string[]>;
  /** The closing message. */
  readonly done: (files: string, directory: string, config: Config) => string;
}

/** Checks, then copies one directory into the other. */
async function runCopyCommand(
  { name, elsewhere, copy, done }: CopyCommand,
  { words, loadConfig, say }: CommandContext,
): Promise<ExitStatus> {
  const [directory, ...others] = words;
  if (directory === undefined || others.length > 0) {
    const problem = directory === undefined ? "DIRECTORY is missing" : "one DIRECTORY is enough";
    say(
      `error: ${problem}: \`${name}\` needs the directory of one backup\nhint: ${commandLine(`${name} DIRECTORY`)}\n`,
    );
    return 2;
  }
  const config = loadConfig();
  if (!config.ok) return endWith(say, describeProblems(config.error), 2);
  if (config.value.storage.database !== undefined) {
    return endWith(
      say,
      `error: entries are kept where DATABASE_URL says, not in the data directory\nhint: ${elsewhere}\n`,
    );
  }
  const { store, dir } = config.value.workspace;
  if (store === "disk" && leadsInto(resolve(directory), dir, lookAtPath)) {
    return endWith(
      say,
      `error: ${directory} lies in the workspace, where agents can read and replace it\nhint: choose another\n`,
    );
  }
  const { loadBackup } = await import("../storage/mod.ts"); // see action.ts
  const { asked } = stopRequested(() => performance.now()); // no signal ends it halfway
  const copied = await copy(await loadBackup(), directory, config.value.storage.dataDir, asked);
  return endWith(say, `${done(copied.join(" and "), directory, config.value)}\n`, 0);
}
