/** `doctor`: looks at everything the server needs and says, a line each, whether it is well and what to do if not. */
import type { Check } from "../examination.ts";
import { describeProblems } from "../config/describe_problems.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";

/** Exits 0 when nothing is broken; a warning breaks nothing. */
export const doctorCommand: Command = {
  name: "doctor",
  summary: "checks configuration, directories, Ollama and the metadata documents",
  usage: ["doctor [--data-dir D] [--workspace W] [--server-url U] [--servicenow]"],
  takesNoWords: true,
  flags: {},
  switches: { servicenow: "plays ServiceNow's connection sequence against the running server" },
  run: runDoctor,
};

async function runDoctor({ flags, loadConfig, print }: CommandContext): Promise<ExitStatus> {
  const config = loadConfig();
  if (!config.ok) {
    print(line({ name: "configuration", state: "broken", text: `${config.error.length} settings are not usable` }));
    print(describeProblems(config.error));
    return 1;
  }
  print(line({ name: "configuration", state: "well", text: "every setting is usable" }));
  const { examine, playServicenow } = await import("../examination.ts"); // see action.ts
  let broken = false;
  const checks = flags["servicenow"] === undefined
    ? examine(config.value, () => performance.now())
    : playServicenow(config.value);
  for await (const check of checks) {
    print(line(check));
    broken ||= check.state === "broken";
  }
  return broken ? 1 : 0;
}

const marks = { well: "ok   ", warning: "warn ", broken: "FAIL " } as const;

function line({ name, state, text, remedy }: Check): string {
  const advice = remedy === undefined ? "" : `\n      hint: ${remedy}`;
  return `${marks[state]} ${name}: ${text}${advice}\n`;
}
