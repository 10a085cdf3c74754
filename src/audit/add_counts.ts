/** The counts of several servers as those of one. */
import { createHistogram, type Histogram } from "./histogram.ts";
import { type Counts, type LimitName, noTotals, type Outcomes, type Statuses, type ToolCounts } from "./metrics.ts";

export function addCounts(all: readonly Counts[]): Counts {
  const requests = new Map<string, Outcomes>();
  const answers = new Map<string, Statuses>();
  const tools = new Map<string, ToolCounts>();
  const totals = noTotals();
  for (const counts of all) {
    for (const [method, outcomes] of counts.requests) {
      requests.set(method, addOutcomes(requests.get(method) ?? {}, outcomes));
    }
    for (const [route, statuses] of counts.answers) {
      answers.set(route, addOutcomes(answers.get(route) ?? {}, statuses));
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
  return { requests, answers, tools, totals };
}

function addOutcomes<Name extends string>(
  first: Partial<Record<Name, number>>,
  second: Partial<Record<Name, number>>,
): Partial<Record<Name, number>> {
  const sum: Partial<Record<Name, number>> = { ...first };
  for (const [outcome, count] of Object.entries(second) as [Name, number][]) {
    sum[outcome] = (sum[outcome] ?? 0) + count;
  }
  return sum;
}

function addHistograms(first: Histogram, second: Histogram): Histogram {
  const { bounds } = first;
  const counts = first.counts.map((count, bucket) => count + (second.counts[bucket] ?? 0));
  return { bounds, counts, sum: first.sum + second.sum };
}
