/** Wires the console's pages: its sections and what each shows. */
import { type Clock, systemClock } from "../lib/time.ts";
import type { Config } from "./config/config.ts";
import type {
  ConnectedClient,
  Decisions,
  HealthFact,
  JudgedCall,
  Live,
  RuleStore,
  SearchAudit,
  StepLog,
  Usage,
} from "../console/mod.ts";
import {
  auditSection,
  callsPart,
  changeSection,
  connectedPart,
  connectionsSection,
  createConsole,
  decisionsSection,
  liveSection,
  overviewSection,
  ownAccount,
  peopleSection,
  refusedPart,
  reportAttempts,
  rulesSection,
  servicenowSection,
  settingsSection,
  waitingPart,
  whySection,
} from "../console/later.ts";
import type { KernelAccess, WorkspaceSource } from "../files/mod.ts";
import { describeModels, type LocalModel } from "../llm/mod.ts";
import { callEvent, readCallsOfDay } from "../audit/mod.ts";
import { searchAudit } from "../audit/later.ts";
import type { Storage } from "../storage/mod.ts";
import { confinementWords, type Parts } from "./installation.ts";
import { type Check, examineCertificate, examineDisks } from "./doctor_places.ts";
import type { Tool } from "../mcp/mod.ts";
import { loadOnce } from "../lib/program.ts";
import { basePathOf } from "../lib/page.ts";
import { connectionPath } from "../lib/connect_card.ts";
import { type AuthorizationServer, ownerId } from "../oauth/mod.ts";
import { createConsoleChanges } from "./console_changes.ts";
import { nameOfOperator, readClientName } from "./call_records.ts";
import type { Servicenow } from "../servicenow/mod.ts";
import { createToolListCost } from "./protocol_server.ts";

const keptMs = 5_000;
const modelPatienceMs = 2_000;

/** The health facts of the overview, checked again every few seconds at most. */
function createConsoleHealth(config: Config, parts: ConsoleParts): () => Promise<readonly HealthFact[]> {
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
    ...await publicCertificateFacts(config, parts.storage),
  ];
  return () => {
    if (last === null || timers.elapsed() - last.at > keptMs) last = { at: timers.elapsed(), facts: look() };
    return last.facts;
  };
}

async function publicCertificateFacts(config: Config, storage: Storage): Promise<readonly HealthFact[]> {
  const { publicDomain: name } = config.http;
  if (name === undefined) return [];
  const { examineStoredCertificate } = await import("./doctor_public.ts");
  return (await Array.fromAsync(examineStoredCertificate(config, name, storage))).map(factOf);
}

function storageFact(probe: () => Promise<void>): Promise<HealthFact> {
  const name = "Storage";
  return probe().then(
    () => ({ name, state: "good", words: "The database takes writes." }),
    (error) => ({ name, state: "bad", words: `The database does not work: ${String(error)}` }),
  );
}

async function modelFact({ ollama: { models } }: Config, model: LocalModel): Promise<HealthFact> {
  const name = "Local model";
  const { server, models: known } = await describeModels(
    { model, models },
    AbortSignal.timeout(modelPatienceMs),
  );
  if (server.problem !== undefined) return { name, state: "warn", words: server.problem };
  const allowed = known.filter((entry) => entry.allowed);
  const missing = allowed.filter(({ installed }) => !installed).map((entry) => entry.name);
  const { isOllama } = model.host;
  if (missing.length > 0) {
    const remedy = isOllama ? " Get one with `ollama pull`." : "";
    return { name, state: "warn", words: `Not installed: ${missing.join(", ")}.${remedy}` };
  }
  const engine = isOllama ? `Ollama ${server.version ?? ""}` : "Model server";
  return {
    name,
    state: "good",
    words: `${engine} at ${server.address}: ${allowed.map((entry) => entry.name).join(", ")}`,
  };
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
    ? { name, state: "good", words: `${dir}. Confined by the Linux kernel.` }
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

const dayMs = 86_400_000;
/** Calls that are read; of a busier day, the latest. */
const maxCalls = 5_000;
/** Lines that are read for them: some are not of calls. */
const maxLines = 10_000;
/** Of one page of the audit, at least. */
const leastLines = 100;
/** How long after its last call a client counts as connected. */
const connectedMs = 300_000;
/** How long what was read serves every page that asks. */
const dayOfCallsKeptMs = 1_000;
/** Lines are stored some time after their calls, by each instance on its own: what is younger than that is read again. */
const settledMs = 30_000;
/** A storage that did not answer for longer got them later still: everything is read again after this. */
const wholeMs = 600_000;

interface Call extends JudgedCall {
  /** Of a tool; other requests only use a connection. */
  readonly isCall: boolean;
  readonly time: number;
  readonly isWell: boolean;
}

/** The tool calls of the last day, from the audit: for the use of each connection, and to try rules on. */
function createDayOfCalls(
  search: SearchAudit,
  { tools, clock }: { readonly tools: readonly Tool[]; readonly clock: Clock },
) {
  const changing = new Set(tools.filter(({ annotations }) => !annotations.readOnlyHint).map(({ name }) => name));
  let last: { readonly at: number; readonly wholeAt: number; readonly calls: Promise<readonly Call[]> } | null = null;
  /** Reads what is newer than `known`, and all where that is too much. */
  const read = async (known: readonly Call[]): Promise<readonly Call[]> => {
    const now = clock();
    const since = Math.max(now - dayMs, Math.min(now, known[0]?.time ?? 0) - settledMs);
    const found: Call[] = [];
    let cursor: string | undefined;
    for (let seen = 0;;) {
      if (seen >= maxLines || found.length >= maxCalls) return found.slice(0, maxCalls);
      const limit = Math.max(leastLines, maxCalls - found.length);
      const { lines, cursor: next } = await search({ since }, { limit, cursor });
      seen += Math.max(leastLines, lines.length); // a page may be empty, and the next one not
      for (const { time, event, person, client, grant, tool, target, outcome } of lines) {
        if ((event !== callEvent && event !== "request") || tool === null) continue;
        found.push({
          isCall: event === callEvent,
          time,
          person: person ?? "",
          clientId: client ?? "",
          grantId: grant ?? "",
          tool,
          changes: changing.has(tool),
          places: target?.split(/, | > /) ?? [],
          isWell: outcome === "ok",
        });
      }
      if (next === null) break;
      cursor = next;
    }
    const settled = known.filter(({ time }) => time < since && time >= now - dayMs);
    return [...found, ...settled].slice(0, maxCalls);
  };
  const calls = (): Promise<readonly Call[]> => {
    const at = clock();
    if (last !== null && at >= last.at && at - last.at <= dayOfCallsKeptMs) return last.calls;
    const before = last !== null && at >= last.at && at - last.wholeAt <= wholeMs ? last : null;
    const known = before === null ? Promise.resolve([]) : before.calls.catch(() => []);
    last = { at, wholeAt: before?.wholeAt ?? at, calls: known.then(read) };
    return last.calls;
  };
  return {
    /** The latest calls, newest first. */
    calls: async (): Promise<readonly JudgedCall[]> => (await calls()).filter(({ isCall }) => isCall),
    /** By the id of a grant or a token of the command line. */
    async usage(): Promise<ReadonlyMap<string, Usage>> {
      const byGrant = new Map<string, Usage>();
      for (const { grantId, time, isWell, isCall } of await calls()) {
        const { calls: count = 0, errors = 0, lastAt = time } = byGrant.get(grantId) ?? {};
        byGrant.set(grantId, { calls: count + (isCall ? 1 : 0), errors: errors + (isCall && !isWell ? 1 : 0), lastAt });
      }
      return byGrant;
    },
    /** Who called something lately, the last first. */
    async connected(): Promise<readonly ConnectedClient[]> {
      const since = clock() - connectedMs;
      const found = new Map<string, ConnectedClient>();
      for (const { clientId, person, time, isCall } of await calls()) {
        if (time < since) break;
        if (!isCall) continue;
        const key = JSON.stringify([clientId, person]);
        const { calls: count = 0, lastAt = time } = found.get(key) ?? {};
        found.set(key, { clientId, person, calls: count + 1, lastAt });
      }
      return [...found.values()];
    },
  };
}

export interface ConsoleParts extends Parts {
  readonly authorizationServer: AuthorizationServer;
  /** Rejects when the storage takes no write. */
  readonly probeStorage: () => Promise<void>;
  readonly model: LocalModel;
  readonly workspace: WorkspaceSource;
  readonly live: Live;
  nameOfClient(clientId: string): string | undefined;
  readonly rules: RuleStore;
  readonly decisions: Decisions;
  readonly servicenow: Pick<Servicenow, "signIn"> | null;
  readonly tools: readonly Tool[];
  readonly steps: StepLog;
}

const loadExamination = loadOnce(() => import("./doctor.ts")); // hardly ever needed

export async function openConsolePages(config: Config, parts: ConsoleParts): Promise<ReturnType<typeof createConsole>> {
  const { serverUrl: issuer, authorizationServer, storage, secrets, clock } = parts;
  const { visits, administration } = await authorizationServer.forConsole();
  const search: SearchAudit = (filter, options) => searchAudit(storage, filter, options);
  const day = createDayOfCalls(search, { tools: parts.tools, clock });
  const health: () => Promise<readonly HealthFact[]> = createConsoleHealth(config, parts);
  const servicenow = parts.servicenow === null
    ? null
    : { ...parts.servicenow.signIn, linkPath: `${basePathOf(issuer)}/servicenow/link` };
  const people = async (): Promise<readonly string[]> => (await administration.users()).map(({ id }) => id);
  const nameOf = (id: string): string => parts.nameOfClient(id) ?? nameOfOperator(id) ?? id;
  const namesOf = async (ids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
    new Map(
      await Promise.all(
        ids.map(async (id) => [id, parts.nameOfClient(id) ?? await readClientName(storage, id) ?? id] as const),
      ),
    );
  const waiting = async (visitor: Parameters<Decisions["waiting"]>[0]): Promise<number> =>
    (await parts.decisions.waiting(visitor)).length;
  return createConsole({
    issuer,
    waiting,
    visits,
    secrets,
    clock,
    warnings: (section, { isAdministrator }) =>
      parts.live.switches.stopped === null || (isAdministrator && section === "live") ? [] : [
        `All calls are stopped. ${isAdministrator ? "The Live page lets" : "An administrator can let"} them run again.`,
      ],
    sections: [
      overviewSection({
        home: `${basePathOf(issuer)}/`,
        resource: `${issuer}/mcp`,
        connectionPath: (userId) => connectionPath(basePathOf(issuer), secrets, userId),
        connection: async (userId) => (await administration.access(userId)).grants[0]?.clientName ?? null,
        health,
        parts: [
          waitingPart(parts.decisions),
          connectedPart(day.connected, nameOf),
          callsPart(() => readCallsOfDay(storage, clock())),
          refusedPart(search),
        ],
      }),
      liveSection({
        live: parts.live,
        nameOfClient: nameOf,
        waiting: ({ visitor }) => waiting(visitor),
      }),
      connectionsSection({
        administration,
        usage: day.usage,
        toolListTokens: createToolListCost(parts.tools),
        ...servicenow === null ? {} : { ownAccount: (visit) => ownAccount(servicenow, visit) },
        ...config.authorizationServer.company === null
          ? {}
          : { companyLink: `${basePathOf(issuer)}/oauth/company/link` },
      }),
      whySection({
        resource: `${issuer}/mcp`,
        attempts: async (person, now) =>
          await reportAttempts(await parts.steps.read(), {
            now,
            person,
            nameOfClient: (id) => readClientName(storage, id),
          }),
        async examine() {
          const { examineArrival } = await loadExamination();
          return await examineArrival(config, { serverUrl: issuer, clock: parts.timers.elapsed, storage });
        },
      }),
      decisionsSection(parts.decisions),
      rulesSection({
        rules: parts.rules,
        tools: parts.tools.map(({ name }) => name),
        async clients() {
          const { grants } = await administration.access(null);
          return [...new Map(grants.map(({ clientId, clientName }) => [clientId, clientName]))]
            .map(([id, name]) => ({ id, name }));
        },
        people,
        recentCalls: day.calls,
      }),
      peopleSection({ administration, signInIsElsewhere: visits.signInIsElsewhere }),
      ...servicenow === null ? [] : [servicenowSection(servicenow)],
      auditSection(search, namesOf),
      changeSection(createConsoleChanges(parts.workspace, {
        log: parts.log,
        // the owner has no record where the passphrase comes from OWNER_PASSWORD_HASH
        isUser: async (id) => id === ownerId || (await people()).includes(id),
      })),
      settingsSection(config.inForce),
    ],
  });
}
