/** `doctor`: checks everything that the server needs, one line each with its remedy, then a summary. */
import { describeProblems } from "../app/mod.ts";
import type { Check } from "../lib/result.ts";
import { loadDoctor, loadDoctorServicenow } from "../app/later.ts";
import type { CommandContext, CommandWork, ExitStatus } from "./command.ts";
import { withCommandLines } from "../lib/program_name.ts";

/** Exits with 0 unless something is broken; warnings do not count. */
export const doctorCommand: CommandWork = {
  usage: ["doctor [--verbose] [--servicenow]"],
  takesNoWords: true,
  flags: {},
  switches: {
    verbose: "everything that the permission wall leaves open",
    servicenow: "after the rest, ask the instance about each API and table, then connect to the running server as " +
      "ServiceNow does",
  },
  run: runDoctor,
};

async function runDoctor({ flags, loadConfig, print }: CommandContext): Promise<ExitStatus> {
  const config = loadConfig();
  if (!config.ok) {
    const text = describeProblems(config.error).replace(/^error: /, "").trimEnd();
    print(line({ name: "configuration", state: "broken", text }));
    return 1;
  }
  const { configFile } = config.value;
  const text = `every setting is usable${configFile === undefined ? "" : `; some are from ${configFile}`}`;
  print(line({ name: "configuration", state: "well", text }));
  const { examine } = await loadDoctor(); // see action.ts
  const { examineServicenowInstance, playServicenow } = await loadDoctorServicenow();
  const counts = { well: 1, note: 0, warning: 0, broken: 0 };
  const parts = [
    examine(config.value, () => performance.now(), { verbose: flags["verbose"] !== undefined }),
    ...flags["servicenow"] === undefined ? [] : [examineServicenowInstance(config.value), playServicenow(config.value)],
  ];
  for (const checks of parts) {
    for await (const check of checks) {
      print(line(check));
      counts[check.state] += 1;
    }
  }
  const { well, warning, broken } = counts;
  print(`\nsummary: ${well} ok, ${warning} warn, ${broken} FAIL\n`);
  return broken === 0 ? 0 : 1;
}

const marks = { well: "ok   ", note: "note ", warning: "warn ", broken: "FAIL " } as const;

function line({ name, state, text, remedy }: Check): string {
  const advice = remedy === undefined ? "" : `\n      hint: ${remedy}`;
  return withCommandLines(`${marks[state]} ${name}: ${text}${advice}\n`);
}
