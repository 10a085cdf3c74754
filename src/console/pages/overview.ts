/** The overview: whether what matters is well, who is connected, and what waits for a decision. */
import { connectCard, connectionLine, connectionPath } from "../../lib/connect_card.ts";
import { basePathOf, type Html, html } from "../../lib/page.ts";
import type { Check } from "../../lib/result.ts";
import type { createDayOfCalls } from "./day_of_calls.ts";
import {
  ago,
  checkWords,
  type ConsoleSources,
  dataTable,
  type LiveParts,
  personColumn,
  plainName,
  type SearchAudit,
  type Section,
  timeOfDay,
  type Visit,
  withCode,
} from "./section.ts";
import type { Decisions } from "../approvals/decisions.ts";

type DayOfCalls = ReturnType<typeof createDayOfCalls>;

/** A part of the overview: its heading and its content, for this visitor. */
interface OverviewPart {
  readonly id: string;
  readonly title: string;
  readonly forAdministrators?: true;
  /** `null` where there is nothing to show: then its heading is not shown either. */
  show(visit: Visit): Promise<Html | null>;
}

/** The parts that have something to show, in order, then the health of the server for administrators. */
export function overviewSection(sources: ConsoleSources, connected: DayOfCalls["connected"]): Section {
  const { issuer, administration, secrets, decisions, search, health } = sources;
  const base = basePathOf(issuer);
  const all: readonly OverviewPart[] = [
    waitingPart(decisions),
    connectedPart(connected, (id) => sources.nameOfClient(id) ?? id),
    callsPart(sources.callsOfDay),
    refusedPart(search),
    { id: "health", title: "Health", forAdministrators: true, show: async () => tiles(await health()) },
  ];
  /** Whether a client is connected, and the parts in the order of the page. */
  const look = async (visit: Visit): Promise<{ readonly isConnected: boolean; readonly parts: LiveParts }> => {
    const { isAdministrator, userId } = visit.visitor;
    const shown = all.filter(({ forAdministrators }) => isAdministrator || forAdministrators !== true);
    const found = await Promise.all(shown.map(async (part) => ({ ...part, content: await part.show(visit) })));
    const isConnected = (await administration.access(userId)).grants.length > 0;
    const isQuiet = isConnected && found.every(({ id, content }) => id === "health" || content === null);
    const parts = {
      quiet: isQuiet
        ? html`<p>No client has called a tool in the last 24 hours. <a href="${base}/">Connect a client</a></p>`
        : html``,
      ...Object.fromEntries(
        found.map(({ id, title, content }) => [id, content === null ? html`` : html`<h2>${title}</h2>${content}`]),
      ),
    };
    return { isConnected, parts };
  };
  return {
    name: "",
    title: "Overview",
    live: async (visit) => (await look(visit)).parts,
    async show(visit) {
      const { isConnected, parts: shown } = await look(visit);
      return html`
        ${!isConnected &&
          html`${connectionLine(null, connectionPath(base, secrets, visit.visitor.userId))}${
            connectCard(`${issuer}/mcp`)
          }`}
        ${Object.entries(shown).map(([id, content]) => html`<div id="${id}">${content}</div>`)}
      `;
    },
  };
}

const tileKinds = { well: "good", note: "", warning: "warn", broken: "bad" } as const;

function tiles(checks: readonly Check[]): Html {
  return html`<ul class="tiles">${
    checks.map(({ name, state, text, remedy }) =>
      html`<li class="${tileKinds[state]}"><strong>${name.slice(0, 1).toUpperCase()}${name.slice(1)}: ${
        checkWords[state]
      }</strong> <span>${withCode(remedy === undefined ? text : `${text}: ${remedy}`)}</span></li>`
    )
  }</ul>`;
}

// Parts of the overview that come from the audit and from what waits.

const hourMs = 3_600_000;
const hoursShown = 24;
const linesShown = 5;
const clientsShown = 20;

/** What waits for this person. */
function waitingPart(decisions: Decisions): OverviewPart {
  return {
    id: "waiting",
    title: "Waiting for you",
    async show({ visitor, href }) {
      const { length } = await decisions.waiting(visitor);
      return length === 0
        ? null
        : html`<p><a href="${href("decisions")}">${length} ${length === 1 ? "call waits" : "calls wait"}</a> for your
          approval.</p>`;
    },
  };
}

/** Who is connected now: clients of the visitor, or of everyone. */
function connectedPart(
  connected: DayOfCalls["connected"],
  nameOfClient: (clientId: string) => string,
): OverviewPart {
  return {
    id: "connected",
    title: "Connected now",
    async show(visit) {
      const { visitor, now, href } = visit;
      const all = (await connected()).filter(({ person }) => visitor.isAdministrator || person === visitor.userId);
      if (all.length === 0) return null;
      return html`${
        dataTable({
          caption: "Clients that called a tool in the last five minutes",
          columns: ["Client", personColumn(visit), { number: "Calls" }, "Last"],
          rows: all.slice(0, clientsShown)
            .map(({ clientId, person, calls, lastAt }) => [nameOfClient(clientId), person, calls, ago(lastAt, now)]),
          whenEmpty: "",
        })
      }${
        all.length > clientsShown && html`<p><a href="${href("activity")}">${all.length - clientsShown} more</a></p>`
      }`;
    },
  };
}

/** The calls of the last day as a picture, and as a table for who cannot see it. */
function callsPart(readDay: ConsoleSources["callsOfDay"]): OverviewPart {
  return {
    id: "calls",
    title: "Calls, last 24 hours",
    forAdministrators: true,
    async show({ now }) {
      const found = new Map((await readDay()).map((each) => [each.hour, each.outcomes]));
      const last = now - now % hourMs;
      const hours = Array.from({ length: hoursShown }, (_, index) => {
        const hour = last - (hoursShown - 1 - index) * hourMs;
        return { hour, ...sumsOf(found.get(hour) ?? {}) };
      });
      const total = hours.reduce((sum, { well, bad }) => sum + well + bad, 0);
      return total === 0 ? null : html`${picture(hours)}${numbers(hours)}`;
    },
  };
}

type Bar = { readonly hour: number } & ReturnType<typeof sumsOf>;

function sumsOf(outcomes: Readonly<Record<string, number>>) {
  const all = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const well = outcomes["ok"] ?? 0;
  return { well, bad: all - well };
}

function picture(hours: readonly Bar[]): Html {
  const [width, height, gap] = [20, 100, 4];
  const most = Math.max(1, ...hours.map(({ well, bad }) => well + bad));
  const bars = hours.map(({ well, bad }, index) => {
    const x = index * (width + gap);
    const [tall, taller] = [well / most * height, bad / most * height];
    return html`
      <rect class="well" x="${x}" y="${height - tall}" width="${width}" height="${tall}" />
      <rect class="bad" x="${x}" y="${height - tall - taller}" width="${width}" height="${taller}" />
    `;
  });
  const whole = hours.length * (width + gap);
  return html`
    <figure>
      <svg viewBox="0 0 ${whole} ${height + 2}" preserveAspectRatio="none" role="img"
        aria-label="Calls in each of the last ${hours.length} hours, at most ${most}; the table below has the numbers">
        ${bars}<line x1="0" y1="${height + 1}" x2="${whole}" y2="${height + 1}" stroke="currentColor" /></svg>
      <figcaption
        class="quiet"><span class="axis"><span>24 hours ago</span><span>18</span><span>12</span><span>6</span><span>now</span></span>
        Calls an hour; the tallest bar is ${most}. <span class="badge good">Succeeded</span>
        <span class="badge bad">Failed</span></figcaption>
    </figure>
  `;
}

function numbers(hours: readonly Bar[]): Html {
  const rows = hours.filter(({ well, bad }) => well + bad > 0)
    .map(({ hour, well, bad }) => [timeOfDay(hour), well, bad]);
  return html`<details id="numbers"><summary>Numbers</summary>${
    dataTable({
      caption: "Calls by hour",
      columns: ["Hour", { number: "Succeeded" }, { number: "Failed" }],
      rows,
      whenEmpty: "",
    })
  }</details>`;
}

/** What was refused lately. */
function refusedPart(search: SearchAudit): OverviewPart {
  return {
    id: "refused",
    title: "Recent refusals",
    async show(visit) {
      const { visitor, now, href } = visit;
      const whose = visitor.isAdministrator ? undefined : visitor.userId;
      const filter = { person: whose, outcome: "refused", since: now - hoursShown * hourMs };
      const { lines: found } = await search(filter, { limit: linesShown });
      const lines = found.filter(({ event }) => event !== "set_up"); // the owner's own link, opened again
      if (lines.length === 0) return null;
      return html`${
        dataTable({
          caption: "In the last 24 hours",
          columns: ["Time", personColumn(visit), "Tool or event", "Reason"],
          rows: lines.map((
            { time, person, tool, event, code, outcome },
          ) => [ago(time, now), person, tool ?? plainName(event), plainName(code ?? outcome ?? "")]),
          whenEmpty: "",
        })
      }<p><a href="${href("activity", { outcome: "refused" })}">All refusals</a></p>`;
    },
  };
}
