/**
 * The hash chain: each batch of lines is hashed with the batch before it, and the head has a MAC under the master key.
 * Someone who can write to the database alone can therefore neither change, remove nor reorder a line unnoticed; to
 * notice that the end was cut off takes a head that the owner kept elsewhere.
 */
import * as z from "zod";
import { toBase64Url } from "../lib/random_secret.ts";
import type { SecretBox } from "../lib/secrets.ts";
import { pagesBelow } from "../lib/stored_entries.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";
import { auditLineEnd } from "./line.ts";

/** Lines that were stored together: one entry. */
const batch = z.lazy(() =>
  z.object({
    /** The time of its first line; later than that of the batch before. */
    from: z.number(),
    /** Hash of the batch before. */
    prev: z.string(),
    /** Texts of {@link encodeLine}, each with its end. */
    lines: z.string(),
  })
);

/** What retention removed: everything up to a batch. */
const checkpoint = z.lazy(() =>
  z.object({
    seq: z.number(),
    hash: z.string(),
    lines: z.number(),
    at: z.number(),
    /** Whether what was removed had been changed before. */
    damaged: z.boolean(),
    mac: z.string(),
  })
);

/** Where a chain ends, who adds to it, and what it holds. */
const chain = z.lazy(() =>
  z.object({
    /** The process that adds to it; `null` after an orderly end. */
    holder: z.string().nullable(),
    at: z.number(),
    seq: z.number(),
    hash: z.string(),
    mac: z.string(),
    /** When the last batch began. */
    from: z.number(),
    lines: z.number(),
    bytes: z.number(),
    removed: checkpoint.nullable(),
  })
);

export type AuditBatch = z.infer<typeof batch>;
export type Chain = z.infer<typeof chain>;
export type Checkpoint = z.infer<typeof checkpoint>;

/** There since the first line: without chains, all of them were removed. Named so that it is not removed with them. */
export const recordedKey: StorageKey = ["recorded", "calls"];
export const chainsKey: StorageKey = ["audit_chain"];
export const chainKey = (name: string): StorageKey => ["audit_chain", name];
export const batchesKey = (name: string): StorageKey => ["audit", name];

/** Newest first. Numbers have no gaps, so the oldest one is found by the checkpoint's. */
export function batchKey(name: string, seq: number): StorageKey {
  return ["audit", name, String(maxSeq - seq).padStart(seqDigits, "0")];
}

/** `NaN` for a key that no version of ours wrote. */
export function seqOfKey(key: StorageKey): number {
  const text = key.at(-1) ?? "";
  return key.length === 3 && /^\d{13}$/.test(text) ? maxSeq - Number(text) : Number.NaN;
}

const seqDigits = 13;
const maxSeq = 10 ** seqDigits - 1;

/** Chains of one installation: each stands for one instance at a time. */
export const maxChains = 1_000;

/** Chains are numbered from 1; a gap shows that one was removed. */
export function chainNumber(name: string): number | null {
  const number = /^[1-9]\d{0,3}$/.test(name) ? Number(name) : Infinity;
  return number <= maxChains ? number : null;
}

export const emptyChain: Chain = {
  holder: null,
  at: 0,
  seq: 0,
  hash: "",
  mac: "",
  from: 0,
  lines: 0,
  bytes: 0,
  removed: null,
};

/** `null` for what no version of ours wrote. */
export function parseChain(value: unknown): Chain | null {
  return chain.safeParse(value).data ?? null;
}

/** `null` for what no version of ours wrote. */
export function parseBatch(value: unknown): AuditBatch | null {
  return batch.safeParse(value).data ?? null;
}

/** A batch with its place in the chain; `null`: it cannot be read. */
interface PlacedBatch {
  readonly seq: number;
  readonly batch: AuditBatch | null;
}

/** Of a few hundred bytes each as a rule, and of 500 kB at most. */
const batchesAtOnce = 32;

/** The batches of a chain, newest first, those with higher numbers than `upTo` left out. */
export async function* batchesOf(storage: Storage, name: string, upTo = maxSeq): AsyncGenerator<PlacedBatch> {
  const after = upTo < maxSeq ? batchKey(name, upTo + 1) : undefined;
  for await (const entries of pagesBelow(storage, batchesKey(name), { limit: batchesAtOnce, after })) {
    for (const { key, value } of entries) yield { seq: seqOfKey(key), batch: parseBatch(value) };
  }
}

export function lineCountOf({ lines }: AuditBatch): number {
  let count = 0;
  for (let at = lines.indexOf(auditLineEnd); at >= 0; at = lines.indexOf(auditLineEnd, at + 1)) count++;
  return count;
}

/** What a batch counts of `AUDIT_MAX_BYTES`. */
export function bytesOf({ lines }: AuditBatch): number {
  return lines.length + batchOverheadBytes;
}

/** Its entry without the lines. */
const batchOverheadBytes = 200;

/** SHA-256 over the batch, its place and the hash before it. */
export async function hashBatch(name: string, seq: number, { from, prev, lines }: AuditBatch): Promise<string> {
  const bytes = new TextEncoder().encode(`portcullis-audit-1\n${name}\n${seq}\n${from}\n${prev}\n${lines}`);
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** Also over what decides about retention: with other numbers of bytes, it would remove lines as if they were too many. */
function macOfHead(secrets: SecretBox, name: string, head: Omit<Chain, "mac">): string {
  const { seq, hash, from, lines, bytes } = head;
  return secrets.authenticate("audit-head", `${name}:${seq}:${hash}:${from}:${lines}:${bytes}`);
}

/** The chain under its MAC. */
export function sealHead(secrets: SecretBox, name: string, head: Omit<Chain, "mac">): Chain {
  return { ...head, mac: macOfHead(secrets, name, head) };
}

export function macOfCheckpoint(secrets: SecretBox, name: string, removed: Omit<Checkpoint, "mac">): string {
  const { seq, hash, lines, damaged } = removed;
  return secrets.authenticate("audit-checkpoint", `${name}:${seq}:${hash}:${lines}:${damaged}`);
}

/** Whether head and checkpoint are those that this installation wrote. */
export function isGenuine(secrets: SecretBox, name: string, found: Chain): boolean {
  const { removed } = found;
  return found.mac === macOfHead(secrets, name, found) &&
    (removed === null || removed.mac === macOfCheckpoint(secrets, name, removed));
}

// Change of the master key: authenticates every chain anew. One that was changed stays without a valid MAC.

/** May be repeated, and interrupted at any point. */
export async function resealAuditChains(
  storage: Storage,
  keys: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<void> {
  for (const { key } of await storage.list(chainsKey, { limit: maxChains })) {
    while (!await resealChain(storage, key, keys));
  }
}

/** `false` when the chain was added to meanwhile. */
async function resealChain(
  storage: Storage,
  key: StorageKey,
  { from, to }: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<boolean> {
  const entry = await storage.get(key);
  const chain = parseChain(entry?.value);
  const name = key.at(-1) ?? "";
  if (entry === null || chain === null || !isGenuine(from, name, chain)) return true;
  const { removed } = chain;
  const value = sealHead(to, name, {
    ...chain,
    removed: removed === null ? null : { ...removed, mac: macOfCheckpoint(to, name, removed) },
  });
  return await storage.commit({ checks: [{ key, version: entry.version }], puts: [{ key, value }] });
}
