/** The body of an upload, in pieces of one size, for as long as it arrives in time and the transfer may go on. */
import { pause, type Timers } from "../../lib/time.ts";
import { pieceBytes, type TransferLimits, type TransferRecord, type TransferStore } from "./link_store.ts";
import type { LinkTarget, Running, TransferEnd } from "./running.ts";
import type { Draft, DraftOptions, Outcome } from "../workspace/port.ts";

interface UploadedBody {
  /** Each piece is good until the next is asked for. Throws a {@link CutUpload}. */
  pieces(): AsyncGenerator<Uint8Array>;
  readonly bytes: number;
  stop(): void;
}

/** An upload that ended before all of it was there. */
export class CutUpload extends Error {
  constructor(readonly end: TransferEnd) {
    super(`The upload ended: ${end}`);
  }
}

/** Another request may bring the rest. */
const isToBeContinued: ReadonlySet<TransferEnd> = new Set(["hung_up", "stalled", "too_long", "stopped", "taken_over"]);

/** See `lib/request_text.ts`: each chunk costs the thread the same, however small it is. */
const chunksOfAnySize = 1_000;
const leastAverageChunkBytes = 64;
const chunksATurn = 64;

export function readBody(
  body: ReadableStream<Uint8Array> | null,
  { limits, timers, running }: {
    readonly limits: TransferLimits;
    readonly timers: Timers;
    readonly running: Running;
  },
): UploadedBody {
  const reader = body?.getReader();
  let bytes = 0;
  let chunks = 0;
  let cutBy: TransferEnd | null = null;
  let stopTimer = (): void => {};
  const cut = (end: TransferEnd): void => {
    cutBy ??= end;
    void reader?.cancel().catch(() => {}); // gone already is as good
  };
  const restart = (): void => {
    stopTimer();
    stopTimer = timers.after(limits.stallMs, () => cut("stalled"));
  };
  running.onCut(cut);

  async function nextChunk(): Promise<Uint8Array | null> {
    const read = await reader?.read().catch(() => null);
    if (cutBy !== null) throw new CutUpload(cutBy);
    if (read === null) throw new CutUpload("hung_up"); // or broke the framing
    if (read === undefined || read.done) return null;
    bytes += read.value.byteLength;
    chunks += 1;
    if (chunks > chunksOfAnySize + bytes / leastAverageChunkBytes) throw new CutUpload("too_fragmented");
    if (chunks % chunksATurn === 0) await pause(0);
    return read.value;
  }
  async function requireAccess(): Promise<void> {
    const end = await running.check();
    if (end !== null) throw new CutUpload(end);
  }
  return {
    async *pieces() {
      const gathered = new Uint8Array(pieceBytes);
      let filled = 0;
      restart();
      for (;;) {
        const chunk = await nextChunk().catch((error: unknown) =>
          error instanceof CutUpload ? error : Promise.reject(error)
        );
        if (chunk instanceof CutUpload) {
          if (filled > 0 && isToBeContinued.has(chunk.end)) yield gathered.subarray(0, filled);
          throw chunk;
        }
        if (chunk === null) break;
        for (let offset = 0; offset < chunk.byteLength;) {
          const part = chunk.subarray(offset, offset + pieceBytes - filled);
          gathered.set(part, filled);
          filled += part.byteLength;
          offset += part.byteLength;
          if (filled < pieceBytes) continue;
          await requireAccess();
          yield gathered;
          filled = 0;
          restart();
        }
      }
      stopTimer();
      await requireAccess();
      if (filled > 0) yield gathered.subarray(0, filled);
    },
    get bytes() {
      return bytes;
    },
    stop() {
      stopTimer();
      void reader?.cancel().catch(() => {});
    },
  };
}

// The file of a form (RFC 7578) as it arrives: the form of the upload page has one field, which is the file.

/** Why a form brings no file. */
export class FormProblem extends Error {
  constructor(readonly reason: "no_file" | "malformed") {
    super(`The form brings no file: ${reason}`);
  }
}

/** What a form may have beside the file's bytes. */
export const maxFormBytes = 16_384;

/** The boundary of a form's parts (RFC 2046 §5.1.1); `null` for another body. */
export function formBoundary(contentType: string | null): string | null {
  const found = /^multipart\/form-data\s*;.*?boundary=(?:"([^"\r\n]{1,70})"|([^\s";,]{1,70}))[ \t]*(?:;|$)/i.exec(
    contentType ?? "",
  );
  return found?.[1] ?? found?.[2] ?? null;
}

/** The bytes of the first part, which has to be a file; what follows it is passed over. */
export async function* fileOfForm(pieces: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Uint8Array> {
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  let rest = Buffer.from("\r\n", "latin1"); // the first delimiter may be the beginning of the body
  let state: "head" | "file" | "end" = "head";
  let passedBytes = 0;
  for await (const piece of pieces) {
    if (state === "end") {
      passedBytes += piece.byteLength;
      if (passedBytes > maxFormBytes) throw new FormProblem("malformed");
      continue;
    }
    rest = Buffer.concat([rest, piece]);
    if (state === "head") {
      const head = readHead(rest, delimiter);
      if (head === null) continue;
      requireFile(head.text);
      rest = rest.subarray(head.end);
      state = "file";
    }
    const end = rest.indexOf(delimiter);
    const ready = end === -1 ? Math.max(0, rest.length - delimiter.length + 1) : end;
    if (ready > 0) yield rest.subarray(0, ready);
    if (end === -1) rest = rest.subarray(ready);
    else state = "end";
  }
  if (state !== "end") throw new FormProblem("malformed");
}

/** The head of the first part, as soon as it is there. */
function readHead(body: Buffer, delimiter: Buffer): { readonly text: string; readonly end: number } | null {
  const start = body.indexOf(delimiter);
  const end = start === -1 ? -1 : body.indexOf("\r\n\r\n", start + delimiter.length, "latin1");
  if (end > maxFormBytes || (end === -1 && body.length > maxFormBytes)) throw new FormProblem("malformed");
  return end === -1 ? null : { text: body.toString("utf8", start + delimiter.length, end), end: end + 4 };
}

function requireFile(head: string): void {
  const disposition = /^content-disposition:[ \t]*form-data[ \t]*;(.*)$/im.exec(head)?.[1] ?? "";
  const name = /;[ \t]*filename="([^\r\n]*?)"(?:;|[ \t]*$)/i.exec(`;${disposition}`);
  if (!/(?:^|;)[ \t]*name="?file"?[ \t]*(?:;|$)/i.test(disposition) || name === null) {
    throw new FormProblem("malformed");
  }
  if (name[1] === "") throw new FormProblem("no_file");
}

// Which parts of a file were sent: a link is used up when all of it was.

/** From the first byte to the one after the last. */
export type Part = [number, number];

/** The parts in order, with those joined that touch. */
export function addPart(parts: readonly Part[], added: Part): Part[] {
  const joined: Part[] = [];
  for (const [from, to] of [...parts, added].sort(([one], [other]) => one - other)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last[1]) joined[joined.length - 1] = [last[0], Math.max(last[1], to)];
    else joined.push([from, to]);
  }
  return joined;
}

/** How many bytes of a part were sent already. */
export function bytesSentOf(parts: readonly Part[], [from, to]: Part): number {
  return parts.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(to, end) - Math.max(from, start)), 0);
}

/** Whether they are a whole file of this size. */
export function isWhole(parts: readonly Part[], sizeBytes: number): boolean {
  const [first] = parts;
  return first !== undefined && first[0] === 0 && first[1] >= sizeBytes;
}

// A link is used up by one upload that is put in place, whatever is refused or killed on the way.

/** Opens the draft, unless it has become the file: by another request, or by one that was killed right after. */
export async function openOnce(
  links: TransferStore,
  { id, path, workspace }: LinkTarget,
  options: DraftOptions,
): Promise<Outcome<Draft | null>> {
  const wasPlacing = isPlacing(await links.read(id));
  const opened = await workspace.openDraft(path, wasPlacing ? { ...options, isNew: false } : options);
  if (!opened.ok || opened.value === null) return opened;
  const draft = opened.value;
  if (draft.sizeBytes === 0) {
    const now = await links.read(id);
    if (now !== null && !isPlacing(now)) return opened;
    await draft.discard();
    throw new CutUpload("used_up");
  }
  if (!wasPlacing) return opened;
  await giveBack(links, id);
  if (!options.isNew) return opened;
  await draft.discard();
  return await workspace.openDraft(path, options);
}

function isPlacing(record: TransferRecord | null): boolean {
  return record?.direction === "upload" && record.isPlacing === true;
}

/** Notes that all of the file is there, so many bytes, unless another holds the link by now. */
export async function notePlacing(
  links: TransferStore,
  id: string,
  { holder, totalBytes }: { readonly holder: string; readonly totalBytes: number },
): Promise<boolean> {
  return await links.update(
    id,
    (now) => now.direction === "upload" && now.holder === holder ? { ...now, totalBytes, isPlacing: true } : "leave",
  );
}

/** Notes that it was not put in place: the link is good again. */
export async function giveBack(links: TransferStore, id: string): Promise<void> {
  await links.update(id, (now) => now.direction === "upload" ? { ...now, isPlacing: false } : "leave");
}
