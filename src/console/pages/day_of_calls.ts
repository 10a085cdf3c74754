/** The calls of the last day, as the pages count them. */
import { callEvent } from "../../audit/mod.ts";
import type { JudgedCall } from "../approvals/rule.ts";
import type { ConsoleSources } from "./section.ts";

const dayMs = 86_400_000;
/** Calls that are read; of a busier day, the latest. */
const maxCalls = 5_000;
/** Lines that are read for them: some are not of calls. */
const maxLines = 10_000;
/** Of one page of the audit, at least. */
const leastLines = 100;
/** How long after its last call a client counts as connected. */
const connectedMs = 300_000;
/** How long what was read serves every page that asks. */
const dayOfCallsKeptMs = 1_000;
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

/** What a grant's calls came to in the last day. */
export interface Usage {
  readonly calls: number;
  readonly errors: number;
  /** Milliseconds since the epoch. */
  readonly lastAt: number;
}

/** The tool calls of the last day, from the audit: for the use of each connection, and to try rules on. */
export function createDayOfCalls({ search, tools, clock }: ConsoleSources) {
  const changing = new Set(tools.filter(({ annotations }) => !annotations.readOnlyHint).map(({ name }) => name));
  let last: { readonly at: number; readonly wholeAt: number; readonly calls: Promise<readonly Call[]> } | null = null;
  /** Reads what is newer than `known`, and all where that is too much. */
  const read = async (known: readonly Call[]): Promise<readonly Call[]> => {
    const now = clock();
    const since = Math.max(now - dayMs, Math.min(now, known[0]?.time ?? 0) - settledMs);
    const found: Call[] = [];
    let cursor: string | undefined;
    for (let seen = 0;;) {
      if (seen >= maxLines || found.length >= maxCalls) return found.slice(0, maxCalls);
      const limit = Math.max(leastLines, maxCalls - found.length);
      const { lines, cursor: next } = await search({ since }, { limit, cursor });
      seen += Math.max(leastLines, lines.length); // a page may be empty, and the next one not
      for (const { time, event, person, client, grant, tool, target, outcome, change } of lines) {
        if ((event !== callEvent && event !== "request") || tool === null) continue;
        found.push({
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
        });
      }
      if (next === null) break;
      cursor = next;
    }
    const settled = known.filter(({ time }) => time < since && time >= now - dayMs);
    return [...found, ...settled].slice(0, maxCalls);
  };
  const calls = (): Promise<readonly Call[]> => {
    const at = clock();
    if (last !== null && at >= last.at && at - last.at <= dayOfCallsKeptMs) return last.calls;
    const before = last !== null && at >= last.at && at - last.wholeAt <= wholeMs ? last : null;
    const known = before === null ? Promise.resolve([]) : before.calls.catch(() => []);
    last = { at, wholeAt: before?.wholeAt ?? at, calls: known.then(read) };
    return last.calls;
  };
  return {
    /** The latest calls, newest first. */
    today: async () => (await calls()).filter(({ isCall }) => isCall),
    /** By the id of a grant or a token of the command line. */
    async usage(): Promise<ReadonlyMap<string, Usage>> {
      const byGrant = new Map<string, Usage>();
      for (const { grantId, time, isWell, isCall } of await calls()) {
        const { calls: count = 0, errors = 0, lastAt = time } = byGrant.get(grantId) ?? {};
        byGrant.set(grantId, { calls: count + (isCall ? 1 : 0), errors: errors + (isCall && !isWell ? 1 : 0), lastAt });
      }
      return byGrant;
    },
    /** Who called something in the last minutes, the last first: each client for each person. */
    async connected() {
      const since = clock() - connectedMs;
      const found = new Map<string, Pick<Call, "clientId" | "person"> & Pick<Usage, "calls" | "lastAt">>();
      for (const { clientId, person, time, isCall } of await calls()) {
        if (time < since) break;
        if (!isCall) continue;
        const key = JSON.stringify([clientId, person]);
        const { calls: count = 0, lastAt = time } = found.get(key) ?? {};
        found.set(key, { clientId, person, calls: count + 1, lastAt });
      }
      return [...found.values()];
    },
  };
}
