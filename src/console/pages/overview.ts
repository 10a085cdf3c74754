/** The overview: whether what matters is well, who is connected, and what waits for a decision. */
import { type Html, html } from "../../lib/html.ts";
import type { LiveParts, Section, Visit } from "./section.ts";
import { withCode } from "./words.ts";

/** How one thing that matters is. */
export interface HealthFact {
  readonly name: string;
  readonly state: "good" | "warn" | "bad" | "off";
  /** What it is, or what to do. */
  readonly words: string;
}

/** A part of the overview: its heading and its content, for this visitor. */
export interface OverviewPart {
  readonly id: string;
  readonly title: string;
  readonly forAdministrators?: true;
  show(visit: Visit): Promise<Html>;
}

interface OverviewOptions {
  health(): Promise<readonly HealthFact[]>;
  readonly parts: readonly OverviewPart[];
}

export function overviewSection({ health, parts }: OverviewOptions): Section {
  const all: readonly OverviewPart[] = [
    ...parts,
    { id: "health", title: "Health", forAdministrators: true, show: async () => tiles(await health()) },
  ];
  const shownTo = (visit: Visit) =>
    all.filter(({ forAdministrators }) => visit.visitor.isAdministrator || forAdministrators !== true);
  const live = async (visit: Visit): Promise<LiveParts> =>
    Object.fromEntries(
      await Promise.all(shownTo(visit).map(async (part) => [part.id, await part.show(visit)] as const)),
    );
  return {
    name: "",
    title: "Overview",
    live,
    async show(visit) {
      const now = await live(visit);
      return html`${
        shownTo(visit).map(({ id, title }) =>
          html`
            <h2>${title}</h2>
            <div id="${id}">${now[id]}</div>
          `
        )
      }`;
    },
  };
}

function tiles(facts: readonly HealthFact[]): Html {
  const stateWords = { good: "OK", warn: "Needs attention", bad: "Does not work", off: "Not used" };
  return html`<ul class="tiles">${
    facts.map(({ name, state, words }) =>
      html`<li class="${state}"><strong>${name}: ${stateWords[state]}</strong> <span>${withCode(words)}</span></li>`
    )
  }</ul>`;
}
