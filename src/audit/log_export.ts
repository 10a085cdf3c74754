/**
 * Sends log records to a collector (OTLP/HTTP, JSON): a bounded queue, one request at a time, each tried a few times.
 * What finds the queue full or is refused is lost, counted and reported; nothing waits for the collector.
 */
import { readBounded } from "../lib/request_text.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { Log } from "../lib/log.ts";
import { createPause, type Timers } from "../lib/time.ts";
import type { LogsTarget } from "./mod_settings.ts";

/** What is sent of one line. */
export interface LogRecord {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | number | null>>;
}

export interface ExportState {
  /** Scheme, name and port of the collector. */
  readonly collector: string;
  readonly sent: number;
  readonly lost: number;
  readonly waiting: number;
  /** Why the last request failed; `null` where it did not. */
  readonly problem: string | null;
}

export interface LogExport {
  /** Never throws and never waits. */
  add(records: readonly LogRecord[]): void;
  readonly state: ExportState;
  /** Sends what waits, for a bounded time. */
  close(): Promise<void>;
}

interface LogExportOptions {
  readonly target: LogsTarget;
  readonly version: string;
  /** Names this process among its service's. */
  readonly instance: string;
  readonly fetch: typeof globalThis.fetch;
  readonly timers: Timers;
  readonly log: Log;
  readonly limits?: Partial<typeof exportLimits>;
}

export const exportLimits = {
  maxWaitingRecords: 20_000,
  maxRecordsAtOnce: 500,
  maxAttempts: 5,
  firstPauseMs: 1_000,
  maxPauseMs: 30_000,
  /** At the end of the server. */
  closeMs: 2_000,
};
const sayEveryMs = 60_000;
const maxAnswerBytes = 65_536;
const scope = "portcullis.audit";
const severityInfo = 9;

/** What a request came to: `rejected` of its records were not taken. */
type Sent =
  | { readonly ok: true; readonly rejected: number }
  | { readonly ok: false; readonly problem: string; readonly again: boolean; readonly afterMs?: number };

export function createLogExport(options: LogExportOptions): LogExport {
  const { target, fetch, timers, log } = options;
  const limits = { ...exportLimits, ...options.limits };
  const pause = createPause(timers);
  const closing = new AbortController();
  /** Of the request that is on its way. */
  let underway = new AbortController();
  let isOver = false;
  const collector = new URL(target.url).origin;
  let waiting: LogRecord[] = [];
  let sending: Promise<void> | null = null;
  let problem: string | null = null;
  let sent = 0;
  let lost = 0;
  /** Of `lost`, what the log has not said. */
  let unsaid = 0;
  let saidAt = -Infinity;

  const lose = (count: number): void => {
    lost += count;
    unsaid += count;
  };
  const sayLost = (): void => {
    if (unsaid === 0 || (timers.elapsed() - saidAt < sayEveryMs && !closing.signal.aborted)) return;
    log.write("warn", "audit_export_lost", { collector, lines: unsaid });
    unsaid = 0;
    saidAt = timers.elapsed();
  };
  const post = async (records: readonly LogRecord[]): Promise<Sent> => {
    underway = new AbortController();
    const { signal } = underway;
    const stopTimer = timers.after(target.timeoutMs, () => underway.abort());
    try {
      const response = await fetch(target.url, {
        method: "POST",
        headers: [["content-type", "application/json"], ...target.headers.map(([name, value]) => [name, value])],
        body: encodeRecords(records, options),
        redirect: "manual",
        signal,
      });
      return await judge(response, limits.maxPauseMs);
    } catch {
      // an error's text may hold the URL, and that a key
      return {
        ok: false,
        problem: signal.aborted ? "it does not answer in time" : "it cannot be reached",
        again: true,
      };
    } finally {
      stopTimer();
    }
  };
  const deliver = async (records: readonly LogRecord[]): Promise<void> => {
    let pauseMs = limits.firstPauseMs;
    for (let attempt = 1;; attempt++) {
      const outcome = await post(records);
      if (outcome.ok) {
        if (problem !== null) log.write("info", "audit_export_works", { collector });
        problem = null;
        const rejected = Math.min(outcome.rejected, records.length);
        sent += records.length - rejected;
        return lose(rejected);
      }
      if (problem === null) log.write("warn", "audit_export_failed", { collector, problem: outcome.problem });
      problem = outcome.problem;
      if (!outcome.again || attempt >= limits.maxAttempts || closing.signal.aborted) return lose(records.length);
      await pause(Math.max(pauseMs, outcome.afterMs ?? 0), closing.signal);
      pauseMs = Math.min(2 * pauseMs, limits.maxPauseMs);
    }
  };
  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0 && !isOver) {
      const records = waiting.slice(0, limits.maxRecordsAtOnce);
      await deliver(records);
      waiting = waiting.slice(records.length);
      sayLost();
    }
  };
  return {
    add(records) {
      const room = Math.max(0, limits.maxWaitingRecords - waiting.length);
      waiting.push(...records.slice(0, room));
      lose(Math.max(0, records.length - room));
      sending ??= sendAll().finally(() => sending = null);
    },
    get state() {
      return { collector, sent, lost, waiting: waiting.length, problem };
    },
    async close() {
      closing.abort();
      const stopTimer = timers.after(limits.closeMs, () => {
        isOver = true;
        underway.abort();
      });
      await sending;
      stopTimer();
      lose(waiting.length);
      waiting = [];
      sayLost();
    },
  };
}

/** OTLP §"OTLP/HTTP Response": which failures are tried again, and what a collector may not have taken of a request. */
async function judge(response: Response, maxPauseMs: number): Promise<Sent> {
  const { ok, status, headers } = response;
  if (!ok) {
    await response.body?.cancel();
    const again = [429, 502, 503, 504].includes(status);
    const seconds = Number(headers.get("retry-after") ?? "0");
    const afterMs = Number.isFinite(seconds) ? Math.min(seconds * 1_000, maxPauseMs) : 0;
    return { ok: false, problem: `it answers with status ${status}`, again, afterMs };
  }
  const bytes = await readBounded(response, maxAnswerBytes);
  const answer = parseJson(new TextDecoder().decode(bytes ?? undefined));
  const partial = isObject(answer) && isObject(answer["partialSuccess"]) ? answer["partialSuccess"] : {};
  const rejected = Number(partial["rejectedLogRecords"] ?? 0);
  return { ok: true, rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0 };
}

function encodeRecords(
  records: readonly LogRecord[],
  { target, version, instance }: Pick<LogExportOptions, "target" | "version" | "instance">,
): string {
  const resource = {
    "service.name": target.serviceName,
    "service.version": version,
    "service.instance.id": instance,
  };
  return JSON.stringify({
    resourceLogs: [{
      resource: { attributes: encodeAttributes(resource) },
      scopeLogs: [{ scope: { name: scope, version }, logRecords: records.map(encodeRecord) }],
    }],
  });
}

function encodeRecord({ time, body, attributes }: LogRecord): object {
  return {
    timeUnixNano: `${Math.round(time)}000000`,
    observedTimeUnixNano: `${Math.round(time)}000000`,
    severityNumber: severityInfo,
    severityText: "INFO",
    body: { stringValue: body },
    attributes: encodeAttributes(attributes),
  };
}

function encodeAttributes(attributes: LogRecord["attributes"]): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null
      ? []
      : [{ key, value: typeof value === "number" ? { doubleValue: value } : { stringValue: value.toWellFormed() } }]
  );
}
