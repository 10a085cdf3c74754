/** The console, wired: its sections and what each is shown. */
import type { AuthorizationServer } from "../authorization_server/authorization_server.ts";
import type { Config } from "../config/config.ts";
import { createConsole } from "../console/console.ts";
import { connectionsSection } from "../console/sections/connections.ts";
import { type HealthFact, overviewSection } from "../console/sections/overview.ts";
import { peopleSection } from "../console/sections/people.ts";
import { settingsSection } from "../console/sections/settings_in_force.ts";
import type { KernelAccess } from "../kernel/kernel.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Timers } from "../lib/time/timers.ts";
import type { LocalModel } from "../ollama/port.ts";
import type { Installation } from "./installation.ts";
import { createConsoleHealth } from "./console_health.ts";

interface ConsoleParts extends Installation {
  readonly serverUrl: string;
  readonly authorizationServer: AuthorizationServer;
  readonly model: LocalModel;
  readonly kernel?: KernelAccess | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** The console of one server; no routes where it is off. */
export function createConsoleSide(config: Config, parts: ConsoleParts): ReturnType<typeof createConsole> {
  if (config.console.pages === "off") return { routes: [], close: () => {} };
  const { serverUrl: issuer, authorizationServer: { visits, administration }, secrets, clock } = parts;
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
      peopleSection({ administration, signInIsElsewhere: visits.signInIsElsewhere }),
      settingsSection(config.inForce),
    ],
  });
}
