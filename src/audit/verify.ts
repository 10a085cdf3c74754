/** Finds out whether any stored line was removed, changed or moved. */
import type { SecretBox } from "../lib/secrets.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";
import * as chains from "./chain.ts";

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
  const all = await chains.listChains(storage);
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
  const names = (await chains.listChains(storage)).map(({ name }) => name);
  const problems: string[] = [];
  const notes: string[] = [];
  let lines = 0;
  const highest = Math.max(0, ...names.map((name) => chains.chainNumber(name) ?? 0));
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
  for (let at = 0; at <= chains.maxChains; at++) {
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
  if (await storage.get(chains.recordedKey) !== null) return "every line is gone: this server has recorded some";
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
  const [newest] = await storage.list(chains.batchesKey(name), { limit: 1 });
  const head = chains.parseChain((await storage.get(chains.chainKey(name)))?.value);
  if (head === null) {
    report("its head cannot be read");
    return 0;
  }
  const newestSeq = newest === undefined ? 0 : chains.seqOfKey(newest.key);
  // a key of no batch as well: it could stand before one that was added
  if (Number.isNaN(newestSeq)) report("an entry was added after the end");
  else if (newestSeq > head.seq) report(`batch ${newestSeq} was added after the end`);
  if (!chains.isGenuine(secrets, name, head)) report("its head or checkpoint was changed");
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
  for await (const { seq, batch } of chains.batchesOf(storage, name, head.seq)) {
    if (batch === null || !(seq <= expected)) {
      report(`an entry near batch ${expected} cannot be read`);
      hash = null;
      continue;
    }
    if (seq < expected) {
      report(`${batchesWords(seq + 1, expected)} gone`);
      hash = null;
    }
    const found = await chains.hashBatch(name, seq, batch);
    if (hash !== null && found !== hash) report(`batch ${seq} was changed`);
    compare(seq, found);
    lines += chains.lineCountOf(batch);
    expected = seq - 1;
    hash = batch.prev;
    if (problems.length >= maxProblems) return lines;
  }
  // Retention may have removed more meanwhile.
  const { removed } = chains.parseChain((await storage.get(chains.chainKey(name)))?.value) ?? head;
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
