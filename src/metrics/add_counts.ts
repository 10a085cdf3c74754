/** The counts of several servers as those of one. */
import { createHistogram, type Histogram } from "./histogram.ts";
import type { Counts, LimitName, Outcomes, ToolCounts, Totals } from "./metrics.ts";

/** Adds them up. */
export function addCounts(all: readonly Counts[]): Counts {
  const requests = new Map<string, Outcomes>();
  const tools = new Map<string, ToolCounts>();
  const totals: Totals = {
    refusedTokens: 0,
    storageErrors: 0,
    rateLimited: { tool_calls: 0, oauth: 0, registration: 0, health: 0 },
  };
  for (const counts of all) {
    for (const [method, outcomes] of counts.requests) {
      requests.set(method, addOutcomes(requests.get(method) ?? {}, outcomes));
    }
    for (const [tool, { outcomes, seconds }] of counts.tools) {
      const before = tools.get(tool) ?? { outcomes: {}, seconds: createHistogram(seconds.bounds) };
      tools.set(tool, {
        outcomes: addOutcomes(before.outcomes, outcomes),
        seconds: addHistograms(before.seconds, seconds),
      });
    }
    totals.refusedTokens += counts.totals.refusedTokens;
    totals.storageErrors += counts.totals.storageErrors;
    for (const limit of Object.keys(totals.rateLimited) as LimitName[]) {
      totals.rateLimited[limit] += counts.totals.rateLimited[limit];
    }
  }
  return { requests, tools, totals };
}

function addOutcomes(first: Outcomes, second: Outcomes): Outcomes {
  const sum = { ...first };
  for (const [outcome, count] of Object.entries(second) as [keyof Outcomes, number][]) {
    sum[outcome] = (sum[outcome] ?? 0) + count;
  }
  return sum;
}

function addHistograms(first: Histogram, second: Histogram): Histogram {
  const { bounds } = first;
  const counts = first.counts.map((count, bucket) => count + (second.counts[bucket] ?? 0));
  return { bounds, counts, sum: first.sum + second.sum };
}
