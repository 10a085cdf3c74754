/** The pages of the console, wired: its sections and what each is shown. */
import { loadOnce } from "../lib/load_once.ts";
import { reportAttempts } from "../console/connections/report.ts";
import type { StepLog } from "../console/connections/step_log.ts";
import type { AuthorizationServer } from "../oauth/authorization_server.ts";
import { ownerId } from "../oauth/records/user.ts";
import type { Config } from "./config/config.ts";
import { createConsole } from "../console/pages/console.ts";
import type { Decisions } from "../console/approvals/decisions.ts";
import type { RuleStore } from "../console/approvals/rule_store.ts";
import { readCallsOfDay } from "../audit/call_counts.ts";
import { searchAudit } from "../audit/search.ts";
import { auditSection, type SearchAudit } from "../console/pages/audit.ts";
import { changeSection } from "../console/pages/change.ts";
import { connectionsSection } from "../console/pages/connections.ts";
import { decisionsSection } from "../console/pages/decisions.ts";
import { liveSection } from "../console/pages/live.ts";
import { type HealthFact, overviewSection } from "../console/pages/overview.ts";
import { callsPart, connectedPart, refusedPart, waitingPart } from "../console/pages/overview_parts.ts";
import { peopleSection } from "../console/pages/people.ts";
import { rulesSection } from "../console/pages/rules.ts";
import { whySection } from "../console/pages/why.ts";
import { ownAccount, servicenowSection } from "../console/pages/servicenow.ts";
import { settingsSection } from "../console/pages/settings_in_force.ts";
import type { Log } from "../lib/log.ts";
import type { Live } from "../console/live/live.ts";
import type { KernelAccess } from "../files/kernel/kernel.ts";
import type { Clock } from "../lib/clock.ts";
import type { Tool } from "../mcp/tool.ts";
import type { Timers } from "../lib/timers.ts";
import type { LogExport } from "../audit/log_export.ts";
import type { LocalModel } from "../llm/port.ts";
import type { WorkspaceSource } from "../files/workspace/port.ts";
import { createConsoleChanges } from "./console_changes.ts";
import { nameOfOperator, readClientName } from "./client_name.ts";
import type { Servicenow } from "../servicenow/servicenow.ts";
import type { Installation } from "./installation.ts";
import { createConsoleHealth } from "./console_health.ts";
import { createToolListCost } from "./tool_list_cost.ts";
import { createDayOfCalls } from "./day_of_calls.ts";

export interface ConsoleParts extends Installation {
  readonly serverUrl: string;
  readonly authorizationServer: AuthorizationServer;
  readonly probeStorage: () => Promise<void>;
  readonly model: LocalModel;
  readonly workspace: WorkspaceSource;
  readonly live: Live;
  nameOfClient(clientId: string): string | undefined;
  readonly rules: RuleStore;
  readonly decisions: Decisions;
  readonly servicenow: Pick<Servicenow, "signIn"> | null;
  readonly tools: readonly Tool[];
  readonly kernel?: KernelAccess | undefined;
  readonly log: Log;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly steps: StepLog;
  readonly logExport: LogExport | null;
}

const loadExamination = loadOnce(() => import("./arrival.ts")); // hardly ever needed

export async function openConsolePages(config: Config, parts: ConsoleParts): Promise<ReturnType<typeof createConsole>> {
  const { serverUrl: issuer, authorizationServer, storage, secrets, clock } = parts;
  const { visits, administration } = await authorizationServer.forConsole();
  const search: SearchAudit = (filter, options) => searchAudit(storage, filter, options);
  const day = createDayOfCalls(search, { tools: parts.tools, clock });
  const health: () => Promise<readonly HealthFact[]> = createConsoleHealth(config, parts);
  const servicenow = parts.servicenow === null
    ? null
    : { ...parts.servicenow.signIn, linkPath: `${new URL(issuer).pathname}servicenow/link` };
  const people = async (): Promise<readonly string[]> => (await administration.users()).map(({ id }) => id);
  const nameOf = (id: string): string => parts.nameOfClient(id) ?? nameOfOperator(id) ?? id;
  const namesOf = async (ids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
    new Map(
      await Promise.all(
        ids.map(async (id) => [id, parts.nameOfClient(id) ?? await readClientName(storage, id) ?? id] as const),
      ),
    );
  return createConsole({
    issuer,
    visits,
    secrets,
    clock,
    warnings: (section, { isAdministrator }) =>
      parts.live.switches.stopped === null || (isAdministrator && section === "live") ? [] : [
        `All calls are stopped. ${isAdministrator ? "The Live page lets" : "An administrator can let"} them run again.`,
      ],
    sections: [
      overviewSection({
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
        waiting: async ({ visitor }) => (await parts.decisions.waiting(visitor)).length,
      }),
      connectionsSection({
        administration,
        usage: day.usage,
        toolListTokens: createToolListCost(parts.tools),
        ...servicenow === null ? {} : { ownAccount: (visit) => ownAccount(servicenow, visit) },
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
          return await examineArrival(config, { serverUrl: issuer, clock: parts.timers.elapsed });
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
