/**
 * Adds batches to a chain, one commit each. An instance takes a chain that no other one adds to, or begins one; a
 * commit that finds the chain changed by another instance fails, and this one looks for another chain. Small batches
 * are written one entry each, then gathered into one, so that a quiet month is not a million entries.
 */
import type { Clock } from "../lib/time.ts";
import type { Log } from "../lib/log.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";
import {
  type AuditBatch,
  bytesOf,
  type Chain,
  chainKey,
  chainNumber,
  chainsKey,
  emptyChain,
  hashBatch,
  isGenuine,
  maxChains,
  oldestEntryKey,
  parseChain,
  recordedKey,
  sealHead,
  segmentKey,
} from "./chain.ts";
import {
  addOutcomeCounts,
  countsKey,
  countsLifetimeMs,
  hourOf,
  type OutcomeCounts,
  parseCounts,
} from "./stored_batches.ts";

/** What is added at once. */
export interface NewBatch {
  /** The time of its first line. */
  readonly from: number;
  readonly lines: string;
  readonly count: number;
  /** Calls of tools among them, by outcome. */
  readonly calls: OutcomeCounts;
}

interface ChainWriter {
  /** The bytes stored. Rejects when the storage is lost; the same batch can then be given again. */
  add(batch: NewBatch): Promise<number>;
  /** Leaves the chain to the next process. */
  release(): Promise<void>;
}

export interface AuditParts {
  readonly storage: Storage;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly log: Log;
}

/** A chain that was not added to for so long belongs to a process that was killed. */
const staleMs = 600_000;
const maxAttempts = 20;
const recorded = { key: recordedKey, value: true };
/** Small batches are gathered when there are so many; two deletes each have to fit into one commit. */
const maxTailBatches = 40;
const segmentCharacters = 40_000;

interface OwnChain {
  readonly name: string;
  head: Chain;
  /** The newest batches, each an entry of its own. */
  tail: AuditBatch[];
  /** What was committed last: where the storage was lost on the way, it may be there all the same. */
  attempt: { readonly head: Chain; readonly tail: AuditBatch[]; readonly bytes: number } | null;
}

export function createChainWriter({ storage, secrets, clock, log }: AuditParts, holder: string): ChainWriter {
  let own: OwnChain | null = null;

  const claim = async (): Promise<OwnChain | null> => {
    const found = await storage.list(chainsKey, { limit: maxChains });
    const now = clock();
    for (const { key, value, version } of found) {
      const name = key.at(-1) ?? "";
      const chain = parseChain(value);
      const isFree = chain !== null && (chain.holder === null || Math.abs(now - chain.at) > staleMs);
      if (!isFree) continue;
      if (!isGenuine(secrets, name, chain)) {
        log.write("error", "audit_chain_changed", { chain: name, remedy: "run `portcullis audit verify`" });
        continue;
      }
      const head = { ...chain, holder, at: now };
      const taken = await storage.commit({
        checks: [{ key, version }],
        puts: [{ key, value: head }, recorded],
      });
      return taken ? { name, head, tail: [], attempt: null } : null;
    }
    const name = String(Math.max(0, ...found.map(({ key }) => chainNumber(key.at(-1) ?? "") ?? 0)) + 1);
    if (chainNumber(name) === null) throw new RangeError(`There are already ${maxChains} audit chains`);
    const head = sealHead(secrets, name, { ...emptyChain, holder, at: now });
    const made = await storage.commit({
      checks: [{ key: chainKey(name), version: null }],
      puts: [{ key: chainKey(name), value: head }, recorded],
    });
    return made ? { name, head, tail: [], attempt: null } : null;
  };

  /** Adds to the chain as it is stored now; `null` when another process changed it. */
  const extend = async (chain: OwnChain, { from, lines, count, calls }: NewBatch): Promise<number | null> => {
    const { name } = chain;
    const key = chainKey(name);
    const entry = await storage.get(key);
    const stored = parseChain(entry?.value);
    if (entry === null || stored === null || stored.holder !== holder || !isGenuine(secrets, name, stored)) return null;
    const { attempt } = chain;
    if (attempt !== null && stored.hash === attempt.head.hash) return settle(chain, attempt);
    if (stored.hash !== chain.head.hash) return null;
    const now = clock();
    const batch: AuditBatch = { from: Math.max(from, stored.from + 1), prev: stored.hash, lines };
    const seq = stored.seq + 1;
    const bytes = bytesOf(batch);
    const hash = await hashBatch(name, seq, batch);
    const head = sealHead(secrets, name, {
      ...stored,
      at: now,
      seq,
      hash,
      from: batch.from,
      lines: stored.lines + count,
      bytes: stored.bytes + bytes,
    });
    // What retention removed is not written again.
    const removed = stored.removed?.seq ?? 0;
    const tail = chain.tail.slice(Math.max(0, removed - (stored.seq - chain.tail.length)));
    const { puts, deletes, left } = placeBatch(name, { tail, firstSeq: stored.seq - tail.length + 1, batch });
    const hour = hourOf(now);
    const counted = parseCounts((await storage.get(countsKey(name, hour)))?.value);
    chain.attempt = { head, tail: left, bytes };
    const done = await storage.commit({
      checks: [{ key, version: entry.version }],
      puts: [
        { key, value: head },
        ...puts,
        {
          key: countsKey(name, hour),
          value: addOutcomeCounts(counted, calls),
          expiresAt: hour + countsLifetimeMs,
        },
      ],
      deletes,
    });
    return done ? settle(chain, chain.attempt) : null;
  };

  const settle = (chain: OwnChain, { head, tail, bytes }: NonNullable<OwnChain["attempt"]>): number => {
    chain.head = head;
    chain.tail = tail;
    chain.attempt = null;
    return bytes;
  };

  return {
    async add(batch) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        own ??= await claim();
        if (own === null) continue;
        const { head } = own;
        const bytes = await extend(own, batch);
        if (bytes !== null) return bytes;
        // Retention changes the chain beside us; anything else means that it is ours no more.
        const found = parseChain((await storage.get(chainKey(own.name)))?.value);
        if (found === null || found.holder !== holder || found.hash !== head.hash) own = null;
      }
      throw new Error("no audit chain could be taken");
    },
    async release() {
      if (own === null) return;
      const { name, tail } = own;
      own = null;
      const key = chainKey(name);
      const entry = await storage.get(key);
      const stored = parseChain(entry?.value);
      if (entry === null || stored === null || stored.holder !== holder) return;
      const isWhole = tail.length > 1 && (stored.removed?.seq ?? 0) <= stored.seq - tail.length;
      const { puts, deletes } = isWhole ? gather(name, stored.seq - tail.length + 1, tail) : { puts: [], deletes: [] };
      await storage.commit({
        checks: [{ key, version: entry.version }],
        puts: [{ key, value: { ...stored, holder: null } }, ...puts],
        deletes,
      });
    },
  };
}

interface Placed {
  readonly puts: readonly { readonly key: StorageKey; readonly value: unknown }[];
  readonly deletes: readonly StorageKey[];
}

/** Where a batch goes, with what becomes of the small ones before it. */
function placeBatch(
  name: string,
  { tail, firstSeq, batch }: {
    readonly tail: readonly AuditBatch[];
    readonly firstSeq: number;
    readonly batch: AuditBatch;
  },
): Placed & { readonly left: AuditBatch[] } {
  const seq = firstSeq + tail.length;
  const alone = entryOf(name, seq, [batch]);
  const characters = [...tail, batch].reduce((sum, { lines }) => sum + lines.length, 0);
  if (batch.lines.length >= segmentCharacters) {
    const gathered = gather(name, firstSeq, tail);
    return { puts: [...gathered.puts, ...alone], deletes: gathered.deletes, left: [] };
  }
  if (tail.length + 1 < maxTailBatches && characters < segmentCharacters) {
    return { puts: alone, deletes: [], left: [...tail, batch] };
  }
  return { ...gather(name, firstSeq, [...tail, batch]), left: [] };
}

/** One entry in place of one for each batch. */
function gather(name: string, firstSeq: number, batches: readonly AuditBatch[]): Placed {
  if (batches.length === 0) return { puts: [], deletes: [] };
  return {
    puts: entryOf(name, firstSeq, batches),
    deletes: batches.slice(1).flatMap(({ from }) => [segmentKey(name, from), oldestEntryKey(name, from)]),
  };
}

function entryOf(name: string, seq: number, batches: readonly AuditBatch[]): Placed["puts"] {
  const from = batches[0]?.from ?? 0;
  return [
    { key: segmentKey(name, from), value: { seq, batches } },
    { key: oldestEntryKey(name, from), value: true },
  ];
}
