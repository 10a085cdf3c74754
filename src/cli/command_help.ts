/** Each command's own page of help. */
import { acceptedText, type Setting } from "../lib/settings.ts";
import { settings } from "../app/mod.ts";
import type { Command } from "./command.ts";
import { programName } from "../lib/program_name.ts";

const flagWidth = 23;
const lineWidth = 100;

/** A server's own flags are the settings; for other commands one line says where those are. */
export function commandHelpText(command: Command): string {
  const program = programName();
  const own = ownHelpText(command, program);
  if (command.isServer) return `${own}\n${settingsHelpText()}`;
  return `${own}\nIt takes the flags of settings, too, such as --data-dir: \`${program} help settings\` lists them.\n`;
}

/** The settings that are flags. */
export function settingsHelpText(): string {
  return [
    "Settings as flags, for every command",
    flagText("--config FILE", "settings as KEY=value lines (default ~/.portcullis.env, if it is there)"),
    ...settings.flatMap(settingFlagText),
    "",
    `\`${programName()} config --all\` explains every setting.`,
    "",
  ].join("\n");
}

export function ownHelpText(
  { name, summary, usage, remarks = [], flags, switches = {} }: Command,
  program: string,
): string {
  const own = [
    ...Object.entries(flags).map(([flag, { value, help }]) => flagText(`--${flag} ${value}`, help)),
    ...Object.entries(switches).map(([flag, help]) => flagText(`--${flag}`, help)),
  ];
  return [
    `${program} ${name}: ${summary}`,
    "",
    "Usage",
    ...usage.map((line) => `  ${program} ${line}`),
    ...remarks.length === 0 ? [] : ["", ...remarks],
    ...own.length === 0 ? [] : ["", "Flags", ...own],
    "",
  ].join("\n");
}

function settingFlagText(setting: Setting<unknown>): readonly string[] {
  if (setting.flag === undefined) return [];
  const accepted = acceptedText(setting);
  return [flagText(`--${setting.flag} VALUE`, accepted === "" ? setting.help : `${setting.help} (${accepted})`)];
}

function flagText(flag: string, help: string): string {
  const lines = wrapped(help, lineWidth - flagWidth - 2);
  return lines.map((line, at) => `  ${(at === 0 ? flag : "").padEnd(flagWidth)}${line}`).join("\n");
}

/** The words of a text in lines of at most `width` characters, but for a longer word. */
function wrapped(text: string, width: number): readonly string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}
