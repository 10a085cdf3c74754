/**
 * The server's counters: plain numbers that a call increments and a scrape reads. Label values come from
 * fixed lists, registered tools and this program's own words, so that no caller can make the sets grow.
 */
import type { AuditEntry } from "../mcp/mod.ts";

/** Which limit refused a request. */
export type LimitName = "tool_calls" | "oauth" | "registration" | "health";

/** The counters of one process. */
export type Metrics = ReturnType<typeof createMetrics>;
/** What was counted. */
export type Counts = Pick<Metrics, "requests" | "answers" | "tools" | "durations" | "totals">;

/** How often each outcome, or each status, came. */
type Tally = Record<string, number>;

/** The durations of one tool's calls. */
interface Histogram {
  /** How many values each bucket holds; one more than there are bounds, for all that is beyond. */
  readonly counts: number[];
  sum: number;
}

/** Upper ends of the duration's buckets in seconds: from a file's read to a model's long answer. */
const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300];

/** Counts from zero. `methods` are counted by name, all others as `other`. */
export function createMetrics({ methods }: { readonly methods: Iterable<string> }) {
  const known = new Set(methods);
  const requests = new Map<string, Tally>();
  const answers = new Map<string, Tally>();
  const tools = new Map<string, Tally>();
  const durations = new Map<string, Histogram>();
  const rateLimited: Record<LimitName, number> = { tool_calls: 0, oauth: 0, registration: 0, health: 0 };
  const totals = { refusedTokens: 0, storageErrors: 0, rateLimited };
  return {
    requests,
    /** HTTP requests by route, and `other`. */
    answers,
    tools,
    durations,
    totals,
    /** Takes note of an answered request. */
    countRequest({ method, tool, outcome, durationMs }: AuditEntry): void {
      count(requests, known.has(method) ? method : "other", outcome);
      if (outcome === "rate_limited") rateLimited.tool_calls++;
      if (tool === null) return; // the audit names registered tools only
      count(tools, tool, outcome);
      let histogram = durations.get(tool);
      if (histogram === undefined) durations.set(tool, histogram = { counts: [], sum: 0 });
      const seconds = durationMs / 1_000;
      const found = durationBounds.findIndex((bound) => seconds <= bound);
      const bucket = found < 0 ? durationBounds.length : found;
      histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
      histogram.sum += seconds;
    },
    /** Takes note of an HTTP answer; `null` is a path that is no route. */
    countAnswer: (route: string | null, status: number): void => count(answers, route ?? "other", String(status)),
    countRefusedToken(): void {
      totals.refusedTokens++;
    },
    countRateLimited(limit: LimitName): void {
      rateLimited[limit]++;
    },
    countStorageError(): void {
      totals.storageErrors++;
    },
  };
}

function count(tallies: Map<string, Tally>, name: string, key: string): void {
  let tally = tallies.get(name);
  if (tally === undefined) tallies.set(name, tally = {});
  tally[key] = (tally[key] ?? 0) + 1;
}

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

/** The metrics as Prometheus reads them (text format 0.0.4). `gauges` are measured by the caller at the scrape. */
export function expose({ requests, answers, tools, durations, totals }: Counts, gauges: Gauges): string {
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
  const tallied = (name: string, help: string, tallies: ReadonlyMap<string, Tally>, labels: [string, string]): void => {
    family(name, "counter", help);
    for (const [each, tally] of tallies) {
      for (const [key, value] of Object.entries(tally)) sample(name, value, { [labels[0]]: each, [labels[1]]: key });
    }
  };

  const answered = "JSON-RPC requests answered, by method and outcome.";
  tallied("portcullis_requests_total", answered, requests, ["method", "outcome"]);
  tallied("portcullis_http_requests_total", "HTTP requests answered, by route and status.", answers, [
    "route",
    "status",
  ]);
  tallied("portcullis_tool_calls_total", "Tool calls answered, by tool and outcome.", tools, ["tool", "outcome"]);
  const seconds = "portcullis_tool_call_duration_seconds";
  family(seconds, "histogram", "How long tool calls took to answer, refused ones included.");
  for (const [tool, { counts, sum }] of durations) {
    let total = 0;
    for (const [bucket, bound] of [...durationBounds, Infinity].entries()) {
      total += counts[bucket] ?? 0;
      sample(`${seconds}_bucket`, total, { tool, le: valueText(bound) });
    }
    sample(`${seconds}_sum`, sum, { tool });
    sample(`${seconds}_count`, total, { tool });
  }
  single("portcullis_refused_tokens_total", "counter", "Requests with a token that was refused.", totals.refusedTokens);
  family("portcullis_rate_limited_total", "counter", "Requests refused by a rate limit, by limit.");
  for (const [limit, value] of Object.entries(totals.rateLimited)) {
    sample("portcullis_rate_limited_total", value, { limit });
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
