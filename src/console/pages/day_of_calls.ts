/** The calls of the last day, as the pages count them. */
import { inTurns } from "../../lib/turns.ts";
import { callEvent, type FoundLine } from "../../audit/mod.ts";
import type { JudgedCall } from "../approvals/rule.ts";
import type { ConsoleSources } from "./section.ts";

const dayMs = 86_400_000;
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

/** What a grant's calls came to in the last day; `lastAt` in milliseconds since the epoch. */
export type Usage = Readonly<Record<"calls" | "errors" | "lastAt", number>>;

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
  const read = async (known: readonly Call[]): Promise<readonly Call[]> => {
    const now = clock();
    const since = Math.max(now - dayMs, Math.min(now, known[0]?.time ?? 0) - settledMs);
    const found: Call[] = [];
    let cursor: string | null | undefined;
    for (let pages = 0; cursor !== null && pages < maxPages && found.length < maxCalls; pages++) {
      const page = await search({ since }, { limit: linesOfPage, cursor });
      found.push(...page.lines.flatMap(callOf));
      cursor = page.cursor;
    }
    const settled = cursor === null ? known.filter(({ time }) => time < since && time >= now - dayMs) : [];
    return [...found, ...settled].slice(0, maxCalls);
  };
  let last = { at: -Infinity, wholeAt: -Infinity, calls: Promise.resolve<readonly Call[]>([]) };
  const latest = (): Promise<readonly Call[]> => {
    const at = clock();
    if (at >= last.at && at - last.at <= keptMs) return last.calls;
    const isWhole = at < last.at || at - last.wholeAt > wholeMs;
    const known = isWhole ? Promise.resolve([]) : last.calls.catch(() => []);
    last = { at, wholeAt: isWhole ? at : last.wholeAt, calls: known.then(read) };
    return last.calls;
  };
  const calls = (): Promise<readonly Call[]> => inTurns(latest());
  return {
    /** The latest calls, newest first. */
    today: async () => (await calls()).filter(({ isCall }) => isCall),
    /** By the id of a grant or a token of the command line. */
    async usage(): Promise<ReadonlyMap<string, Usage>> {
      const byGrant = Map.groupBy(await calls(), ({ grantId }) => grantId);
      return new Map(Array.from(byGrant, ([grant, own]) => {
        const made = own.filter(({ isCall }) => isCall);
        const errors = made.filter(({ isWell }) => !isWell).length;
        return [grant, { calls: made.length, errors, lastAt: own[0]?.time ?? 0 }];
      }));
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
