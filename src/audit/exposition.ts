/** The counts as Prometheus reads them: text format 0.0.4. */
import { cumulative } from "./histogram.ts";
import type { Counts } from "./metrics.ts";

/** The media type of {@link expose}'s text. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

/** What is measured at the moment of the scrape. */
interface Gauges {
  readonly version: string;
  /** How many servers the counts are of. */
  readonly workers: number;
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
  single("portcullis_workers", "gauge", "Workers that answer, and that these counts are of.", gauges.workers);
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
