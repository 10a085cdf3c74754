/**
 * The command line: `main.ts` hands over the process's arguments and ends with the status that comes back. Every start
 * loads these imports, and help and version load nothing else: Node's modules alone take half as long as a bare start.
 */
import { createOutput } from "../lib/log.ts";
import { loadProgramModule } from "../lib/program.ts";
import { withCommandLines } from "../lib/program_name.ts";
import { pause } from "../lib/time.ts";
import { describeVersion } from "../lib/version.ts";
import { type CommandContext, type CommandStatus, type ExitStatus, helpText } from "./command.ts";

/** How long a server that ends waits for its last output to be read. */
const serverFlushMs = 1_000;

/** Runs the command that the arguments name; `serve` when they name none. */
export async function run(args: readonly string[]): Promise<ExitStatus> {
  const stdout = createOutput(Deno.stdout);
  const stderr = createOutput(Deno.stderr, withCommandLines);
  const { status, isServer = false } = await answer(args, { print: stdout.write, say: stderr.write });
  const flushed = Promise.all([stdout.flush(), stderr.flush()]);
  if (isServer) {
    await Promise.race([flushed, pause(serverFlushMs)]);
    return status;
  }
  await flushed;
  // A reader that left, such as `head`, is no error.
  if (stdout.state === "failed") {
    await stderr.write("error: standard output cannot be written\nhint: is the disk full?\n");
  }
  return status === 0 && stdout.state === "failed" ? 1 : status;
}

async function answer(args: readonly string[], context: Pick<CommandContext, "print" | "say">): Promise<CommandStatus> {
  const only = args.length === 1 ? args[0] ?? "" : "";
  if (["--version", "-V", "-v", "version"].includes(only)) context.print(`portcullis ${await describeVersion()}\n`);
  else if (["--help", "-h", "help"].includes(only)) context.print(helpText());
  else {
    const { runCommand } = await loadProgramModule<typeof import("./run_command.ts")>("src/cli/run_command.ts");
    return await runCommand(args, context);
  }
  return { status: 0 };
}
