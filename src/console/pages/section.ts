/** What a page of the console is made of. */
import type { AuditFilter, FoundPage } from "../../audit/mod.ts";
import type { Administration, LinkHealth, Visitor, Visits } from "../../oauth/mod.ts";
import type { Decisions } from "../approvals/decisions.ts";
import type { Rule, RuleStore } from "../approvals/rule.ts";
import type { AttemptReport } from "../connections/report.ts";
import type { Live } from "../live/live.ts";
import type { Documents, WorkspaceSource } from "../../files/mod.ts";
import type { Principal } from "../../lib/principal.ts";
import type { Log } from "../../lib/log.ts";
import { type Check, counted, type Result } from "../../lib/result.ts";
import type { SecretBox } from "../../lib/secrets.ts";
import type { Clock } from "../../lib/time.ts";
import type { Tool } from "../../mcp/mod.ts";
import { inCode } from "../../lib/connect_card.ts";
import { type Html, html } from "../../lib/page.ts";
import { withCommandLines } from "../../lib/program_name.ts";

/** A person who looks at a page. */
export interface Visit {
  readonly visitor: Visitor;
  readonly query: URLSearchParams;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Where a section is, with a query. */
  href(section: string, query?: Readonly<Record<string, string>>): string;
}

/** A posted form of a section. */
export interface ActVisit extends Visit {
  readonly form: URLSearchParams;
  /** The visitor, and where the request came from. */
  readonly by: Visitor & { readonly address: string };
}

/** Something that a form of a section does. */
export interface Act {
  /** The passphrase is asked for again; these words say what for, as in "disable ada". `null`: this form needs none. */
  readonly confirm?: string | ((form: URLSearchParams) => string | null);
  /** Where the person has to sign in first, it is done after that; its form has no fields of its own. */
  readonly isCarried?: true;
  /** Only administrators may do it; what others may do, `run` judges by the visitor. */
  readonly forAdministrators?: true;
  /** What was done, in words for the page that follows; a page of its own for what is shown once; or why nothing was. */
  run(visit: ActVisit): Promise<Html | Result<string, string>>;
  /** Of the query of the page that follows. */
  view?(visit: ActVisit): Readonly<Record<string, string>>;
}

/** The parts of a page that change while it is open, by the id of the element that the frame puts around each. */
export type LiveParts = Readonly<Record<string, Html>>;

/** A page of the console. Everything it shows is the visitor's own, unless they are an administrator. */
export interface Section {
  /** The last part of its path: small letters; empty for the overview. */
  readonly name: string;
  readonly title: string;
  readonly forAdministrators?: true;
  /** The section of the menu that leads to it, by name; it has a link of its own in the menu without one. */
  readonly place?: string;
  /** What its place calls it, instead of its title. */
  readonly tab?: string;
  /** Reached from another page, neither from the menu nor from its place. */
  readonly unlisted?: true;
  /** Stands beside the menu of every page. */
  headerPart?(visit: Visit): Html | null;
  live?(visit: Visit): Promise<LiveParts>;
  /** The page, with the elements of its live parts. */
  show(visit: Visit, parts: LiveParts): Html | Promise<Html>;
  /**
   * A file in place of the page, where the address asks for `download`. `isStill` says whether the visitor is signed in
   * with the same rights: asked before each part, since a reader may take hours.
   */
  download?(visit: Visit, isStill: () => Promise<boolean>): Response | Promise<Response>;
  readonly acts?: Readonly<Record<string, Act>>;
}

/** What the pages show, and what their forms change: `app` wires it. */
export interface ConsoleSources {
  /** SERVER_URL. */
  readonly issuer: string;
  /** For tests: how long a sign-in counts for dangerous acts. */
  readonly signInCountsMs?: number;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly visits: Visits;
  readonly administration: Administration;
  readonly decisions: Decisions;
  readonly rules: RuleStore;
  readonly live: Live;
  readonly tools: readonly Pick<Tool, "name" | "annotations" | "input" | "run">[];
  /** What a client is called, as far as this process remembers; `null` where it does not. */
  nameOfClient(clientId: string): string | null;
  /** The same as it is stored. */
  readClientName(clientId: string): Promise<string | null>;
  /** Searches the stored audit, newest first. */
  search(
    filter: AuditFilter,
    options: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<FoundPage>;
  /** Calls of each of the last hours (when it began, in milliseconds since the epoch), by outcome. */
  callsOfDay(): Promise<readonly { readonly hour: number; readonly outcomes: Readonly<Record<string, number>> }[]>;
  readonly workspace: WorkspaceSource;
  readonly documents: Documents;
  /** The rule, of those that count, that decides about a tool's call on a path. */
  judge(principal: Principal, tool: string, path: string, counts: (rule: Rule) => boolean): Promise<Rule | null>;
  readonly log: Log;
  isUser(id: string): Promise<boolean>;
  /** Attempts to connect, newest first; of one person, or of all. */
  attempts(person: string | null, now: number): Promise<readonly AttemptReport[]>;
  health(): Promise<readonly Check[]>;
  /** Accounts at the instance; `null` where none is configured. */
  readonly servicenow: {
    readonly origin: string;
    /** The page where a person links an account. */
    readonly linkPath: string;
    /** The links of one person, or of all. */
    health(subject: string | null): Promise<readonly LinkHealth[]>;
  } | null;
  /** Where someone who signed in with a passphrase links an account at the company's provider; `null` without one. */
  readonly companyLink: string | null;
  /** Of the workspace, where it has several; `takeOut` starts the server anew. */
  readonly directories: {
    listed(): readonly Readonly<
      Record<"name" | "path", string> & Record<"isReadOnly" | "isAdded" | "isThere", boolean>
    >[];
    takeOut(name: string): void;
  } | null;
  /** The settings in force; a secret's value is "set". */
  readonly settings: readonly Readonly<Record<"heading" | "name" | "value" | "source", string>>[];
}

// How the console writes moments and commands.

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * A moment, exact in its attribute and title, in words by how long ago it was: not for the eye where the row `above`
 * shows the same.
 */
export function ago(time: number, now: number, above?: number): Html {
  const words = agoWords(now - time);
  const isSame = above !== undefined && agoWords(now - above) === words;
  const named = isSame && html`aria-label="${words}"`;
  const iso = new Date(time).toISOString();
  return html`<time datetime="${iso}" title="${exactly(time)}" ${named}>${isSame ? "" : words}</time>`;
}

function agoWords(ms: number): string {
  if (ms < 0) return `in ${lengthWords(-ms)}`;
  return ms < minute ? "just now" : `${lengthWords(ms)} ago`; // an open page does not change each second
}

function lengthWords(ms: number): string {
  if (ms < minute) return counted(Math.floor(ms / 1_000), "second");
  if (ms < hour) return counted(Math.floor(ms / minute), "minute");
  return ms < 2 * day ? counted(Math.floor(ms / hour), "hour") : counted(Math.floor(ms / day), "day");
}

/** A date and a time in UTC. */
export function exactly(time: number): string {
  const iso = new Date(time).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** A time of today, to the minute. */
export function timeOfDay(time: number): string {
  return `${new Date(time).toISOString().slice(11, 16)} UTC`;
}

/** A text in which what stands between backticks is code, its commands as this program is called. */
export function withCode(text: string): Html {
  return inCode(withCommandLines(text));
}

// Tables of the console.

type Cell = Html | string | number | null;

/**
 * A table, in a narrow window a card a row; or `whenEmpty` in words. The caption says what it lists, for screen readers.
 * A heading that begins with `#` is of numbers, aligned to the right; a column whose heading is `null` is not shown.
 */
export function dataTable(
  caption: string,
  columns: readonly (string | null)[],
  rows: readonly (readonly Cell[])[],
  whenEmpty: Html | string = "",
): Html {
  if (rows.length === 0) return html`<p class="quiet">${whenEmpty}</p>`;
  const shown = columns.flatMap((heading, index) =>
    heading === null ? [] : [{ index, label: heading.replace("#", ""), kind: heading.startsWith("#") ? "number" : "" }]
  );
  const headings = shown.map(({ label, kind }) => html`<th scope="col" class="${kind}">${label}</th>`);
  const lines = rows.map((cells) =>
    html`<tr>${
      shown.map(({ index, label, kind }) =>
        isNothing(cells[index]) ? html`<td></td>` : html`<td class="${kind}" data-label="${label}">${cells[index]}</td>`
      )
    }</tr>`
  );
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="${caption}">
      <table>
        <thead>
          <tr>${headings}</tr>
        </thead>
        <tbody>${lines}</tbody>
      </table>
    </div>
  `;
}

function isNothing(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined || cell === "" || (typeof cell === "object" && cell.markup === "");
}

/** The column that says whose a row is; there is none where all that the visitor sees is one person's. */
export function personColumn({ visitor }: Visit): "Person" | null {
  return visitor.seesOthers ? "Person" : null;
}

// One page of a list that is in order, and where the next one begins.

/**
 * What stands after the cursor that the address gives under `name`, with the link to the next page (`null` on the last).
 * Elements that come and go move no other page.
 */
export function pageOf<T>(
  all: readonly T[],
  { query, href }: Visit,
  { section, name, words, size, maxWeight = Infinity, weigh = () => 0, cursorOf, falling = false }: {
    readonly section: string;
    readonly name: string;
    /** Of the link to the next page. */
    readonly words: string;
    readonly size: number;
    /** What the elements of a page weigh together, unless it has only one. */
    readonly maxWeight?: number;
    weigh?(element: T): number;
    cursorOf(element: T): string;
    /** The list begins with the greatest cursor. */
    readonly falling?: boolean;
  },
) {
  const cursor = query.get(name);
  const isAfter = (each: T) => cursor === null || (falling ? cursorOf(each) < cursor : cursorOf(each) > cursor);
  const rest = all.filter(isAfter);
  let weight = 0;
  const end = rest.findIndex((each, index) => index === size || ((weight += weigh(each)) > maxWeight && index > 0));
  const shown = end < 0 ? rest : rest.slice(0, end);
  const last = shown.at(-1);
  if (last === undefined || rest.length === shown.length) return { shown, next: null };
  const person = query.get("person");
  const address = href(section, { ...person === null ? {} : { person }, [name]: cursorOf(last) });
  return { shown, next: html`<p><a href="${address}">${words}</a></p>` };
}

/** A cursor for a list in the order of times, and of ids among those of the same moment. */
export function timeCursor(time: number, id: string): string {
  return `${String(time).padStart(15, "0")}.${id}`;
}

// Fields of forms.

/** A field for a word or a name. */
export function textField(name: string, label: string, value: string, maxLength: number, isRequired = false): Html {
  return html`
    <div><label for="${name}">${label}</label><input type="text" id="${name}" name="${name}" value="${value}"
      maxlength="${maxLength}" ${isRequired && html`required`} autocapitalize="none" spellcheck="false"
      autocomplete="off"></div>
  `;
}

/** A field with a choice; the first is chosen unless `value` is another one's. */
export function choiceField(
  name: string,
  label: string,
  choices: readonly (readonly [value: string, words: string])[],
  value = "",
): Html {
  const options = choices.map(([each, words]) =>
    html`<option value="${each}" ${each === value && html`selected`}>${words}</option>`
  );
  return html`<div><label for="${name}">${label}</label><select id="${name}" name="${name}">${options}</select></div>`;
}

// Differences as people read them.

/** A difference: its lines that come and go marked for eyes and screen readers alike, each with its number. */
export function differenceBlock(text: string, label: string): Html {
  return html`<pre class="difference" tabindex="0" role="group" aria-label="${label}">${differenceLines(text)}</pre>`;
}

function differenceLines(text: string): Html {
  const isDifference = /^@@ /m.test(text);
  let [before, after] = [0, 0];
  const lines = text.split("\n").map((line, index, { length }) => {
    const end = index === length - 1 ? "" : "\n";
    const [, oldStart, newStart] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@$/.exec(line) ?? [];
    if (oldStart !== undefined) [before, after] = [Number(oldStart), Number(newStart)];
    if (isDifference && line.startsWith("+")) return html`<span data-line="${after++}"><ins>${line}</ins></span>`;
    if (isDifference && line.startsWith("-")) return html`<span data-line="${before++}"><del>${line}</del></span>`;
    return oldStart === undefined ? html`${line}${end}` : html`<span class="quiet">${line}</span>`;
  });
  return html`${lines}`;
}
