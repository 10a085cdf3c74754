/**
 * Activity: calls that run, with what stops them, then what was done, by whom and with which outcome. Searched page by
 * page, and exported as JSON Lines.
 */
import type { AuditFilter, FoundLine, FoundPage } from "../../audit/mod.ts";
import { showExactly } from "../../files/mod.ts";
import { type Html, html } from "../../lib/page.ts";
import { failure, success } from "../../lib/result.ts";
import { actButton } from "./frame.ts";
import { ago, choiceField, dataTable, exactly, personColumn, textField } from "./section.ts";
import type { Act, ConsoleSources, Section, Visit } from "./section.ts";

const linesOfPage = 100;
const linesOfExportPage = 500;
const maxFilterCharacters = 200;
const hour = 3_600_000;
const periods: readonly (readonly [value: string, words: string, ms: number])[] = [
  ["", "Any time", Infinity],
  ["1h", "Last hour", hour],
  ["1d", "Last day", 24 * hour],
  ["7d", "Last week", 168 * hour],
];
const outcomes = [
  ["", "Any"],
  ...["ok", "refused", "failed", "cancelled"].map((each) => [each, each] as const),
] as const;
const filterNames = ["person", "client", "tool", "target", "outcome", "since"] as const;

const stoppedShown = 5;
type NameOf = (clientId: string) => string;

/** What the clients of a page are called, by id. */
type NamesOf = (clientIds: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** Calls that run, and below them what was done. Everyone but administrators sees and cancels their own. */
export function activitySection(sources: ConsoleSources, namesOf: NamesOf): Section {
  const { search, live, administration } = sources;
  const nameOf = (id: string): string => sources.nameOfClient(id) ?? id;
  const switching = (
    done: string,
    change: (by: string, client: string) => Promise<void>,
    confirm: string | null = null,
  ): Act => ({
    ...confirm === null ? {} : { confirm },
    forAdministrators: true,
    async run({ by, form }) {
      await change(by.userId, form.get("client") ?? "");
      return success(done);
    },
  });
  return {
    name: "activity",
    title: "Activity",
    headerPart: (visit) =>
      visit.visitor.isAdministrator && live.switches.state.stopped === null
        ? actButton(visit, "activity", "stop", "Stop", { kind: "danger", about: "everything" })
        : null,
    async live(visit) {
      const { isAdministrator, userId } = visit.visitor;
      const cursor = visit.query.get("cursor") ?? undefined;
      const [calls, page] = await Promise.all([live.view(), search(filterOf(visit), { limit: linesOfPage, cursor })]);
      const names = await namesOf([...new Set(page.lines.flatMap(({ client }) => client ?? []))]);
      const seen = calls.filter(({ person }) => isAdministrator || person === userId);
      return {
        switches: isAdministrator ? switchesPart(live, visit, nameOf) : html``,
        running: runningTable(seen, visit, nameOf),
        ended: linesPart(page, names, visit),
      };
    },
    async show(visit, { switches, running, ended }) {
      const { isAdministrator, userId } = visit.visitor;
      const { grants } = await administration.access(isAdministrator ? null : userId);
      const chosen = given(visit)["client"] ?? "";
      const clients = new Map([
        ["", "Any"],
        ...grants.map(({ clientId, clientName }) => [clientId, clientName] as const),
      ]);
      if (!clients.has(chosen)) clients.set(chosen, nameOf(chosen));
      return html`
        ${switches}
        <h2>Running now</h2>${running}
        <h2>Recent</h2>${filterForm(visit, [...clients])}<div class="entries">${ended}</div>
      `;
    },
    download: (visit, isStill) => exportResponse(search, filterOf(visit), isStill),
    acts: {
      cancel: {
        async run({ by, form }) {
          const id = form.get("call") ?? "";
          const call = (await live.view()).find((each) => each.id === id);
          const mayCancel = call !== undefined && (by.isAdministrator || call.person === by.userId);
          const isCancelled = mayCancel && await live.cancel(id, by.userId);
          return isCancelled ? success("The call was cancelled.") : failure("This call has ended already.");
        },
      },
      pause: switching("The client is paused.", (by, client) => live.switches.pauseClient(client.slice(0, 2_000), by)),
      resume: switching(
        "The client may call again.",
        (by, client) => live.switches.resumeClient(client, by),
        "let a client call again",
      ),
      stop: {
        forAdministrators: true,
        isCarried: true,
        confirm: "stop all calls of everyone",
        async run({ by }) {
          const calls = await live.view();
          await live.switches.stopAll(by.userId);
          const named = calls.slice(0, stoppedShown).map(({ tool, client }) => `${tool} of ${nameOf(client)}`);
          const more = calls.length > stoppedShown ? ` and ${calls.length - stoppedShown} more` : "";
          const what = calls.length === 0 ? "None was running" : `Running were ${named.join(", ")}${more}`;
          return success(`All calls are stopped. ${what}.`);
        },
      },
      start: switching("Calls run again.", (by) => live.switches.resumeAll(by), "let calls run again"),
    },
  };
}

function switchesPart({ switches }: ConsoleSources["live"], visit: Visit, nameOf: NameOf): Html {
  const { stopped, paused } = switches.state;
  const resume = actButton(visit, "activity", "start", "Let calls run again", { kind: "plain" });
  const all = stopped !== null && html`
    <p class="note warn">Stopped by ${stopped.by}, ${ago(stopped.at, visit.now)}. Calls stay stopped over a restart.</p>
    ${resume}
  `;
  const clients = paused.map(({ client, by, at }) => {
    const about = { values: { client }, kind: "plain", about: nameOf(client) } as const;
    const button = actButton(visit, "activity", "resume", "Let it call again", about);
    return html`<li>${nameOf(client)}, paused by ${by} ${ago(at, visit.now)} ${button}</li>`;
  });
  return html`${all}${
    clients.length > 0 && html`
      <h2>Paused clients</h2>
      <ul class="plain">${clients}</ul>
    `
  }`;
}

function runningTable(calls: Awaited<ReturnType<ConsoleSources["live"]["view"]>>, visit: Visit, nameOf: NameOf): Html {
  const rows = calls.map(({ id, client, person, tool, arguments: given, since }) => {
    const call = { values: { call: id }, kind: "danger", about: tool } as const;
    const own = { values: { client }, kind: "danger", about: nameOf(client) } as const;
    const pause = visit.visitor.isAdministrator && actButton(visit, "activity", "pause", "Pause client", own);
    const buttons = html`<div class="row">${actButton(visit, "activity", "cancel", "Cancel", call)}${pause}</div>`;
    return [
      ...[nameOf(client), person, html`<strong>${tool}</strong>`, html`<code>${showExactly(given)}</code>`],
      ...[ago(since, visit.now), buttons],
    ];
  });
  const columns = ["Client", personColumn(visit), "Tool", "Arguments", "Started", "Actions"];
  return dataTable("Running calls, oldest first", columns, rows, "Nothing is running.");
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

function filterForm(visit: Visit, clients: readonly (readonly [id: string, name: string])[]): Html {
  const now = given(visit);
  const field = (name: (typeof filterNames)[number], label: string): Html =>
    textField(name, label, now[name] ?? "", maxFilterCharacters);
  return html`
    <form method="get" action="${visit.href("activity")}" class="row" role="search">
      ${visit.visitor.seesOthers && field("person", "Person")}
      ${choiceField("client", "Client", clients, now["client"])}
      ${field("tool", "Tool")}
      ${field("target", "File or record")}
      ${choiceField("outcome", "Outcome", outcomes, now["outcome"])}
      ${choiceField("since", "When", periods.map(([value, words]) => [value, words] as const), now["since"])}
      <button type="submit" class="small">Search</button>
      <a class="button" href="${visit.href("activity", { ...now, download: "audit" })}"
        aria-label="Export these as JSON Lines">Export</a>
    </form>
  `;
}

function linesPart({ lines, cursor }: FoundPage, names: ReadonlyMap<string, string>, visit: Visit): Html {
  const ids = new Set<string>();
  const rows = lines.map((line, index) => {
    let id = `line-${line.time}-${line.requestId ?? ""}`;
    while (ids.has(id)) id += "-";
    ids.add(id);
    return [
      timeCell(line, id, ago(line.time, visit.now, lines[index - 1]?.time), visit),
      filterLink("person", line.person, visit),
      filterLink("client", line.client, visit, names.get(line.client ?? "")),
      line.tool ?? plainName(line.event),
      targetCell(line, visit),
      outcomeBadge(line.outcome, line.code),
      line.durationMs === null ? null : duration(line.durationMs),
    ];
  });
  const older = cursor !== null &&
    html`<p><a href="${visit.href("activity", { ...given(visit), cursor })}">Older lines</a></p>`;
  const columns = ["Time", personColumn(visit), "Client", "Tool", "File or record", "Outcome", "#Duration"];
  const whenEmpty = cursor === null ? "No matches." : "No matches so far. Older lines have not been searched yet.";
  return html`${dataTable("What was done, newest first", columns, rows, whenEmpty)}${older}`;
}

/** When, and in it what the call was given and did, and what finds it in the log and in traces. */
function timeCell(line: FoundLine, id: string, when: Html, visit: Visit): Html {
  const { time, requestId, grant, address, trace, arguments: given } = line;
  const told = Object.entries(given ?? {}).map(([name, value]) => [`${name}:`, showExactly(value)] as const);
  const ids = [["Request", requestId], ["Trace", trace], ["Connection", grant], ["From", address]] as const;
  const facts = [...told, ["At", exactly(time)] as const, ...ids];
  const shown = facts.filter(([, value]) => value !== null)
    .map(([name, value]) => html`<span class="fact">${name} <code>${value}</code></span>`);
  const effect = line.change !== null && html`<a href="${changeOf(line, visit)}">Difference and undo</a>`;
  return html`<details id="${id}"><summary>${when}</summary>${shown}${effect}</details>`;
}

function changeOf({ change, person }: FoundLine, visit: Visit): string {
  return visit.href("change", { id: change ?? "", person: person ?? "" });
}

/** What was touched; a change of files leads to its difference, and to undoing it. */
function targetCell(line: FoundLine, visit: Visit): Html | string | null {
  const { target, change } = line;
  if (change === null) return target === "." ? null : target;
  return html`<a href="${changeOf(line, visit)}">${target ?? "the change"}</a>`;
}

function filterLink(
  name: "person" | "client",
  value: string | null,
  visit: Visit,
  // for unknown accounts and clients the log has a length and a MAC instead of the name
  words: string | undefined = value !== null && /^\(\d+ characters, /.test(value) ? `unknown ${name}` : value ?? "",
): Html | null {
  const address = visit.href("activity", { ...given(visit), [name]: value ?? "" });
  return value === null ? null : html`<a href="${address}">${words}</a>`;
}

/** The lines as they are found: an export of millions is never in memory. */
async function* exported(search: ConsoleSources["search"], filter: AuditFilter, isStill: () => Promise<boolean>) {
  const encoder = new TextEncoder();
  let cursor: string | null | undefined;
  while (cursor !== null) {
    if (!await isStill()) throw new Error("the reader is no longer signed in with these rights");
    const page = await search(filter, { limit: linesOfExportPage, cursor });
    cursor = page.cursor;
    yield encoder.encode(page.lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
}

function exportResponse(...of: Parameters<typeof exported>): Response {
  return new Response(ReadableStream.from(exported(...of)), {
    headers: {
      "content-type": "application/jsonl; charset=utf-8",
      "content-disposition": 'attachment; filename="audit.jsonl"',
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
  });
}

const failures: Readonly<Record<string, string>> = {
  tool_error: "failed",
  protocol_error: "failed",
  internal_error: "failed",
  insufficient_scope: "refused",
  rate_limited: "refused",
};
/** Of JSON-RPC 2.0 §5.1 and of MCP. */
const errorCodes: Readonly<Record<string, string>> = {
  "-32700": "not JSON",
  "-32600": "invalid request",
  "-32601": "unknown method",
  "-32602": "invalid parameters",
  "-32603": "internal error",
  "-32002": "resource not found",
};
const badOutcome = /refused|denied|failed|error|cancelled|stopped|unavailable|scope|limited|expired/;

/** What became of something, and why. */
export function outcomeBadge(outcome: string | null, code: string | null): Html {
  if (outcome === null) return html``;
  const kind = badOutcome.test(outcome) ? "warn" : "good";
  const what = code?.startsWith("denied_by_") ? "refused" : failures[outcome] ?? outcome;
  const why = errorCodes[code ?? ""] ?? code?.replace(/^-\d+$/, "error $&") ?? outcome;
  return html`<span class="badge ${kind}">${plainName(what)}</span>${
    why !== what && html`
      <span class="quiet">${plainName(why)}</span>
    `
  }`;
}

/** A name of the log, as `signed_in`, in words. */
function plainName(name: string): string {
  return name.replaceAll("_", " ");
}

/** How long something took. */
function duration(ms: number): string {
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round(ms % 60_000 / 1_000)} s`;
}
