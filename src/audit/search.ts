/**
 * Searches the lines of all instances, newest first. What one page reads is bounded: where that is not enough to fill
 * it, the page says where the next one goes on.
 */
import * as z from "zod";
import { type AuditLine, decodeArguments, decodeLine, encodeField, splitLines } from "./recorder.ts";
import { parseJson } from "../lib/json.ts";
import type { Storage } from "../storage/mod.ts";
import { batchesOf, batchKey, type Chain, listChains, parseBatch } from "./chain.ts";

/** Everything that is given has to fit. */
export interface AuditFilter {
  readonly person?: string | undefined;
  readonly client?: string | undefined;
  readonly tool?: string | undefined;
  /** Part of what was touched: a path, a record, a model. */
  readonly target?: readonly string[];
  /** An outcome, `refused` for every kind of refusal, `failed` for every kind of failure. */
  readonly outcome?: string | undefined;
  /** Milliseconds since the epoch, both included. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** Outcomes that one word stands for. */
const outcomeGroups: Readonly<Record<string, readonly string[]>> = {
  refused: ["refused", "insufficient_scope", "rate_limited", "stopped"],
  failed: ["tool_error", "protocol_error", "internal_error", "unavailable"],
};

/** The filter, ready to be used on many lines. */
function prepareFilter({ person, client, tool, target = [], outcome, since, until }: AuditFilter) {
  const outcomes = outcome === undefined ? null : outcomeGroups[outcome] ?? [outcome];
  const whole = [person, client, tool].filter((each) => each !== undefined).map((each) => `|${encodeField(each)}|`);
  const needles = [...whole, ...target.map(encodeField)];
  const outcomeNeedles = outcomes?.map((each) => `|${encodeField(each)}|`);
  const isAbsent = (wanted: string | undefined, found: string | null): boolean =>
    wanted !== undefined && wanted !== found;
  return {
    /** Whether a text of one or more lines may hold one that fits: much faster than reading them. */
    mayHold(text: string): boolean {
      const holds = (needle: string): boolean => text.includes(needle);
      return needles.every(holds) && (outcomeNeedles === undefined || outcomeNeedles.some(holds));
    },
    fits(line: AuditLine): boolean {
      if (isAbsent(person, line.person) || isAbsent(client, line.client) || isAbsent(tool, line.tool)) return false;
      if (outcomes !== null && !outcomes.includes(line.outcome ?? "")) return false;
      if ((since !== undefined && line.time < since) || (until !== undefined && line.time > until)) return false;
      return target.every((part) => line.target?.includes(part) ?? false);
    },
  };
}

/** A line, and where it stands. */
export interface FoundLine extends Omit<AuditLine, "arguments"> {
  readonly arguments: Readonly<Record<string, string>> | null;
  /** The chain that it is in: one for each instance at a time. */
  readonly instance: string;
  readonly batch: number;
}

/** One page of a search. */
export interface FoundPage {
  readonly lines: readonly FoundLine[];
  /** Goes on with the next page; `null` at the end. A page may have a cursor and few lines, or none. */
  readonly cursor: string | null;
}

/** What one page reads: some 20 ms of processor time. */
const maxScannedCharacters = 8_000_000;
/** What a batch costs to read beside its lines. */
const batchCharacters = 2_000;
const maxCursorCharacters = 50_000;

/** Where a chain goes on: the batch's number, and the line in it, counted from the batch's first. */
type Position = readonly [batch: number, line: number];
/** Made when it is first used: a start makes no schema. */
const cursorSchema = z.lazy(() => z.record(z.string(), z.tuple([z.int().min(0), z.int().min(-1)]).nullable()));

/** Before the newest batch. */
const unread: Position = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

interface ChainScan {
  readonly name: string;
  readonly batches: ReturnType<typeof batchesOf>;
  /** Where to go on after what was taken; `undefined` before the first batch, `null` at the end. */
  next: Position | null | undefined;
  /** No line that is still to come is later. */
  bound: number;
  /** Texts of lines that may fit, the next one last; each read when it is wanted, since a batch may hold thousands. */
  readonly found: { readonly text: string; readonly position: Position; line?: FoundLine }[];
}

/** Returns at most `limit` lines. An unknown cursor starts from the newest line. */
export async function searchAudit(
  storage: Storage,
  filter: AuditFilter,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<FoundPage> {
  const { mayHold, fits } = prepareFilter(filter);
  const since = filter.since ?? -Infinity;
  const scans = await beginScans(storage, filter.until, parseCursor(cursor));
  const lines: FoundLine[] = [];
  let scanned = 0;

  const read = async (scan: ChainScan): Promise<void> => {
    const { value, done } = await scan.batches.next();
    if (done) {
      scan.next = null;
      return;
    }
    const { seq, batch } = value;
    scanned += batchCharacters;
    if (batch === null) return; // `audit verify` says so
    const last = scan.next?.[0] === seq ? scan.next[1] : Infinity;
    scanned += batch.lines.length;
    scan.next = [seq, -1];
    scan.bound = batch.from;
    if (mayHold(batch.lines)) {
      splitLines(batch.lines).forEach((text, index) => {
        if (index <= last && mayHold(text)) scan.found.push({ text, position: [seq, index] });
      });
    }
    if (batch.from < since && nextOf(scan) === null) scan.next = null;
  };
  /** The next matching line. */
  const nextOf = ({ name, found }: ChainScan): FoundLine | null => {
    for (let next = found.at(-1); next !== undefined; next = found.at(-1)) {
      if (next.line !== undefined) return next.line;
      const line = decodeLine(next.text);
      if (fits(line)) {
        const given = line.arguments === null ? null : decodeArguments(line.arguments);
        return next.line = { ...line, arguments: given, instance: name, batch: next.position[0] };
      }
      found.pop();
    }
    return null;
  };
  const boundOf = (scan: ChainScan): number => nextOf(scan)?.time ?? scan.bound;

  while (lines.length < limit && scanned < maxScannedCharacters) {
    const open = scans.filter(({ next, found }) => next !== null || found.length > 0);
    const [first, ...others] = open;
    if (first === undefined) return { lines, cursor: null };
    const scan = others.reduce((best, each) => boundOf(each) > boundOf(best) ? each : best, first);
    const line = nextOf(scan);
    scan.found.pop();
    if (line === null) await read(scan);
    else lines.push(line);
  }
  return { lines, cursor: toCursor(scans) };
}

async function beginScans(
  storage: Storage,
  until: number | undefined,
  cursor: z.infer<typeof cursorSchema> | null,
): Promise<readonly ChainScan[]> {
  const chains = await listChains(storage);
  return await Promise.all(chains.map(async ({ name, chain }) => {
    // A chain that began after the first page has lines that are newer than what was shown.
    const next = cursor === null ? undefined : cursor[name] ?? null;
    const newest = until === undefined || next === null ? Infinity : await newestUntil(storage, name, chain, until);
    const batches = batchesOf(storage, name, Math.min(next?.[0] ?? Infinity, newest));
    return { name, batches, next, bound: Infinity, found: [] };
  }));
}

/**
 * The last batch that may hold lines up to a time: the last one that began by then, found by halves, or a later one
 * from after the clock was set back.
 */
async function newestUntil(storage: Storage, name: string, chain: Chain | null, until: number): Promise<number> {
  if (chain === null) return Infinity;
  let [low, high] = [chain.removed?.seq ?? 0, chain.seq];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const found = parseBatch((await storage.get(batchKey(name, middle)))?.value);
    if (found !== null && found.from > until) high = middle - 1;
    else low = middle;
  }
  return Math.max(high, chain.setBack ?? 0);
}

function parseCursor(text: string | undefined): z.infer<typeof cursorSchema> | null {
  if (text === undefined || text.length > maxCursorCharacters) return null;
  return cursorSchema.safeParse(parseJson(Buffer.from(text, "base64url").toString())).data ?? null;
}

function toCursor(scans: readonly ChainScan[]): string | null {
  if (scans.every(({ next, found }) => next === null && found.length === 0)) return null;
  const positions = scans.flatMap(({ name, next, found }) => {
    const left = found.at(-1)?.position ?? next;
    return [[name, left === undefined ? unread : left]];
  });
  return Buffer.from(JSON.stringify(Object.fromEntries(positions))).toString("base64url");
}
