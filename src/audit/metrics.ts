/**
 * What the server counts about itself: plain numbers that a call adds to, and that a scrape reads. Label values come from
 * fixed lists, registered tools and this program's own words, so that no caller can make the sets grow.
 */
import type { AuditEntry, AuditOutcome } from "../mcp/audit.ts";
import { createHistogram, type Histogram, observe } from "./histogram.ts";

/** Which limit refused a request. */
export type LimitName = "tool_calls" | "oauth" | "registration" | "health";

/** What was counted: plain data, which threads can send each other. */
export interface Counts {
  readonly requests: ReadonlyMap<string, Outcomes>;
  /** HTTP requests by route, and `other`: how often each status was the answer. */
  readonly answers: ReadonlyMap<string, Statuses>;
  readonly tools: ReadonlyMap<string, ToolCounts>;
  readonly totals: Readonly<Totals>;
}

export interface Metrics extends Counts {
  /** Takes note of an answered request. */
  countRequest(entry: AuditEntry): void;
  /** Takes note of an HTTP answer; `null` is a path that is no route. */
  countAnswer(route: string | null, status: number): void;
  countRefusedToken(): void;
  countRateLimited(limit: LimitName): void;
  countStorageError(): void;
}

/** How often each outcome came. */
export type Outcomes = Partial<Record<AuditOutcome, number>>;

/** How often each status of HTTP came. */
export type Statuses = Partial<Record<string, number>>;

/** The calls of one tool. */
export interface ToolCounts {
  readonly outcomes: Outcomes;
  readonly seconds: Histogram;
}

/** Counts without labels but the limit's. */
interface Totals {
  refusedTokens: number;
  storageErrors: number;
  readonly rateLimited: Record<LimitName, number>;
}

/** Totals of a server that has counted nothing yet. */
export function noTotals(): Totals {
  return { refusedTokens: 0, storageErrors: 0, rateLimited: { tool_calls: 0, oauth: 0, registration: 0, health: 0 } };
}

/** Upper ends of the duration's buckets in seconds: from a file's read to a model's long answer. */
const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300];

/** Counts from zero. `methods` are those that are counted by name; all others count as `other`. */
export function createMetrics({ methods }: { readonly methods: Iterable<string> }): Metrics {
  const requests = new Map<string, Outcomes>(Array.from(methods, (method) => [method, {}]));
  const others: Outcomes = {};
  requests.set("other", others);
  const answers = new Map<string, Statuses>();
  const tools = new Map<string, ToolCounts>();
  const totals = noTotals();
  return {
    requests,
    answers,
    tools,
    totals,
    countRequest({ method, tool, outcome, durationMs }) {
      const outcomes = requests.get(method) ?? others;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (outcome === "rate_limited") totals.rateLimited.tool_calls++;
      if (tool === null) return; // the audit names registered tools only
      let counts = tools.get(tool);
      if (counts === undefined) tools.set(tool, counts = { outcomes: {}, seconds: createHistogram(durationBounds) });
      counts.outcomes[outcome] = (counts.outcomes[outcome] ?? 0) + 1;
      observe(counts.seconds, durationMs / 1_000);
    },
    countAnswer(route, status) {
      const name = route ?? "other";
      let statuses = answers.get(name);
      if (statuses === undefined) answers.set(name, statuses = {});
      statuses[status] = (statuses[status] ?? 0) + 1;
    },
    countRefusedToken() {
      totals.refusedTokens++;
    },
    countRateLimited(limit) {
      totals.rateLimited[limit]++;
    },
    countStorageError() {
      totals.storageErrors++;
    },
  };
}
