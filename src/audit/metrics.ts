/**
 * What the server counts about itself: plain numbers that a call adds to, and that a scrape reads. Label values come from
 * fixed lists, registered tools and this program's own words, so that no caller can make the sets grow.
 */
import type { AuditEntry, AuditOutcome } from "../mcp/mod.ts";

// A histogram of fixed buckets, as Prometheus adds them up over instances.

/** Counted values: plain data. */
interface Histogram {
  /** Upper ends of the buckets, rising. */
  readonly bounds: readonly number[];
  /** How many values each bucket holds; one more than there are bounds, for all that is beyond. */
  readonly counts: number[];
  sum: number;
}

/** An empty histogram; `bounds` rise. */
export function createHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 };
}

export function observe(histogram: Histogram, value: number): void {
  const { bounds, counts } = histogram;
  let bucket = 0;
  while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  histogram.sum += value;
}

/** Upper ends of the buckets, each with how many values were at most that. The last is infinity, with all values. */
export function cumulative({ bounds, counts }: Histogram): readonly (readonly [bound: number, count: number])[] {
  let total = 0;
  return [...bounds, Infinity].map((bound, index) => [bound, total += counts[index] ?? 0] as const);
}

/** Which limit refused a request. */
export type LimitName = "tool_calls" | "oauth" | "registration" | "health";

/** What was counted. */
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

/** Upper ends of the duration's buckets in seconds: from a file's read to a model's long answer. */
const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300];

/** Counts from zero. `methods` are those that are counted by name; all others count as `other`. */
export function createMetrics({ methods }: { readonly methods: Iterable<string> }): Metrics {
  const requests = new Map<string, Outcomes>(Array.from(methods, (method) => [method, {}]));
  const others: Outcomes = {};
  requests.set("other", others);
  const answers = new Map<string, Statuses>();
  const tools = new Map<string, ToolCounts>();
  const totals: Totals = {
    refusedTokens: 0,
    storageErrors: 0,
    rateLimited: { tool_calls: 0, oauth: 0, registration: 0, health: 0 },
  };
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

// The counts as Prometheus reads them: text format 0.0.4.

/** The media type of {@link expose}'s text. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

/** What is measured at the moment of the scrape. */
interface Gauges {
  readonly version: string;
  readonly openStreams: number;
  readonly residentBytes: number;
  /** Processor time of the process, all threads. */
  readonly cpuSeconds: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  /** Seconds since the epoch. */
  readonly startedAt: number;
}

type Labels = Readonly<Record<string, string>>;

export function expose({ requests, answers, tools, totals }: Counts, gauges: Gauges): string {
  const text: string[] = [];
  const family = (name: string, type: "counter" | "gauge" | "histogram", help: string): void => {
    text.push(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
  };
  const sample = (name: string, value: number, labels: Labels = {}): void => {
    text.push(`${name}${labelText(labels)} ${valueText(value)}\n`);
  };
  const single = (name: string, type: "counter" | "gauge", help: string, value: number, labels: Labels = {}): void => {
    family(name, type, help);
    sample(name, value, labels);
  };

  family("portcullis_requests_total", "counter", "JSON-RPC requests answered, by method and outcome.");
  for (const [method, outcomes] of requests) {
    for (const [outcome, count] of Object.entries(outcomes)) {
      sample("portcullis_requests_total", count, { method, outcome });
    }
  }
  family("portcullis_http_requests_total", "counter", "HTTP requests answered, by route and status.");
  for (const [route, statuses] of answers) {
    for (const [status, count] of Object.entries(statuses)) {
      sample("portcullis_http_requests_total", count ?? 0, { route, status });
    }
  }
  family("portcullis_tool_calls_total", "counter", "Tool calls answered, by tool and outcome.");
  for (const [tool, { outcomes }] of tools) {
    for (const [outcome, count] of Object.entries(outcomes)) {
      sample("portcullis_tool_calls_total", count, { tool, outcome });
    }
  }
  const seconds = "portcullis_tool_call_duration_seconds";
  family(seconds, "histogram", "How long tool calls took to answer, refused ones included.");
  for (const [tool, { seconds: histogram }] of tools) {
    const buckets = cumulative(histogram);
    for (const [bound, count] of buckets) sample(`${seconds}_bucket`, count, { tool, le: valueText(bound) });
    sample(`${seconds}_sum`, histogram.sum, { tool });
    sample(`${seconds}_count`, buckets.at(-1)?.[1] ?? 0, { tool });
  }
  single("portcullis_refused_tokens_total", "counter", "Requests with a token that was refused.", totals.refusedTokens);
  family("portcullis_rate_limited_total", "counter", "Requests refused by a rate limit, by limit.");
  for (const [limit, count] of Object.entries(totals.rateLimited)) {
    sample("portcullis_rate_limited_total", count, { limit });
  }
  single("portcullis_storage_errors_total", "counter", "Storage operations that failed.", totals.storageErrors);
  single("portcullis_open_streams", "gauge", "Event streams that are open.", gauges.openStreams);
  single("portcullis_info", "gauge", "The program that answers.", 1, { version: gauges.version });
  single("process_cpu_seconds_total", "counter", "Processor time of the process.", gauges.cpuSeconds);
  single("process_resident_memory_bytes", "gauge", "Memory of the process.", gauges.residentBytes);
  single("portcullis_heap_used_bytes", "gauge", "JavaScript heap of the server in use.", gauges.heapUsedBytes);
  single("portcullis_heap_total_bytes", "gauge", "JavaScript heap of the server.", gauges.heapTotalBytes);
  single("process_start_time_seconds", "gauge", "Start of the server since the epoch.", gauges.startedAt);
  return text.join("");
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/g, (sign) => sign === "\n" ? "\\n" : `\\${sign}`);
}

function valueText(value: number): string {
  return value === Infinity ? "+Inf" : String(value);
}
