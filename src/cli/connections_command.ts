/** `connections`: how clients tried to connect and why they failed, or why the server does not start. */
import { type Config, describeProblems } from "../app/mod.ts";
import { loadDoctor, loadInstallation, loadProtocolServer } from "../app/later.ts";
import type { AttemptReport } from "../console/mod.ts";
import { present } from "../lib/json.ts";
import { escapeUnprintable } from "../lib/log.ts";
import { withCommandLines } from "../lib/program_name.ts";
import type { Check } from "../lib/result.ts";
import { systemClock } from "../lib/time.ts";
import type { CommandContext, CommandWork, ExitStatus } from "./command.ts";

export const connectionsCommand: CommandWork = {
  usage: ["connections [--json]"],
  remarks: ["Works with a running server, and without one: then it says why the server does not start."],
  takesNoWords: true,
  switches: { json: "print JSON, one line for each attempt and each check" },
  run: runConnections,
};

/** Exits with 1 where something keeps the server from working. */
async function runConnections({ flags, loadConfig, print }: CommandContext): Promise<ExitStatus> {
  const config = loadConfig();
  const checks: readonly Check[] = config.ok
    ? await Array.fromAsync((await loadDoctor()).examineConnections(config.value))
    : [{
      name: "configuration",
      state: "broken",
      text: describeProblems(config.error).slice("error: ".length).trimEnd(),
    }];
  const isStored = ["data directory", "database"].every((part) =>
    checks.some(({ name, state }) => name === part && state === "well")
  );
  const reports = config.ok && isStored ? await readReports(config.value) : null;
  const lines = [...(reports ?? []).map(fieldsOf), ...checks.map((check) => ({ kind: "check", ...check }))];
  await print(
    flags["json"] === undefined
      ? inWords(reports, checks)
      : lines.map((line) => `${escapeUnprintable(JSON.stringify(line))}\n`).join(""),
  );
  return checks.some(({ state }) => state === "broken") ? 1 : 0;
}

async function readReports({ storage: place }: Config): Promise<readonly AttemptReport[]> {
  const { openInstallation } = await loadInstallation();
  const { readClientName } = await loadProtocolServer();
  const { loadAttemptReports, readStoredSteps } = await import("../console/mod.ts");
  const { reportAttempts } = await loadAttemptReports();
  const { storage } = await openInstallation(place, systemClock);
  try {
    const now = systemClock();
    const steps = await readStoredSteps(storage, now);
    return await reportAttempts(steps, { now, nameOfClient: (id) => readClientName(storage, id) });
  } finally {
    await storage.close();
  }
}

function fieldsOf({ startedAt, lastAt, steps, diagnosis, ...rest }: AttemptReport): object {
  const iso = (time: number): string => new Date(time).toISOString();
  return {
    kind: "attempt",
    ...rest,
    startedAt: iso(startedAt),
    lastAt: iso(lastAt),
    ...diagnosis,
    steps: steps.map(({ time, last, ...step }) => ({ time: iso(time), last: iso(last), ...present(step) })),
  };
}

const stateWords = { going_on: "going on", no_fault: "no fault", fault: "stopped" };

/** `reports` is `null` where the storage cannot be read. */
function inWords(reports: readonly AttemptReport[] | null, checks: readonly Check[]): string {
  const lines = (reports ?? []).flatMap(({ name, addresses, lastAt, diagnosis: { state, causes } }) => {
    const from = addresses.length === 0 ? "" : `, from ${addresses.join(", ")}`;
    const told = causes.map(({ words, remedy }, index) =>
      `  ${index === 0 ? stateWords[state] : "or"}: ${words}${remedy === "" ? "" : `\n      hint: ${remedy}`}`
    );
    return [`${new Date(lastAt).toISOString()}  ${name}${from}`, ...told.length > 0 ? told : ["  going on"], ""];
  });
  if (reports === null) lines.push("What clients did cannot be read.", "");
  if (reports?.length === 0) lines.push("No client has tried to connect in the last day (none is stored).", "");
  const found = checks.filter(({ state }) => state === "warning" || state === "broken");
  for (const { name, state, text, remedy } of found) {
    lines.push(`${state === "broken" ? "FAIL" : "warn"}  ${name}: ${text}`);
    if (remedy !== undefined) lines.push(`      hint: ${remedy}`);
  }
  if (found.length === 0) lines.push("The server's own checks found nothing wrong.");
  return withCommandLines(`${lines.join("\n").replaceAll(/[^\P{C}\n]/gu, "?")}\n`);
}
