/** The tool calls of the last day, from the audit: for the use of each connection, and to try rules on. */
import type { JudgedCall } from "../console/approvals/rule.ts";
import { callEvent } from "../audit/line.ts";
import type { SearchAudit } from "../console/pages/audit.ts";
import type { Usage } from "../console/pages/connections.ts";
import type { ConnectedClient } from "../console/pages/overview_parts.ts";
import type { Clock } from "../lib/clock.ts";
import type { Tool } from "../mcp/tool.ts";

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
const keptMs = 1_000;
/** Lines are stored some time after their calls, by each instance on its own: what is younger than that is read again. */
const settledMs = 30_000;
/** A storage that did not answer for longer got them later still: everything is read again after this. */
const wholeMs = 600_000;

interface Call extends JudgedCall {
  readonly time: number;
  readonly isWell: boolean;
}

interface DayOfCalls {
  /** The latest calls, newest first. */
  calls(): Promise<readonly JudgedCall[]>;
  /** By the id of a grant or a token of the command line. */
  usage(): Promise<ReadonlyMap<string, Usage>>;
  /** Who called something lately, the last first. */
  connected(): Promise<readonly ConnectedClient[]>;
}

export function createDayOfCalls(
  search: SearchAudit,
  { tools, clock }: { readonly tools: readonly Tool[]; readonly clock: Clock },
): DayOfCalls {
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
      for (const { time, event, person, client, grant, tool, target, outcome } of lines) {
        if (event !== callEvent || tool === null) continue;
        found.push({
          time,
          person: person ?? "",
          clientId: client ?? "",
          grantId: grant ?? "",
          tool,
          changes: changing.has(tool),
          places: target?.split(/, | > /) ?? [],
          isWell: outcome === "ok",
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
    if (last !== null && at >= last.at && at - last.at <= keptMs) return last.calls;
    const before = last !== null && at >= last.at && at - last.wholeAt <= wholeMs ? last : null;
    const known = before === null ? Promise.resolve([]) : before.calls.catch(() => []);
    last = { at, wholeAt: before?.wholeAt ?? at, calls: known.then(read) };
    return last.calls;
  };
  return {
    calls,
    async usage() {
      const byGrant = new Map<string, Usage>();
      for (const { grantId, time, isWell } of await calls()) {
        const { calls: count = 0, errors = 0, lastAt = time } = byGrant.get(grantId) ?? {};
        byGrant.set(grantId, { calls: count + 1, errors: errors + (isWell ? 0 : 1), lastAt });
      }
      return byGrant;
    },
    async connected() {
      const since = clock() - connectedMs;
      const found = new Map<string, ConnectedClient>();
      for (const { clientId, person, time } of await calls()) {
        if (time < since) break;
        const key = JSON.stringify([clientId, person]);
        const { calls: count = 0, lastAt = time } = found.get(key) ?? {};
        found.set(key, { clientId, person, calls: count + 1, lastAt });
      }
      return [...found.values()];
    },
  };
}
