/** The console, wired: its sections and what each is shown. */
import type { AuthorizationServer } from "../authorization_server/authorization_server.ts";
import type { Config } from "../config/config.ts";
import { createConsole } from "../console/console.ts";
import type { Decisions } from "../approval/decisions.ts";
import type { JudgedCall } from "../approval/rule.ts";
import type { RuleStore } from "../approval/rule_store.ts";
import { callEvent } from "../audit/line.ts";
import { searchAudit } from "../audit/search.ts";
import { connectionsSection } from "../console/sections/connections.ts";
import { decisionsSection } from "../console/sections/decisions.ts";
import { type HealthFact, overviewSection } from "../console/sections/overview.ts";
import { peopleSection } from "../console/sections/people.ts";
import { rulesSection } from "../console/sections/rules.ts";
import { settingsSection } from "../console/sections/settings_in_force.ts";
import type { KernelAccess } from "../kernel/kernel.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Tool } from "../mcp/tool.ts";
import type { Timers } from "../lib/time/timers.ts";
import type { LocalModel } from "../ollama/port.ts";
import type { Storage } from "../storage/port.ts";
import type { Installation } from "./installation.ts";
import { createConsoleHealth } from "./console_health.ts";

interface ConsoleParts extends Installation {
  readonly serverUrl: string;
  readonly authorizationServer: AuthorizationServer;
  readonly model: LocalModel;
  readonly rules: RuleStore;
  readonly decisions: Decisions;
  readonly tools: readonly Tool[];
  readonly kernel?: KernelAccess | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** The console of one server; no routes where it is off. */
export function createConsoleSide(config: Config, parts: ConsoleParts): ReturnType<typeof createConsole> {
  if (config.console.pages === "off") return { routes: [], close: () => {} };
  const { serverUrl: issuer, authorizationServer: { visits, administration }, storage, secrets, clock } = parts;
  const health: () => Promise<readonly HealthFact[]> = createConsoleHealth(config, parts);
  return createConsole({
    issuer,
    visits,
    secrets,
    clock,
    warnings: () => [],
    sections: [
      overviewSection({ health, parts: [] }),
      connectionsSection({ administration, usage: () => Promise.resolve(new Map()) }),
      decisionsSection(parts.decisions),
      rulesSection({
        rules: parts.rules,
        tools: parts.tools.map(({ name }) => name),
        async clients() {
          const { grants } = await administration.access(null);
          return [...new Map(grants.map(({ clientId, clientName }) => [clientId, clientName]))]
            .map(([id, name]) => ({ id, name }));
        },
        people: async () => (await administration.users()).map(({ id }) => id),
        recentCalls: () => recentCalls(storage, parts.tools, clock()),
      }),
      peopleSection({ administration, signInIsElsewhere: visits.signInIsElsewhere }),
      settingsSection(config.inForce),
    ],
  });
}

const dayMs = 86_400_000;
/** Calls on which a rule is tried. */
const maxTriedCalls = 2_000;

/** The tool calls of the last day, newest first, as rules see them. */
async function recentCalls(storage: Storage, tools: readonly Tool[], now: number): Promise<readonly JudgedCall[]> {
  const changing = new Set(
    tools.filter(({ annotations }) => annotations.readOnlyHint !== true).map(({ name }) => name),
  );
  const calls: JudgedCall[] = [];
  let cursor: string | undefined;
  do {
    const page = await searchAudit(storage, { since: now - dayMs }, { limit: maxTriedCalls, cursor });
    for (const { event, person, client, grant, tool, target } of page.lines) {
      if (event !== callEvent || tool === null || calls.length >= maxTriedCalls) continue;
      const places = target?.split(/, | > /) ?? [];
      calls.push({
        person: person ?? "",
        clientId: client ?? "",
        grantId: grant ?? "",
        tool,
        changes: changing.has(tool),
        places,
      });
    }
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined && calls.length < maxTriedCalls);
  return calls;
}
