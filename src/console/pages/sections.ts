/** Every section of the console, over what `app` wires. */
import { activitySection } from "./activity.ts";
import { changeSection, createChanges } from "./changes.ts";
import { connectionsSection } from "./connections.ts";
import { createConsole } from "./console.ts";
import { createDayOfCalls } from "./day_of_calls.ts";
import { decisionsSection } from "./decisions.ts";
import { createOwnFiles, filesSection } from "./files.ts";
import { changesPart, overviewSection } from "./overview.ts";
import { peopleSection } from "./people.ts";
import { rulesSection } from "./rules.ts";
import type { ConsoleSources } from "./section.ts";
import { settingsSection } from "./settings_in_force.ts";
import { whySection } from "./why.ts";

/** The routes of the whole console, and `close` for the streams of open pages; see `createConsole`. */
export function openConsole(sources: ConsoleSources) {
  const { decisions, live } = sources;
  const day = createDayOfCalls(sources);
  const nameOf = async (id: string): Promise<[string, string]> => [
    id,
    sources.nameOfClient(id) ?? await sources.readClientName(id) ?? id,
  ];
  const namesOf = async (ids: readonly string[]) => new Map(await Promise.all(ids.map(nameOf)));
  const files = createOwnFiles(sources);
  const changes = createChanges(sources, files.ruledOut);
  const lastChanges = changesPart(day.today, changes.find, files.ruledOut, (id) => sources.nameOfClient(id) ?? id);
  return createConsole({
    ...sources,
    waiting: async (visitor) => (await decisions.waiting(visitor)).length,
    warnings: (section, { isAdministrator }) =>
      live.switches.state.stopped === null || (isAdministrator && section === "activity") ? [] : [
        `All calls are stopped. ${isAdministrator ? "Activity lets" : "An administrator can let"} them run again.`,
      ],
    sections: [
      overviewSection(sources, day, lastChanges),
      activitySection(sources, namesOf),
      changeSection(changes, files.ruledOut),
      decisionsSection(decisions, lastChanges),
      connectionsSection(sources, day.usage),
      whySection(sources),
      filesSection(files, changes, namesOf),
      settingsSection(sources),
      peopleSection(sources),
      rulesSection(sources, day),
    ],
  });
}
