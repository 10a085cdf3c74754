/** Live: calls that run and have just ended; cancelling one, pausing a client, stopping everything. */
import type { Live } from "../live/live.ts";
import { type Html, html } from "../../lib/page.ts";
import { actButton } from "./frame.ts";
import {
  type Act,
  ago,
  type ConsoleSources,
  dataTable,
  duration,
  type LiveParts,
  outcomeBadge,
  personColumn,
  type Section,
  type Visit,
} from "./section.ts";

const endedShown = 50;

/** Calls of the visitor, and for administrators of everyone with the switches. */
export function liveSection({ live, decisions, ...sources }: ConsoleSources): Section {
  const nameOfClient = (id: string): string => sources.nameOfClient(id) ?? id;
  const partsOf = async (visit: Visit): Promise<LiveParts> => {
    const { calls, ended } = await live.view();
    const { isAdministrator, userId } = visit.visitor;
    const isSeen = ({ person }: { readonly person: string | null }): boolean => isAdministrator || person === userId;
    const count = (await decisions.waiting(visit.visitor)).length;
    return {
      waiting: count === 0 ? html`` : html`
        <p class="note warn"><a href="${visit.href("decisions")}">${count} ${count === 1
          ? "call waits"
          : "calls wait"} for your decision</a></p>
      `,
      running: runningTable(calls.filter(isSeen), visit, nameOfClient),
      ended: endedTable(ended.filter(isSeen).slice(0, endedShown), visit, nameOfClient),
      ...(isAdministrator ? { switches: switchesPart(live, visit, nameOfClient) } : {}),
    };
  };
  const switching = (
    done: string,
    change: (by: string, form: URLSearchParams) => Promise<void>,
    confirm: string | null = null,
  ): Act => ({
    done,
    forAdministrators: true,
    confirm: () => confirm,
    async run({ visitor, form }) {
      await change(visitor.userId, form);
      return "done";
    },
  });
  return {
    name: "live",
    title: "Live",
    live: partsOf,
    async show(visit) {
      const { waiting, running, ended, switches } = await partsOf(visit);
      return html`
        ${switches !== undefined && html`<div id="switches">${switches}</div>`}
        <div id="waiting">${waiting}</div>
        <h2>Running now</h2><div id="running">${running}</div>
        <h2>Recent calls</h2><div id="ended">${ended}</div>
      `;
    },
    acts: {
      cancel: {
        done: "The call was cancelled.",
        async run({ visitor, form }) {
          const id = form.get("call") ?? "";
          const { calls } = await live.view();
          const call = calls.find((each) => each.id === id);
          const mayCancel = call !== undefined && (visitor.isAdministrator || call.person === visitor.userId);
          return mayCancel && await live.cancel(id, visitor.userId)
            ? "done"
            : { problem: "This call has ended already." };
        },
      },
      pause: switching(
        "The client is paused.",
        (by, form) => live.pauseClient((form.get("client") ?? "").slice(0, 2_000), by),
      ),
      resume: switching(
        "The client may call again.",
        (by, form) => live.resumeClient(form.get("client") ?? "", by),
        "let a client call again",
      ),
      stop: switching("All calls are stopped.", (by) => live.stopAll(by), "stop all calls of everyone"),
      start: switching("Calls run again.", (by) => live.resumeAll(by), "let calls run again"),
    },
  };
}

function switchesPart({ switches: { stopped, paused } }: Live, visit: Visit, nameOf: (id: string) => string): Html {
  const all = stopped === null
    ? actButton(visit, "live", "stop", "Stop everything", { kind: "danger" })
    : html`<p class="note warn">Stopped by ${stopped.by}, ${ago(stopped.at, visit.now)}. Calls stay stopped over a
        restart.</p>${actButton(visit, "live", "start", "Let calls run again", { kind: "plain" })}`;
  const clients = paused.map(({ client, by, at }) =>
    html`<li>${nameOf(client)}, paused by ${by} ${ago(at, visit.now)} ${
      actButton(visit, "live", "resume", "Let it call again", {
        values: { client },
        kind: "plain",
        name: `Let it call again ${nameOf(client)}`,
      })
    }</li>`
  );
  return html`${all}${
    clients.length > 0 && html`
      <h2>Paused clients</h2>
      <ul class="plain">${clients}</ul>
    `
  }`;
}

type Running = Awaited<ReturnType<Live["view"]>>["calls"];
type Ended = Awaited<ReturnType<Live["view"]>>["ended"];

function runningTable(calls: Running, visit: Visit, nameOf: (id: string) => string): Html {
  return dataTable({
    caption: "Running calls, oldest first",
    columns: ["Client", personColumn(visit), "Tool", "Arguments", "Started", "Actions"],
    rows: calls.map(({ id, client, person, tool, arguments: given, since }) => [
      nameOf(client),
      person,
      html`<strong>${tool}</strong>`,
      html`<code>${given}</code>`,
      ago(since, visit.now),
      html`<div class="row">${
        actButton(visit, "live", "cancel", "Cancel", { values: { call: id }, kind: "danger", name: `Cancel ${tool}` })
      }${
        visit.visitor.isAdministrator &&
        actButton(visit, "live", "pause", "Pause the client", {
          values: { client },
          kind: "danger",
          name: `Pause the client ${nameOf(client)}`,
        })
      }</div>`,
    ]),
    whenEmpty: "Nothing is running.",
  });
}

function endedTable(calls: Ended, visit: Visit, nameOf: (id: string) => string): Html {
  return dataTable({
    caption: "Calls that ended, newest first",
    columns: ["Time", "Client", personColumn(visit), "Tool", "File or record", "Outcome", { number: "Duration" }],
    rows: calls.map(({ time, client, person, tool, target, outcome, code, durationMs }) => [
      ago(time, visit.now),
      client === null ? null : nameOf(client),
      person,
      tool,
      target,
      outcomeBadge(outcome, code),
      durationMs === null ? null : duration(durationMs),
    ]),
    whenEmpty: `No calls${visit.visitor.isAdministrator ? "" : " of yours"} since this server started.`,
  });
}
