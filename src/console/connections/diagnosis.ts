/** Says of an attempt what happened, or what it waits for, with the likely causes in order and their remedies. */
import type { Attempt } from "./attempts.ts";
import { arrivalCauses } from "./arrival.ts";
import { authorizationCauses } from "./authorization.ts";
import { callCauses } from "./calls.ts";
import type { Cause, Facts } from "./cause.ts";
import { registrationCauses } from "./registration.ts";
import { tokenCauses } from "./token.ts";
import { type Step, stepKinds } from "./step.ts";

/** `going_on`: too early to say; `no_fault`: it went well, or a person decides or has decided. */
type DiagnosisState = "going_on" | "no_fault" | "fault";

export interface Diagnosis {
  readonly state: DiagnosisState;
  /** The most likely first. */
  readonly causes: readonly Pick<Cause, "id" | "words" | "remedy">[];
}

/** After so long without a request, an attempt has stopped. */
const settledMs = 10_000;
const maxCauses = 4;

/** In the order of the most likely first; entries with a condition come before those without. */
const allCauses: readonly Cause[] = [
  ...tokenCauses,
  ...arrivalCauses,
  ...registrationCauses,
  ...authorizationCauses,
  ...callCauses,
];

export function diagnose(attempt: Attempt, now: number): Diagnosis {
  const silentMs = now - attempt.lastAt;
  const { steps } = attempt;
  const step = decisiveStep(steps);
  if (step === undefined || silentMs < settledMs) return { state: "going_on", causes: [] };
  const isDirect = steps.some(({ sign }) => sign === "direct");
  const facts: Facts = {
    step,
    steps,
    silentMs,
    isDirect,
    had: (kind, outcome, reason) =>
      steps.some((each) =>
        each.kind === kind && (outcome ?? each.outcome) === each.outcome && (reason ?? each.reason) === each.reason
      ),
    redirectHost: steps.findLast(({ kind, host }) => kind === "authorization" && host !== null)?.host ?? null,
  };
  const fitting = allCauses.filter((cause) => fits(cause, facts) && !(isDirect && cause.needsProxy));
  const exact = fitting.filter(({ reasons }) => reasons?.includes("*") !== true);
  const causes = (exact.length > 0 ? exact : fitting).slice(0, maxCauses);
  const [first] = causes;
  const told = first?.isNoFault ? [first] : causes.filter(({ isNoFault }) => !isNoFault);
  return {
    state: first?.isNoFault ? "no_fault" : "fault",
    causes: told.map(({ id, words, remedy }) => ({
      id,
      words: textFor(words, isDirect),
      remedy: textFor(remedy, isDirect),
    })),
  };
}

/** See {@link Cause.words}. */
function textFor(text: string, isDirect: boolean): string {
  return text.replaceAll(/\[([^\]]*)\](?:\{([^}]*)\})?/g, isDirect ? "$2" : "$1");
}

function fits({ at, reasons, when }: Cause, facts: Facts): boolean {
  const { step } = facts;
  if (!(typeof at === "string" ? at === step.kind : at.includes(step.kind))) return false;
  const isExpected = step.outcome === "ok"
    ? reasons === undefined
    : reasons !== undefined && (reasons.includes("*") || reasons.includes(step.reason ?? ""));
  return isExpected && (when?.(facts) ?? true);
}

/** The refusal that nothing after it made good, else the step that went furthest. */
function decisiveStep(steps: readonly Step[]): Step | undefined {
  const refused = steps.findLast((step, index) =>
    step.outcome === "refused" && !isPassedOver(step, steps) &&
    !steps.slice(index + 1).some((later) => makesGood(later, step))
  );
  return refused ?? furthest(steps);
}

/** Streams are for notices: clients that call without one are well, and few keep one that is of no use to them. */
function isPassedOver({ kind, reason }: Step, steps: readonly Step[]): boolean {
  return kind === "stream" &&
    steps.some((each) =>
      each.kind === "call" && each.outcome === "ok" && (reason !== "given_up" || each.reason === "tools/call")
    );
}

/** A later step that went well, as far along as the refused one or anew from the page. */
function makesGood(later: Step, refused: Step): boolean {
  if (later.outcome !== "ok") return false;
  if (refused.reason === "answers_cut") return later.reason === "answered";
  const isOther = later.kind === "call" && later.reason !== "tools/call" && later.reason !== "answered";
  if (refused.path === "tools/call" && isOther) return false; // that it lists tools is no proof
  if (refused.reason === "unknown_origin") return !browsable.has(later.kind); // any page may read and register
  const needed = refused.kind === "refused_token" ? "registration" : refused.kind;
  return order(later) >= Math.min(stepKinds.indexOf(needed), stepKinds.indexOf("authorization"));
}

const browsable: ReadonlySet<string> = new Set(["resource_metadata", "server_metadata", "registration"]);

function order({ kind }: Step): number {
  return stepKinds.indexOf(kind);
}

/** Of the steps since it last began anew: documents are fetched again on the way. */
function furthest(steps: readonly Step[]): Step | undefined {
  const last = steps.at(-1);
  if (last === undefined) return undefined;
  const withToken = steps.findLastIndex(({ kind }) => kind === "token");
  if ((last.kind === "reached" || last.kind === "handshake") && withToken >= 0) return last;
  const begun = steps.findLastIndex(({ kind }) => kind === "registration" || kind === "authorization");
  return steps.slice(Math.max(begun, 0)).reduce((best, step) => order(step) >= order(best) ? step : best);
}
