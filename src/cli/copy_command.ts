/** What `backup` and `restore` share: checks, then one directory is copied into the other. */
import { resolve } from "node:path";
import type { Config } from "../app/config/config.ts";
import { describeProblems } from "../app/config/describe_problems.ts";
import { lookAtPath } from "../app/config/look_at_path.ts";
import { leadsInto } from "../app/config/overlap.ts";
import { programName } from "../lib/program_name.ts";
import type { Result } from "../lib/result.ts";
import { type CommandContext, endWith, type ExitStatus } from "./command.ts";

export interface CopyCommand {
  readonly name: "backup" | "restore";
  /** What to do instead where the entries are in another database. */
  readonly elsewhere: string;
  readonly copy: (
    directory: string,
    dataDir: string,
  ) => Promise<Result<readonly string[], { readonly path: string; readonly problem: string; readonly remedy: string }>>;
  /** The closing message. */
  readonly done: (files: string, directory: string, config: Config) => string;
}

export async function runCopyCommand(
  { name, elsewhere, copy, done }: CopyCommand,
  { words, loadConfig, say }: CommandContext,
): Promise<ExitStatus> {
  const [directory, ...others] = words;
  if (directory === undefined || others.length > 0) {
    const problem = directory === undefined ? "DIRECTORY is missing" : "one DIRECTORY is enough";
    say(`error: ${problem}: \`${name}\` needs the directory of one backup\nhint: ${programName()} ${name} DIRECTORY\n`);
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
  const copied = await copy(directory, config.value.storage.dataDir);
  if (!copied.ok) {
    return endWith(say, `error: ${copied.error.path} ${copied.error.problem}\nhint: ${copied.error.remedy}\n`);
  }
  say(`${done(copied.value.join(" and "), directory, config.value)}\n`);
  return 0;
}
