/** Approvals: calls that wait for a person, each with what it would do. */
import type { Decisions, Extent } from "../approvals/decisions.ts";
import { type HeldCall, heldMs, notComparable, tooLarge } from "../approvals/gate.ts";
import { type Html, html, noDefaultButton } from "../../lib/page.ts";
import { counted, failure, success } from "../../lib/result.ts";
import type { OverviewPart } from "./overview.ts";
import { maxRules } from "../approvals/rule.ts";
import { showExactly } from "../../files/mod.ts";
import { ago, differenceBlock, pageOf, type Section, timeCursor, type Visit } from "./section.ts";
import { actFields } from "./frame.ts";

const extents: readonly Extent[] = ["once", "hour", "always"];
/** The oldest come first: what is decided makes room for the next. */
const callsShown = 10;
/** Of a page: it is rendered anew while it is open, whatever agents made their calls of. */
const maxCharacters = 200_000;
/** The markup around a line of a difference. */
const lineCharacters = 50;

/** Calls that wait for the visitor, with what each would do in a line and as a difference. */
export function decisionsSection(decisions: Decisions, lastChanges: OverviewPart): Section {
  const callsOf = async (visit: Visit): Promise<Html> => {
    const waiting = await decisions.waiting(visit.visitor);
    const chosen = waiting.find(({ id }) => id === visit.query.get("call"));
    const others = waiting.filter((call) => call !== chosen);
    const { shown, next } = pageOf(others, visit, {
      ...{ section: "decisions", name: "after", words: "Asked after these", size: callsShown },
      ...{ maxWeight: maxCharacters, weigh: charactersOf },
      cursorOf: ({ createdAt, id }) => timeCursor(createdAt, id),
    });
    if (waiting.length === 0) return html`<p class="quiet">No call waits for you.</p>`;
    return html`
      <p class="quiet">None of these calls has run yet. Once you approve one, it runs if its agent still waits, or when
        the agent asks again within ${counted(heldMs / 60_000, "minute")}.</p>
      ${waiting.length > callsShown && html`<p class="quiet">${waiting.length} calls wait, the oldest first.</p>`}
      ${chosen !== undefined && heldCallItem(chosen, visit)}
      ${shown.map((call) => heldCallItem(call, visit))}
      ${next}
    `;
  };
  return {
    name: "decisions",
    title: "Approvals",
    live: async (visit) => ({ waiting: await callsOf(visit), changes: await lastChanges(visit) }),
    show: (_visit, parts) => html`${keys}${Object.values(parts)}`,
    acts: {
      decide: {
        confirm: (form) =>
          form.get("decision") === "approve" && extentOf(form) !== "once" ? "approve more than this call" : null,
        async run({ by, form }) {
          const did = didWords.get(form.get("decision") ?? "");
          if (did === undefined) return failure("Nothing was decided: press Approve or Deny.");
          const call = (await decisions.waiting(by)).find(({ id }) => id === form.get("call"));
          const decided = await decisions.decide({
            id: form.get("call") ?? "",
            effectDigest: form.get("effect") ?? "",
            approves: form.get("decision") === "approve",
            extent: extentOf(form),
            word: form.get("word") ?? "",
          }, by);
          if (decided !== "decided" && decided !== "once") return failure(problemWords[decided]);
          const places = call === undefined || call.places.length === 0 ? "" : ` on ${call.places.join(", ")}`;
          const only = decided === "once" ? ` ${onlyOnce}` : "";
          return success(`${did}: ${call?.tool ?? "a call"}${places}${only}`);
        },
      },
    },
  };
}

/** Single letters that act can be turned off (WCAG 2.2, 2.1.4). The script shows it, and keeps what was chosen. */
const keys = html`
  <p class="quiet keys" hidden><label><input type="checkbox" checked> Keys:</label> <kbd>j</kbd> <kbd>k</kbd> choose
    <kbd>a</kbd> approve <kbd>d</kbd> deny</p>
`;

function charactersOf({ effect, arguments: given }: HeldCall): number {
  return effect.length + lineCharacters * effect.split("\n").length + given.length;
}

function extentOf(form: URLSearchParams): Extent {
  return extents.find((each) => each === form.get("extent")) ?? "once";
}

const didWords = new Map([["approve", "Approved"], ["deny", "Denied"]]);

const onlyOnce = `(this time only: the rule that asked was removed, or there are ${maxRules} rules already)`;

const problemWords = {
  gone: "This call no longer waits: it was decided, or its time is over.",
  changed: "What the call would do has changed since you saw it. Look at it again.",
  busy: "Others change this call at this moment. Nothing was decided. Try again.",
  too_large: `${tooLarge} Deny this call.`,
  ended: "The access of its agent was ended. The call cannot run.",
  not_yours: "Only an administrator decides about this call.",
} as const;

/** The first line of an effect says it whole, unless it is the arguments as JSON; the rest is its details. */
function effectBlock(effect: string): Html {
  const [, first = "", rest = ""] = /^([^\n]{1,300})(?:\n([^]*))?$/.exec(effect) ?? [];
  if (first === "" || first.startsWith("{")) return differenceBlock(effect, "What it would do");
  return html`<p><strong>${first}</strong></p>${rest !== "" && differenceBlock(rest, "What it would do")}`;
}

function heldCallItem(call: HeldCall, visit: Visit): Html {
  const { visitor, now, href } = visit;
  const whose = visitor.seesOthers && html`
    For <strong>${call.person}</strong>.
  `;
  const times = html`Asked ${ago(call.createdAt, now)}, expires ${ago(call.expiresAt, now)}.`;
  const unsaid = call.places.filter((place) => !call.effect.includes(place));
  const places = unsaid.length > 0 && ` About ${unsaid.join(", ")}.`;
  const each = `each ${call.tool}${call.passPlace ? ` in ${showExactly(call.passPlace)}` : ""}`;
  const hour = `${each} by this connection for an hour`;
  const lasting = `${each} by ${call.clientName} from now on`;
  const mayApprove = call.effectDigest !== notComparable;
  return html`
    <article class="held" id="held-${call.id}" tabindex="0" aria-labelledby="call-${call.id}">
      <h2 id="call-${call.id}">${call.clientName}: ${call.tool}</h2>
      <p class="quiet">${whose}${times}${places}</p>
      ${effectBlock(call.effect)}
      <details id="arguments-${call.id}">
        <summary>Arguments</summary>
        <pre class="difference" tabindex="0" role="group" aria-label="The arguments">${call.arguments}</pre>
      </details>
      <form method="post" action="${href("decisions")}">
        ${noDefaultButton}
        ${actFields(visitor, "decide", { call: call.id, effect: call.effectDigest })}
        ${mayApprove && html`
          <fieldset>
            <legend>Approve</legend>
            <label><input type="radio" name="extent" value="once" checked> this time</label>
            <label><input type="radio" name="extent" value="hour"> ${hour}</label>
            <label><input type="radio" name="extent" value="always"> ${lasting}</label>
          </fieldset>
        `}
        <div class="message"><label for="word-${call.id}">Message to the agent (optional)</label>
          <input type="text" id="word-${call.id}" name="word" maxlength="500" autocomplete="off"></div>
        <div class="actions">
          ${mayApprove && html`<button type="submit" name="decision" value="approve">Approve</button>`}
          <button type="submit" name="decision" value="deny" class="danger">Deny</button>
        </div>
      </form>
    </article>
  `;
}
