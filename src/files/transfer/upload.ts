/**
 * Receives a file by a link, as the body of a PUT. An upload that breaks changes nothing and leaves the link good: it
 * starts again.
 */
import { dateAndTime, html, pageResponse } from "../../lib/page.ts";
import { showName } from "../workspace/path.ts";
import {
  type LinkTarget,
  pieceBytes,
  type Running,
  type TransferEnd,
  type TransferParts,
  type UploadRecord,
} from "./links.ts";
import { declaredLength, isEncoded, isTooFragmented, piecesATurn } from "../../lib/request_text.ts";
import { pause } from "../../lib/time.ts";
import { maxArriving } from "../workspace/change.ts";
import type { Workspace } from "../workspace/port.ts";
import { accessEnded, answer, notAllowed, refuseTransfer, statusOf, unknownLink } from "./download.ts";

/** How large a file may be here. */
export function maxUploadBytes({ limits }: Pick<Workspace, "limits">): number {
  return Math.min(maxArriving(limits), limits.maxTotalBytes ?? Infinity);
}

/** The refusal of what the head of a request announces; `null` where it can be taken. */
export function refusalOfHead(workspace: Workspace, request: Request): Response | null {
  if (isEncoded(request)) {
    return refuseTransfer(415, "Send the file as it is, without Content-Encoding.", {
      "accept-encoding": "identity",
    });
  }
  // RFC 9110 §14.5: a part must not be taken for the whole
  if (request.headers.has("content-range")) {
    return refuseTransfer(400, "Send the whole file: a broken upload starts again.");
  }
  const limitBytes = maxUploadBytes(workspace);
  if ((declaredLength(request) ?? 0) <= limitBytes) return null;
  return refuseTransfer(413, `A file may have at most ${limitBytes} bytes here.`);
}

/**
 * Writes what the request brings, in one step when it is all there. The link is used before that: neither a race nor a
 * kill writes two files by one link. A refusal gives it back.
 */
export async function receiveUpload(
  { links, limits, timers, refusalWords }: TransferParts,
  { id, path, workspace, record }: LinkTarget<UploadRecord>,
  { request, running, change }: {
    readonly request: Request;
    readonly running: Running;
    /** The id of the change that was made, where it can be undone. */
    readonly change: () => string | null;
  },
): Promise<Response> {
  const { signal } = request; // from here on Deno tells it that the sender is gone
  const { mode, ifMatch } = record;
  const body = readBody(request.body, { limits, timers, running });
  let isUsed = false;
  let end: TransferEnd = "refused";
  async function* content(): AsyncGenerator<Uint8Array> {
    yield* body.pieces();
    if (await isCut(body.bytes, request, signal)) throw new CutUpload("hung_up");
    isUsed = await links.setUsed(id, true);
    if (!isUsed) throw new CutUpload("used_up");
  }
  try {
    const written = await workspace.receive(path, content(), { mode, ...(ifMatch === undefined ? {} : { ifMatch }) });
    if (!written.ok) {
      if (isUsed) await links.setUsed(id, false);
      return refuseTransfer(statusOf(written.error), sentence(refusalWords(written.error)));
    }
    end = "whole";
    const { sizeBytes, sha256, created } = written.value;
    return answer(created ? 201 : 200, `${JSON.stringify({ size_bytes: sizeBytes, sha256, created })}\n`, {
      "content-type": "application/json",
    });
  } catch (error) {
    if (!(error instanceof CutUpload)) throw error;
    end = error.end;
    return refuseTransfer(...cutWords[error.end] ?? brokenUpload);
  } finally {
    body.stop();
    running.end(end, body.bytes, change());
  }
}

/** When the sender of an ended body is known to be gone. */
const cancelledMs = 100;

/** By HTTP/2, which has no Transfer-Encoding, a body that its sender cancels ends like a whole one (RFC 9113 §8.1). */
async function isCut(bytes: number, request: Request, signal: AbortSignal): Promise<boolean> {
  const declared = declaredLength(request);
  if (declared !== null) return bytes !== declared;
  if (request.headers.has("transfer-encoding")) return false;
  await pause(cancelledMs);
  return signal.aborted;
}

const brokenUpload = [400, "The file did not arrive whole. Nothing was written."] as const;
const tooSlow = [408, "The file took too long to arrive. Nothing was written."] as const;
const cutWords: Readonly<Partial<Record<TransferEnd, readonly [number, string]>>> = {
  access_ended: [403, accessEnded],
  not_allowed: [403, notAllowed],
  used_up: [404, unknownLink],
  stalled: tooSlow,
  too_long: tooSlow,
  too_fragmented: [400, "The file arrived in too many small pieces. Nothing was written."],
};

function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}

/** An upload that ended before all of it was there. */
class CutUpload extends Error {
  constructor(readonly end: TransferEnd) {
    super(`The upload ended: ${end}`);
  }
}

/** The body of an upload, in pieces of one size, for as long as it arrives in time and the transfer may go on. */
function readBody(
  body: ReadableStream<Uint8Array> | null,
  { limits, timers, running }: Pick<TransferParts, "limits" | "timers"> & { readonly running: Running },
) {
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
    if (isTooFragmented(chunks, bytes)) throw new CutUpload("too_fragmented");
    if (chunks % piecesATurn === 0) await pause(0);
    return read.value;
  }
  async function requireAccess(): Promise<void> {
    const end = await running.check();
    if (end !== null) throw new CutUpload(end);
  }
  return {
    /** Each piece is good until the next is asked for. Throws a {@link CutUpload}. */
    async *pieces(): AsyncGenerator<Uint8Array> {
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
    get bytes(): number {
      return bytes;
    },
    stop(): void {
      stopTimer();
      void reader?.cancel().catch(() => {});
    },
  };
}

/** The page on which a person uploads by a link. */
export function uploadPage({ path, expiresAt, mode }: UploadRecord, limitBytes: number): Response {
  const replaced = mode === "create" ? "" : " A file that is there already is replaced.";
  const body = html`
    <h1>Upload a file</h1>
    <p>The file you choose is saved as <strong>${showName(
      path,
    )}</strong> in the workspace of this server.${replaced}</p>
    <form>
      <label class="field" for="file">File</label>
      <input type="file" id="file" required>
      <div class="actions"><button>Upload</button></div>
    </form>
    <p id="outcome" role="alert"><noscript>This page needs JavaScript.</noscript></p>
    <p class="hint">It may have up to ${limitBytes.toLocaleString(
      "en-GB",
    )} bytes. The link works once, until ${dateAndTime(expiresAt)}.</p>
  `;
  return pageResponse({ title: "Upload a file", body, script: uploadScript, isLive: true });
}

const uploadScript = `
  const form = document.querySelector("form");
  const button = form.querySelector("button");
  const outcome = document.getElementById("outcome");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    outcome.className = "note plain";
    outcome.textContent = "Uploading\u2026";
    let isSaved = false;
    let words = "The file was not saved: it did not arrive whole, or is too large.";
    try {
      const answer = await fetch(location.href, { method: "PUT", body: form.elements.file.files[0] });
      isSaved = answer.ok;
      words = isSaved ? "The file has arrived. You can close this page." : await answer.text();
    } catch { /* the connection broke */ }
    outcome.className = isSaved ? "note good" : "note bad";
    outcome.textContent = words;
    button.disabled = isSaved;
  });
`;
