/** What the console's overview says of the things that matter, asked anew but not more often than is worth it. */
import { systemClock } from "../lib/clock.ts";
import type { Config } from "./config/config.ts";
import type { HealthFact } from "../console/pages/overview.ts";
import type { KernelAccess } from "../files/kernel/kernel.ts";
import type { Timers } from "../lib/timers.ts";
import { describeModels } from "../llm/models_report.ts";
import type { ExportState, LogExport } from "../audit/log_export.ts";
import type { LocalModel } from "../llm/port.ts";
import { confinementWords } from "./confinement.ts";
import { examineCertificate } from "./certificate.ts";
import type { Check } from "./check.ts";
import { examineDisks } from "./disks.ts";

const keptMs = 5_000;
const modelPatienceMs = 2_000;

interface HealthParts {
  readonly serverUrl: string;
  /** Rejects when the storage takes no write. */
  readonly probeStorage: () => Promise<void>;
  readonly model: LocalModel;
  readonly kernel?: KernelAccess | undefined;
  readonly timers: Timers;
  readonly logExport: LogExport | null;
}

export function createConsoleHealth(config: Config, parts: HealthParts): () => Promise<readonly HealthFact[]> {
  const { timers } = parts;
  let last: { readonly at: number; readonly facts: Promise<readonly HealthFact[]> } | null = null;
  const look = async (): Promise<readonly HealthFact[]> => [
    ...await Promise.all([storageFact(parts.probeStorage), modelFact(config, parts.model)]),
    servicenowFact(config),
    wallFact(config, parts.kernel),
    ...[
      ...examineDisks(config, parts.kernel),
      ...examineCertificate(config.http.tls, { serverUrl: parts.serverUrl, clock: systemClock }),
    ].map(factOf),
    ...parts.logExport === null ? [] : [exportFact(parts.logExport.state)],
  ];
  return () => {
    if (last === null || timers.elapsed() - last.at > keptMs) last = { at: timers.elapsed(), facts: look() };
    return last.facts;
  };
}

function storageFact(probe: () => Promise<void>): Promise<HealthFact> {
  const name = "Storage";
  return probe().then(
    () => ({ name, state: "good", words: "The database takes writes." }),
    (error) => ({ name, state: "bad", words: `The database does not work: ${String(error)}` }),
  );
}

async function modelFact({ ollama: { models, embeddingModels = [] } }: Config, model: LocalModel): Promise<HealthFact> {
  const name = "Local model";
  const { server, models: known } = await describeModels(
    { model, models, embeddingModels },
    AbortSignal.timeout(modelPatienceMs),
  );
  if (!server.ok) return { name, state: "warn", words: server.problem ?? "It does not answer." };
  const missing = known.filter(({ allowed, installed }) => allowed && !installed).map((entry) => entry.name);
  return missing.length > 0
    ? { name, state: "warn", words: `Not installed: ${missing.join(", ")}. Get one with \`ollama pull\`.` }
    : { name, state: "good", words: `Ollama ${server.version ?? ""} at ${server.address}` };
}

function servicenowFact({ servicenow: { access, missing, write } }: Config): HealthFact {
  const name = "ServiceNow";
  if (access !== undefined) {
    return { name, state: "good", words: `${access.instance}, ${write ? "reading and writing" : "reading only"}` };
  }
  return missing.length > 0
    ? { name, state: "warn", words: `Set ${missing.join(" and ")} to use it.` }
    : { name, state: "off", words: "No instance is configured." };
}

function wallFact({ workspace: { store, dir } }: Config, kernel: KernelAccess | undefined): HealthFact {
  const name = "Workspace";
  if (store !== "disk") return { name, state: "good", words: "Kept in the database." };
  return kernel?.available
    ? { name, state: "good", words: `${dir}: ${confinementWords.kernel}` }
    : { name, state: "warn", words: `${dir}: ${confinementWords.checked}` };
}

/** As `doctor` says it. */
function factOf({ name, state, text, remedy }: Check): HealthFact {
  return {
    name: `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
    state: state === "well" ? "good" : "warn",
    words: remedy === undefined ? text : `${text}: ${remedy}`,
  };
}

/** Of this process since its start. */
function exportFact({ collector, sent, lost, waiting, problem }: ExportState): HealthFact {
  const name = "Audit export";
  const counts = `${sent} lines sent to ${collector}, ${lost} lost, ${waiting} wait.`;
  if (problem !== null) {
    return { name, state: "bad", words: `The collector does not take lines: ${problem}. ${counts}` };
  }
  return { name, state: lost === 0 ? "good" : "warn", words: counts };
}
