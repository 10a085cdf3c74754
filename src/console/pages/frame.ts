/** The frame of the console's pages: where one is, who one is, and what was just done. */
import type { Visitor } from "../../oauth/visits.ts";
import { type Html, html } from "../../lib/html.ts";
import { pageResponse } from "../../lib/page.ts";
import { consoleScript } from "./script.ts";
import type { Section, Visit } from "./section.ts";
import { consoleStylesheet } from "./stylesheet.ts";

/** What a page says at its top. */
interface Note {
  readonly kind: "good" | "bad" | "warn";
  readonly words: string;
}

interface FramedPage {
  readonly section: Section;
  /** The sections that this visitor may open. */
  readonly sections: readonly Section[];
  readonly visit: Visit;
  readonly body: Html;
  readonly signOutPath: string;
  /** Where the page's live parts come from; `null` where it has none. */
  readonly eventsPath: string | null;
  readonly notes: readonly Note[];
  readonly status?: number;
  readonly cookies?: readonly string[];
}

export function consolePage(page: FramedPage): Response {
  const { section, visit, body, notes, status, cookies, eventsPath } = page;
  return pageResponse({
    title: section.title,
    ...(status === undefined ? {} : { status }),
    ...(cookies === undefined ? {} : { cookies }),
    wide: { navigation: navigation(page), css: consoleStylesheet, script: consoleScript },
    body: html`
      ${notes.map(({ kind, words }) => noteOf(kind, words))}
      <h1>${section.title}</h1>
      ${eventsPath !== null && html`
        <p class="state" role="status" id="live-state"
          data-events="${eventsPath}">As of ${new Date(visit.now).toISOString().slice(
            11,
            19,
          )} UTC. Reload the page to see more.</p>
      `}
      ${body}
    `,
  });
}

function noteOf(kind: Note["kind"], words: string): Html {
  return kind === "bad"
    ? html`<p class="note bad" role="alert">${words}</p>`
    : html`<p class="note ${kind}" role="status">${words}</p>`;
}

function navigation({ sections, section, visit, signOutPath }: FramedPage): Html {
  const links = sections.map(({ name, title }) =>
    name === section.name
      ? html`<a href="${visit.href(name)}" aria-current="page">${title}</a>`
      : html`<a href="${visit.href(name)}">${title}</a>`
  );
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <nav class="console" aria-label="Console">${links}
      <form method="post" action="${signOutPath}"><input type="hidden" name="csrf" value="${visit.visitor.csrf}">
        <button type="submit" class="plain small">Sign out ${visit.visitor.name}</button></form>
    </nav>
  `;
}

/** The hidden fields of a form that does `act`, with further values. */
export function actFields({ csrf }: Visitor, act: string, values: Readonly<Record<string, string>> = {}): Html {
  const all = Object.entries({ csrf, act, ...values });
  return html`${all.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;
}
