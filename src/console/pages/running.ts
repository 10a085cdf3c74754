/** Calls that run: cancelling one, pausing a client, stopping everything. */
import type { Live } from "../live/live.ts";
import { type Html, html } from "../../lib/page.ts";
import { actButton } from "./frame.ts";
import { type Act, ago, type ConsoleSources, dataTable, personColumn, type Section, type Visit } from "./section.ts";

type View = Awaited<ReturnType<Live["view"]>>;
export type EndedCall = View["ended"][number];

const stoppedShown = 5;

/** What runs of the visitor, and for administrators of everyone, with the switches. */
export function createRunning({ live, decisions, ...sources }: ConsoleSources) {
  const nameOfClient = (id: string): string => sources.nameOfClient(id) ?? id;
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
    /** The live parts, and the calls that have just ended. */
    async look(visit: Visit) {
      const { calls, ended } = await live.view();
      const { isAdministrator, userId } = visit.visitor;
      const isSeen = ({ person }: { readonly person: string | null }): boolean => isAdministrator || person === userId;
      const count = (await decisions.waiting(visit.visitor)).length;
      const parts = {
        waiting: count === 0 ? html`` : html`
          <p class="note warn"><a href="${visit.href("decisions")}">${count} ${count === 1
            ? "call waits"
            : "calls wait"} for your decision</a></p>
        `,
        ...isAdministrator ? { switches: switchesPart(live, visit, nameOfClient) } : {},
        running: runningTable(calls.filter(isSeen), visit, nameOfClient),
      };
      return { parts, ended: ended.filter(isSeen) };
    },
    /** For administrators, unless all is stopped already. */
    stopButton: (visit: Visit): Html | null =>
      visit.visitor.isAdministrator && live.switches.stopped === null
        ? actButton(visit, "activity", "stop", "Stop", { kind: "danger", name: "Stop everything" })
        : null,
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
      stop: {
        done: "All calls are stopped.",
        forAdministrators: true,
        confirm: () => "stop all calls of everyone",
        async run({ visitor }) {
          const { calls } = await live.view();
          await live.stopAll(visitor.userId);
          const named = calls.slice(0, stoppedShown).map(({ tool, client }) => `${tool} of ${nameOfClient(client)}`);
          const more = calls.length > stoppedShown ? ` and ${calls.length - stoppedShown} more` : "";
          const what = calls.length === 0 ? "None was running" : `Running were ${named.join(", ")}${more}`;
          return { done: `All calls are stopped. ${what}.` };
        },
      },
      start: switching("Calls run again.", (by) => live.resumeAll(by), "let calls run again"),
    } satisfies Section["acts"],
  };
}

function switchesPart({ switches: { stopped, paused } }: Live, visit: Visit, nameOf: (id: string) => string): Html {
  const all = stopped !== null &&
    html`<p class="note warn">Stopped by ${stopped.by}, ${ago(stopped.at, visit.now)}. Calls stay stopped over a
        restart.</p>${actButton(visit, "activity", "start", "Let calls run again", { kind: "plain" })}`;
  const clients = paused.map(({ client, by, at }) =>
    html`<li>${nameOf(client)}, paused by ${by} ${ago(at, visit.now)} ${
      actButton(visit, "activity", "resume", "Let it call again", {
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

function runningTable(calls: View["calls"], visit: Visit, nameOf: (id: string) => string): Html {
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
        actButton(visit, "activity", "cancel", "Cancel", {
          values: { call: id },
          kind: "danger",
          name: `Cancel ${tool}`,
        })
      }${
        visit.visitor.isAdministrator &&
        actButton(visit, "activity", "pause", "Pause the client", {
          values: { client },
          kind: "danger",
          name: `Pause the client ${nameOf(client)}`,
        })
      }</div>`,
    ]),
    whenEmpty: "Nothing is running.",
  });
}
