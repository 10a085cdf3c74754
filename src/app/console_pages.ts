/** Wires the console's pages: its sections and what each shows. */
import type { Check } from "../lib/result.ts";
import type { Config } from "./config/config.ts";
import { type ConsoleSources, loadAttemptReports, loadConsolePages, type StepLog } from "../console/mod.ts";
import type { KernelAccess } from "../lib/kernel/kernel.ts";
import type { LocalModel } from "../llm/mod.ts";
import { offeredModels } from "./offered_models.ts";
import { readCallsOfDay, searchAudit } from "../audit/mod.ts";
import { confinementWords, type Parts } from "./installation.ts";
import type { Tool } from "../mcp/mod.ts";
import { basePathOf } from "../lib/page.ts";
import { type AuthorizationServer, ownerId, users } from "../oauth/mod.ts";
import { nameOfOperator, readClientName } from "./protocol_server.ts";
import type { Servicenow } from "../servicenow/mod.ts";
import { hasNames } from "./config/directories.ts";
import { identityOf } from "./workspaces.ts";
import { examineNotices, upkeepFacts } from "./notices.ts";

const keptMs = 5_000;
const modelPatienceMs = 2_000;

/** The health facts of the overview, checked again every few seconds at most. */
function createConsoleHealth(config: Config, parts: ConsoleParts): () => Promise<readonly Check[]> {
  const { timers } = parts;
  let last: { readonly at: number; readonly facts: Promise<readonly Check[]> } | null = null;
  const look = async (): Promise<readonly Check[]> => [
    ...await Promise.all([storageFact(parts.probeStorage), modelFact(config, parts.model)]),
    servicenowFact(config),
    wallFact(config, parts.kernel),
    ...await upkeepFacts(config, parts),
    ...await examineNotices(config, parts.storage, parts.clock),
  ];
  return () => {
    if (last === null || timers.elapsed() - last.at > keptMs) last = { at: timers.elapsed(), facts: look() };
    return last.facts;
  };
}

function storageFact(probe: () => Promise<void>): Promise<Check> {
  const name = "Storage";
  return probe().then(
    () => ({ name, state: "well", text: "The database takes writes." }),
    (error) => ({ name, state: "broken", text: `The database does not work: ${String(error)}` }),
  );
}

async function modelFact({ ollama }: Config, model: LocalModel): Promise<Check> {
  const name = "Local model";
  const report = await model.report(AbortSignal.timeout(modelPatienceMs));
  const { names, problem } = offeredModels(ollama, report);
  if (report.failure !== undefined) return { name, state: "warning", text: report.failure.message };
  if (problem !== null) return { name, state: "warning", text: `${problem.what}: ${problem.remedy}.` };
  return { name, state: "well", text: `${model.host.engine} at ${model.host.origin}: ${names.join(", ")}` };
}

function servicenowFact({ servicenow: { access, missing, write } }: Config): Check {
  const name = "ServiceNow";
  if (access !== undefined) {
    return { name, state: "well", text: `${access.instance}, ${write ? "reading and writing" : "reading only"}` };
  }
  return missing.length > 0
    ? { name, state: "warning", text: `Set ${missing.join(" and ")} to use it.` }
    : { name, state: "note", text: "No instance is configured." };
}

function wallFact({ workspace: { store, dir } }: Config, kernel: KernelAccess | undefined): Check {
  const name = "Workspace";
  if (store !== "disk") return { name, state: "well", text: "Kept in the database." };
  return kernel?.available
    ? { name, state: "well", text: `${dir}. Confined by the Linux kernel.` }
    : { name, state: "warning", text: `${dir}: ${confinementWords.checked}` };
}

export interface ConsoleParts
  extends Parts, Pick<ConsoleSources, "decisions" | "documents" | "judge" | "live" | "rules" | "workspace"> {
  readonly authorizationServer: AuthorizationServer;
  /** Rejects when the storage takes no write. */
  readonly probeStorage: () => Promise<void>;
  readonly model: LocalModel;
  nameOfClient(clientId: string): string | undefined;
  readonly servicenow: Pick<Servicenow, "signIn"> | null;
  readonly tools: readonly Tool[];
  readonly steps: StepLog;
}

export async function openConsolePages(config: Config, parts: ConsoleParts) {
  const [{ openConsole }, { reportAttempts }] = await Promise.all([loadConsolePages(), loadAttemptReports()]);
  const { serverUrl: issuer, authorizationServer, storage, clock, takeOutDirectory } = parts;
  const { visits, administration } = await authorizationServer.forConsole();
  const readName = (id: string): Promise<string | null> => readClientName(storage, id);
  return openConsole({
    ...parts,
    ...parts.bounds.approval,
    issuer,
    visits,
    administration,
    nameOfClient: (id) => parts.nameOfClient(id) ?? nameOfOperator(id) ?? null,
    readClientName: readName,
    health: createConsoleHealth(config, parts),
    search: (filter, options) => searchAudit(storage, filter, options),
    callsOfDay: () => readCallsOfDay(storage, clock()),
    servicenow: parts.servicenow && { ...parts.servicenow.signIn, linkPath: `${basePathOf(issuer)}/servicenow/link` },
    companyLink: config.authorizationServer.company && `${basePathOf(issuer)}/oauth/company/link`,
    attempts: async (person, now) =>
      await reportAttempts(await parts.steps.read(), { now, person, nameOfClient: readName }),
    // the owner has no record where the passphrase comes from OWNER_PASSWORD_HASH
    isUser: async (id) => id === ownerId || await users.read(storage, id) !== null,
    settings: config.inForce,
    directories: !hasNames(config.workspace) || takeOutDirectory === undefined ? null : {
      listed: () => config.workspace.directories.map((each) => ({ ...each, isThere: identityOf(each.path) !== null })),
      takeOut: takeOutDirectory,
    },
  });
}
