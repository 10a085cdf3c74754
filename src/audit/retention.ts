/**
 * Removes the oldest lines, by age and by size, and leaves a checkpoint in their place: the hash that the rest begins
 * with, under a MAC of the master key. (A signing key would do as well, but those rotate, and go.) What is removed is
 * checked first, so that the checkpoint does not vouch for lines that were changed before.
 */
import {
  type AuditParts,
  batchesOf,
  batchKey,
  bytesOf,
  type Chain,
  chainsKey,
  type Checkpoint,
  hashBatch,
  isGenuine,
  lineCountOf,
  macOfCheckpoint,
  maxChains,
  parseBatch,
  parseChain,
  sealHead,
} from "./chain.ts";
import type { AuditSettings } from "./mod_settings.ts";
import type { StorageKey } from "../storage/mod.ts";

/** Of one commit. */
const batchesAtOnce = 90;
/** Of one run; the next one goes on. */
const maxRemovals = 500;

interface StoredChain {
  readonly name: string;
  readonly key: StorageKey;
  readonly version: string;
  readonly chain: Chain;
  /** When its oldest batch began. */
  readonly from: number;
}

/** Removes what is over the limits at `now` (without one, by size alone), and gives the count of lines removed. */
export async function trimAudit(
  parts: AuditParts,
  { keepMs, maxBytes, now }: AuditSettings & { readonly now: number | null },
): Promise<number> {
  const before = now === null ? -Infinity : now - keepMs;
  let removed = 0;
  for (let run = 0; run < maxRemovals; run++) {
    const chains = await readChains(parts);
    const overBytes = chains.reduce((sum, { chain }) => sum + chain.bytes, 0) - maxBytes;
    let lines: number | null = null;
    for (const next of chains.sort((a, b) => a.from - b.from)) {
      lines = await trimChain(parts, next, { overBytes, before });
      if (lines !== null) break;
    }
    if (lines === null) return removed;
    removed += lines;
  }
  return removed;
}

/** The genuine chains that hold batches. One whose oldest batch cannot be read counts as the oldest, so it is trimmed first. */
async function readChains({ storage, secrets }: AuditParts): Promise<StoredChain[]> {
  const chains: StoredChain[] = [];
  for (const { key, value, version } of await storage.list(chainsKey, { limit: maxChains })) {
    const chain = parseChain(value);
    const name = key.at(-1) ?? "";
    const removed = chain?.removed?.seq ?? 0;
    if (chain === null || chain.seq <= removed || !isGenuine(secrets, name, chain)) continue;
    const oldest = parseBatch((await storage.get(batchKey(name, removed + 1)))?.value);
    chains.push({ name, key, version, chain, from: oldest?.from ?? 0 });
  }
  return chains;
}

/** The count of lines removed. `null`: nothing to remove here. 0: the chain changed meanwhile, look again. */
async function trimChain(
  { storage, secrets, clock, log }: AuditParts,
  { name, key, version, chain }: StoredChain,
  { overBytes, before }: { readonly overBytes: number; readonly before: number },
): Promise<number | null> {
  const start: Omit<Checkpoint, "mac" | "at"> = chain.removed ?? { seq: 0, hash: "", lines: 0, damaged: false };
  const upTo = Math.min(chain.seq, start.seq + batchesAtOnce);
  const placed = [];
  for await (const each of batchesOf(storage, name, upTo)) if (placed.unshift(each) >= batchesAtOnce) break;
  let { hash, lines, damaged } = start;
  let last = start.seq;
  let bytes = 0;
  const deletes: StorageKey[] = [];
  for (const { seq, batch } of placed) {
    if (Number.isNaN(seq)) {
      damaged = true;
      continue;
    }
    if (batch !== null && batch.from >= before && bytes >= overBytes) break;
    deletes.push(batchKey(name, seq));
    if (batch === null || seq !== last + 1 || batch.prev !== hash) damaged = true;
    last = seq;
    if (batch === null) continue;
    hash = await hashBatch(name, seq, batch);
    lines += lineCountOf(batch);
    bytes += bytesOf(batch);
  }
  // All of them were removed: there is nothing to keep.
  if (placed.length === 0) [last, damaged] = [upTo, true];
  if (last === start.seq) return null;
  const unsigned = { seq: last, hash, lines, damaged, at: clock() };
  const removed: Checkpoint = { ...unsigned, mac: macOfCheckpoint(secrets, name, unsigned) };
  const count = lines - start.lines;
  const left = { lines: chain.lines - count, bytes: last === chain.seq ? 0 : Math.max(0, chain.bytes - bytes) };
  const value = sealHead(secrets, name, { ...chain, removed, ...left });
  if (!await storage.commit({ checks: [{ key, version }], puts: [{ key, value }], deletes })) return 0;
  // Of a chain that changed meanwhile, what was read may not fit together, and says nothing.
  if (damaged && !start.damaged) {
    log.write("error", "audit_chain_changed", { chain: name, remedy: "run `portcullis audit verify`" });
  }
  return count;
}
