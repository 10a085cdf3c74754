/**
 * Ties a database to the master key that it was first used with. An instance that made a key of its own, or a restored
 * database without its key, would otherwise start, refuse every token, and seal new records that the others cannot open.
 */
import type { Problem } from "../lib/problem.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Storage, StorageKey } from "./port.ts";

export const markKey: StorageKey = ["installation", "master_key_mark"];

/** A database and a key that do not belong together. */
export const wrongMasterKey: Problem = {
  problem: "the database was written with another master key than this instance has",
  remedy: "give every instance the same master key: copy master.key from the first one, or from the backup",
};

/** What shows which master key it is, and does not reveal it. */
export function masterKeyMark(secrets: SecretBox): string {
  return secrets.authenticate("master-key-mark", "v1");
}

/** The mark of the key that the database is bound to; `null` before the first start. */
export async function boundMark(storage: Storage): Promise<unknown> {
  return (await storage.get(markKey))?.value ?? null;
}

/** Binds the database to another key: the last step of its change. */
export async function rebindMasterKey(storage: Storage, mark: string): Promise<void> {
  await storage.commit({ puts: [{ key: markKey, value: mark }] });
}

/** `mark` is derived from the key and does not reveal it. Leaves the mark on a database that has none. */
export async function bindMasterKey(storage: Storage, mark: string): Promise<Result<null, Problem>> {
  for (;;) {
    const found = await storage.get(markKey);
    if (found === null) {
      const marked = await storage.commit({
        checks: [{ key: markKey, version: null }],
        puts: [{ key: markKey, value: mark }],
      });
      if (marked) return success(null);
      continue; // another instance was first
    }
    if (found.value === mark) return success(null);
    return failure(wrongMasterKey);
  }
}

/** A storage that can be used. */
export interface SoundStorage {
  readonly kind: "sound";
  /** Of the master key that it is bound to; `null` when no server has used it yet. */
  readonly mark: unknown;
  /** Whether the entry that was looked for is there. */
  readonly isFound: boolean;
}

/** Nothing is there yet: the first start makes it. */
export interface AbsentStorage {
  readonly kind: "absent";
}
