/**
 * Activity: calls that run, then what was done, by whom and with which outcome. Searched page by page, and exported as
 * JSON Lines.
 */
import { type AuditFilter, callEvent, emptyLine, type FoundLine, type FoundPage } from "../../audit/mod.ts";
import { type Html, html } from "../../lib/page.ts";
import type { Visitor } from "../../oauth/mod.ts";
import { type Changes, missingScope, whoseOf } from "./changes.ts";
import {
  ago,
  choiceField,
  type ConsoleSources,
  dataTable,
  differenceBlock,
  doneOr,
  duration,
  exactly,
  outcomeBadge,
  personColumn,
  plainName,
  type SearchAudit,
  type Section,
  textField,
  type Visit,
} from "./section.ts";
import { actButton } from "./frame.ts";
import { createRunning, type EndedCall } from "./running.ts";

const linesOfPage = 100;
const linesOfExportPage = 500;
const maxFilterCharacters = 200;
const hour = 3_600_000;
const periods: readonly (readonly [value: string, words: string, ms: number])[] = [
  ["", "Any time", Infinity],
  ["1h", "The last hour", hour],
  ["1d", "The last day", 24 * hour],
  ["7d", "The last week", 168 * hour],
];
const outcomes = ["ok", "refused", "failed", "cancelled"];
/** A call that ended is stored by then. */
const settledMs = 30_000;
const filterNames = ["person", "client", "tool", "target", "outcome", "since"] as const;

/** What the clients of a page are called, by id. */
type NamesOf = (clientIds: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** Calls that run, and below them what was done. Everyone but administrators finds their own. */
export function activitySection(sources: ConsoleSources, namesOf: NamesOf): Section {
  const { search } = sources;
  const running = createRunning(sources);
  const look = async (visit: Visit) => {
    const [{ parts, ended }, page] = await Promise.all([
      running.look(visit),
      search(filterOf(visit), { limit: linesOfPage, cursor: visit.query.get("cursor") ?? undefined }),
    ]);
    const isNewest = Object.keys(given(visit)).length === 0 && !visit.query.has("cursor");
    const lines = isNewest ? withNewest(page.lines, ended, visit.now) : page.lines;
    const names = await namesOf([...new Set(lines.flatMap(({ client }) => client ?? []))]);
    return { parts: { ...parts, ended: linesPart({ ...page, lines }, names, visit) }, names };
  };
  return {
    name: "activity",
    title: "Activity",
    formerly: ["live", "audit"],
    headerPart: running.stopButton,
    live: async (visit) => (await look(visit)).parts,
    async show(visit) {
      const { parts: { ended, ...parts }, names } = await look(visit);
      const { running: now, ...above } = parts;
      return html`
        ${Object.entries(above).map(([id, part]) => html`<div id="${id}">${part}</div>`)}
        <h2>Running now</h2><div id="running">${now}</div>
        <h2>Recent</h2>${filterForm(visit, names)}<div id="ended" class="entries">${ended}</div>
      `;
    },
    download: (visit, isStill) => exportResponse(search, filterOf(visit), isStill),
    acts: running.acts,
  };
}

/** With calls that ended so lately that they are not stored yet. */
function withNewest(stored: readonly FoundLine[], ended: readonly EndedCall[], now: number): readonly FoundLine[] {
  const keyOf = ({ time, tool, client }: EndedCall): string => JSON.stringify([time, tool, client]);
  const known = new Set(stored.map(keyOf));
  const fresh = ended.filter((call) => call.time > now - settledMs && !known.has(keyOf(call)));
  return [
    ...fresh.map((call) => ({ ...emptyLine, event: callEvent, ...call, instance: "", batch: 0 })),
    ...stored,
  ].toSorted((one, other) => other.time - one.time);
}

/** The filter's fields that the address gives, for links that keep them. */
function given({ query }: Visit): Readonly<Record<string, string>> {
  return Object.fromEntries(filterNames.flatMap((name) => {
    const value = query.get(name);
    return value === null || value === "" ? [] : [[name, value.slice(0, maxFilterCharacters)]];
  }));
}

/** Everyone but administrators searches their own lines. */
function filterOf(visit: Visit): AuditFilter {
  const { person, client, tool, target, outcome, since } = given(visit);
  const [, , ms = Infinity] = periods.find(([value]) => value === since) ?? [];
  const { isAdministrator, userId } = visit.visitor;
  return {
    person: isAdministrator ? person : userId,
    client,
    tool,
    ...(target === undefined ? {} : { target: [target] }),
    outcome,
    ...(ms === Infinity ? {} : { since: visit.now - ms }),
  };
}

function filterForm(visit: Visit, names: ReadonlyMap<string, string>): Html {
  const now = given(visit);
  const field = (name: (typeof filterNames)[number], label: string): Html =>
    textField(name, label, now[name] ?? "", maxFilterCharacters);
  const chosen = now["client"];
  const clients = new Map(chosen === undefined ? names : [[chosen, names.get(chosen) ?? chosen], ...names]);
  return html`
    <form method="get" action="${visit.href("activity")}" class="row" role="search">
      ${visit.visitor.seesOthers && field("person", "Person")}
      ${choiceField("client", "Client", [["", "Any"], ...clients], chosen)}
      ${field("tool", "Tool")}
      ${field("target", "File or record")}
      ${choiceField(
        "outcome",
        "Outcome",
        [["", "Any"], ...outcomes.map((each) => [each, each] as const)],
        now["outcome"],
      )}
      ${choiceField("since", "When", periods.map(([value, words]) => [value, words] as const), now["since"])}
      <button type="submit" class="small">Search</button>
      <a class="button" href="${visit.href("activity", { ...now, download: "audit" })}"
        aria-label="Export these as JSON Lines">Export</a>
    </form>
  `;
}

function linesPart({ lines, cursor }: FoundPage, names: ReadonlyMap<string, string>, visit: Visit): Html {
  const ids = new Set<string>();
  const rows = lines.map((line) => {
    let id = `line-${line.time}-${line.requestId ?? ""}`;
    while (ids.has(id)) id += "-";
    ids.add(id);
    return [
      timeCell(line, id, visit.now),
      filterLink("person", line.person, visit),
      filterLink("client", line.client, visit, names.get(line.client ?? "")),
      line.tool ?? plainName(line.event),
      targetCell(line, visit),
      outcomeBadge(line.outcome, line.code),
      line.durationMs === null ? null : duration(line.durationMs),
    ];
  });
  const older = cursor === null ? null : visit.href("activity", { ...given(visit), cursor });
  return html`${
    dataTable({
      caption: "What was done, newest first",
      columns: ["Time", personColumn(visit), "Client", "Tool", "File or record", "Outcome", { number: "Duration" }],
      rows,
      whenEmpty: cursor === null ? "No matches." : "No matches so far. Older lines have not been searched yet.",
    })
  }${older !== null && html`<p><a href="${older}">Older lines</a></p>`}`;
}

/** When, and in it what finds the call in the log and in traces. */
function timeCell({ time, requestId, grant, address }: FoundLine, id: string, now: number): Html {
  const facts = [["At", exactly(time)], ["Request", requestId], ["Connection", grant], ["From", address]] as const;
  const shown = facts.filter(([, value]) => value !== null);
  return html`<details id="${id}"><summary>${ago(time, now)}</summary>${
    shown.map(([name, value]) => html`<span class="fact">${name} <code>${value}</code></span>`)
  }</details>`;
}

/** What was touched; a change of files leads to its difference, and to undoing it. */
function targetCell({ target, change, person }: FoundLine, visit: Visit): Html | string | null {
  if (change === null) return target;
  return html`<a href="${visit.href("change", { id: change, person: person ?? "" })}">${target ?? "the change"}</a>`;
}

function filterLink(
  name: "person" | "client",
  value: string | null,
  visit: Visit,
  words: string | undefined = isHidden(value) ? `unknown ${name}` : value ?? "",
): Html | null {
  return value === null
    ? null
    : html`<a href="${visit.href("activity", { ...given(visit), [name]: value })}">${words}</a>`;
}

/** For unknown accounts and clients the log has a length and a MAC instead of the name. */
function isHidden(value: string | null): boolean {
  return value !== null && /^\(\d+ characters, /.test(value);
}

/** The lines as they are found: an export of millions is never in memory. */
function exportResponse(search: SearchAudit, filter: AuditFilter, isStill: () => Promise<boolean>): Response {
  const encoder = new TextEncoder();
  let cursor: string | null | undefined;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (cursor === null) return controller.close();
      if (!await isStill()) return controller.error(new Error("the reader is no longer signed in with these rights"));
      const page = await search(filter, { limit: linesOfExportPage, cursor });
      cursor = page.cursor;
      controller.enqueue(encoder.encode(page.lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
    },
  }, { highWaterMark: 0 });
  return new Response(stream, {
    headers: {
      "content-type": "application/jsonl; charset=utf-8",
      "content-disposition": 'attachment; filename="audit.jsonl"',
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
  });
}

// One change of files, reached from its line: what it did, and a button that undoes it.

/** The page of one change, reached from Activity. */
export function changeSection(
  changes: Changes,
  ruledOut: (visitor: Visitor, tool: string, path: string) => Promise<string | null>,
): Section {
  return {
    name: "change",
    title: "Change",
    place: "activity",
    unlisted: true,
    async show(visit) {
      const id = visit.query.get("id") ?? "";
      const person = whoseOf(visit.visitor, visit.query);
      const back = html`<p><a href="${visit.href("activity")}">Back to Activity</a></p>`;
      const missing = missingScope(visit.visitor, "files:read");
      if (missing !== null) return html`<p>${missing}</p>${back}`;
      const change = await changes.show(id, person, (path) => ruledOut(visit.visitor, "file_read", path));
      if (change === null) return html`<p>This change is not kept any more, or does not exist.</p>${back}`;
      return html`
        <p><strong>${change.tool}</strong>, for ${person}, ${ago(change.at, visit.now)}.</p>
        ${differenceBlock(change.text, "What it changed")}
        ${change.isUndone
          ? html`<p class="quiet">It was undone.</p>`
          : change.whyNot !== null
          ? html`<p class="quiet">${change.whyNot}</p>`
          : actButton(visit, "change", "undo", "Undo this change", { values: { id, person } })}
        ${back}
      `;
    },
    acts: {
      undo: {
        done: "The change was undone.",
        async run(visit) {
          const { visitor, form } = visit;
          return doneOr(await changes.undo(visit), { id: form.get("id") ?? "", person: whoseOf(visitor, form) });
        },
      },
    },
  };
}
