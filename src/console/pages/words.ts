/** How the console writes moments, durations, outcomes and commands. */
import { type Html, html } from "../../lib/html.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A moment, exact in its attribute and title, in words by how long ago it was. */
export function ago(time: number, now: number): Html {
  const iso = new Date(time).toISOString();
  return html`<time datetime="${iso}" title="${iso}">${agoWords(now - time)}</time>`;
}

function agoWords(ms: number): string {
  if (ms < 0) return `in ${lengthWords(-ms)}`;
  return ms < minute ? "less than a minute ago" : `${lengthWords(ms)} ago`;
}

function lengthWords(ms: number): string {
  const [count, unit] = ms < minute
    ? [Math.floor(ms / 1_000), "second"]
    : ms < hour
    ? [Math.floor(ms / minute), "minute"]
    : ms < 2 * day
    ? [Math.floor(ms / hour), "hour"]
    : [Math.floor(ms / day), "day"];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** A date and a time in UTC. */
export function moment(time: number): Html {
  const iso = new Date(time).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;
}

/** A time of today, to the minute. */
export function timeOfDay(time: number): string {
  return `${new Date(time).toISOString().slice(11, 16)} UTC`;
}

/** How long something took. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return ms < minute
    ? `${(ms / 1_000).toFixed(1)} s`
    : `${Math.floor(ms / minute)} min ${Math.round(ms % minute / 1_000)} s`;
}

/** A text in which what stands between backticks is code. */
export function withCode(text: string): Html {
  return html`${text.split("`").map((part, index) => index % 2 === 0 ? part : html`<code>${part}</code>`)}`;
}

/** A name of the log, as `signed_in`, in words. */
export function plainName(name: string): string {
  return name.replaceAll("_", " ");
}

const failures: Readonly<Record<string, string>> = {
  tool_error: "failed",
  protocol_error: "failed",
  internal_error: "failed",
  insufficient_scope: "refused",
  rate_limited: "refused",
};
const badOutcome = /refused|denied|failed|error|cancelled|stopped|unavailable|scope|limited|expired/;

/** What became of something, and why. */
export function outcomeBadge(outcome: string | null, code: string | null): Html {
  if (outcome === null) return html``;
  const kind = badOutcome.test(outcome) ? "warn" : "good";
  const what = failures[outcome] ?? outcome;
  const why = code ?? outcome;
  return html`<span class="badge ${kind}">${plainName(what)}</span>${
    why !== what && html`
      <span class="quiet">${plainName(why)}</span>
    `
  }`;
}
