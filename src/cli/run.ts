/**
 * Arguments to command to exit status. What is imported here is loaded before anything else happens, whichever command
 * was asked for, so each loads what it works with when it runs; Node's modules alone would double a start's time.
 */
import { loadConfig } from "../config/config.ts";
import { describeProblems } from "../config/describe_problems.ts";
import { failure } from "../lib/result.ts";
import { version, versionText } from "../version.ts";
import { parseArguments } from "./arguments.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";
import { backupCommand } from "./backup.ts";
import { clientsCommand } from "./clients.ts";
import { createCompletionsCommand } from "./completions.ts";
import { connectCommand } from "./connect.ts";
import { doctorCommand } from "./doctor.ts";
import { hardenCommand } from "./harden.ts";
import { hashPasswordCommand } from "./hash_password.ts";
import { healthcheckCommand } from "./healthcheck.ts";
import { helpText } from "./help.ts";
import { keysCommand } from "./keys.ts";
import { restoreCommand } from "./restore.ts";
import { serveCommand } from "./serve.ts";
import { stdioCommand } from "./stdio.ts";
import { tokenCommand } from "./token.ts";
import { usersCommand } from "./users.ts";

const commands: readonly Command[] = [
  serveCommand,
  hardenCommand,
  stdioCommand,
  connectCommand,
  tokenCommand,
  usersCommand,
  clientsCommand,
  keysCommand,
  doctorCommand,
  hashPasswordCommand,
  backupCommand,
  restoreCommand,
  healthcheckCommand,
  createCompletionsCommand(() => commands),
];

/** Runs the command that the arguments name; `serve` when they name none. */
export async function run(args: readonly string[]): Promise<ExitStatus> {
  const print = (text: string): void => writeAll(Deno.stdout, text);
  const say = (text: string): void => writeAll(Deno.stderr, text);
  const allFlags = commands.flatMap((command) => Object.keys(command.flags));
  const switches = commands.flatMap((command) => Object.keys(command.switches ?? {}));
  const { words: [name = "serve", ...words], help, version: wantsVersion } = parseArguments(args, allFlags, switches);
  if (help) {
    print(helpText(commands, version));
    return 0;
  }
  if (wantsVersion) {
    print(`portcullis ${versionText}\n`);
    return 0;
  }
  const command = commands.find((each) => each.name === name);
  if (command === undefined) {
    say(
      `error: there is no command ${JSON.stringify(name)}\nhint: commands are ${
        commands.map((each) => each.name).join(", ")
      }; see --help\n`,
    );
    return 2;
  }
  // Again, now that the command is known: a flag of another command is an unknown one here.
  const { flags, problems } = parseArguments(args, Object.keys(command.flags), Object.keys(command.switches ?? {}));
  const load: CommandContext["loadConfig"] = () => {
    const config = loadConfig({ flags, env: environment, readFile: Deno.readTextFileSync });
    return config.ok ? config : failure([...problems, ...config.error]);
  };
  if (problems.length > 0) {
    const config = load();
    say(describeProblems(config.ok ? problems : config.error));
    return 2;
  }
  return await command.run({ words, flags, loadConfig: load, print, say });
}

/** One variable at a time, as it is asked for: the compiled program may not read them all. */
const environment: Readonly<Record<string, string | undefined>> = new Proxy<Record<string, string | undefined>>({}, {
  get: (_, name) => typeof name === "string" ? Deno.env.get(name) : undefined,
});

function writeAll(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  for (let rest = new TextEncoder().encode(text); rest.byteLength > 0;) rest = rest.subarray(stream.writeSync(rest));
}
