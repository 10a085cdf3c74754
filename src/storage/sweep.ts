/** sweep() for Deno KV: by the index records, so that live entries are not read. */
import { addChunkRemoval, decodeRecord, isLive, kvKeys, type LargeIndexRecord } from "./records.ts";
import { decodeValue } from "./values.ts";
import type { Unlocked } from "./locked.ts";
import type { StorageKey } from "./port.ts";

const expiredAtOnce = 10; // one getMany(), one commit

interface Expired {
  readonly index: Deno.KvKey;
  readonly key: StorageKey;
}

/** Deletes the entries that had expired at `now` and says how many; then the chunks that no entry refers to. */
export async function sweepDenoKv(kv: Deno.Kv, now: number, unlocked: Unlocked): Promise<number> {
  let total = 0;
  let group: Expired[] = [];
  // An index record holds the key of an entry that was written with this expiry; it may have been written anew since.
  const selector = { start: ["expiry"], end: ["expiry", now, true] };
  for await (const { key: index, value } of kv.list(selector)) {
    group.push({ index, key: decodeValue<StorageKey>(value) });
    if (group.length < expiredAtOnce) continue;
    total += await removeExpired(kv, group, now, unlocked);
    group = [];
  }
  total += await removeExpired(kv, group, now, unlocked);
  for await (const { key: [, id], value } of kv.list({ prefix: ["large"] })) {
    const { key, chunks } = decodeValue<LargeIndexRecord>(value);
    const record = decodeRecord((await kv.get(kvKeys.entry(key))).value);
    const isReferred = record !== null && !(record.content instanceof Uint8Array) && record.content.id === id;
    if (isReferred) continue;
    const operation = kv.atomic();
    addChunkRemoval(operation, { id: String(id), chunks });
    await unlocked(() => operation.commit());
  }
  return total;
}

async function removeExpired(
  kv: Deno.Kv,
  group: readonly Expired[],
  now: number,
  unlocked: Unlocked,
): Promise<number> {
  if (group.length === 0) return 0;
  const found = await kv.getMany<unknown[]>(group.map(({ key }) => kvKeys.entry(key)));
  const operation = kv.atomic();
  const expired = new Set<string>(); // several index records may name one entry
  for (const { key, value, versionstamp } of found) {
    const record = decodeRecord(value);
    if (record === null || isLive(record, now)) continue;
    operation.check({ key, versionstamp }).delete(key);
    expired.add(JSON.stringify(key));
  }
  for (const { index } of group) operation.delete(index);
  if ((await unlocked(() => operation.commit())).ok) return expired.size;
  // One of them was written at the same moment: each on its own, and that one at the next sweep.
  if (group.length === 1) return 0;
  let total = 0;
  for (const each of group) total += await removeExpired(kv, [each], now, unlocked);
  return total;
}
