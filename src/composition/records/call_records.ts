/** What is kept of calls: the log with its stored audit, and those that run now. */
import type { Config } from "../../config/config.ts";
import { summariseStrangers } from "../../lib/log/summarised_log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Timers } from "../../lib/time/timers.ts";
import { type Live, openLive } from "../../live/live.ts";
import type { TakeAudit } from "../../mcp/audit.ts";
import type { Bounds } from "../bounds.ts";
import type { Installation } from "../installation.ts";
import { mayHaveSeveralInstances } from "../rate_limits.ts";
import { startStoredAudit } from "./stored_audit.ts";

interface CallRecords {
  /** For every part: its audit lines are stored too, and repeated refusals of strangers are counted. */
  readonly log: Log & { close(): void };
  readonly live: Live;
  readonly recordRequest: TakeAudit;
  close(): Promise<void>;
}

export async function openCallRecords(
  config: Config,
  parts: Installation & {
    readonly log: Log;
    readonly clock: Clock;
    readonly timers: Timers;
    readonly isSteady: () => boolean;
    readonly bounds: Bounds;
  },
): Promise<CallRecords> {
  const createId = (): string => crypto.randomUUID();
  const audit = startStoredAudit(config.audit, { ...parts, createId, onRequest: (line) => live.noteEnd(line) });
  const log = summariseStrangers(audit.log, { ...parts.bounds.log, timers: parts.timers });
  const live = await openLive({ ...parts, log, createId, hasOthers: mayHaveSeveralInstances(config) });
  return {
    log,
    live,
    recordRequest: audit.recordRequest,
    async close() {
      live.close();
      log.close();
      await audit.close();
    },
  };
}
