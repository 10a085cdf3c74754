/**
 * The hash chain: each batch of lines is hashed with the batch before it, and the head has a MAC under the master key.
 * Someone who can write to the database alone can therefore neither change, remove nor reorder a line unnoticed; to
 * notice that the end was cut off takes a head that the owner kept elsewhere.
 */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { type SecretBox, toBase64Url } from "../lib/secrets.ts";
import { changeEntry, pagesBelow } from "../lib/stored_entries.ts";
import { nextTurn } from "../lib/turns.ts";
import type { Foundation, Storage, StorageKey } from "../storage/mod.ts";
import type { AuditSettings } from "./mod_settings.ts";

/** After each line of a batch. JSON does not escape it, so that parsing a batch costs little more than a copy. */
export const auditLineEnd = "~";

/** Lines that were stored together: one entry. */
const batch = lazyObject(() => ({
  /** The time of its first line; after the clock was set back, a millisecond more than the batch before has. */
  from: z.number(),
  /** Hash of the batch before. */
  prev: z.string(),
  /** Texts of {@link encodeLine}, each with its end. */
  lines: z.string(),
}));

/** What retention removed: everything up to a batch. */
const checkpoint = lazyObject(() => ({
  seq: z.number(),
  hash: z.string(),
  lines: z.number(),
  at: z.number(),
  /** Whether what was removed had been changed before. */
  damaged: z.boolean(),
  mac: z.string(),
}));

/** Where a chain ends, who adds to it, and what it holds. */
const chain = lazyObject(() => ({
  /** The process that adds to it; `null` after an orderly end. */
  holder: z.string().nullable(),
  at: z.number(),
  seq: z.number(),
  hash: z.string(),
  mac: z.string(),
  /** When the last batch began. */
  from: z.number(),
  /** The newest batch whose lines are older than its `from`. */
  setBack: z.number().optional(),
  lines: z.number(),
  bytes: z.number(),
  removed: checkpoint.nullable(),
}));

export type AuditBatch = z.infer<typeof batch>;
export type Chain = z.infer<typeof chain>;
type Checkpoint = z.infer<typeof checkpoint>;

/** There since the first line: without chains, all of them were removed. Named so that it is not removed with them. */
const recordedKey: StorageKey = ["recorded", "calls"];
export const chainKey = (name: string): StorageKey => ["audit_chain", name];
export const batchesKey = (name: string): StorageKey => ["audit", name];

/** Newest first. Numbers have no gaps, so the oldest one is found by the checkpoint's. */
export function batchKey(name: string, seq: number): StorageKey {
  return ["audit", name, String(maxSeq - seq).padStart(seqDigits, "0")];
}

/** `NaN` for a key that no version of ours wrote. */
function seqOfKey(key: StorageKey): number {
  const text = key.at(-1) ?? "";
  return key.length === 3 && /^\d{13}$/.test(text) ? maxSeq - Number(text) : Number.NaN;
}

const seqDigits = 13;
const maxSeq = 10 ** seqDigits - 1;

/** Chains of one installation: each stands for one instance at a time. */
const maxChains = 1_000;

/** Chains are numbered from 1; a gap shows that one was removed. */
function chainNumber(name: string): number | null {
  const number = /^[1-9]\d{0,3}$/.test(name) ? Number(name) : Infinity;
  return number <= maxChains ? number : null;
}

/** The chains by name; `chain` is `null` where the head cannot be read. */
export async function listChains(storage: Storage) {
  const entries = await storage.list(["audit_chain"], { limit: maxChains });
  return entries.map(({ key, value, version }) => ({ key, version, name: key.at(-1) ?? "", chain: parseChain(value) }));
}

/** `null` for what no version of ours wrote. */
export const parseChain = (value: unknown): Chain | null => chain.safeParse(value).data ?? null;
export const parseBatch = (value: unknown): AuditBatch | null => batch.safeParse(value).data ?? null;

/** Of a few hundred bytes each as a rule, and of 500 kB at most. */
const batchesAtOnce = 32;

/**
 * The batches of a chain, newest first, those with higher numbers than `upTo` left out; `null` for one that cannot be
 * read, with the number `NaN` where its key is none of ours.
 */
export async function* batchesOf(
  storage: Storage,
  name: string,
  upTo = maxSeq,
): AsyncGenerator<{ readonly seq: number; readonly batch: AuditBatch | null }> {
  const after = upTo < maxSeq ? batchKey(name, upTo + 1) : undefined;
  for await (const entries of pagesBelow(storage, batchesKey(name), { limit: batchesAtOnce, after })) {
    for (const { key, value } of entries) {
      const seq = seqOfKey(key);
      yield { seq, batch: Number.isNaN(seq) ? null : parseBatch(value) };
    }
  }
}

function lineCountOf({ lines }: AuditBatch): number {
  return lines.split(auditLineEnd).length - 1;
}

/** What a batch counts of `AUDIT_MAX_BYTES`. */
function bytesOf({ lines }: AuditBatch): number {
  return lines.length + batchOverheadBytes;
}

/** Its entry without the lines. */
const batchOverheadBytes = 200;

/** SHA-256 over the batch, its place and the hash before it. */
export async function hashBatch(name: string, seq: number, { from, prev, lines }: AuditBatch): Promise<string> {
  const bytes = new TextEncoder().encode(`portcullis-audit-1\n${name}\n${seq}\n${from}\n${prev}\n${lines}`);
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/**
 * Also over what decides about retention, which would remove lines as if they were too many, and about what a search
 * looks through.
 */
function macOfHead(secrets: SecretBox, name: string, head: Omit<Chain, "mac">): string {
  const { seq, hash, from, lines, bytes, setBack } = head;
  const mark = setBack === undefined ? "" : `:${setBack}`;
  return secrets.authenticate("audit-head", `${name}:${seq}:${hash}:${from}:${lines}:${bytes}${mark}`);
}

/** The chain under its MAC. */
function sealHead(secrets: SecretBox, name: string, head: Omit<Chain, "mac">): Chain {
  return { ...head, mac: macOfHead(secrets, name, head) };
}

function macOfCheckpoint(secrets: SecretBox, name: string, removed: Omit<Checkpoint, "mac">): string {
  const { seq, hash, lines, damaged } = removed;
  return secrets.authenticate("audit-checkpoint", `${name}:${seq}:${hash}:${lines}:${damaged}`);
}

/** Whether this installation wrote head and checkpoint. */
function isGenuine(secrets: SecretBox, name: string, found: Chain): boolean {
  const { removed } = found;
  return found.mac === macOfHead(secrets, name, found) &&
    (removed === null || removed.mac === macOfCheckpoint(secrets, name, removed));
}

// Change of the master key: authenticates every chain again. A chain that was tampered with stays without a valid MAC.

/** May be repeated, and interrupted at any point. */
export async function resealAuditChains(
  storage: Storage,
  { from, to }: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<void> {
  for (const { key, name } of await listChains(storage)) {
    await changeEntry(storage, key, (value) => {
      const chain = parseChain(value);
      if (chain === null || !isGenuine(from, name, chain)) return null;
      const removed = chain.removed && { ...chain.removed, mac: macOfCheckpoint(to, name, chain.removed) };
      return sealHead(to, name, { ...chain, removed });
    });
  }
}

// * Adds batches to a chain, one commit each. An instance takes a chain that no other one adds to, or begins one; a
// commit that finds the chain changed by another instance fails, and this one looks for another chain.

/** What is added at once. */
export interface NewBatch {
  /** The time of its first line. */
  readonly from: number;
  readonly lines: string;
  readonly count: number;
  /** Calls of tools among them, by outcome. */
  readonly calls: OutcomeCounts;
}

/** What reading and writing the stored audit needs. */
export interface AuditParts extends Foundation {
  readonly secrets: SecretBox;
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

/** Adds to a chain in the name of `holder`, the process. */
export function createChainWriter({ storage, secrets, clock, log }: AuditParts, holder: string) {
  let own: OwnChain | null = null;

  const claim = async (): Promise<OwnChain | null> => {
    const found = await listChains(storage);
    const now = clock();
    for (const { name, chain, version } of found) {
      const isFree = chain !== null && (chain.holder === null || Math.abs(now - chain.at) > staleMs);
      if (!isFree) continue;
      if (!isGenuine(secrets, name, chain)) {
        log.write("error", "audit_chain_changed", { chain: name, remedy: "run `portcullis audit verify`" });
        continue;
      }
      return await take(name, { ...chain, holder, at: now }, version);
    }
    const name = String(Math.max(0, ...found.map((each) => chainNumber(each.name) ?? 0)) + 1);
    if (chainNumber(name) === null) throw new RangeError(`There are already ${maxChains} audit chains`);
    const empty = { holder, at: now, seq: 0, hash: "", from: 0, lines: 0, bytes: 0, removed: null };
    return await take(name, sealHead(secrets, name, empty), null);
  };
  const take = async (name: string, head: Chain, version: string | null): Promise<OwnChain | null> => {
    const key = chainKey(name);
    const isTaken = await storage.commit({ checks: [{ key, version }], puts: [{ key, value: head }, recorded] });
    return isTaken ? { name, hash: head.hash, attempt: null } : null;
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
      ...(from < batch.from && { setBack: seq }),
      lines: stored.lines + count,
      bytes: stored.bytes + bytes,
    });
    const hour = now - now % hourMs;
    const counted = parseCounts((await storage.get(countsKey(name, hour)))?.value);
    chain.attempt = { hash, bytes };
    const done = await storage.commit({
      checks: [{ key, version: entry.version }],
      puts: [
        { key, value: head },
        { key: batchKey(name, seq), value: batch },
        { key: countsKey(name, hour), value: addOutcomeCounts(counted, calls), expiresAt: hour + countsLifetimeMs },
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
    /** The bytes stored. Rejects when the storage is lost; the same batch can then be given again. */
    async add(batch: NewBatch): Promise<number> {
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
    /** Leaves the chain to the next process. */
    async release(): Promise<void> {
      if (own === null) return;
      const { name } = own;
      own = null;
      await changeEntry(storage, chainKey(name), (value) => {
        const stored = parseChain(value);
        return stored?.holder === holder ? { ...stored, holder: null } : null;
      });
    },
  };
}

// Calls of tools by hour and outcome, kept while lines are written, so that no page has to read a day's lines.

/** How often each outcome came. */
type OutcomeCounts = Readonly<Record<string, number>>;

const hourMs = 3_600_000;
const hoursKept = 25;
/** From the beginning of an hour. */
const countsLifetimeMs = (hoursKept + 1) * hourMs;
const maxEntries = maxChains * hoursKept;
const counts = z.lazy(() => z.record(z.string(), z.number()));
const prefix: StorageKey = ["audit_calls"];

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

/**
 * The hours of the last day in which something was called, oldest first, of all instances together: when each began, in
 * milliseconds since the epoch, and its outcomes.
 */
export async function readCallsOfDay(storage: Storage, now: number) {
  const hours = new Map<number, OutcomeCounts>();
  for (const { key, value } of await storage.list(prefix, { limit: maxEntries })) {
    const hour = Number(key[1]);
    if (hour > now - hoursKept * hourMs) hours.set(hour, addOutcomeCounts(hours.get(hour) ?? {}, parseCounts(value)));
  }
  return Array.from(hours, ([hour, outcomes]) => ({ hour, outcomes }));
}

// Retention removes the oldest lines, by age and by size, and leaves a checkpoint in their place: the hash that the rest
// begins with, under a MAC of the master key. (A signing key would do as well, but those rotate, and go.) What is removed
// is checked first, so that the checkpoint does not vouch for lines that were changed before.

/** Of one commit. */
const batchesOfCommit = 90;
/** Of one run; the next one goes on. */
const maxRemovals = 500;

/** Removes what is over the limits at `now`, and gives the count of lines removed. */
export async function trimAudit(
  parts: AuditParts,
  { keepMs, maxBytes, now }: AuditSettings & { readonly now: number },
): Promise<number> {
  const before = now - keepMs;
  /** When the oldest batch began, by chain and number: each is read once. */
  const begins = new Map<string, number>();
  let removed = 0;
  for (let run = 0; run < maxRemovals; run++) {
    await nextTurn();
    const chains = await readChains(parts, begins);
    const overBytes = chains.reduce((sum, { chain }) => sum + chain.bytes, 0) - maxBytes;
    const [oldest] = chains.sort((a, b) => a.from - b.from);
    const lines = oldest === undefined ? null : await trimChain(parts, oldest, { overBytes, before });
    if (lines === null) return removed;
    removed += lines;
  }
  return removed;
}

/** The genuine chains that hold batches. One whose oldest batch cannot be read counts as the oldest: it is trimmed first. */
async function readChains({ storage, secrets }: AuditParts, begins: Map<string, number>) {
  const chains = [];
  for (const { name, key, chain } of await listChains(storage)) {
    const seq = (chain?.removed?.seq ?? 0) + 1;
    if (chain === null || chain.seq < seq || !isGenuine(secrets, name, chain)) continue;
    const known = begins.get(`${name} ${seq}`);
    const from = known ?? parseBatch((await storage.get(batchKey(name, seq)))?.value)?.from ?? 0;
    begins.set(`${name} ${seq}`, from);
    chains.push({ name, key, chain, from });
  }
  return chains;
}

/** The count of lines removed. `null`: nothing to remove here. 0: another instance removed lines meanwhile, look again. */
async function trimChain(
  { storage, secrets, clock, log }: AuditParts,
  { name, key, chain }: Awaited<ReturnType<typeof readChains>>[number],
  { overBytes, before }: { readonly overBytes: number; readonly before: number },
): Promise<number | null> {
  const start: Omit<Checkpoint, "mac" | "at"> = chain.removed ?? { seq: 0, hash: "", lines: 0, damaged: false };
  const upTo = Math.min(chain.seq, start.seq + batchesOfCommit);
  let { hash, lines, damaged } = start;
  let last = start.seq;
  let bytes = 0;
  let isThere = false;
  const deletes: StorageKey[] = [];
  for (let seq = start.seq + 1; seq <= upTo; seq++) {
    const found = await storage.get(batchKey(name, seq));
    if (found === null) continue; // a gap, which the next one shows
    isThere = true;
    const batch = parseBatch(found.value);
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
  if (!isThere) [last, damaged] = [upTo, true];
  if (last === start.seq) return null;
  const unsigned = { seq: last, hash, lines, damaged, at: clock() };
  const removed: Checkpoint = { ...unsigned, mac: macOfCheckpoint(secrets, name, unsigned) };
  const count = lines - start.lines;
  // What was read stays what it is while lines are added: only the head is read again.
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const entry = await storage.get(key);
    const stored = parseChain(entry?.value);
    if (entry === null || stored === null || !isGenuine(secrets, name, stored)) return 0;
    if (stored.removed?.mac !== chain.removed?.mac) return 0;
    const left = { lines: stored.lines - count, bytes: last === stored.seq ? 0 : Math.max(0, stored.bytes - bytes) };
    const value = sealHead(secrets, name, { ...stored, removed, ...left });
    const checks = [{ key, version: entry.version }];
    if (!await storage.commit({ checks, puts: [{ key, value }], deletes })) continue;
    if (damaged && !start.damaged) {
      log.write("error", "audit_chain_changed", { chain: name, remedy: "run `portcullis audit verify`" });
    }
    return count;
  }
  return 0;
}

// * Verification: whether any stored line was removed, changed or moved.

/** Where a chain ended when the owner looked. */
export interface KeptHead {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
}

/** The text of a head: `CHAIN:NUMBER:HASH`. */
export function headText({ chain, seq, hash }: KeptHead): string {
  return `${chain}:${seq}:${hash}`;
}

/** `null` for what is no head. */
export function parseHead(text: string): KeptHead | null {
  const [, chain = "", seq = "", hash = ""] = /^(\d{1,4}):(\d{1,15}):([\w-]{43}|)$/.exec(text) ?? [];
  return chain === "" ? null : { chain, seq: Number(seq), hash };
}

const maxProblems = 20;
/** Sorts after every number of a batch. */
const lastOfAll = "\u{10ffff}";

/** The heads of all chains, for the owner to keep elsewhere. */
export async function auditHeads(storage: Storage): Promise<readonly KeptHead[]> {
  const all = await listChains(storage);
  return all.flatMap(({ name, chain }) => chain === null ? [] : [{ chain: name, seq: chain.seq, hash: chain.hash }]);
}

/**
 * Checks every chain from its head back to its beginning, or to what retention removed. `problems` in words, empty for
 * an audit that is as it was written; `notes` say what could not be compared.
 */
export async function verifyAudit(
  { storage, secrets }: { readonly storage: Storage; readonly secrets: SecretBox },
  kept: readonly KeptHead[] = [],
) {
  const names = (await listChains(storage)).map(({ name }) => name);
  const problems: string[] = [];
  const notes: string[] = [];
  let lines = 0;
  const highest = Math.max(0, ...names.map((name) => chainNumber(name) ?? 0));
  const expected = [...kept.map(({ chain }) => chain), ...Array.from({ length: highest }, (_, at) => String(at + 1))];
  for (const chain of expected) if (!names.includes(chain)) problems.push(`chain ${chain} is gone`);
  for (const name of await namesOfBatches(storage)) {
    if (!names.includes(name)) problems.push(`chain ${name}: its head is gone, and batches of it are there`);
  }
  for (const name of names) {
    const heads = kept.filter(({ chain }) => chain === name);
    lines += await verifyChain({ storage, secrets }, { name, heads, problems, notes });
  }
  return { chains: names.length, lines, problems: problems.slice(0, maxProblems), notes };
}

/** The chains of which batches are there. */
async function namesOfBatches(storage: Storage): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  let after: StorageKey | undefined;
  for (let at = 0; at <= maxChains; at++) {
    const [entry] = await storage.list(["audit"], { limit: 1, ...after === undefined ? {} : { after } });
    const name = entry?.key[1];
    if (name === undefined) break;
    names.add(name);
    after = ["audit", name, lastOfAll];
  }
  return names;
}

/** Why no line is there, in words; `null` where none has been recorded yet. */
export async function whyNoLine(storage: Storage): Promise<string | null> {
  if (await storage.get(recordedKey) !== null) return "every line is gone: this server has recorded some";
  const keys = await storage.list(["signing_key"], { limit: 1 });
  return keys.length > 0 ? null : "no line is there, and no key of the server: it has not run yet, or all was removed";
}

async function verifyChain(
  { storage, secrets }: { readonly storage: Storage; readonly secrets: SecretBox },
  { name, heads, problems, notes }: {
    readonly name: string;
    readonly heads: readonly KeptHead[];
    readonly problems: string[];
    readonly notes: string[];
  },
): Promise<number> {
  const report = (problem: string): void => void problems.push(`chain ${name}: ${problem}`);
  // Read before the head, which a running server moves with each batch.
  const [newest] = await storage.list(batchesKey(name), { limit: 1 });
  const head = parseChain((await storage.get(chainKey(name)))?.value);
  if (head === null) {
    report("its head cannot be read");
    return 0;
  }
  const newestSeq = newest === undefined ? 0 : seqOfKey(newest.key);
  // a key of no batch as well: it could stand before one that was added
  if (Number.isNaN(newestSeq)) report("an entry was added after the end");
  else if (newestSeq > head.seq) report(`batch ${newestSeq} was added after the end`);
  if (!isGenuine(secrets, name, head)) report("its head or checkpoint was changed");
  for (const { seq } of heads) {
    if (seq > head.seq) report(`batches ${head.seq + 1} to ${seq} are gone from its end`);
    else if (seq < (head.removed?.seq ?? 0)) {
      notes.push(`chain ${name}: retention has removed batch ${seq}, which the kept head names; keep a newer one`);
    }
  }
  /** The batch that has to come next, and its hash where the batch after it is sound. */
  let expected = head.seq;
  let hash: string | null = head.hash;
  let lines = 0;
  const compare = (seq: number, found: string): void => {
    if (heads.some((kept) => kept.seq === seq && kept.hash !== found)) {
      report(`batch ${seq} is not the one that the kept head names`);
    }
  };
  for await (const { seq, batch } of batchesOf(storage, name, head.seq)) {
    if (batch === null || !(seq <= expected)) {
      report(`an entry near batch ${expected} cannot be read`);
      hash = null;
      continue;
    }
    if (seq < expected) {
      report(`${batchesWords(seq + 1, expected)} gone`);
      hash = null;
    }
    const found = await hashBatch(name, seq, batch);
    if (hash !== null && found !== hash) report(`batch ${seq} was changed`);
    compare(seq, found);
    lines += lineCountOf(batch);
    expected = seq - 1;
    hash = batch.prev;
    if (problems.length >= maxProblems) return lines;
  }
  // Retention may have removed more meanwhile.
  const { removed } = parseChain((await storage.get(chainKey(name)))?.value) ?? head;
  const start = removed ?? { seq: 0, hash: "", damaged: false };
  if (removed !== null) compare(removed.seq, removed.hash);
  if (expected > start.seq) report(`${batchesWords(start.seq + 1, expected)} gone`);
  else if (expected === start.seq && hash !== null && hash !== start.hash) {
    report(`batch ${expected + 1} does not follow what came before it`);
  }
  if (start.damaged) report(`batches up to ${start.seq} had been changed before retention`);
  return lines;
}

function batchesWords(first: number, last: number): string {
  return first === last ? `batch ${first} is` : `batches ${first} to ${last} are`;
}
