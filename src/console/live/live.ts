/** What the console sees of the calls that run, on every instance, and what it can stop. */
import type { AuditLine } from "../../audit/line.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Timers } from "../../lib/timers.ts";
import type { CallWatch } from "../../mcp/call_watch.ts";
import type { Storage } from "../../storage/port.ts";
import { createCallSwitches, type SwitchState } from "./call_switches.ts";
import { createCallTable } from "./call_table.ts";
import { createOtherInstances } from "./other_instances.ts";
import type { EndedCall, InstanceReport, LiveCall } from "./reports.ts";

/** The calls of all instances that answered. */
interface LiveView {
  /** The oldest first. */
  readonly calls: readonly LiveCall[];
  /** The newest first. */
  readonly ended: readonly EndedCall[];
  readonly instances: number;
}

export interface Live {
  /** For the protocol server. */
  readonly callWatch: CallWatch;
  noteEnd(line: AuditLine): void;
  view(): Promise<LiveView>;
  /** Cancels a call on the instance where it runs; `false` when it has ended. */
  cancel(id: string, by: string): Promise<boolean>;
  readonly switches: SwitchState;
  /** Stops every call of every client, also those that run; stored until {@link resumeAll}. */
  stopAll(by: string): Promise<void>;
  resumeAll(by: string): Promise<void>;
  pauseClient(client: string, by: string): Promise<void>;
  resumeClient(client: string, by: string): Promise<void>;
  close(): void;
}

interface LiveOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  readonly log: Log;
  readonly createId: () => string;
  /** Whether other instances may have to be asked. */
  readonly hasOthers: boolean;
}

/** Reads the switches before the first call can come. */
export async function openLive(options: LiveOptions): Promise<Live> {
  const { log, createId, hasOthers } = options;
  const instance = createId();
  const table = createCallTable({ ...options, instance });
  const switches = createCallSwitches({
    ...options,
    onChange: () => table.cancelAll(({ principal }) => switches.refusal(principal) !== null),
  });
  const report = (cancel: string | null): InstanceReport => {
    const cancelled = cancel !== null && table.cancel(cancel);
    return { instance, calls: table.list(), ended: table.ended(), cancelled };
  };
  const others = hasOthers ? createOtherInstances({ ...options, instance, report }) : null;
  await switches.load();
  return {
    callWatch: { refusal: switches.refusal, enter: table.enter },
    noteEnd: table.noteEnd,
    async view() {
      const reports = [report(null), ...await others?.ask(null) ?? []];
      return {
        calls: reports.flatMap(({ calls }) => calls).sort((a, b) => a.since - b.since),
        ended: reports.flatMap(({ ended }) => ended).sort((a, b) => b.time - a.time),
        instances: reports.length,
      };
    },
    async cancel(id, by) {
      const cancelled = table.cancel(id) || (await others?.ask(id) ?? []).some((each) => each.cancelled);
      log.write("audit", "call_cancelled", { user: by, outcome: cancelled ? "cancelled" : "not_found" });
      return cancelled;
    },
    get switches() {
      return switches.state;
    },
    stopAll: switches.stopAll,
    resumeAll: switches.resumeAll,
    pauseClient: switches.pauseClient,
    resumeClient: switches.resumeClient,
    close() {
      switches.close();
      others?.close();
    },
  };
}
