/**
 * Adds batches to a chain, one commit each. An instance takes a chain that no other one adds to, or begins one; a
 * commit that finds the chain changed by another instance fails, and this one looks for another chain.
 */
import * as z from "zod";
import type { Clock } from "../lib/time.ts";
import type { Log } from "../lib/log.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";
import {
  type AuditBatch,
  batchKey,
  bytesOf,
  chainKey,
  chainNumber,
  chainsKey,
  emptyChain,
  hashBatch,
  isGenuine,
  maxChains,
  parseChain,
  recordedKey,
  sealHead,
} from "./chain.ts";

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

interface OwnChain {
  readonly name: string;
  /** Of its last batch. */
  hash: string;
  /** What was committed last: where the storage was lost on the way, it may be there all the same. */
  attempt: { readonly hash: string; readonly bytes: number } | null;
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
      return taken ? { name, hash: head.hash, attempt: null } : null;
    }
    const name = String(Math.max(0, ...found.map(({ key }) => chainNumber(key.at(-1) ?? "") ?? 0)) + 1);
    if (chainNumber(name) === null) throw new RangeError(`There are already ${maxChains} audit chains`);
    const head = sealHead(secrets, name, { ...emptyChain, holder, at: now });
    const made = await storage.commit({
      checks: [{ key: chainKey(name), version: null }],
      puts: [{ key: chainKey(name), value: head }, recorded],
    });
    return made ? { name, hash: head.hash, attempt: null } : null;
  };

  /** Adds to the chain as it is stored now; `null` when another process changed it. */
  const extend = async (chain: OwnChain, { from, lines, count, calls }: NewBatch): Promise<number | null> => {
    const { name } = chain;
    const key = chainKey(name);
    const entry = await storage.get(key);
    const stored = parseChain(entry?.value);
    if (entry === null || stored === null || stored.holder !== holder || !isGenuine(secrets, name, stored)) return null;
    const { attempt } = chain;
    if (attempt !== null && stored.hash === attempt.hash) return settle(chain, attempt);
    if (stored.hash !== chain.hash) return null;
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
    const hour = hourOf(now);
    const counted = parseCounts((await storage.get(countsKey(name, hour)))?.value);
    chain.attempt = { hash, bytes };
    const done = await storage.commit({
      checks: [{ key, version: entry.version }],
      puts: [
        { key, value: head },
        { key: batchKey(name, seq), value: batch },
        {
          key: countsKey(name, hour),
          value: addOutcomeCounts(counted, calls),
          expiresAt: hour + countsLifetimeMs,
        },
      ],
    });
    return done ? settle(chain, chain.attempt) : null;
  };

  const settle = (chain: OwnChain, { hash, bytes }: NonNullable<OwnChain["attempt"]>): number => {
    chain.hash = hash;
    chain.attempt = null;
    return bytes;
  };

  return {
    async add(batch) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        own ??= await claim();
        if (own === null) continue;
        const { hash } = own;
        const bytes = await extend(own, batch);
        if (bytes !== null) return bytes;
        // Retention changes the chain beside us; anything else means that it is ours no more.
        const found = parseChain((await storage.get(chainKey(own.name)))?.value);
        if (found === null || found.holder !== holder || found.hash !== hash) own = null;
      }
      throw new Error("no audit chain could be taken");
    },
    async release() {
      if (own === null) return;
      const key = chainKey(own.name);
      own = null;
      const entry = await storage.get(key);
      const stored = parseChain(entry?.value);
      if (entry === null || stored === null || stored.holder !== holder) return;
      const value = { ...stored, holder: null };
      await storage.commit({ checks: [{ key, version: entry.version }], puts: [{ key, value }] });
    },
  };
}

// Calls of tools by hour and outcome, kept while lines are written, so that no page has to read a day's lines.

/** How often each outcome came. */
type OutcomeCounts = Readonly<Record<string, number>>;

/** One hour of all instances together. */
interface HourOfCalls {
  /** When it began, in milliseconds since the epoch. */
  readonly hour: number;
  readonly outcomes: OutcomeCounts;
}

const hourMs = 3_600_000;
const hoursKept = 25;
/** From the beginning of an hour. */
const countsLifetimeMs = (hoursKept + 1) * hourMs;
const maxEntries = maxChains * hoursKept;
const counts = z.lazy(() => z.record(z.string(), z.number()));
const prefix: StorageKey = ["audit_calls"];

function hourOf(time: number): number {
  return time - time % hourMs;
}

function countsKey(chain: string, hour: number): StorageKey {
  return ["audit_calls", String(hour).padStart(13, "0"), chain];
}

function parseCounts(value: unknown): OutcomeCounts {
  return counts.safeParse(value).data ?? {};
}

function addOutcomeCounts(first: OutcomeCounts, second: OutcomeCounts): OutcomeCounts {
  const sum: Record<string, number> = { ...first };
  for (const [outcome, count] of Object.entries(second)) sum[outcome] = (sum[outcome] ?? 0) + count;
  return sum;
}

/** The hours of the last day in which something was called, oldest first. */
export async function readCallsOfDay(storage: Storage, now: number): Promise<readonly HourOfCalls[]> {
  const hours = new Map<number, OutcomeCounts>();
  for (const { key, value } of await storage.list(prefix, { limit: maxEntries })) {
    const hour = Number(key[1]);
    if (hour > now - hoursKept * hourMs) hours.set(hour, addOutcomeCounts(hours.get(hour) ?? {}, parseCounts(value)));
  }
  return Array.from(hours, ([hour, outcomes]) => ({ hour, outcomes }));
}
