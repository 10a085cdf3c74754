/** Watches a store-backed workspace: each change adds its paths to one entry, which is watched on every instance. */
import * as z from "zod";
import { parseStored } from "../../lib/system_fault.ts";
import type { Clock } from "../../lib/time.ts";
import type { Log } from "../../lib/log.ts";
import { watchEntries } from "../../lib/stored_entries.ts";
import type { Put, Storage, StorageKey } from "../../storage/mod.ts";
import { type AccessPatterns, createAccessRules } from "../workspace/access_rules.ts";
import { type ChangeGathering, createChangeNotices, type WatchWorkspace } from "../workspace/watch.ts";
import type { ChangeStep } from "../workspace/change.ts";

const keptChanges = 20;

const changesShape = z.object({
  /** How many there have ever been. */
  count: z.int(),
  /** The last ones: when, the paths as texts, and whether files appeared or disappeared. */
  recent: z.array(z.tuple([z.number(), z.array(z.string()), z.boolean()])),
});

type Changes = z.infer<typeof changesShape>;

/** Where the changes of the workspace `name` are announced. */
function changesKey(name: string): StorageKey {
  return ["workspace_change", name];
}

async function readChanges(storage: Storage, name: string): Promise<Changes> {
  const stored = await storage.get(changesKey(name));
  return stored === null ? { count: 0, recent: [] } : parseStored(changesShape, stored.value, "workspace_change");
}

/**
 * The write that announces what a step changes, for its batch. Batches of one workspace exclude each other, by the check
 * on its usage: that has to be read before.
 */
export async function announceChange(
  { storage, name, now }: { readonly storage: Storage; readonly name: string; readonly now: number },
  step: ChangeStep,
): Promise<Put> {
  const { count, recent } = await readChanges(storage, name);
  const paths = step.op === "move" ? [step.from, step.path] : [step.path];
  const isListChanged = step.op === "put" ? step.created : step.op !== "make";
  const newest: Changes["recent"][number] = [now, paths, isListChanged];
  const value: Changes = {
    count: count + 1,
    recent: [...recent, newest].slice(-keptChanges),
  };
  return { key: changesKey(name), value };
}

/** How a store-backed workspace is watched. */
interface StoreWatchOptions extends ChangeGathering {
  readonly storage: Storage;
  /** As in `openStoreWorkspace`. */
  readonly name: string;
  readonly access: AccessPatterns;
  readonly clock: Clock;
  readonly log: Log;
}

/** The clocks of two instances may differ by so much; a change just before the watch may be told too. */
const clockToleranceMilliseconds = 1_000;

/** Watches a stored workspace through its record of recent changes, so changes of other instances are noticed too. */
export function createStoreWatch(options: StoreWatchOptions): WatchWorkspace {
  const { storage, name, clock, log } = options;
  const { isDenied } = createAccessRules(options.access);
  return (onChange) => {
    const since = clock() - clockToleranceMilliseconds;
    const notices = createChangeNotices({ ...options, isDenied, onChange });
    let seen: number | null = null;
    let closed = false;
    const watch = watchEntries(storage, [changesKey(name)], async () => {
      const { count, recent } = await readChanges(storage, name);
      if (closed) return;
      const fresh = seen === null ? recent.filter(([at]) => at >= since).length : count - seen;
      seen = count;
      if (fresh > recent.length) {
        notices.addUnknown();
        notices.addListChange();
      }
      for (const [, texts, isListChanged] of fresh === 0 ? [] : recent.slice(-fresh)) {
        const paths = texts.map((text) => text.split("/"));
        notices.addAll(paths);
        if (isListChanged && !paths.every(isDenied)) notices.addListChange();
      }
    }, { log });
    watch.look();
    return {
      close() {
        closed = true;
        watch.stop();
        notices.close();
        return Promise.resolve();
      },
    };
  };
}
