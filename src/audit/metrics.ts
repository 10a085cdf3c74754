/**
 * The server's counters: plain numbers that a call increments and a scrape reads, in Prometheus's text format 0.0.4.
 * Label values come from fixed lists, registered tools and this program's own words, so that no caller can make the
 * sets grow.
 */
import type { AuditEntry } from "../mcp/mod.ts";

const limits = ["tool_calls", "oauth", "registration", "health"] as const;
/** Which limit refused a request. */
export type LimitName = typeof limits[number];

/** The counters of one process. */
export type Metrics = ReturnType<typeof createMetrics>;

type Labels = Readonly<Record<string, string>>;

/** Counts from zero. `methods` are counted by name, all others as `other`. */
export function createMetrics({ methods }: { readonly methods: Iterable<string> }) {
  const known = new Set(methods);
  const requests = createFamily("portcullis_requests_total", "JSON-RPC requests answered, by method and outcome.");
  const calls = createFamily("portcullis_tool_calls_total", "Tool calls answered, by tool and outcome.");
  const durations = createDurations();
  const refusedTokens = createFamily("portcullis_refused_tokens_total", "Requests with a token that was refused.");
  const limited = createFamily("portcullis_rate_limited_total", "Requests refused by a rate limit, by limit.");
  refusedTokens.add({}, 0);
  for (const limit of limits) limited.add({ limit }, 0);
  return {
    /** Takes note of an answered request. */
    countRequest({ method, tool, outcome, durationMs }: AuditEntry): void {
      requests.add({ method: known.has(method) ? method : "other", outcome });
      if (outcome === "rate_limited") limited.add({ limit: "tool_calls" });
      if (tool === null) return; // the audit names registered tools only
      calls.add({ tool, outcome });
      durations.add(tool, durationMs / 1_000);
    },
    countRefusedToken: (): void => refusedTokens.add({}),
    countRateLimited: (limit: LimitName): void => limited.add({ limit }),
    /** The text of a scrape. */
    expose({ version, openStreams, cpuSeconds, residentBytes, heapUsedBytes, startedAt }: {
      readonly version: string;
      readonly openStreams: number;
      readonly residentBytes: number;
      readonly heapUsedBytes: number;
      /** Processor time of the process, all threads. */
      readonly cpuSeconds: number;
      /** Seconds since the epoch. */
      readonly startedAt: number;
    }): string {
      const gauges = [
        single("portcullis_open_streams", "gauge", "Event streams that are open.", openStreams),
        single("portcullis_info", "gauge", "The program that answers.", 1, { version }),
        single("process_cpu_seconds_total", "counter", "Processor time of the process.", cpuSeconds),
        single("process_resident_memory_bytes", "gauge", "Memory of the process.", residentBytes),
        single("portcullis_heap_used_bytes", "gauge", "JavaScript heap of the server in use.", heapUsedBytes),
        single("process_start_time_seconds", "gauge", "Start of the server since the epoch.", startedAt),
      ];
      return [requests, calls, durations, refusedTokens, limited].map((each) => each.text()).concat(gauges).join("");
    },
  };
}

/** A counter with labels. */
function createFamily(name: string, help: string, type = "counter") {
  const samples = new Map<string, number>();
  return {
    add(labels: Labels, value = 1): void {
      const key = labelText(labels);
      samples.set(key, (samples.get(key) ?? 0) + value);
    },
    text(): string {
      const lines = Array.from(samples, ([labels, value]) => `${name}${labels} ${value}\n`);
      return head(name, type, help) + lines.join("");
    },
  };
}

function single(name: string, type: "counter" | "gauge", help: string, value: number, labels: Labels = {}): string {
  const family = createFamily(name, help, type);
  family.add(labels, value);
  return family.text();
}

/** Upper ends of the duration's buckets in seconds: from a file's read to a model's long answer. */
const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, Infinity];

/** A histogram for each tool. */
function createDurations() {
  const name = "portcullis_tool_call_duration_seconds";
  const tools = new Map<string, { readonly counts: number[]; sum: number }>();
  return {
    add(tool: string, seconds: number): void {
      const found = tools.getOrInsertComputed(tool, () => ({ counts: durationBounds.map(() => 0), sum: 0 }));
      const bucket = durationBounds.findIndex((bound) => seconds <= bound);
      found.counts[bucket] = (found.counts[bucket] ?? 0) + 1;
      found.sum += seconds;
    },
    text(): string {
      const lines = Array.from(tools, ([tool, { counts, sum }]) => {
        let total = 0;
        const buckets = counts.map((count, index) => {
          const le = String(durationBounds[index]).replace("Infinity", "+Inf");
          return `${name}_bucket${labelText({ tool, le })} ${total += count}\n`;
        });
        const label = labelText({ tool });
        return `${buckets.join("")}${name}_sum${label} ${sum}\n${name}_count${label} ${total}\n`;
      });
      const help = "How long tool calls took to answer, refused ones included.";
      return head(name, "histogram", help) + lines.join("");
    },
  };
}

function head(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/g, (sign) => sign === "\n" ? "\\n" : `\\${sign}`);
}
