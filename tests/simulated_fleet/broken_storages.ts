/** Storages that break one promise each: the checks of the simulation must notice every one of them. */
import type { Batch, Storage, StorageKey } from "../../src/storage/port.ts";

const isOf = (family: string) => ({ key }: { readonly key: StorageKey }): boolean => key[0] === family;

/** Writes entries of the family whatever is there. */
export function writingBlindly(family: string): (whole: Storage) => Storage {
  return (whole) => ({
    ...whole,
    commit: ({ checks = [], ...batch }: Batch) =>
      whole.commit({ ...batch, checks: checks.filter((check) => !isOf(family)(check)) }),
  });
}

/** An instance stores its own tasks as it knows them, without a look at what is there, as commit 4668edf did. */
export function savingTasksBlindly(whole: Storage): Storage {
  const own = new Map<string, unknown>();
  const storage = writingBlindly("mcp_task")(whole);
  return {
    ...storage,
    async get(key) {
      const found = await storage.get(key);
      const saved = own.get(key.join("/"));
      return found === null || saved === undefined ? found : { ...found, value: saved };
    },
    commit(batch) {
      for (const put of batch.puts ?? []) {
        const name = put.key.join("/");
        const isNew = batch.checks?.some(({ key, version }) => key.join("/") === name && version === null);
        if (isOf("mcp_task")(put) && (isNew || own.has(name))) own.set(name, put.value);
      }
      return storage.commit(batch);
    },
  };
}

/** Says that writes of the family are done, and does none. */
export function forgetting(
  family: string,
  matches: (value: unknown) => boolean = () => true,
): (whole: Storage) => Storage {
  return (whole) => ({
    ...whole,
    commit: ({ puts = [], deletes = [], ...batch }: Batch) =>
      whole.commit({
        ...batch,
        puts: puts.filter((put) => !(isOf(family)(put) && matches(put.value))),
        deletes: deletes.filter((key) => key[0] !== family),
      }),
  });
}

/** Never says that anything changed. */
export function neverChanging(whole: Storage): Storage {
  return { ...whole, changeCount: () => 0 };
}

/** Calls nobody. */
export function neverCalling(whole: Storage): Storage {
  return { ...whole, watch: () => () => {} };
}
