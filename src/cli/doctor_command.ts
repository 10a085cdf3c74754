/** `doctor`: checks everything that the server needs, one line each with its remedy, then a summary. */
import { describeProblems } from "../app/mod.ts";
import type { Check } from "../lib/result.ts";
import { loadDoctor } from "../app/later.ts";
import type { CommandContext, CommandWork, ExitStatus } from "./command.ts";
import { withCommandLines } from "../lib/program_name.ts";

/** Exits with 0 unless something is broken; warnings do not count. */
export const doctorCommand: CommandWork = { usage: ["doctor"], takesNoWords: true, run: runDoctor };

const marks = { well: "ok   ", note: "note ", warning: "warn ", broken: "FAIL " } as const;

async function runDoctor({ loadConfig, print }: CommandContext): Promise<ExitStatus> {
  const counts = { well: 0, note: 0, warning: 0, broken: 0 };
  const tell = ({ name, state, text, remedy }: Check): void => {
    const advice = remedy === undefined ? "" : `\n      hint: ${remedy}`;
    void print(withCommandLines(`${marks[state]} ${name}: ${text}${advice}\n`));
    counts[state] += 1;
  };
  const config = loadConfig();
  if (!config.ok) {
    const text = describeProblems(config.error).replace(/^error: /, "").trimEnd();
    tell({ name: "configuration", state: "broken", text });
    return 1;
  }
  const { configFile } = config.value;
  const from = configFile === undefined ? "" : `; some are from ${configFile}`;
  tell({ name: "configuration", state: "well", text: `every setting is usable${from}` });
  const { examine } = await loadDoctor(); // see action.ts
  for await (const check of examine(config.value)) tell(check);
  const { well, warning, broken } = counts;
  void print(`\nsummary: ${well} ok, ${warning} warn, ${broken} FAIL\n`);
  return broken === 0 ? 0 : 1;
}
