/** Every section of the console, over what `app` wires. */
import { auditSection, changeSection } from "./audit.ts";
import { createChanges } from "./changes.ts";
import { connectionsSection, servicenowSection } from "./connections.ts";
import { createConsole } from "./console.ts";
import { createDayOfCalls } from "./day_of_calls.ts";
import { decisionsSection } from "./decisions.ts";
import { filesSection } from "./files.ts";
import { liveSection } from "./live.ts";
import { overviewSection } from "./overview.ts";
import { peopleSection } from "./people.ts";
import { rulesSection } from "./rules.ts";
import type { ConsoleSources } from "./section.ts";
import { settingsSection } from "./settings_in_force.ts";
import { whySection } from "./why.ts";

/** The routes of the whole console, and `close` for the streams of open pages; see `createConsole`. */
export function openConsole(sources: ConsoleSources) {
  const { administration, decisions, live, search, servicenow, visits } = sources;
  const day = createDayOfCalls(sources);
  const nameOf = async (id: string): Promise<[string, string]> => [
    id,
    sources.nameOfClient(id) ?? await sources.readClientName(id) ?? id,
  ];
  const namesOf = async (ids: readonly string[]) => new Map(await Promise.all(ids.map(nameOf)));
  const changes = createChanges(sources);
  return createConsole({
    ...sources,
    waiting: async (visitor) => (await decisions.waiting(visitor)).length,
    warnings: (section, { isAdministrator }) =>
      live.switches.stopped === null || (isAdministrator && section === "live") ? [] : [
        `All calls are stopped. ${isAdministrator ? "The Live page lets" : "An administrator can let"} them run again.`,
      ],
    sections: [
      overviewSection(sources, day.connected),
      liveSection(sources),
      connectionsSection(sources, day.usage),
      whySection(sources),
      decisionsSection(decisions),
      rulesSection(sources, day.calls),
      peopleSection({ administration, signInIsElsewhere: visits.signInIsElsewhere }),
      ...servicenow === null ? [] : [servicenowSection(servicenow)],
      auditSection(search, namesOf),
      changeSection(changes),
      filesSection(sources, { changes, namesOf }),
      settingsSection(sources),
    ],
  });
}
