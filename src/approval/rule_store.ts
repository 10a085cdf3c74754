/** The rules as they are stored: one entry, so that their order changes at once, and everywhere. */
import * as z from "zod";
import type { Clock } from "../lib/time/clock.ts";
import type { Log } from "../lib/log/log.ts";
import { watchEntries } from "../lib/watch_entries.ts";
import type { Storage, StorageKey } from "../storage/port.ts";
import { type Rule, ruleSchema } from "./rule.ts";

export const maxRules = 200;
const key: StorageKey = ["approval_rules", "current"];
const storedShape = z.object({ rules: z.array(ruleSchema) });
const maxAttempts = 20;

export interface RuleStore {
  /** As last read: of this instance's own changes at once, of others' as soon as the storage tells. */
  readonly current: readonly Rule[];
  /** Reads them anew. */
  load(): Promise<void>;
  /** Replaces them by what `change` makes of them; `null` from it, or too many, changes nothing. */
  change(change: (rules: readonly Rule[]) => readonly Rule[] | null): Promise<boolean>;
  close(): void;
}

export function createRuleStore(
  { storage, clock, log }: { readonly storage: Storage; readonly clock: Clock; readonly log: Log },
): RuleStore {
  let current: readonly Rule[] = [];
  const read = async () => {
    const entry = await storage.get(key);
    return { version: entry?.version ?? null, rules: entry === null ? [] : storedShape.parse(entry.value).rules };
  };
  const load = async (): Promise<void> => {
    current = (await read()).rules;
  };
  const watch = watchEntries(storage, [key], load, { log });
  return {
    get current() {
      return current;
    },
    load,
    async change(change) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const { version, rules } = await read();
        const changed = change(rules.filter(({ until }) => until === undefined || until > clock()));
        // none is dropped to make room: it may be the one that asks
        if (changed === null || changed.length > maxRules) return false;
        if (await storage.commit({ checks: [{ key, version }], puts: [{ key, value: { rules: changed } }] })) {
          current = changed;
          return true;
        }
      }
      throw new Error("the rules are changed too often");
    },
    close: () => watch.stop(),
  };
}
