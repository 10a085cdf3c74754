/** The body of an upload, in pieces of one size, for as long as it arrives in time and the transfer may go on. */
import { pause } from "../../lib/pause.ts";
import type { Timers } from "../../lib/timers.ts";
import { pieceBytes, type TransferLimits } from "./limits.ts";
import type { Running, TransferEnd } from "./running.ts";

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
