/** `completions`: scripts that make a shell complete commands, their words and flags; generated from the same tables. */
import { didYouMean } from "../../lib/closest_word.ts";
import { programName } from "../../lib/program_name.ts";
import { settingFlags } from "../arguments.ts";
import type { Command, CommandContext, ExitStatus } from "../command.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

/** `commands` is asked when the command runs, so that the table can hold the command itself. */
export function createCompletionsCommand(commands: () => readonly Command[]): Command {
  return {
    name: "completions",
    summary: "prints a completion script for a shell",
    usage: ["completions bash | zsh | fish"],
    words: shells,
    flags: {},
    run: (context) => printCompletions(context, commands()),
  };
}

function printCompletions({ words, print, say }: CommandContext, commands: readonly Command[]): ExitStatus {
  const shell = shells.find((each) => each === words[0]);
  if (shell === undefined || words.length !== 1) {
    const [word] = words;
    const problem = words.length === 1 && word !== undefined
      ? `there are no completions for ${JSON.stringify(word)}${didYouMean(word, shells)}`
      : "completions needs one shell";
    say(`error: ${problem}\nhint: ${programName()} completions ${shells.join(" | ")}\n`);
    return 2;
  }
  print(scripts[shell](commands));
  return 0;
}

const scripts: Readonly<Record<Shell, (commands: readonly Command[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

const directoryFlags = ["data-dir", "workspace"];

function bashScript(commands: readonly Command[]): string {
  const cases = commands.map((command) => `    ${command.name}) words="${candidates(command).join(" ")}" ;;`);
  return `# portcullis completions for bash:  source <(portcullis completions bash)
_portcullis() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words
  COMPREPLY=()
  case $previous in
    ${
    directoryFlags.map((flag) => `--${flag}`).join("|")
  }) local IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$current")); return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")} --help --version"
  else
    case \${COMP_WORDS[1]} in
${indent(cases)}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _portcullis portcullis
`;
}

function zshScript(commands: readonly Command[]): string {
  const described = commands.map(({ name, summary }) => `    '${name}:${quoted(summary)}'`);
  const cases = commands.map((command) => `    ${command.name}) candidates=(${candidates(command).join(" ")}) ;;`);
  return `#compdef portcullis
# portcullis completions for zsh:  source <(portcullis completions zsh)
_portcullis() {
  local -a commands candidates
  commands=(
${described.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[CURRENT-1] in
    ${directoryFlags.map((flag) => `--${flag}`).join("|")}) _directories; return ;;
  esac
  case $words[2] in
${cases.join("\n")}
  esac
  compadd -- $candidates
}
compdef _portcullis portcullis
`;
}

function fishScript(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, summary, words = [], flags }) => [
    `complete -c portcullis -n __fish_use_subcommand -a ${name} -d '${quoted(summary)}'`,
    ...words.map((word) => `complete -c portcullis -n '__fish_seen_subcommand_from ${name}' -a ${word}`),
    ...Object.entries(flags).map(([flag, meaning]) =>
      `complete -c portcullis -n '__fish_seen_subcommand_from ${name}' -x -l ${flag} -d '${quoted(meaning)}'`
    ),
  ]);
  const settings = settingFlags.map((flag) =>
    `complete -c portcullis ${
      directoryFlags.includes(flag) ? "-x -a '(__fish_complete_directories)'" : "-x"
    } -l ${flag}`
  );
  return [
    "# portcullis completions for fish:  portcullis completions fish | source",
    "complete -c portcullis -f",
    ...lines,
    ...settings,
    "",
  ].join("\n");
}

function candidates({ words = [], flags }: Command): string[] {
  return [...words, ...[...Object.keys(flags), ...settingFlags, "help"].map((flag) => `--${flag}`)];
}

/** For single quotes, which none of the three can escape in the same way: the texts do without. */
function quoted(text: string): string {
  return text.replaceAll("'", "’");
}

function indent(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join("\n");
}
