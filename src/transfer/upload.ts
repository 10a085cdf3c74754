/** Receives a file by a link. */
import { type ArrivingContent, maxArriving } from "../workspace/arriving_content.ts";
import { declaredLength } from "../lib/request_text.ts";
import { pause } from "../lib/time/pause.ts";
import type { Timers } from "../lib/time/timers.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Workspace, WorkspaceRefusal } from "../workspace/port.ts";
import { accessEnded, answer, refuseTransfer, statusOf, unknownLink } from "./answers.ts";
import { pieceBytes, type TransferLimits } from "./limits.ts";
import type { UploadRecord } from "./link_record.ts";
import type { TransferStore } from "./link_store.ts";
import type { Running, TransferEnd } from "./running.ts";

interface UploadParts {
  readonly links: TransferStore;
  readonly limits: TransferLimits;
  readonly timers: Timers;
  readonly refusalWords: (refusal: WorkspaceRefusal) => string;
}

/** The refusal of a request whose head says already that it cannot be taken. */
export function refuseUpload({ limits }: Workspace, { headers }: Request): Response | null {
  // RFC 9110 §14.5: a part would be taken for the whole
  if (headers.has("content-range")) {
    return refuseTransfer(400, "An upload has to be whole: send it without Content-Range.");
  }
  if ((headers.get("content-encoding") ?? "identity").toLowerCase() !== "identity") {
    return refuseTransfer(415, "Send the file as it is, without Content-Encoding.", {
      "accept-encoding": "identity",
    });
  }
  const limitBytes = Math.min(maxArriving(limits), limits.maxTotalBytes ?? Infinity);
  const declared = declaredLength({ headers } as Request) ?? 0;
  return declared > limitBytes ? refuseTransfer(413, `A file may have at most ${limitBytes} bytes here.`) : null;
}

/** Writes the body as the link says. Once it is there, the link is used up, and then the file changes in one step. */
export async function receiveUpload(
  { links, limits, timers, refusalWords }: UploadParts,
  { id, record, path, workspace }: {
    readonly id: string;
    readonly record: UploadRecord;
    readonly path: WorkspacePath;
    readonly workspace: Workspace;
  },
  request: Request,
  running: Running,
): Promise<Response> {
  const { mode, ifMatch } = record;
  const body = readBody(request.body, { limits, timers, running });
  async function* content(): ArrivingContent & AsyncGenerator<Uint8Array> {
    yield* body.pieces();
    const isOurs = await links.update(id, (now) => now.holder === running.holder ? "delete" : "leave");
    if (!isOurs) throw new CutUpload("taken_over");
  }
  try {
    const written = await workspace.receive(path, content(), { mode, ...(ifMatch === undefined ? {} : { ifMatch }) });
    if (!written.ok) {
      running.end("refused", body.bytes);
      return refuseTransfer(statusOf(written.error), sentence(refusalWords(written.error)));
    }
    const { sizeBytes, sha256, created } = written.value;
    running.end("whole", sizeBytes);
    return answer(created ? 201 : 200, `${JSON.stringify({ size_bytes: sizeBytes, sha256, created })}\n`, {
      "content-type": "application/json",
    });
  } catch (error) {
    if (!(error instanceof CutUpload)) {
      running.end("refused", body.bytes);
      throw error;
    }
    running.end(error.end, body.bytes);
    const [status, words] = cutWords(error.end);
    return refuseTransfer(status, words);
  } finally {
    body.stop();
  }
}

class CutUpload extends Error {
  constructor(readonly end: TransferEnd) {
    super(`The upload ended: ${end}`);
  }
}

function cutWords(end: TransferEnd): readonly [number, string] {
  switch (end) {
    case "access_ended":
      return [403, accessEnded];
    case "used_up":
      return [404, unknownLink];
    case "taken_over":
      return [409, "Another request uses this link."];
    case "stalled":
    case "too_long":
      return [408, "The file took too long to arrive. Nothing was written."];
    case "too_fragmented":
      return [400, "The file arrived in too many small pieces. Nothing was written."];
    default:
      return [400, "The file did not arrive whole. Nothing was written."];
  }
}

function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}

/** See `lib/request_text.ts`: each chunk costs the thread the same, however small it is. */
const chunksOfAnySize = 1_000;
const leastAverageChunkBytes = 64;
const chunksATurn = 64;

interface UploadedBody {
  pieces(): AsyncGenerator<Uint8Array>;
  readonly bytes: number;
  stop(): void;
}

/** The body in pieces of one size, for as long as it arrives in time and the transfer may go on. */
function readBody(
  body: ReadableStream<Uint8Array> | null,
  { limits, timers, running }: Pick<UploadParts, "limits" | "timers"> & { readonly running: Running },
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
      for (let chunk; (chunk = await nextChunk()) !== null;) {
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
