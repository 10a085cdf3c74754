/** `completions`: scripts that complete commands, their words and flags in a shell, made from the list of commands. */
import { didYouMean } from "../lib/closest_word.ts";
import { commonFlags } from "./arguments.ts";
import type { Command, CommandContext, CommandWork, ExitStatus } from "./command.ts";
import { programName } from "../lib/program_name.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

/** `commands` is called when the command runs, since the list contains the command itself. */
export function createCompletionsCommand(commands: () => Promise<readonly Command[]>): CommandWork {
  return {
    usage: ["completions bash | zsh | fish"],
    words: shells,
    flags: {},
    run: async (context) => printCompletions(context, await commands()),
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
  print(scripts[shell](commands, completedName()));
  return 0;
}

const scripts: Readonly<Record<Shell, (commands: readonly Command[], program: string) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** The name that the shell completes: from source, that of a release. */
function completedName(): string {
  const name = Deno.build.standalone ? globalThis.process.argv0.replace(/^.*[/\\]/, "").replace(/\.exe$/i, "") : "";
  return /^[\w.-]+$/.test(name) ? name : "portcullis";
}

const directoryFlags = ["data-dir", "workspace"];

const directoryPattern = directoryFlags.map((flag) => `--${flag}`).join("|");

/** For bash and zsh: what may follow a command; without one, the commands. */
function wordsFunction(commands: readonly Command[]): string {
  return `_portcullis_words() {
  case $1 in
${commands.map((command) => `    ${command.name}) echo "${candidates(command).join(" ")}" ;;`).join("\n")}
    "") echo "${commands.map(({ name }) => name).join(" ")} --help --version" ;;
  esac
}`;
}

function bashScript(commands: readonly Command[], program: string): string {
  return `# ${program} completions for bash:  source <(${program} completions bash)
${wordsFunction(commands)}
_portcullis() {
  local current=\${COMP_WORDS[COMP_CWORD]} command=
  COMPREPLY=()
  case \${COMP_WORDS[COMP_CWORD-1]} in
    ${directoryPattern}) local IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$current")); return ;;
    --config) local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [ "$COMP_CWORD" -gt 1 ]; then command=\${COMP_WORDS[1]}; fi
  COMPREPLY=($(compgen -W "$(_portcullis_words "$command")" -- "$current"))
}
complete -F _portcullis ${program}
`;
}

function zshScript(commands: readonly Command[], program: string): string {
  return `#compdef ${program}
# ${program} completions for zsh:  source <(${program} completions zsh)
${wordsFunction(commands)}
_portcullis() {
  local command=
  case $words[CURRENT-1] in
    ${directoryPattern}) _directories; return ;;
    --config) _files; return ;;
  esac
  if (( CURRENT > 2 )); then command=$words[2]; fi
  compadd -- $(_portcullis_words "$command")
}
compdef _portcullis ${program}
`;
}

function fishScript(commands: readonly Command[], program: string): string {
  const lines = commands.flatMap(({ name, summary, words = [], flags, switches = {} }) => [
    `complete -c ${program} -n __fish_use_subcommand -a ${name} -d '${quoted(summary)}'`,
    ...words.map((word) => `complete -c ${program} -n '__fish_seen_subcommand_from ${name}' -a ${word}`),
    ...Object.entries(flags).map(([flag, { help }]) =>
      `complete -c ${program} -n '__fish_seen_subcommand_from ${name}' -x -l ${flag} -d '${quoted(help)}'`
    ),
    ...Object.entries(switches).map(([flag, help]) =>
      `complete -c ${program} -n '__fish_seen_subcommand_from ${name}' -f -l ${flag} -d '${quoted(help)}'`
    ),
  ]);
  const settings = commonFlags.map((flag) => `complete -c ${program} ${fishValueOf(flag)} -l ${flag}`);
  return [
    `# ${program} completions for fish:  ${program} completions fish | source`,
    `complete -c ${program} -f`,
    ...lines,
    ...settings,
    "",
  ].join("\n");
}

function fishValueOf(flag: string): string {
  if (directoryFlags.includes(flag)) return "-x -a '(__fish_complete_directories)'";
  return flag === "config" ? "-r -F" : "-x";
}

function candidates({ words = [], flags, switches = {} }: Command): string[] {
  return [
    ...words,
    ...[...Object.keys(flags), ...Object.keys(switches), ...commonFlags, "help"].map((flag) => `--${flag}`),
  ];
}

/** A single quote cannot be escaped within single quotes. */
function quoted(text: string): string {
  return text.replaceAll("'", "’");
}
