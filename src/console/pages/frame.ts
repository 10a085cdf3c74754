/** The frame of the console's pages: where one is, who one is, and what was just done. */
import type { Visitor } from "../../oauth/mod.ts";
import { connectScript } from "../../lib/connect_card.ts";
import { type Html, html, pageResponse } from "../../lib/page.ts";
import { type Section, timeOfDay, type Visit } from "./section.ts";

// The one script of the console: puts what the server renders anew into the page that is open.

/**
 * Elements that an event names by id get the server's own rendering, which has escaped what callers wrote. One that
 * holds the focus waits until it is left, so that no typing is lost. What was unfolded or scrolled stays so. Where
 * forms moved, none is sent for a second: a click that was meant for one call would approve the one that took its
 * place.
 */
const consoleScript = `
"use strict";
(() => {
  const address = document.querySelector("[data-events]")?.dataset.events;
  const state = document.getElementById("live-state");
  if (!address || !state) return;
  const say = (words) => {
    if (state.textContent !== words) state.textContent = words;
    state.classList.toggle("on", words === "Live");
  };
  const title = document.title.replace(/^\\(\\d+\\) /, "");
  const waiting = new Map();
  const movedAt = new WeakMap();
  const formsOf = (element) =>
    Array.from(element.querySelectorAll("form input[type=hidden]"), ({ value }) => value).join();
  const put = (id, markup) => {
    const element = document.getElementById(id);
    if (element === null) return;
    if (element.contains(document.activeElement)) {
      waiting.set(id, markup);
      return say("Paused while you are in the list.");
    }
    const forms = formsOf(element);
    const open = Array.from(element.querySelectorAll("details[open][id]"), ({ id }) => id);
    const scrolled = Array.from(element.querySelectorAll(".scroll"), ({ scrollLeft }) => scrollLeft);
    element.innerHTML = markup;
    if (id === "waiting-count") document.title = markup === "" ? title : "(" + element.textContent + ") " + title;
    for (const each of open) document.getElementById(each)?.setAttribute("open", "");
    element.querySelectorAll(".scroll").forEach((each, index) => { each.scrollLeft = scrolled[index] ?? 0; });
    if (!formsOf(element).startsWith(forms)) movedAt.set(element, performance.now());
  };
  document.addEventListener("submit", (event) => {
    for (let at = event.target; at !== null; at = at.parentElement) {
      if (performance.now() - (movedAt.get(at) ?? -Infinity) > 1000) continue;
      event.preventDefault();
      say("Nothing was sent: the list changed as you clicked. Look again.");
    }
  });
  document.addEventListener("focusout", () => setTimeout(() => {
    if (waiting.size === 0) return;
    const changes = [...waiting];
    waiting.clear();
    say("Live");
    for (const [id, markup] of changes) put(id, markup);
  }, 0));
  let refusals = 0;
  const connect = () => {
    const source = new EventSource(address);
    source.onopen = () => { refusals = 0; say("Live"); };
    source.onmessage = (event) => {
      for (const [id, markup] of Object.entries(JSON.parse(event.data))) put(id, markup);
    };
    source.onerror = () => {
      const isRefused = source.readyState === EventSource.CLOSED;
      say(isRefused
        ? "Not live: you were signed out, or the server cannot be reached. Reload the page."
        : "Reconnecting");
      if (isRefused && ++refusals <= 6) setTimeout(connect, 5000);
    };
  };
  connect();
})();
`;

// What the console's pages add to the stylesheet of all pages.

/** The same colours, wider; tables scroll on their own in a narrow window. */
const consoleStylesheet = `
.frame.wide { max-width: 72rem; padding-top: 1.5rem; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem .8rem; }
nav.console { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem; margin: 0 0 1rem; }
nav.console a { padding: .4rem .5rem; border-radius: .5rem; text-decoration: none; color: var(--ink); font-weight: 500; }
nav.console a:hover { background: var(--soft); text-decoration: underline; }
nav.console a[aria-current] { background: var(--accent); color: var(--accent-ink); }
nav.console form { margin-left: auto; }
nav.console .links { display: flex; flex-wrap: wrap; gap: .25rem; position: static; width: auto; height: auto; margin: 0; padding: 0; border: 0; background: none; color: inherit; }
nav.console .menu { display: none; }
.count:not(:empty) { margin-left: .35rem; padding: 0 .4rem; border-radius: 1rem; background: var(--warn-line); color: #1a1d23; font-size: .8rem; }
.wide h2 { font-size: 1.15rem; margin-top: 2rem; }
.state { color: var(--quiet); font-size: .875rem; }
.state::before { content: ""; display: inline-block; width: .55rem; height: .55rem; margin-right: .4rem; border-radius: 50%; background: var(--field); }
.state.on::before { background: #2e8b57; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: .75rem; margin: 0; padding: 0; list-style: none; }
.tiles li { border: 1px solid var(--line); border-left: 4px solid var(--field); border-radius: .6rem; padding: .7rem .9rem; min-width: 0; }
.tiles li.good { border-left-color: #2e8b57; }
.tiles li.bad { border-left-color: var(--bad-line); }
.tiles li.warn { border-left-color: var(--warn-line); }
.tiles strong { display: block; }
.tiles span { font-size: .9rem; overflow-wrap: anywhere; }
h2, li { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline-offset: -3px; }
table { border-collapse: collapse; width: 100%; font-size: .925rem; }
caption { position: sticky; left: 0; max-width: min(100%, 100vw - 5rem); text-align: left; color: var(--quiet); font-size: .875rem; padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .6rem .45rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
td { min-width: 6.5rem; }
.titled caption { display: none; }
.titled td { overflow-wrap: break-word; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; min-width: 3rem; white-space: nowrap; }
td form { margin: 0; }
th { font-weight: 600; white-space: nowrap; }
.badge { display: inline-block; padding: .05rem .5rem; border: 1px solid var(--field); border-radius: 1rem; font-size: .8rem; white-space: nowrap; }
.badge.bad { border-color: var(--bad-line); background: var(--bad); color: var(--bad-ink); }
.badge.good { border-color: var(--accent); }
.badge.warn { border-color: var(--warn-line); background: var(--warn); color: var(--warn-ink); }
.row { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end; margin-bottom: 1rem; }
.row > div { min-width: 0; max-width: 100%; }
.row label { display: block; font-size: .875rem; font-weight: 600; white-space: nowrap; }
.row input, .row select, .row button { height: 2.6rem; }
td .row { align-items: start; margin: 0; }
.scroll + p, .scroll + form, form + p { margin-top: 1rem; }
.row input, .row select {
  display: block; max-width: 100%; padding: .45rem .6rem; font: inherit; font-weight: 400; color: inherit; background: var(--card);
  border: 1px solid var(--field); border-radius: .5rem;
}
.row input[type="text"] { width: 12rem; }
figure { margin: .5rem 0 1rem; }
rect.well { fill: var(--accent); }
rect.bad { fill: var(--bad-line); }
.axis { display: flex; justify-content: space-between; }
figure svg { width: 100%; height: auto; max-height: 12rem; }
pre.difference { max-height: 30rem; overflow: auto; }
pre.difference ins, pre.difference del { text-decoration: none; background: rgb(46 139 87 / .2); }
pre.difference del { background: rgb(201 65 58 / .18); }
.held { border-top: 1px solid var(--line); padding: .5rem 0 1.5rem; }
.held:first-child { border-top: 0; }
.held fieldset label { display: block; padding: .15rem 0 .15rem 1.5rem; text-indent: -1.5rem; }
.held .actions { max-width: 24rem; }
input[type="radio"] { accent-color: var(--accent); }
ul.rules li { padding: .4rem 0; }
button.danger { background: transparent; border-color: var(--bad-line); color: var(--bad-ink); }
@media (prefers-color-scheme: dark) { button.danger { color: var(--bad-ink); } }
button.danger:hover { background: var(--bad); }
.path { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; justify-content: space-between; align-items: center; margin-bottom: 1rem; }
.path p, .path form { margin: 0; }
.entries + p { margin-top: 1rem; }
ol.text { margin: .5rem 0 1rem; padding: .5rem .5rem .5rem 4.5rem; border: 1px solid var(--line); border-radius: .5rem; white-space: pre-wrap; font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
ol.text li::marker { color: var(--quiet); font-variant-numeric: tabular-nums; }
img.picture { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: .5rem; }
@media print { nav.console, form, form.row, .skip { display: none; } main { border: 0; box-shadow: none; } }
@media (max-width: 40rem) {
  thead { display: none; }
  table, tbody, tr, caption { display: block; }
  tr { padding: .6rem 0; border-bottom: 1px solid var(--line); }
  td, td.number { display: block; position: relative; min-width: 0; padding: .15rem 0 .15rem 7.5rem; border: 0; text-align: left; white-space: normal; }
  td::before { content: attr(data-label); position: absolute; left: 0; color: var(--quiet); font-size: .875rem; }
  td:empty { display: none; }
  nav.console { justify-content: space-between; }
  nav.console form { margin-left: 0; }
  nav.console .menu { display: block; }
  nav.console .links[popover] { display: none; }
  nav.console .links[popover]:popover-open {
    display: grid; position: fixed; inset: .75rem .75rem auto; max-height: calc(100vh - 1.5rem); overflow: auto;
    padding: .75rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--card); box-shadow: 0 10px 30px rgb(0 0 0 / .3);
  }
  .row > div, .row input[type="text"], .row select { width: 100%; }
  .entries td:not(:empty), .entries td.number { display: inline-block; padding: 0 .8rem 0 0; color: var(--quiet); }
  .entries td:first-child:not(:empty) { display: block; }
  .entries td::before { content: none; }
}
@media (min-width: 40.01rem) { td time { white-space: nowrap; } }
`;

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
  /** How many calls wait for the visitor's decision. */
  readonly waiting: number;
  readonly status?: number;
  readonly cookies?: readonly string[];
}

/** The whole page around a section's body. */
export function consolePage(page: FramedPage): Response {
  const { section, visit, body, notes, waiting, status, cookies, eventsPath } = page;
  return pageResponse({
    title: waiting === 0 ? section.title : `(${waiting}) ${section.title}`,
    ...(status === undefined ? {} : { status }),
    ...(cookies === undefined ? {} : { cookies }),
    wide: { navigation: navigation(page), css: consoleStylesheet, script: consoleScript + connectScript },
    body: html`
      ${notes.map(({ kind, words }) => noteOf(kind, words))}
      <h1>${section.title}</h1>
      ${eventsPath !== null && html`
        <p class="state" role="status" id="live-state"
          data-events="${eventsPath}">As of ${timeOfDay(visit.now)}. Reload the page to update it.</p>
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

/** The number beside Approvals, in the menu of every page; nothing where none waits. */
export function waitingCount(waiting: number): Html {
  return waiting === 0 ? html`` : html`${waiting}`;
}

function navigation({ sections, section, visit, signOutPath, waiting }: FramedPage): Html {
  const links = sections.map(({ name, title }) => {
    const count = name === "decisions" && html`<span class="count" id="waiting-count">${waitingCount(waiting)}</span>`;
    return name === section.name
      ? html`<a href="${visit.href(name)}" aria-current="page">${title}${count}</a>`
      : html`<a href="${visit.href(name)}">${title}${count}</a>`;
  });
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <nav class="console"
      aria-label="Console"><button type="button" class="menu plain small" popovertarget="menu">Menu${waiting > 0 &&
        html`
          (${waiting})
        `}</button><div class="links" id="menu" popover>${links}</div>
      <form method="post" action="${signOutPath}"><input type="hidden" name="csrf" value="${visit.visitor.csrf}">
        <button type="submit" class="plain small" title="Signed in as ${visit.visitor.name}">Sign out</button></form>
    </nav>
  `;
}

/** The hidden fields of a form that does `act`, with further values. */
export function actFields({ csrf }: Visitor, act: string, values: Readonly<Record<string, string>> = {}): Html {
  const all = Object.entries({ csrf, act, ...values });
  return html`${all.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;
}

/** A form with one button that does `act` of a section; `name` is for those who hear the button without its row. */
export function actButton(
  visit: Visit,
  section: string,
  act: string,
  label: string,
  { values = {}, kind = "", name = label }: {
    readonly values?: Readonly<Record<string, string>>;
    readonly kind?: "plain" | "danger" | "";
    readonly name?: string;
  } = {},
): Html {
  return html`
    <form method="post" action="${visit.href(section)}">${actFields(visit.visitor, act, values)}<button type="submit"
      class="small ${kind}" aria-label="${name}">${label}</button></form>
  `;
}
