/** `--help`: the commands and every setting, generated from their tables. */
import type { Setting } from "../config/setting.ts";
import { settingSections } from "../config/settings.ts";
import { programName } from "../lib/program_name.ts";
import { settingFlags } from "./arguments.ts";
import type { Command } from "./command.ts";

/** The whole help text. */
export function helpText(commands: readonly Command[], version: string): string {
  const usage = commands.flatMap((command) => [
    `  ${command.name.padEnd(14)} ${command.summary}`,
    ...command.usage.map((line) => `                 ${line}`),
  ]);
  const sections = settingSections.flatMap(([heading, settings]) => [
    "",
    `Settings (environment variable, flag): ${heading}`,
    ...Object.values(settings).map(settingText),
  ]);
  return [
    `Portcullis ${version}: an MCP server with its own sign-in, a confined workspace and a local model`,
    "",
    `Usage: ${programName()} [command] [flags]`,
    "",
    "Commands",
    ...usage,
    ...sections,
    "",
  ].join("\n");
}

export function commandHelpText({ name, summary, usage, flags, switches = {} }: Command): string {
  const program = programName();
  const own = [
    ...Object.entries(flags).map(([flag, meaning]) => `  --${flag} VALUE`.padEnd(26) + meaning),
    ...Object.entries(switches).map(([flag, meaning]) => `  --${flag}`.padEnd(26) + meaning),
  ];
  return [
    `${program} ${name}: ${summary}`,
    "",
    "Usage",
    ...usage.map((line) => `  ${line.startsWith(name) ? `${program} ` : ""}${line}`),
    ...own.length === 0 ? [] : ["", "Flags", ...own],
    "",
    `Settings as flags: ${settingFlags.map((flag) => `--${flag}`).join(" ")}`,
    `\`${program} --help\` lists every setting.`,
    "",
  ].join("\n");
}

function settingText(setting: Setting<unknown>): string {
  const names = setting.flag === undefined ? setting.env : `${setting.env}, --${setting.flag}`;
  const standard = setting.default === undefined ? "" : ` (default ${setting.default})`;
  const file = setting.secret ? `; or ${setting.env}_FILE names a file that holds it` : "";
  return `  ${names}\n      ${setting.help}${standard}${file}`;
}
