/**
 * Removes the oldest lines, by age and by size, and leaves a checkpoint in their place: the hash that the rest begins
 * with, under a MAC of the master key. (A signing key would do as well, but those rotate, and go.) What is removed is
 * checked first, so that the checkpoint does not vouch for lines that were changed before.
 */
import {
  bytesOf,
  type Chain,
  chainsKey,
  type Checkpoint,
  fromOfOldestKey,
  hashBatch,
  isGenuine,
  lineCountOf,
  macOfCheckpoint,
  maxChains,
  oldestEntryKey,
  oldestKey,
  parseChain,
  parseSegment,
  sealHead,
  type Segment,
  segmentKey,
} from "./chain.ts";
import type { AuditParts } from "./chain_writer.ts";
import type { AuditSettings } from "./mod_settings.ts";
import type { StorageKey } from "../storage/mod.ts";

/** Two deletes each. */
const entriesAtOnce = 40;
/** Of one run; the next one goes on. */
const maxRemovals = 500;

interface StoredChain {
  readonly name: string;
  readonly key: StorageKey;
  readonly version: string;
  readonly chain: Chain;
}

/** Removes what is over the limits at `now` (without one, by size alone), and gives the count of lines removed. */
export async function trimAudit(
  parts: AuditParts,
  { keepMs, maxBytes, now }: AuditSettings & { readonly now: number | null },
): Promise<number> {
  const { storage } = parts;
  const before = now === null ? -Infinity : now - keepMs;
  let removed = 0;
  for (let run = 0; run < maxRemovals; run++) {
    const chains = await readChains(parts);
    const overBytes = chains.reduce((sum, { chain }) => sum + chain.bytes, 0) - maxBytes;
    const oldest = await Promise.all(chains.map(async (stored) => {
      const entries = await storage.list(oldestKey(stored.name), { limit: entriesAtOnce });
      return { stored, froms: entries.map(({ key }) => fromOfOldestKey(key)) };
    }));
    const [next] = oldest.filter(({ froms }) => froms.length > 0)
      .sort((a, b) => (a.froms[0] ?? 0) - (b.froms[0] ?? 0));
    if (next === undefined) return removed;
    const count = await trimChain(parts, next, { overBytes, before });
    if (count === 0) return removed;
    removed += Math.max(count, 0);
  }
  return removed;
}

async function readChains({ storage, secrets }: AuditParts): Promise<readonly StoredChain[]> {
  const entries = await storage.list(chainsKey, { limit: maxChains });
  return entries.flatMap(({ key, value, version }) => {
    const chain = parseChain(value);
    const name = key.at(-1) ?? "";
    return chain === null || !isGenuine(secrets, name, chain) ? [] : [{ name, key, version, chain }];
  });
}

/** The count of lines removed; 0 when none had to be, -1 when the chain changed meanwhile. */
async function trimChain(
  { storage, secrets, clock, log }: AuditParts,
  { stored: { name, key, version, chain }, froms }: { readonly stored: StoredChain; readonly froms: readonly number[] },
  { overBytes, before }: { readonly overBytes: number; readonly before: number },
): Promise<number> {
  const deletes: StorageKey[] = [];
  let at: Omit<Checkpoint, "mac" | "at"> = chain.removed ?? { seq: 0, hash: "", lines: 0, damaged: false };
  let bytes = 0;
  for (const from of froms) {
    const entry = segmentKey(name, from);
    const segment = parseSegment((await storage.get(entry))?.value);
    const newest = segment?.batches.at(-1)?.from ?? from;
    if (newest >= before && bytes >= overBytes) break;
    deletes.push(entry, oldestEntryKey(name, from));
    at = segment === null ? { ...at, damaged: true } : await follow(name, at, segment);
    bytes += segment?.batches.reduce((sum, batch) => sum + bytesOf(batch), 0) ?? 0;
  }
  if (deletes.length === 0) return 0;
  const lines = at.lines - (chain.removed?.lines ?? 0);
  const unsigned = { ...at, at: clock() };
  const removed: Checkpoint = { ...unsigned, mac: macOfCheckpoint(secrets, name, unsigned) };
  const value = sealHead(secrets, name, {
    ...chain,
    removed,
    lines: chain.lines - lines,
    bytes: Math.max(0, chain.bytes - bytes),
  });
  if (!await storage.commit({ checks: [{ key, version }], puts: [{ key, value }], deletes })) return -1;
  // Of a chain that changed meanwhile, what was read may not fit together, and says nothing.
  if (at.damaged && chain.removed?.damaged !== true) {
    log.write("error", "audit_chain_changed", { chain: name, remedy: "run `portcullis audit verify`" });
  }
  return lines;
}

/** Where the chain is after a segment. */
async function follow(
  name: string,
  start: Omit<Checkpoint, "mac" | "at">,
  { seq, batches }: Segment,
): Promise<Omit<Checkpoint, "mac" | "at">> {
  let { hash, lines, damaged } = start;
  let last = start.seq;
  for (const [index, batch] of batches.entries()) {
    if (seq + index !== last + 1 || batch.prev !== hash) damaged = true;
    last = seq + index;
    hash = await hashBatch(name, last, batch);
    lines += lineCountOf(batch);
  }
  return { seq: last, hash, lines, damaged };
}
