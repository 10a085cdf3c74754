/** The calls of the last day, as the pages count them. */
import { inTurns } from "../../lib/turns.ts";
import { callEvent, type FoundLine } from "../../audit/mod.ts";
import type { JudgedCall } from "../approvals/rule.ts";
import type { ConsoleSources } from "./section.ts";

const dayMs = 86_400_000;
/** What figures are of where `since` gives `null`. */
export const lastDay = "in the last 24 hours";
/** Calls that are read; of a busier day, the latest. */
const maxCalls = 5_000;
/** Pages of the audit that are read for them, and their lines: some are not of calls. */
const maxPages = 20;
const linesOfPage = 500;
/** How long after its last call a client counts as connected. */
const connectedMs = 300_000;
/** How long what was read serves every page that asks. */
const keptMs = 1_000;
/** Lines are stored some time after their calls, by each instance on its own: what is younger than that is read again. */
const settledMs = 30_000;
/** A storage that did not answer for longer got them later still: everything is read again after this. */
const wholeMs = 600_000;

interface Call extends JudgedCall {
  /** Of a tool; other requests only use a connection. */
  readonly isCall: boolean;
  readonly time: number;
  readonly isWell: boolean;
  /** Names the change that it made, where it is kept. */
  readonly change: string | null;
}

/** The latest calls, newest first; none is missing since `from`, in milliseconds since the epoch. */
type Known = Readonly<{ calls: readonly Call[]; from: number }>;
const nothing: Known = { calls: [], from: Infinity };

export type DayOfCalls = ReturnType<typeof createDayOfCalls>;

/** The tool calls of the last day, from the audit: for the use of each connection, and to try rules on. */
export function createDayOfCalls({ search, tools, clock }: ConsoleSources) {
  const changing = new Set(tools.filter(({ annotations }) => !annotations.readOnlyHint).map(({ name }) => name));
  const callOf = (line: FoundLine): readonly Call[] => {
    const { time, event, person, client, grant, tool, target, outcome, change } = line;
    if ((event !== callEvent && event !== "request") || tool === null) return [];
    return [{
      isCall: event === callEvent,
      time,
      person: person ?? "",
      clientId: client ?? "",
      grantId: grant ?? "",
      tool,
      changes: changing.has(tool),
      places: target?.split(/, | > /) ?? [],
      isWell: outcome === "ok",
      change,
    }];
  };
  /** Reads what is newer than `known`, and all where that is too much. */
  const read = async (known: Known): Promise<Known> => {
    const now = clock();
    const since = Math.max(now - dayMs, Math.min(now, known.calls[0]?.time ?? 0) - settledMs);
    const found: Call[] = [];
    let cursor: string | null | undefined;
    for (let pages = 0; cursor !== null && pages < maxPages && found.length < maxCalls; pages++) {
      const page = await search({ since }, { limit: linesOfPage, cursor });
      found.push(...page.lines.flatMap(callOf));
      cursor = page.cursor;
    }
    if (cursor === null) found.push(...known.calls.filter(({ time }) => time < since && time >= now - dayMs));
    const calls = found.slice(0, maxCalls);
    const isWhole = cursor === null && calls.length === found.length;
    return { calls, from: isWhole ? Math.min(since, known.from) : calls.at(-1)?.time ?? now };
  };
  let last = { at: -Infinity, wholeAt: -Infinity, known: Promise.resolve(nothing) };
  const latest = (): Promise<Known> => {
    const at = clock();
    if (at >= last.at && at - last.at <= keptMs) return last.known;
    const isWhole = at < last.at || at - last.wholeAt > wholeMs;
    const known = isWhole ? Promise.resolve(nothing) : last.known.catch(() => nothing);
    last = { at, wholeAt: isWhole ? at : last.wholeAt, known: known.then(read) };
    return last.known;
  };
  const calls = async (): Promise<readonly Call[]> => (await inTurns(latest())).calls;
  const since = async (): Promise<string | null> => {
    const { from } = await latest();
    return from <= clock() - dayMs ? null : `since ${new Date(from).toISOString().slice(11, 19)} UTC`;
  };
  return {
    /** Since when calls are counted, in words, where a day has too many; `null`: for the whole day. */
    since,
    /** The latest calls, newest first. */
    today: async () => (await calls()).filter(({ isCall }) => isCall),
    /** What the calls of a grant or a token of the command line came to, and since when; `lastAt` in milliseconds. */
    async usage() {
      const byGrant = Map.groupBy(await calls(), ({ grantId }) => grantId);
      const of = (id: string) => {
        const own = byGrant.get(id) ?? [];
        const made = own.filter(({ isCall }) => isCall);
        return { calls: made.length, errors: made.filter(({ isWell }) => !isWell).length, lastAt: own[0]?.time };
      };
      return { of, since: await since() };
    },
    /** Who called something in the last minutes, the last first: each client for each person. */
    async connected() {
      const since = clock() - connectedMs;
      const recent = (await calls()).filter(({ isCall, time }) => isCall && time >= since);
      return [...Map.groupBy(recent, ({ clientId, person }) => JSON.stringify([clientId, person])).values()]
        .flatMap(([last, ...before]) =>
          last === undefined ? [] : [{ ...last, calls: 1 + before.length, lastAt: last.time }]
        );
    },
  };
}
