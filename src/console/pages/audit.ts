/** Audit: what was done, by whom and with which outcome; searched page by page, and exported as JSON Lines. */
import type { AuditFilter, FoundLine, FoundPage } from "../../audit/mod.ts";
import { type Html, html } from "../../lib/page.ts";
import type { Changes } from "./changes.ts";
import {
  ago,
  choiceField,
  dataTable,
  differenceBlock,
  duration,
  outcomeBadge,
  personColumn,
  plainName,
  type SearchAudit,
  type Section,
  textField,
  type Visit,
} from "./section.ts";
import { actButton } from "./frame.ts";

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
const filterNames = ["person", "client", "tool", "target", "outcome", "since"] as const;

/** What the clients of a page are called, by id. */
type NamesOf = (clientIds: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** `search` gives stored lines, `namesOf` what clients are called. Everyone but administrators finds their own lines. */
export function auditSection(search: SearchAudit, namesOf: NamesOf): Section {
  return {
    name: "audit",
    title: "Audit",
    async show(visit) {
      const page = await search(filterOf(visit), {
        limit: linesOfPage,
        cursor: visit.query.get("cursor") ?? undefined,
      });
      const names = await namesOf([...new Set(page.lines.flatMap(({ client }) => client ?? []))]);
      return html`
        ${filterForm(visit)}
        ${linesTable(page, names, visit)}
        <p>${page.cursor !== null && html`
          <a href="${visit.href("audit", { ...given(visit), cursor: page.cursor })}">Older lines</a> ·
        `}
          <a href="${visit.href("audit", { ...given(visit), download: "audit" })}">Export these as JSON Lines</a></p>
      `;
    },
    download: (visit, isStill) => exportResponse(search, filterOf(visit), isStill),
  };
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

function filterForm(visit: Visit): Html {
  const now = given(visit);
  const field = (name: (typeof filterNames)[number], label: string): Html =>
    textField(name, label, now[name] ?? "", maxFilterCharacters);
  return html`
    <form method="get" action="${visit.href("audit")}" class="row" role="search">
      ${visit.visitor.seesOthers && field("person", "Person")}
      ${field("client", "Client id")}
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
    </form>
  `;
}

function linesTable({ lines, cursor }: FoundPage, names: ReadonlyMap<string, string>, visit: Visit): Html {
  return dataTable({
    caption: "Newest first",
    columns: ["Time", personColumn(visit), "Client", "Tool or event", "File or record", "Outcome", {
      number: "Duration",
    }],
    rows: lines.map((line) => [
      ago(line.time, visit.now),
      filterLink("person", line.person, visit),
      filterLink("client", line.client, visit, names.get(line.client ?? "")),
      line.tool ?? plainName(line.event),
      targetCell(line, visit),
      outcomeBadge(line.outcome, line.code),
      line.durationMs === null ? null : duration(line.durationMs),
    ]),
    whenEmpty: cursor === null ? "No matches." : "No matches so far. Older lines have not been searched yet.",
  });
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
    : html`<a href="${visit.href("audit", { ...given(visit), [name]: value })}">${words}</a>`;
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

// One change of files, reached from its line in the audit: what it did, and a button that undoes it.

/** The page of one change, reached from the audit. */
export function changeSection(changes: Changes): Section {
  /** Everyone but administrators sees their own. */
  const personOf = ({ visitor, query }: Pick<Visit, "visitor" | "query">): string =>
    visitor.isAdministrator ? query.get("person") ?? visitor.userId : visitor.userId;
  return {
    name: "change",
    title: "Change",
    unlisted: true,
    async show(visit) {
      const id = visit.query.get("id") ?? "";
      const person = personOf(visit);
      const change = await changes.show(id, person);
      const back = html`<p><a href="${visit.href("audit")}">Back to the audit</a></p>`;
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
        async run({ visitor, address, form, href }) {
          const person = visitor.isAdministrator ? form.get("person") ?? "" : visitor.userId;
          const undone = await changes.undo(form.get("id") ?? "", person, { ...visitor, address });
          if (!undone.ok) return { problem: undone.error };
          return html`
            <p class="note good" role="status">${undone.value}</p>
            <p><a href="${href("audit")}">Back to the audit</a></p>
          `;
        },
      },
    },
  };
}
