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
  const icon = document.querySelector("link[rel=icon]");
  const plain = icon.href;
  const dot = encodeURIComponent('<circle cx="18" cy="6" r="6" stroke="none" fill="#d9a520"/></svg>');
  const marked = plain.replace(encodeURIComponent("</svg>"), dot);
  const title = document.title.replace(/^\\(\\d+\\) /, "");
  const showCount = () => {
    const count = document.getElementById("waiting-count")?.textContent ?? "";
    document.title = count === "" ? title : "(" + count + ") " + title;
    icon.href = count === "" ? plain : marked;
  };
  showCount();
  const address = document.querySelector("[data-events]")?.dataset.events;
  const state = document.getElementById("live-state");
  if (!address || !state) return;
  const say = (words) => {
    if (state.textContent !== words) state.textContent = words;
    state.classList.toggle("on", words === "Live");
  };
  const waiting = new Map();
  const movedAt = new WeakMap();
  const formsOf = (element) =>
    Array.from(element.querySelectorAll("form input[type=hidden]"), ({ value }) => value).join();
  const put = (id, markup) => {
    const element = document.getElementById(id);
    if (element === null) return;
    const chosen = document.activeElement.matches("article") && element.contains(document.activeElement)
      ? document.activeElement.id : null;
    if (chosen === null && element.contains(document.activeElement)) {
      waiting.set(id, markup);
      return say("Paused while you are in the list.");
    }
    const forms = formsOf(element);
    const open = Array.from(element.querySelectorAll("details[open][id]"), ({ id }) => id);
    const scrolled = Array.from(element.querySelectorAll(".scroll"), ({ scrollLeft }) => scrollLeft);
    element.innerHTML = markup;
    if (id === "waiting-count") showCount();
    for (const each of open) document.getElementById(each)?.setAttribute("open", "");
    if (chosen !== null) document.getElementById(chosen)?.focus({ preventScroll: true });
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
  const keys = document.querySelector(".keys input");
  if (keys !== null) {
    keys.checked = localStorage.getItem("keys") !== "off";
    keys.onchange = () => localStorage.setItem("keys", keys.checked ? "on" : "off");
    keys.closest("p").hidden = false;
  }
  document.addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
    const calls = Array.from(document.querySelectorAll("article[tabindex]"));
    const at = calls.findIndex((call) => call.contains(target));
    if (!keys?.checked || keys.offsetParent === null || calls.length === 0 || ctrlKey || metaKey || altKey || target.matches("input:not([type=radio]), select")) return;
    const step = { j: 1, k: -1 }[key];
    if (step !== undefined) calls[Math.min(Math.max(at + step, 0), calls.length - 1)].focus();
    const decision = { a: "approve", d: "deny" }[key];
    if (decision !== undefined && at >= 0) calls[at].querySelector("button[value=" + decision + "]")?.click();
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

/** The same colours on one sheet; in a narrow window the menu is a drawer, and a table's row a card. */
const consoleStylesheet = `
body:has(.wide) { background: var(--card); font-size: .9375rem; }
.frame.wide { display: grid; grid-template-columns: auto minmax(0, 1fr); column-gap: 1.5rem; align-items: center; max-width: 78rem; padding: 0 clamp(1rem, 3vw, 2rem) 4rem; }
.wide .brand { min-height: 3.5rem; margin: 0; color: var(--ink); }
.wide > main { grid-column: 1 / -1; padding: 1.5rem 0 0; border: 0; border-top: 1px solid var(--line); border-radius: 0; box-shadow: none; min-width: 0; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem .8rem; }
nav.console { display: flex; align-items: center; gap: .5rem; min-width: 0; }
nav.console .links { display: flex; flex: 1; align-items: center; gap: .125rem; position: static; width: auto; height: auto; margin: 0; padding: 0; border: 0; background: none; color: inherit; overflow: visible; }
nav.console a { padding: .3rem .65rem; border-radius: .4rem; text-decoration: none; color: var(--quiet); font-weight: 500; }
nav.console a:hover { background: var(--soft); }
nav.console a[aria-current] { color: var(--ink); background: var(--ground); font-weight: 600; }
nav.console .links form { margin-left: auto; }
nav.console .menu { display: none; }
nav.tabs { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: -.5rem 0 1.5rem; border-bottom: 1px solid var(--line); }
nav.tabs a { padding: .5rem 0; margin-bottom: -1px; border-bottom: 2px solid transparent; color: var(--quiet); text-decoration: none; font-weight: 500; }
nav a:hover { color: var(--ink); }
nav.tabs a[aria-current] { color: var(--ink); border-color: var(--accent); }
.count:not(:empty) { margin-left: .35rem; padding: 0 .4rem; border-radius: 1rem; background: var(--warn-line); color: #1a1d23; font-size: .8rem; }
.head { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 1rem; margin-bottom: .75rem; }
.head h1, .head .state { margin: 0; }
.on, .good { --mark: #2e8b57; }
.warn { --mark: var(--warn-line); }
.bad { --mark: var(--bad-line); }
.wide h2 { font-size: 1rem; margin: 1.75rem 0 .6rem; }
.state::before { content: ""; display: inline-block; width: .5rem; height: .5rem; margin-right: .4rem; border-radius: 50%; background: var(--mark, var(--field)); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: .75rem; margin: 0; padding: 0; list-style: none; }
.tiles li { border: 1px solid var(--line); border-left: 3px solid var(--mark, var(--field)); border-radius: .5rem; padding: .6rem .8rem; min-width: 0; }
.tiles span { font-size: .875rem; overflow-wrap: anywhere; }
h2, li { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .6rem; }
.scroll:focus-visible { outline-offset: -3px; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { text-align: left; vertical-align: baseline; padding: .5rem .75rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
tbody tr:last-child > td { border-bottom: 0; }
td { min-width: 7rem; }
td button { overflow-wrap: normal; }
.titled td { overflow-wrap: break-word; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; min-width: 3rem; white-space: nowrap; }
td summary { padding: 0; white-space: nowrap; }
.skip { position: absolute; left: -100rem; }
.tiles strong, td .fact { display: block; }
.state, .fact { color: var(--quiet); font-size: .8125rem; }
th { font-weight: 500; color: var(--quiet); white-space: nowrap; background: var(--soft); }
.badge { display: inline-block; padding: 0 .5rem; border: 1px solid var(--line); border-radius: 1rem; font-size: .8rem; white-space: nowrap; }
.badge.bad { border-color: var(--bad-line); background: var(--bad); color: var(--bad-ink); }
.badge.warn { border-color: var(--warn-line); background: var(--warn); color: var(--warn-ink); }
.wide button, .wide a.button { padding: .4rem .8rem; font-size: .875rem; border-radius: .4rem; }
.wide :is(td, nav) button { padding: .15rem .6rem; }
.row { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: end; margin-bottom: 1rem; }
.row > div { min-width: 0; max-width: 100%; }
.row label { display: block; font-size: .8125rem; color: var(--quiet); white-space: nowrap; }
.row input, .row select, .row > button { height: 2.2rem; padding-block: 0; }
.row a.button { height: 2.2rem; margin: 0; background: transparent; border-color: var(--field); color: var(--ink); }
td .row { align-items: start; margin: 0; gap: .4rem; }
.scroll + :is(p, form, details), #grants + details, .entries + p, form + :is(p, details), ul.rules + details { margin-top: 1rem; }
.row input, .row select { display: block; max-width: 100%; padding-inline: .6rem; font: inherit; color: inherit; background: var(--card); border: 1px solid var(--field); border-radius: .4rem; }
.row input[type="text"] { width: 11rem; }
.row select { max-width: 15rem; }
.overview { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 2rem; align-items: start; }
.overview > * { grid-column: 1 / -1; min-width: 0; }
.overview > :is(#connected, #changes) { grid-column: auto; }
.overview > :empty { display: none; }
ul.note { list-style: none; }
.note a { color: inherit; font-weight: 600; }
summary.state { font-size: .875rem; }
.tiles + details, details .tiles { margin-top: .5rem; }
.chart { margin: .5rem 0 1rem; display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .25rem .6rem; font-size: .8125rem; color: var(--quiet); }
.chart svg { display: block; width: 100%; height: 9rem; }
.chart line { stroke: var(--line); vector-effect: non-scaling-stroke; }
.scale { display: flex; flex-direction: column; justify-content: space-between; margin: -.6rem 0 -.4rem; text-align: right; font-variant-numeric: tabular-nums; }
.axis { grid-column: 2; display: flex; justify-content: space-between; }
.chart .key { grid-column: 2; color: var(--ink); }
.c0 { color: var(--accent); } .c1 { color: #2e8b57; } .c2 { color: #c77d1a; } .c3 { color: #8a63c9; } .c4 { color: var(--field); } .failed { color: var(--bad-line); }
.chart .hover { fill-opacity: 0; }
.bar:hover .hover { fill-opacity: .06; }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin-top: .4rem; }
.chart rect { fill: currentColor; }
.key i { background: currentColor; display: inline-block; width: .65rem; height: .65rem; margin-right: .4rem; border-radius: .15rem; }
pre.difference { max-height: 30rem; overflow: auto; }
pre.difference span { display: block; margin: 0 -1rem; padding: 0 1rem 0 4.5rem; text-indent: -4rem; }
pre.difference span::before { content: attr(data-line); display: inline-block; width: 3rem; margin-right: 1rem; text-indent: 0; text-align: right; color: var(--quiet); }
pre.difference :is(ins, del) { text-decoration: none; }
pre.difference span:has(ins) { background: #2e8b5726; box-shadow: inset 3px 0 #2e8b57; }
pre.difference span:has(del) { background: var(--bad); box-shadow: inset 3px 0 var(--bad-line); }
.keys { float: right; margin: 0; }
.keys:not(:has(~ #waiting article)) { display: none; }
.held { margin: 0 0 1rem; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: .6rem; max-width: 56rem; }
.held h2 { margin: 0 0 .25rem; }
.held fieldset { display: grid; gap: .25rem; margin: .5rem 0 .75rem; }
.held fieldset label { padding-left: 1.5rem; text-indent: -1.5rem; }
.held legend { margin-bottom: .25rem; }
.held .message { color: var(--quiet); display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; }
.held .message input { flex: 1 1 14rem; padding: .35rem .6rem; }
.held .actions { margin-top: .75rem; }
.held .actions button { flex: none; min-width: 6rem; }
kbd { margin-left: .35rem; padding: 0 .25rem; border: 1px solid; border-radius: .25rem; font: .75rem ui-monospace, monospace; }
input[type="radio"] { accent-color: var(--accent); }
ul.rules, ul.rules .row { margin: 0; padding: 0; list-style: none; }
ul.rules li { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .25rem 1rem; padding: .5rem 0; border-bottom: 1px solid var(--line); }
button.danger { background: transparent; border-color: var(--bad-line); color: var(--bad-ink); }
button.danger:hover { background: var(--bad); }
.path { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; justify-content: space-between; align-items: center; margin-bottom: 1rem; }
td form, .path :is(p, form) { margin: 0; }
ol.text { margin: .5rem 0 1rem; padding: .5rem .5rem .5rem 4.5rem; border: 1px solid var(--line); border-radius: .5rem; white-space: pre-wrap; font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
ol.text li::marker { color: var(--quiet); font-variant-numeric: tabular-nums; }
img.picture { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: .5rem; }
@media print { nav, form, form.row, .skip { display: none !important; } }
@media (max-width: 58rem) {
  nav.console { justify-content: flex-end; }
  nav.console .menu { display: block; order: 1; }
  nav.console .links[popover] { display: none; }
  nav.console .links[popover]:popover-open {
    display: grid; position: fixed; inset: .75rem .75rem auto auto; min-width: min(20rem, 100vw - 1.5rem); max-height: calc(100vh - 1.5rem); overflow: auto;
    padding: .75rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--card); box-shadow: 0 10px 30px rgb(0 0 0 / .3);
  }
  nav.console .links a { padding: .6rem .65rem; }
  nav.console .links form { margin: .5rem .65rem; }
}
@media (max-width: 40rem) {
  .keys { float: none; }
  thead { display: none; }
  table, tbody, tr { display: block; }
  tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  tbody tr:last-child { border-bottom: 0; }
  td, td.number { display: block; position: relative; min-width: 0; padding: .15rem .75rem .15rem 7.5rem; border: 0; text-align: left; white-space: normal; }
  td::before { content: attr(data-label); position: absolute; left: .75rem; color: var(--quiet); }
  td:empty { display: none; }
  .row > div { flex: 1 1 8rem; }
  .row input[type="text"], .row select { width: 100%; max-width: none; }
  .entries tr { padding: .5rem .75rem; }
  .entries td:not(:empty), .entries td.number { display: inline-block; padding: 0 .8rem 0 0; color: var(--quiet); }
  .entries td:first-child:not(:empty) { display: block; }
  .entries td::before { content: none; }
  .entries time:empty::before { content: attr(aria-label); }
}
@media (min-width: 40.01rem) { td time { white-space: nowrap; } }
@media (min-width: 40.01rem) and (max-width: 60rem) { td { min-width: 4.5rem; } th, td { padding-inline: .5rem; } }
@media (min-width: 60.01rem) { td button { white-space: nowrap; } }
@media (hover: none) { .keys { display: none; } }
@media (forced-colors: active) { .c0, .c1, .c2, .c3, .c4, .failed { forced-color-adjust: none; } }
`;

interface FramedPage {
  readonly section: Section;
  /** The sections that this visitor may open from the menu, or from another page of their place. */
  readonly sections: readonly Section[];
  readonly visit: Visit;
  readonly body: Html;
  readonly signOutPath: string;
  /** Where the page's live parts come from; `null` where it has none. */
  readonly eventsPath: string | null;
  /** What it says at its top. */
  readonly notes: readonly { readonly kind: "good" | "bad" | "warn"; readonly words: string }[];
  /** How many calls wait for the visitor's decision. */
  readonly waiting: number;
  readonly sent: { readonly status?: number; readonly cookies?: readonly string[] };
}

/** The whole page around a section's body. */
export function consolePage(page: FramedPage): Response {
  const { section, visit, body, notes, waiting, eventsPath, sent } = page;
  return pageResponse({
    title: waiting === 0 ? section.title : `(${waiting}) ${section.title}`,
    ...sent,
    wide: { navigation: navigation(page), css: consoleStylesheet, script: consoleScript + connectScript },
    body: html`
      ${notes.map(({ kind, words }) =>
        html`<p class="note ${kind}" role="${kind === "bad" ? "alert" : "status"}">${words}</p>`
      )}
      ${tabs(page)}
      <div class="head"><h1>${section.title}</h1>
        ${eventsPath !== null && html`
          <p class="state" role="status" id="live-state"
            data-events="${eventsPath}">As of ${timeOfDay(visit.now)}. Reload the page to update it.</p>
        `}</div>
      ${body}
    `,
  });
}

/** The section of the menu that a section belongs to. */
function placeOf({ place, name }: Section): string {
  return place ?? name;
}

function navigation({ sections, section, visit, signOutPath, waiting }: FramedPage): Html {
  const links = sections.filter(({ place }) => place === undefined).map(({ name, title }) => {
    const count = name === "decisions" && html`<span class="count" id="waiting-count">${waiting || null}</span>`;
    return link(visit.href(name), html`${title}${count}`, name === placeOf(section));
  });
  const open = html`
    <button type="button" class="menu plain small" popovertarget="menu">Menu${waiting > 0 && ` (${waiting})`}</button>
  `;
  const { csrf, name } = visit.visitor;
  return html`
    <a class="skip" href="#main">Skip to content</a>
    <nav class="console" aria-label="Console">${open}<div class="links" id="menu" popover>${links}
      <form method="post" action="${signOutPath}"><input type="hidden" name="csrf" value="${csrf}">
        <button type="submit" class="plain small" title="Signed in as ${name}">Sign out</button></form></div>
      ${sections.map((each) => each.headerPart?.(visit))}
    </nav>
  `;
}

function link(href: string, words: Html | string, isCurrent: boolean): Html {
  return isCurrent ? html`<a href="${href}" aria-current="page">${words}</a>` : html`<a href="${href}">${words}</a>`;
}

/** The pages of the section's place, where there are several. */
function tabs({ sections, section, visit }: FramedPage): Html | null {
  const all = sections.filter((each) => placeOf(each) === placeOf(section));
  const links = all.map((each) => link(visit.href(each.name), each.tab ?? each.title, each === section));
  return links.length < 2 ? null : html`<nav class="tabs" aria-label="Pages">${links}</nav>`;
}

/** The hidden fields of a form that does `act`, with further values. */
export function actFields({ csrf }: Visitor, act: string, values: Readonly<Record<string, string>> = {}): Html {
  const all = Object.entries({ csrf, act, ...values });
  return html`${all.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;
}

/** A form with one button that does `act` of a section; `about` is for those who hear the button without its row. */
export function actButton(
  visit: Visit,
  section: string,
  act: string,
  label: string,
  { values = {}, kind = "", about = "" }: {
    readonly values?: Readonly<Record<string, string>>;
    readonly kind?: "plain" | "danger" | "";
    readonly about?: string;
  } = {},
): Html {
  return html`
    <form method="post" action="${visit.href(section)}">${actFields(visit.visitor, act, values)}<button type="submit"
      class="small ${kind}" aria-label="${`${label} ${about}`.trim()}">${label}</button></form>
  `;
}
