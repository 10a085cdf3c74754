/** The lines of the stored audit: their fields and their text, the queue in which they wait, and the search in them. */
import { counted } from "../lib/result.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { LogFields } from "../lib/log.ts";
import type { AuditEntry } from "../mcp/mod.ts";
import { auditLineEnd, batchesOf, batchKey, createChainWriter, listChains, parseBatch } from "./chain.ts";
import type { AuditParts, Chain, NewBatch } from "./chain.ts";
import { type Clock, createPause, systemTimers, type Timers } from "../lib/time.ts";
import * as z from "zod";
import type { Storage } from "../storage/mod.ts";

/** The event of a tool's call. */
export const callEvent = "call";

/** The texts of a line, in the order in which they are stored. */
const textFields = [
  /** `call` for a tool, `request` for any other request, else the name of the log line, such as `sign_in`. */
  "event",
  "person",
  "client",
  /** The grant, or the token of the command line. */
  "grant",
  /** The tool; for other requests the method. */
  "tool",
  /** The file, record or model, in short. */
  "target",
  "address",
  "outcome",
  "code",
  /** Names the change in the trash that can be undone. */
  "change",
  "requestId",
] as const;
type TextField = typeof textFields[number];

/** Who did what, with which outcome. No contents, no secrets; what a caller chose is cut to a bound. */
export interface AuditLine extends Readonly<Record<Exclude<TextField, "event">, string | null>> {
  readonly event: string;
  /** When it ended, in milliseconds since the epoch. */
  readonly time: number;
  readonly durationMs: number | null;
  /** The trace that the request belongs to. */
  readonly trace: string | null;
  /** Of a tool's call, as they are stored: {@link decodeArguments} reads them. */
  readonly arguments: string | null;
}

function textsOf<Value>(valueOf: (name: TextField, index: number) => Value): Record<TextField, Value> {
  return Object.fromEntries(textFields.map((name, index) => [name, valueOf(name, index)])) as Record<TextField, Value>;
}

/** A line that says nothing: what is known is put over it. */
export const emptyLine: AuditLine = {
  ...textsOf(() => null),
  ...{ time: 0, event: "", durationMs: null, trace: null, arguments: null },
};

const maxCharacters = 200;
const fieldEnd = "|";
// What JSON would escape, and our own marks.
// deno-lint-ignore no-control-regex
const escaped = /[%"\\|~\u0000-\u001f\u007f-\u009f]/g;
// Also what may be half a pair.
// deno-lint-ignore no-control-regex
const needsCare = /[%"\\|~\u0000-\u001f\u007f-\u009f\ud800-\udfff]/;

/** A field's text as it is stored. */
function encodeField(text: string): string {
  if (text.length <= maxCharacters && !needsCare.test(text)) return text;
  const short = text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text;
  return short.toWellFormed().replace(escaped, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** The stored text, with its end. After the duration stand, where there are any, the trace and the arguments. */
export function encodeLine(line: AuditLine): string {
  const { time, durationMs, trace, arguments: given } = line;
  let text = String(time);
  for (const name of textFields) text += fieldEnd + encodeField(line[name] ?? "");
  text += fieldEnd + (durationMs === null ? "" : String(Math.round(durationMs * 100) / 100));
  if (trace !== null || given !== null) text += fieldEnd + encodeField(trace ?? "");
  return given === null ? text + auditLineEnd : text + fieldEnd + given + auditLineEnd;
}

/** The inverse of {@link encodeLine}, without the end. */
export function decodeLine(text: string): AuditLine {
  const [time, ...fields] = text.split(fieldEnd);
  const texts = textsOf((_, index) => decodeField(fields[index]));
  const [duration = "", trace, ...given] = fields.slice(textFields.length);
  return {
    ...texts,
    time: Number(time),
    event: texts.event ?? "",
    durationMs: duration === "" ? null : Number(duration),
    trace: decodeField(trace),
    arguments: given.length === 0 ? null : given.join(fieldEnd),
  };
}

function decodeField(text = ""): string | null {
  if (text === "") return null;
  return text.replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** The texts of a batch's lines, without their ends. */
export function splitLines(lines: string): readonly string[] {
  return lines.split(auditLineEnd).slice(0, -1);
}

/** What a request did. Called for every call. */
export function lineOfRequest(entry: AuditEntry, params: unknown): AuditLine {
  return {
    time: entry.time,
    event: entry.tool === null ? "request" : callEvent,
    person: entry.subject,
    client: entry.clientId,
    grant: entry.grantId,
    tool: entry.tool ?? entry.method,
    target: touchedBy(params),
    address: null,
    outcome: entry.outcome,
    code: entry.code,
    durationMs: entry.durationMs,
    change: entry.change ?? null,
    requestId: entry.requestId,
    trace: entry.traceId ?? null,
    arguments: entry.tool === null ? null : encodeArguments(params),
  };
}

/** What a line of the log says; its names for the same thing differ by part. */
export function lineOfLog(time: number, event: string, fields: LogFields = {}): AuditLine {
  const textOf = (...names: readonly string[]): string | null => {
    const value = names.map((name) => fields[name]).find((each) => ["string", "number"].includes(typeof each));
    return value === undefined ? null : String(value);
  };
  const { durationMs } = fields;
  const by = textOf("by");
  const person = textOf("subject", "user") ?? by;
  return {
    time,
    event,
    person,
    client: textOf("clientId", "client"),
    grant: textOf("grant", "token"),
    tool: textOf("tool"),
    target: textOf("what") ?? (by === null || by === person ? null : `by ${by}`),
    address: textOf("address"),
    outcome: textOf("outcome"),
    code: textOf("reason", "code"),
    durationMs: typeof durationMs === "number" ? durationMs : null,
    change: textOf("change"),
    requestId: textOf("requestId"),
    trace: null,
    arguments: null,
  };
}

/**
 * Arguments whose texts say where, which or how: they are kept as they are. All other texts may be contents, prompts,
 * searches or secrets, and so may all texts of a call that was not understood: of them the size is kept.
 */
export const toldArguments: ReadonlySet<string> = new Set([
  ...["path", "filename", "destination", "against", "pattern", "modified_after", "change", "if_version", "model"],
  ...["table", "id", "name", "field", "fields", "group_by", "order_by", "mean_time", "include", "from", "audience"],
  ...["mode", "show", "sort", "order", "encoding", "action", "decision"],
]);
/** Of all arguments of a call, their names included. */
const maxArgumentCharacters = 512;
/** A longer name, or one of other signs, is none that a tool has: it may be any text. */
const argumentName = /^[a-z]\w{0,39}$/;

/** The arguments of a call as they are stored, without switches that are off. Runs within every call. */
function encodeArguments(params: unknown): string | null {
  if (!isObject(params) || !isObject(params["arguments"])) return null;
  const given = params["arguments"];
  const isUnderstood = !("name" in params); // else they are as they came, beside the tool's name
  let text = "";
  for (const name of Object.keys(given)) {
    const value = given[name];
    if (value === undefined || value === false || !argumentName.test(name)) continue;
    if (text.length > maxArgumentCharacters) return `${text}${fieldEnd}more=not kept`;
    if (text !== "") text += fieldEnd;
    text += `${name}=`;
    if (typeof value !== "string") text += typeof value === "object" && value !== null ? countOf(value) : String(value);
    else text += isUnderstood && toldArguments.has(name) ? encodeField(value) : counted(value.length, "character");
  }
  return text;
}

function countOf(value: object): string {
  return counted(Array.isArray(value) ? value.length : Object.keys(value).length, "entry", "entries");
}

/** The arguments of a stored line, by name. */
export function decodeArguments(text: string): Readonly<Record<string, string>> {
  const pairs = text === "" ? [] : text.split(fieldEnd);
  return Object.fromEntries(pairs.map((pair) => {
    const end = pair.indexOf("=");
    return [pair.slice(0, end), decodeField(pair.slice(end + 1)) ?? ""];
  }));
}

// What a request touches, in short: a file, a record, a model. Never contents.

const maxNames = 3;
/** Of a longer list, the beginning. */
const maxNamesCounted = 1_000;

/** From the parameters of a request, as the caller sent them; `null` where they name nothing. */
export function touchedBy(params: unknown): string | null {
  if (!isObject(params)) return null;
  const input = params["arguments"];
  if (!isObject(input)) return text(params["uri"]);
  const table = text(input["table"]);
  const record = text(input["id"]) ?? text(input["number"]) ?? text(input["attachment_id"]);
  if (table !== null || record !== null) return short([table, record].filter((part) => part !== null).join(" "));
  const { files, edits, paths, against } = input;
  const path = text(input["path"]) ?? text(input["filename"]);
  const destination = text(input["destination"]);
  const lists = [files, edits, paths].filter(Array.isArray);
  const more = against === undefined && lists.length === 0 ? "" : names(path, [against, ...lists.flat()]);
  const from = path ?? (more === "" ? null : more.slice(2));
  if (destination !== null) return from === null ? destination : short(`${from} > ${destination}`);
  if (more !== "") return short(path === null ? more.slice(2) : path + more);
  return path ?? text(input["model"]);
}

/** Further files than `first`, each once, after a comma; `given` are names, or what has one. */
function names(first: string | null, given: readonly unknown[]): string {
  const found = new Set<string>();
  for (const each of given.slice(0, maxNamesCounted)) {
    const name = isObject(each) ? text(each["path"]) ?? text(each["filename"]) : text(each);
    if (name !== null && name !== first) found.add(name);
  }
  const shown = Array.from(found).slice(0, maxNames).map((name) => `, ${name}`).join("");
  return shown + (found.size > maxNames ? `, and ${found.size - maxNames} more` : "");
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? short(value) : null;
}

/** A copy: a slice would keep the whole text in memory. */
function short(value: string): string {
  return value.length <= maxCharacters ? value : JSON.parse(JSON.stringify(value.slice(0, maxCharacters)));
}

// * The queue of the stored audit: bounded, and written in the background. A call pays for the text of its
// line. Lines that find the queue full are lost; a further line says how many.

/** Some 1,000 lines. Each character takes three bytes at most, for which a stored value has room (`storageLimits`). */
const maxBatchCharacters = 160_000;

export type AuditRecorder = ReturnType<typeof createAuditRecorder>;

interface RecorderOptions extends AuditParts {
  readonly timers?: Timers | undefined;
  /** Names this process, so that no two add to one chain. */
  readonly holder: string;
  /** Called with the number of stored bytes. */
  readonly onStored?: (bytes: number) => void;
  readonly maxWaitingLines?: number;
}

/** How long a line waits for others. A process that is killed loses the lines of this time. */
const gatherMs = 1_000;
const defaultMaxWaitingLines = 50_000;
const retryMs = 1_000;

/** Takes lines, and stores them in the background. */
export function createAuditRecorder(options: RecorderOptions) {
  const { clock, log, holder, onStored, timers = systemTimers } = options;
  const { maxWaitingLines = defaultMaxWaitingLines } = options;
  const writer = createChainWriter(options, holder);
  const pause = createPause(timers);
  const closing = new AbortController();
  /** Full batches, each for one commit. */
  const waiting: NewBatch[] = [];
  /** The one that still takes lines. */
  let open: { readonly from: number; lines: string; count: number; readonly calls: Record<string, number> } | null =
    null;
  /** Those that are being stored, too. */
  let count = 0;
  let lost = 0;
  let isFailing = false;
  let stopTimer: (() => void) | undefined;
  let writing: Promise<void> | null = null;

  /** Whether a batch is full: it does not wait for the time to pass. */
  const isFull = (): boolean => waiting.length > 0;
  const close = (): void => {
    if (open !== null) waiting.push(open);
    open = null;
  };
  const add = (line: AuditLine): void => {
    const batch = open ??= { from: line.time, lines: "", count: 0, calls: {} };
    batch.lines += encodeLine(line);
    batch.count += 1;
    count += 1;
    const outcome = line.outcome ?? "";
    if (line.event === callEvent) batch.calls[outcome] = (batch.calls[outcome] ?? 0) + 1;
    if (batch.lines.length >= maxBatchCharacters) close();
  };
  const record = (line: AuditLine): void => {
    if (count >= maxWaitingLines) {
      lost += 1;
      return;
    }
    const wasFull = isFull();
    add(line);
    if (writing !== null || wasFull) return;
    if (isFull()) writeSoon(0);
    else if (stopTimer === undefined) writeSoon(gatherMs);
  };
  const writeSoon = (milliseconds: number): void => {
    stopTimer?.();
    stopTimer = timers.after(milliseconds, () => void write());
  };
  const noteLost = (): void => {
    if (lost === 0) return;
    log.write("warn", "audit_lines_lost", { lines: lost });
    add({ ...emptyLine, time: clock(), event: "audit_lines_lost", code: String(lost) });
    lost = 0;
  };
  /** Tries until the batch is stored; `false` when the server stops before. */
  const store = async (batch: NewBatch): Promise<boolean> => {
    for (let isLast = false;; isLast = closing.signal.aborted) {
      try {
        const bytes = await writer.add(batch);
        onStored?.(bytes);
        isFailing = false;
        return true;
      } catch (error) {
        if (!isFailing) log.write("error", "audit_not_stored", { error: String(error) });
        isFailing = true;
        if (isLast) return false;
        await pause(retryMs, closing.signal);
      }
    }
  };
  const writeAll = async (): Promise<void> => {
    do {
      if (!isFull()) close();
      const batch = waiting.shift();
      if (batch === undefined) return;
      if (!await store(batch)) {
        waiting.unshift(batch);
        return;
      }
      count -= batch.count;
      noteLost();
    } while (isFull());
  };
  /** Lines that come meanwhile wait for others again. */
  const write = (): Promise<void> => {
    stopTimer?.();
    stopTimer = undefined;
    return writing ??= writeAll().finally(() => {
      writing = null;
      if (count > 0 && !closing.signal.aborted) writeSoon(isFull() ? 0 : gatherMs);
    });
  };
  return {
    /** Takes a line; never throws and never waits. */
    record,
    /** Resolves when all lines so far are stored, or cannot be. */
    async flush(): Promise<void> {
      await writing;
      while (count > 0) await write();
    },
    /** Stores what waits and leaves the chain to the next process. */
    async close(): Promise<void> {
      closing.abort();
      await writing;
      for (let left = Infinity; count > 0 && count < left;) {
        left = count;
        await write();
      }
      stopTimer?.();
      if (count > 0) log.write("error", "audit_lines_lost", { lines: count + lost });
      await writer.release().catch((error) => log.write("error", "audit_not_stored", { error: String(error) }));
    },
  };
}

// Keeps strangers from pushing everything else out of the stored audit: of lines that anyone can cause, only a few a
// minute are stored, and the others are counted. The log has more of them.

/** A month of them takes about half of what AUDIT_MAX_BYTES is by default. */
const maxLinesOfMinute = 5;
const burst = 300;
const minuteMs = 60_000;

/** `record` passes on the lines that are to be stored; `close` says how many were left out since the last one. */
export function limitStrangers(record: (line: AuditLine) => void, clock: Clock) {
  let left = burst;
  let filledAt = clock();
  let skipped = 0;
  const noteSkipped = (): void => {
    if (skipped > 0) record({ ...emptyLine, time: clock(), event: "audit_lines_skipped", code: String(skipped) });
    skipped = 0;
  };
  return {
    record(line: AuditLine): void {
      const isStrangers = line.person === null || line.outcome === "refused";
      if (!isStrangers) return record(line);
      const now = clock();
      left = Math.min(burst, left + Math.max(0, now - filledAt) / minuteMs * maxLinesOfMinute);
      filledAt = now;
      if (left < 1) {
        skipped += 1;
        return;
      }
      left -= 1;
      noteSkipped();
      record(line);
    },
    close: noteSkipped,
  };
}

// Searches the lines of all instances, newest first. What one page reads is bounded: where that is not enough to fill
// it, the page says where the next one goes on.

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
