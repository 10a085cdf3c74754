/** The stored audit of a server: takes the lines that the log gets, and removes the oldest. */
import type { AuditSettings } from "../audit/mod_settings.ts";
import {
  type AuditLine,
  type AuditParts,
  createAuditRecorder,
  limitStrangers,
  lineOfLog,
  lineOfRequest,
  trimAudit,
} from "../audit/mod.ts";
import { systemTimers, type Timers } from "../lib/time.ts";
import type { Log } from "../lib/log.ts";
import type { TakeAudit } from "../mcp/mod.ts";

interface StoredAudit {
  /** The log given, whose audit lines are stored too; those of requests come by {@link recordRequest}. */
  readonly log: Log;
  readonly recordRequest: TakeAudit;
  /** Stores what waits. */
  close(): Promise<void>;
}

const trimIntervalMs = 300_000;
/** Of AUDIT_MAX_BYTES, what may be written before the oldest lines are looked at again. */
const trimShare = 0.05;

export function startStoredAudit(
  settings: AuditSettings,
  parts: AuditParts & {
    readonly timers?: Timers | undefined;
    readonly createId: () => string;
    /** Is given the lines of requests too, stored or not. */
    readonly onRequest?: (line: AuditLine) => void;
    /** The time by which what is too old may be removed, where the wall clock can be trusted. */
    readonly steadyNow?: () => number | null;
  },
): StoredAudit {
  const { log, clock, timers = systemTimers, steadyNow = clock, onRequest } = parts;
  let trimming: Promise<unknown> | null = null;
  let written = 0;
  const trim = (): void => {
    written = 0;
    trimming ??= trimAudit(parts, { ...settings, now: steadyNow() })
      .catch((error) => log.write("error", "audit_not_trimmed", { error: String(error) }))
      .finally(() => trimming = null);
  };
  const stopTrimming = timers.every(trimIntervalMs, trim);
  const stop = async (): Promise<void> => {
    stopTrimming();
    await trimming;
  };
  // Callers without a token are in the log alone: strangers do not fill the storage.
  const takeRequest = (record: (line: AuditLine) => void): TakeAudit => (entry, params) => {
    if (entry.subject === null) return;
    const line = lineOfRequest(entry, params);
    record(line);
    onRequest?.(line);
  };
  if (settings.maxBytes === 0) return { log, recordRequest: takeRequest(() => {}), close: stop };

  const recorder = createAuditRecorder({
    ...parts,
    holder: parts.createId(),
    onStored(bytes) {
      written += bytes;
      if (written > settings.maxBytes * trimShare) trim();
    },
  });
  const recordOfLog = limitStrangers(recorder.record, clock);
  return {
    log: {
      write(level, event, fields) {
        log.write(level, event, fields);
        if (level === "audit" && event !== "request") recordOfLog(lineOfLog(clock(), event, fields));
      },
      flush: () => log.flush(),
    },
    recordRequest: takeRequest(recorder.record),
    async close() {
      await stop();
      await recorder.close();
    },
  };
}
