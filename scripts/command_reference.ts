/** docs/commands.md, from the list of commands and their own help. */
import { commands } from "../src/cli/command.ts";
import { loadCommand, ownHelpText } from "../src/cli/run_command.ts";

const introduction = `# Commands

<!-- Made by \`deno task reference\` from src/cli/command.ts; a test compares. -->

\`portcullis COMMAND\` runs a release's program, \`deno run -A main.ts COMMAND\` the sources. Without a command it is
\`serve\`. Every command takes the flags of settings and \`--config FILE\` ([configuration.md](configuration.md)).
\`portcullis help COMMAND\` prints what is here. Results go to standard output, everything else to standard error. Exit
status: 0 done, 1 refused or failed, 2 usage error.
`;

/** The whole page. */
export async function commandReference(): Promise<string> {
  const sections = (await Promise.all(commands.map(loadCommand))).map((command) =>
    `## ${command.name}\n\n\`\`\`text\n${ownHelpText(command, "portcullis")}\`\`\`\n`
  );
  return [introduction, ...sections].join("\n");
}
