/** The overview: whether what matters is well, who is connected, and what waits for a decision. */
import { connectCard, connectionLine, connectionPath } from "../../lib/connect_card.ts";
import { type Check, counted } from "../../lib/result.ts";
import { basePathOf, type Html, html } from "../../lib/page.ts";
import { inTurns } from "../../lib/turns.ts";
import { type Changes, undoParts } from "./files.ts";
import { type DayOfCalls, lastDay } from "./day_of_calls.ts";
import { actButton } from "./frame.ts";
import { ago, dataTable, personColumn, timeOfDay, withCode } from "./section.ts";
import type { ConsoleSources, Section, Visit } from "./section.ts";
import type { Decisions } from "../approvals/decisions.ts";

/** A part of the page with its heading; nothing where there is nothing to show. */
export type OverviewPart = (visit: Visit) => Promise<Html>;

/** The parts that have something to show, in order. To someone without a connection the connect card alone. */
export function overviewSection(
  sources: ConsoleSources,
  day: DayOfCalls,
  changes: OverviewPart,
): Section {
  const { issuer, administration, secrets, decisions, health } = sources;
  const base = basePathOf(issuer);
  const nameOf = (id: string): string => sources.nameOfClient(id) ?? id;
  const [ofConnected, ofCalls] = [connectedPart(day.connected, nameOf), callsPart(day, sources.callsOfDay, nameOf)];
  const isConnected = async ({ visitor }: Visit): Promise<boolean> => {
    const { grants, tokens } = await administration.access(visitor.userId);
    return grants.length + tokens.length > 0;
  };
  return {
    name: "",
    title: "Overview",
    async live(visit) {
      const parts = {
        waiting: await waitingPart(decisions, visit),
        connected: await ofConnected(visit),
        changes: await changes(visit),
        calls: await ofCalls(visit),
      };
      const isQuiet = Object.values(parts).every(({ markup }) => markup === "");
      const isHere = await isConnected(visit);
      const isFirst = isQuiet && !isHere;
      return {
        health: visit.visitor.isAdministrator ? healthPart(await health(), isFirst) : html``,
        ...parts,
        quiet: html`${
          isQuiet && isHere && html`
            <p>No client has called a tool ${await day.since() ?? lastDay}. <a href="${base}/">Connect a client</a></p>
          `
        }`,
      };
    },
    async show(visit, parts) {
      const card = await isConnected(visit)
        ? null
        : html`${connectionLine(null, connectionPath(base, secrets, visit.visitor.userId))}${
          connectCard(`${issuer}/mcp`)
        }`;
      return html`${card}<div class="overview">${Object.values(parts)}</div>`;
    },
  };
}

const tileKinds = { well: "good", note: "", warning: "warn", broken: "bad" } as const;
const tileWords = { well: "OK", note: "Note", warning: "Needs attention", broken: "Does not work" } as const;

/** In one line whether all is well, with each check below it; what is not well is shown at once, at a first visit alone. */
function healthPart(checks: readonly Check[], isFirst: boolean): Html {
  const bad = checks.filter(({ state }) => state === "warning" || state === "broken");
  if (isFirst) return bad.length > 0 ? tiles(bad) : html``;
  const others = checks.filter((check) => !bad.includes(check));
  const words = bad.length === 0 ? "All is well" : counted(others.length, "other check");
  return html`${bad.length > 0 && tiles(bad)}<details id="checks"><summary class="state ${
    bad.length === 0 && "on"
  }">Health: ${words}</summary>${tiles(others)}</details>`;
}

function tiles(checks: readonly Check[]): Html {
  return html`<ul class="tiles">${
    checks.map(({ name, state, text, remedy }) =>
      html`<li class="${tileKinds[state]}"><strong>${name.slice(0, 1).toUpperCase()}${name.slice(1)}: ${
        tileWords[state]
      }</strong> <span>${withCode(remedy === undefined ? text : `${text}: ${remedy}`)}</span></li>`
    )
  }</ul>`;
}

// Parts of the overview that come from the audit and from what waits.

const hourMs = 3_600_000;
const hoursShown = 24;
const linesShown = 5;
const clientsShown = 8;

/** What waits for this person, the oldest first. */
async function waitingPart(decisions: Decisions, { visitor, href, now }: Visit): Promise<Html> {
  const waiting = await decisions.waiting(visitor);
  if (waiting.length === 0) return html``;
  const items = waiting.slice(0, linesShown).map(({ id, clientName, tool, places, createdAt }) =>
    html`<li><a href="${href("decisions", { call: id })}">${clientName}: ${tool}${
      places.length > 0 && ` on ${places.join(", ")}`
    }</a> ${ago(createdAt, now)}</li>`
  );
  const more = waiting.length > items.length &&
    html`<li><a href="${href("decisions")}">${waiting.length} calls wait</a></li>`;
  return html`
    <h2>Waiting for you</h2>
    <ul class="note warn">${items}${more}</ul>
  `;
}

/** Who is connected now: clients of the visitor, or of everyone. */
function connectedPart(connected: DayOfCalls["connected"], nameOf: NameOf): OverviewPart {
  return async (visit) => {
    const all = (await connected()).filter(isSeenBy(visit));
    if (all.length === 0) return html``;
    const rows = all.slice(0, clientsShown)
      .map(({ clientId, person, calls, lastAt }) => [nameOf(clientId), person, calls, ago(lastAt, visit.now)]);
    const columns = ["Client", personColumn(visit), "#Calls", "Last"];
    const table = dataTable("Clients that called a tool lately", columns, rows);
    const more = all.length - clientsShown;
    return html`<h2>Active now</h2>${table}${
      more > 0 && html`<p><a href="${visit.href("activity")}">${more} more</a></p>`
    }`;
  };
}

type NameOf = (clientId: string) => string;

function isSeenBy({ visitor }: Visit) {
  return ({ person }: { readonly person: string }): boolean => visitor.isAdministrator || person === visitor.userId;
}

/** The last changes of files, each with its undo. */
export function changesPart(
  today: DayOfCalls["today"],
  find: Changes["find"],
  ruledOut: Parameters<typeof undoParts>[1],
  nameOf: NameOf,
): OverviewPart {
  return async (visit) => {
    const changes = (await today()).filter(isSeenBy(visit)).filter(({ change }) => change !== null);
    if (changes.length === 0) return html``;
    const undoPart = undoParts(visit, ruledOut);
    const rows = changes.slice(0, linesShown).map(async ({ change, person, places, clientId, time, tool }) => {
      const whose = { id: change ?? "", person };
      const about = `${tool} of ${places.join(", ")}`;
      const undo = actButton(visit, "change", "undo", "Undo", { values: whose, kind: "plain", about });
      const found = await find(whose.id, person);
      const cell = found && await undoPart(found.workspace, found.change, undo);
      return [
        html`<a href="${visit.href("change", whose)}">${places.join(", ") || tool}</a>`,
        ...[nameOf(clientId), person, ago(time, visit.now), cell],
      ];
    });
    const columns = ["File", "Client", personColumn(visit), "Time", "Undo"];
    const table = dataTable("The last changes", columns, await Promise.all(rows));
    return html`<h2>Last changes</h2>${table}`;
  };
}

/** Colours of the chart; the last one is of all other clients. */
const seriesShown = 5;

/** The calls of the last day by client, as a picture, and as a table for who cannot see it. */
function callsPart(day: DayOfCalls, readDay: ConsoleSources["callsOfDay"], nameOf: NameOf): OverviewPart {
  return async (visit) => {
    const { isAdministrator } = visit.visitor;
    const [calls, since] = [(await day.today()).filter(isSeenBy(visit)), await day.since()];
    const countedHours = isAdministrator ? await inTurns(readDay()) : [];
    const byClient = [...Map.groupBy(calls, ({ clientId }) => clientId)]
      .toSorted(([, one], [, other]) => other.length - one.length).slice(0, seriesShown - 1).map(([id]) => id);
    const last = visit.now - visit.now % hourMs;
    const hours = Array.from({ length: hoursShown }, (_, index): Hour => {
      const hour = last - (hoursShown - 1 - index) * hourMs;
      const own = calls.filter(({ time }) => time >= hour && time < hour + hourMs);
      const outcomes = countedHours.find((each) => each.hour === hour)?.outcomes ?? {};
      const all = Math.max(own.length, sumOf(Object.values(outcomes)));
      const failed = Math.max(own.filter(({ isWell }) => !isWell).length, all - own.length - (outcomes["ok"] ?? all));
      const named = byClient.map((id) => own.filter(({ clientId }) => clientId === id).length);
      return { hour, all, failed, counts: [...named, all - sumOf(named)] };
    });
    const total = sumOf(hours.map(({ all }) => all));
    if (total === 0) return html``;
    const series = [...byClient.map(nameOf), "Others"].map((name, index) => ({
      name,
      count: sumOf(hours.map(({ counts }) => counts[index] ?? 0)),
      colour: index === byClient.length ? seriesShown - 1 : index,
    }));
    const refused = visit.href("activity", { outcome: "refused", since: "1d" });
    const when = !isAdministrator && since || lastDay;
    const title = `${counted(total, "call")} ${when}`;
    return html`<h2>Calls ${when}</h2>${picture(hours, series, title)}${numbers(hours, series)}
      ${isAdministrator && since && html`<p class="quiet">Clients are counted ${since}: earlier calls are Others.</p>`}
      <p><a href="${refused}">Refused calls</a></p>`;
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

/** `hour` is when it began; `counts` are by series. */
type Hour = Readonly<Record<"hour" | "all" | "failed", number> & { counts: readonly number[] }>;
type Series = Readonly<Record<"count" | "colour", number> & { name: string }>;

/** The least number of 1, 2, 5, 10 … that is not below. */
function roundedUp(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= most) ?? most;
}

function picture(hours: readonly Hour[], series: readonly Series[], words: string): Html {
  const [width, height, gap] = [20, 100, 4];
  const top = roundedUp(Math.max(...hours.map(({ all }) => all)));
  const failed = sumOf(hours.map((each) => each.failed));
  const bars = hours.map((each, index) => {
    const x = index * (width + gap);
    let y = height;
    const parts = series.map(({ colour }, at) => {
      const tall = (each.counts[at] ?? 0) / top * height;
      y -= tall;
      return tall > 0 && html`<rect class="c${colour}" x="${x}" y="${y}" width="${width}" height="${tall}" />`;
    });
    const clients = series.flatMap(({ name }, at) => each.counts[at] ? [`${name} ${each.counts[at]}`] : []);
    const all = `${counted(each.all, "call")}, ${each.failed} failed`;
    const words = `${timeOfDay(each.hour)}: ${[all, ...clients].join("; ")}`;
    const failure = each.failed > 0 &&
      html`<rect class="failed" x="${x}" y="${height + 2}" width="${width}" height="3" />`;
    const hover = html`<rect class="hover" x="${x}" y="0" width="${width + gap}" height="${height + 5}" />`;
    return html`<g class="bar"><title>${words}</title>${parts}${failure}${hover}</g>`;
  });
  const whole = hours.length * (width + gap);
  const line = (y: number): Html => html`<line x1="0" y1="${y}" x2="${whole}" y2="${y}" />`;
  const label = `${words}, at most ${top} an hour; the numbers are below`;
  const key = [...series, { name: "Failed", count: failed, colour: null }].filter(({ count }) => count > 0);
  return html`
    <figure class="chart">
      <div class="scale"><span>${top}</span>${top > 1 && html`<span>${top / 2}</span>`}<span>0</span></div>
      <svg viewBox="0 0 ${whole} ${height + 5}" preserveAspectRatio="none" role="img" aria-label="${label}">
        ${line(0.5)}${line(height / 2)}${bars}${line(height + 0.5)}</svg>
      <div class="axis">${[0, 6, 12, 18].map((index) =>
        html`<span>${timeOfDay(hours[index]?.hour ?? 0).slice(0, 5)}</span>`
      )}<span>Now, UTC</span></div>
      <figcaption class="key">${key.map(({ name, count, colour }) =>
        html`<span><i class="${colour === null ? "failed" : `c${colour}`}"></i>${name} ${count}</span>`
      )}</figcaption>
    </figure>
  `;
}

function numbers(hours: readonly Hour[], series: readonly Series[]): Html {
  const rows = hours.filter(({ all }) => all > 0)
    .map(({ hour, all, failed, counts }) => [timeOfDay(hour), ...counts, all, failed]);
  const named = series.map(({ name, count }) => count === 0 ? null : `#${name}`);
  const table = dataTable("Calls by hour and client", ["Hour", ...named, "#All", "#Failed"], rows);
  return html`<details id="numbers"><summary>Calls by hour</summary>${table}</details>`;
}
