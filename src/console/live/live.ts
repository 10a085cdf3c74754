/** What the console sees of the calls that run, on every instance, and what it can stop. */
import * as z from "zod";
import { type Clock, createPause, systemTimers, type Timers } from "../../lib/time.ts";
import type { Log } from "../../lib/log.ts";
import { changeEntry, watchEntries } from "../../lib/stored_entries.ts";
import type { Storage, StorageKey } from "../../storage/mod.ts";
import { createCallTable, type EndedCall, type InstanceReport, instanceReport, type LiveCall } from "./call_table.ts";
import type { AuditLine } from "../../audit/mod.ts";
import type { CallWatch } from "../../mcp/mod.ts";
import { createCallSwitches, type SwitchState } from "./call_switches.ts";

// * Asks the other instances through the storage what runs there, or to cancel a call. Each one that is there writes an
// answer; after a bounded time the asker goes on with those that came.

interface OtherInstances {
  /** The reports of the others; `cancel` is the id of a call to cancel. */
  ask(cancel: string | null): Promise<readonly InstanceReport[]>;
  close(): void;
}

interface OtherInstancesOptions {
  readonly instance: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  readonly log: Log;
  readonly createId: () => string;
  /** Answers a question of another instance. */
  readonly report: (cancel: string | null) => InstanceReport;
}

const asksKey: StorageKey = ["live_ask", "current"];
const question = z.lazy(() =>
  z.object({ id: z.string(), from: z.string(), at: z.number(), cancel: z.string().nullable() })
);
const questions = z.lazy(() => z.array(question));
/** How long the asker waits for the slowest instance. */
const answerMs = 1_400;
/** How often it waits that long for instances that it does not know; otherwise until those have answered that did. */
const searchEveryMs = 10_000;
const lookMs = 100;
/** Questions and answers are gone after that; some of it is for clocks that are apart. */
const lifetimeMs = 180_000;
const maxQuestions = 20;
const maxInstances = 100;

function createOtherInstances(options: OtherInstancesOptions): OtherInstances {
  const { instance, storage, clock, timers = systemTimers, log, createId, report } = options;
  const pause = createPause(timers);
  const answered = new Set<string>();
  let known: readonly string[] = [];
  let searchedAt = -Infinity;
  const answersKey = (id: string): StorageKey => ["live_answer", id];

  const look = async (): Promise<void> => {
    const asked = questions.safeParse((await storage.get(asksKey))?.value).data ?? [];
    const open = asked.filter(({ id, from }) => from !== instance && !answered.has(id));
    answered.clear();
    for (const { id } of asked) answered.add(id);
    for (const { id, cancel } of open) {
      await storage.commit({
        puts: [{ key: [...answersKey(id), instance], value: report(cancel), expiresAt: clock() + lifetimeMs }],
      });
    }
  };
  const watch = watchEntries(storage, [asksKey], look, { log, timers });

  const put = async (asking: z.infer<typeof question>): Promise<void> => {
    await changeEntry(storage, asksKey, (value) => {
      const before = questions.safeParse(value).data ?? [];
      return [...before, asking].slice(-maxQuestions);
    }, { expiresAt: clock() + lifetimeMs });
  };
  return {
    async ask(cancel) {
      const id = createId();
      await put({ id, from: instance, at: clock(), cancel });
      const begin = timers.elapsed();
      const isSearch = begin - searchedAt > searchEveryMs;
      for (;;) {
        await pause(lookMs);
        const entries = await storage.list(answersKey(id), { limit: maxInstances });
        const reports = entries.map(({ value }) => instanceReport.safeParse(value).data).filter((each) =>
          each !== undefined
        );
        const found = reports.map((each) => each.instance);
        if (timers.elapsed() - begin >= answerMs) {
          known = found;
          searchedAt = begin;
          return reports;
        }
        if (
          cancel !== null
            ? reports.some(({ cancelled }) => cancelled)
            : !isSearch && known.every((id) => found.includes(id))
        ) {
          return reports;
        }
      }
    },
    close: () => watch.stop(),
  };
}

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
