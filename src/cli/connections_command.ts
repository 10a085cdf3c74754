/** `connections`: how clients tried to connect and why they failed, or why the server does not start. */
import { describeProblems } from "../app/mod.ts";
import { loadCallRecords, loadDoctor, loadInstallation } from "../app/later.ts";
import type { AttemptReport } from "../console/mod.ts";
import { escapeUnprintable } from "../lib/json_log.ts";
import { type Check, orUnusable, UnusableError } from "../lib/result.ts";
import { systemClock } from "../lib/time.ts";
import type { CommandContext, CommandWork, ExitStatus } from "./command.ts";
import { withCommandLines } from "../lib/program_name.ts";

export const connectionsCommand: CommandWork = {
  usage: ["connections [--json]"],
  remarks: ["Works with a running server, and without one: then it says why the server does not start."],
  takesNoWords: true,
  flags: {},
  switches: { json: "print JSON, one line for each attempt and each check" },
  run: runConnections,
};

/** Exits with 1 where something keeps the server from working. */
async function runConnections({ flags, loadConfig, print }: CommandContext): Promise<ExitStatus> {
  const asJson = flags["json"] !== undefined;
  const config = loadConfig();
  if (!config.ok) {
    const text = describeProblems(config.error).replace(/^error: /, "").trimEnd();
    await print(show(null, [{ name: "configuration", state: "broken", text }], asJson));
    return 1;
  }
  const { examine } = await loadDoctor(); // see action.ts
  const checks = await Array.fromAsync(examine(config.value, () => performance.now(), { parts: checkedParts }));
  const isStorageUsable = !checks.some(({ name, state }) => storageParts.includes(name) && state !== "well");
  const reports = isStorageUsable ? await readReports(config.value, checks) : null;
  await print(show(reports, checks, asJson));
  return checks.some(({ state }) => state === "broken") ? 1 : 0;
}

/** `null` where the storage cannot be read. */
type Reports = readonly AttemptReport[] | null;

const storageParts = ["data directory", "database"];
const checkedParts = [
  ...storageParts,
  "workspace",
  "disk",
  "port",
  "proxy",
  "registration",
  "certificate",
  "public address",
  "metadata",
];

/** `null` where the storage cannot be opened after all, which becomes a check. */
async function readReports(
  config: Extract<ReturnType<CommandContext["loadConfig"]>, { ok: true }>["value"],
  checks: Check[],
): Promise<Reports> {
  const [{ openInstallation }, { readClientName }, { reportStoredAttempts }] = await Promise.all([
    loadInstallation(),
    loadCallRecords(),
    import("../console/mod.ts").then((part) => part.loadReport()),
  ]);
  const opened = await orUnusable(openInstallation(config.storage, systemClock));
  if (opened instanceof UnusableError) {
    checks.push({ name: "database", state: "broken", text: opened.problem, remedy: opened.remedy });
    return null;
  }
  const { storage } = opened;
  try {
    return await reportStoredAttempts(storage, {
      now: systemClock(),
      nameOfClient: (id) => readClientName(storage, id),
    });
  } finally {
    await storage.close();
  }
}

function show(reports: Reports, checks: readonly Check[], asJson: boolean): string {
  return asJson
    ? [...(reports ?? []).map(jsonOfAttempt), ...checks.map(jsonOfCheck)].join("")
    : inWords(reports, checks);
}

function jsonOfAttempt({ startedAt, lastAt, steps, diagnosis, ...rest }: AttemptReport): string {
  const iso = (time: number): string => new Date(time).toISOString();
  const line = {
    kind: "attempt",
    ...rest,
    startedAt: iso(startedAt),
    lastAt: iso(lastAt),
    ...diagnosis,
    steps: steps.map(({ time, last, ...step }) => ({
      time: iso(time),
      last: iso(last),
      ...Object.fromEntries(Object.entries(step).filter(([, value]) => value !== null)),
    })),
  };
  return `${escapeUnprintable(JSON.stringify(line))}\n`;
}

function jsonOfCheck(check: Check): string {
  return `${escapeUnprintable(JSON.stringify({ kind: "check", ...check }))}\n`;
}

function inWords(reports: Reports, checks: readonly Check[]): string {
  const found = checks.filter(({ state }) => state === "warning" || state === "broken");
  const attempts = reports === null
    ? "What clients did cannot be read.\n"
    : reports.length === 0
    ? "No client has tried to connect in the last day (none is stored).\n"
    : reports.map(attemptInWords).join("\n");
  const own = found.length === 0
    ? "The server's own checks found nothing wrong.\n"
    : found.map(({ name, state, text, remedy }) =>
      `${state === "broken" ? "FAIL" : "warn"}  ${name}: ${text}\n${
        remedy === undefined ? "" : `      hint: ${remedy}\n`
      }`
    ).join("");
  const isBroken = found.some(({ state }) => state === "broken");
  return withCommandLines(`${attempts}\n${isBroken ? "Problems that stop the server:\n" : ""}${own}`);
}

function attemptInWords(
  { name, addresses, redirectHost, lastAt, diagnosis: { state, causes } }: AttemptReport,
): string {
  const from = addresses.length === 0 ? "" : `, from ${addresses.slice(0, 3).join(", ")}`;
  const back = redirectHost === null ? "" : `, returns to ${redirectHost}`;
  const head = `${new Date(lastAt).toISOString()}  ${name}${from}${back}\n`;
  const [first, ...others] = causes;
  const mark = { going_on: "going on", no_fault: "no fault", fault: "stopped" }[state];
  const hint = (remedy: string): string => remedy === "" ? "" : `      hint: ${remedy}\n`;
  return [
    head,
    `  ${mark}: ${first?.words ?? "its last request was less than ten seconds ago"}\n`,
    hint(first?.remedy ?? ""),
    ...others.map(({ words, remedy }) => `    or: ${words}\n${hint(remedy)}`),
  ].join("").replaceAll(/[^\P{C}\n]/gu, "?");
}
