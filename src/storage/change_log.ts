/**
 * Which watchable entries changed, and that others did, in a table that every process writes in the transaction of the change itself and
 * reads on from where it was. SQLite's transactions follow each other, so the numbers have no gaps; the oldest rows go
 * as new ones come, and who missed them is told that anything may have changed.
 */
import type { DatabaseSync } from "node:sqlite";
import { systemTimers } from "../lib/timers.ts";
import type { KeyedWatches } from "./keyed_watches.ts";
import type { StorageKey } from "./port.ts";
import { isCounted, isWatchable } from "./watched_families.ts";

const keptRows = 10_000;
const readAtOnce = 1_000;
/** In place of a key: something changed that cannot be watched. No entry has it. */
const unnamed = "";

/** The log of one connection. */
interface SqliteChangeLog {
  /** The number of the last note; moves with every counted commit, of this process or another. */
  last(): number;
  /** Notes changed entries, within the transaction that changes them; gives the number of the last note. */
  add(entries: readonly { readonly key: StorageKey; readonly keyText: string }[]): number;
  /** Tells `watches` of what is added from here on, until the returned function is called. */
  follow(options: FollowOptions, watches: Pick<KeyedWatches, "tell" | "tellAll">): () => void;
}

interface FollowOptions {
  readonly intervalMs: number;
  /** Moves with every commit, and costs less than to ask SQLite; `null` where there is no such number. */
  readonly commitCount: (() => number) | null;
}

interface Row {
  readonly sequence: number;
  readonly key: string;
}

export function createSqliteChangeLog(database: DatabaseSync): SqliteChangeLog {
  const insert = database.prepare("INSERT INTO change (key) VALUES (?)");
  const trim = database.prepare(
    `DELETE FROM change WHERE sequence <= (SELECT max(sequence) FROM change) - ${keptRows}`,
  );
  const selectLast = database.prepare("SELECT coalesce(max(sequence), 0) AS last FROM change");
  const selectAfter = database.prepare(
    `SELECT sequence, key FROM change WHERE sequence > ? ORDER BY sequence LIMIT ${readAtOnce}`,
  );
  const last = (): number => (selectLast.get() as { last: number }).last;
  return {
    last,
    add(entries) {
      const watchable = entries.filter(({ key }) => isWatchable(key));
      for (const { keyText } of watchable) insert.run(keyText);
      const isUnnamed = watchable.length === 0 && entries.some(({ key }) => isCounted(key));
      if (isUnnamed) insert.run(unnamed);
      if (isUnnamed || watchable.length > 0) trim.run();
      return last();
    },
    follow({ intervalMs, commitCount }, { tell, tellAll }) {
      const begin = (): number | null => {
        try {
          return last();
        } catch {
          return null; // the disk failed: who watches hears when it is back
        }
      };
      const readOn = (after: number): readonly Row[] | null => {
        try {
          return selectAfter.all(after) as unknown as readonly Row[];
        } catch {
          return null; // likewise: the next look begins where this one did
        }
      };
      let seen = begin();
      let readAt: number | null = null;
      return systemTimers.every(intervalMs, () => {
        if (seen === null) {
          seen = begin();
          if (seen !== null) tellAll();
          return;
        }
        const count = commitCount?.() ?? null;
        if (count !== null && count === readAt) return;
        const rows = readOn(seen);
        readAt = rows === null || rows.length === readAtOnce ? null : count;
        const first = rows?.[0];
        if (rows === null || first === undefined) return;
        const isWhole = first.sequence === seen + 1;
        seen = rows.at(-1)?.sequence ?? seen;
        if (!isWhole) return tellAll();
        for (const key of new Set(rows.map((row) => row.key))) tell(key);
      });
    },
  };
}
