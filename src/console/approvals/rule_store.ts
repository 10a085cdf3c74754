/** The rules as they are stored: one entry, so that they change at once, and everywhere. */
import * as z from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { joinNext } from "../../lib/join_next.ts";
import { changeEntry } from "../../lib/stored_entries.ts";
import { watchEntries } from "../../lib/watch_entries.ts";
import type { Storage, StorageKey } from "../../storage/port.ts";
import { asTheyHold, type Rule, ruleSchema, ruleWords } from "./rule.ts";

export const maxRules = 200;
const key: StorageKey = ["approval_rules", "current"];
const storedShape = z.lazy(() => z.object({ rules: z.array(ruleSchema) }));

/** Who changes the rules, from where. */
interface RuleChanger {
  readonly userId: string;
  readonly address: string;
}

export interface RuleStore {
  /** As they hold, and as last read: of this instance's own changes at once, of others' as soon as the storage tells. */
  readonly current: readonly Rule[];
  /** Reads them anew. */
  load(): Promise<void>;
  /** Replaces them by what `change` makes of them; `null` from it, or too many, changes nothing. */
  change(change: (rules: readonly Rule[]) => readonly Rule[] | null, doer: RuleChanger): Promise<boolean>;
  close(): void;
}

export function createRuleStore(
  { storage, clock, log, knowsTool = () => true }: {
    readonly storage: Storage;
    readonly clock: Clock;
    readonly log: Log;
    /** Whether some version or configuration of this server has the tool. */
    readonly knowsTool?: (name: string) => boolean;
  },
): RuleStore {
  let current: readonly Rule[] = [];
  const parse = (value: unknown): readonly Rule[] => value === undefined ? [] : storedShape.parse(value).rules;
  // One look at a time: of two answers the later one could be the older.
  const load = joinNext(async (): Promise<void> => {
    current = asTheyHold(parse((await storage.get(key))?.value), knowsTool);
  });
  const watch = watchEntries(storage, [key], load, { log });
  return {
    get current() {
      return current;
    },
    load,
    async change(change, { userId, address }) {
      let before: readonly Rule[] = [];
      const stored = await changeEntry(storage, key, (value) => {
        before = parse(value).filter(({ until }) => until === undefined || until > clock());
        const rules = change(before);
        // none is dropped to make room: it may be the one that asks
        return rules === null || rules.length > maxRules ? null : { rules };
      });
      if (stored === null) return false;
      await load().catch(() => void (current = asTheyHold(stored.rules, knowsTool))); // stored, and then the storage was lost
      const what = whatChanged(before, stored.rules);
      log.write("audit", "rules_changed", { user: userId, address, outcome: "ok", what });
      return true;
    },
    close: () => watch.stop(),
  };
}

function whatChanged(before: readonly Rule[], after: readonly Rule[]): string {
  const wordsOf = (rules: readonly Rule[], others: readonly Rule[]): string =>
    rules.filter(({ id }) => !others.some((other) => other.id === id)).map(ruleWords).join(" ");
  const [added, removed] = [wordsOf(after, before), wordsOf(before, after)];
  return added !== "" ? `added: ${added}` : removed !== "" ? `removed: ${removed}` : "nothing";
}
