/**
 * Asks the other instances through the storage what runs there, or to cancel a call. Each one that is there writes an
 * answer; after a bounded time the asker goes on with those that came.
 */
import * as z from "zod";
import { createPause } from "../../lib/pause.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { systemTimers, type Timers } from "../../lib/timers.ts";
import { changeEntry } from "../../lib/stored_entries.ts";
import { watchEntries } from "../../lib/watch_entries.ts";
import type { Storage, StorageKey } from "../../storage/port.ts";
import { type InstanceReport, instanceReport } from "./reports.ts";

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
/** How long the asker waits: Deno KV notices a question after a second, other storages sooner. */
const answerMs = 1_400;
/** How often it waits that long for instances that it does not know; otherwise until those have answered that did. */
const searchEveryMs = 10_000;
const lookMs = 100;
/** Questions and answers are gone after that; some of it is for clocks that are apart. */
const lifetimeMs = 180_000;
const maxQuestions = 20;
const maxInstances = 100;

export function createOtherInstances(options: OtherInstancesOptions): OtherInstances {
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
