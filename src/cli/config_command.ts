/** `config`: the settings in force, each with its value and its source. */
import { describeProblems, type FoundSetting, settingSections, settingText } from "../app/mod.ts";
import { acceptedText, type Setting } from "../lib/settings.ts";
import type { CommandContext, CommandWork, ExitStatus } from "./command.ts";
import { printTable } from "./action.ts";

/** Changes nothing, and opens nothing but the files that hold settings. */
export const configCommand: CommandWork = {
  usage: ["config [--all]"],
  remarks: [
    "A flag outranks the environment, which outranks the file of --config, which outranks",
    'the default. A secret is shown as "set".',
  ],
  takesNoWords: true,
  switches: { all: "every setting, with what it is for and what it accepts" },
  run: printSettings,
};

async function printSettings(context: CommandContext): Promise<ExitStatus> {
  const { flags, loadConfig, findSetting, print, say } = context;
  const config = loadConfig();
  if (flags["all"] === undefined) {
    const rows = settingSections.flatMap(([, settings]) => Object.values(settings))
      .flatMap((setting) => {
        const found = findSetting(setting);
        return found === undefined ? [] : [[setting.env, found.source, settingText(setting, found)]];
      });
    await printTable({ columns: ["SETTING", "SOURCE", "VALUE"], rows, whenEmpty: "no setting has a value" }, context);
  } else {
    const sections = settingSections.map(([heading, settings]) =>
      [heading, ...Object.values(settings).map((setting) => explanation(setting, findSetting(setting)))].join("\n\n")
    );
    await print(`${sections.join("\n\n")}\n`);
  }
  if (!config.ok) {
    await say(describeProblems(config.error));
    return 2;
  }
  const { configFile } = config.value;
  if (configFile !== undefined) await say(`file: ${configFile}\n`);
  return 0;
}

function explanation(setting: Setting<unknown>, found: FoundSetting | undefined): string {
  const names = setting.flag === undefined ? setting.env : `${setting.env}, --${setting.flag}`;
  const accepted = acceptedText(setting);
  return [
    `  ${names}`,
    `      ${setting.help}`,
    ...accepted === "" ? [] : [`      accepts: ${accepted}`],
    ...setting.secret ? [`      or ${setting.env}_FILE names a file that holds it`] : [],
    `      now: ${found === undefined ? "not set" : `${settingText(setting, found)} (${found.source})`}`,
  ].join("\n");
}
