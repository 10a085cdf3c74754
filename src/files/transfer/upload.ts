/**
 * Receives a file by a link, as the body of a PUT or from the form of the upload page. An upload that breaks changes
 * nothing and leaves the link good: it starts again.
 */
import { dateAndTime, type Html, html, pageResponse } from "../../lib/page.ts";
import { showName } from "../workspace/file_display.ts";
import {
  type LinkTarget,
  pieceBytes,
  type Running,
  type TransferEnd,
  type TransferLimits,
  type TransferParts,
  type UploadRecord,
} from "./links.ts";
import { declaredLength, isEncoded, isTooFragmented, piecesATurn } from "../../lib/request_text.ts";
import { pause, type Timers } from "../../lib/time.ts";
import { maxArriving } from "../workspace/change.ts";
import type { Workspace } from "../workspace/port.ts";
import { accessEnded, answer, notAllowed, refuseTransfer, statusOf, unknownLink } from "./download.ts";

/** What a request announces: the boundary of a form, or the file itself, with its size where that is declared. */
type Announced = { readonly boundary: string } | { readonly sizeBytes: number | null };

/** How large a file may be here. */
export function maxUploadBytes({ limits }: Pick<Workspace, "limits">): number {
  return Math.min(maxArriving(limits), limits.maxTotalBytes ?? Infinity);
}

/** What the head of a request announces, or the refusal of what cannot be taken. */
export function planUpload(workspace: Workspace, request: Request): Announced | Response {
  const { headers, method } = request;
  if (isEncoded(request)) {
    return refuseTransfer(415, "Send the file as it is, without Content-Encoding.", {
      "accept-encoding": "identity",
    });
  }
  // RFC 9110 §14.5: a part must not be taken for the whole
  if (headers.has("content-range")) return refuseTransfer(400, "Send the whole file: a broken upload starts again.");
  const boundary = method === "POST" ? formBoundary(headers.get("content-type")) : null;
  if (method === "POST" && boundary === null) {
    return refuseTransfer(415, "Put the file here: curl -T FILE ADDRESS. POST is for the form of the upload page.");
  }
  const limitBytes = maxUploadBytes(workspace);
  const sizeBytes = declaredLength(request);
  if ((sizeBytes ?? 0) - (boundary === null ? 0 : maxFormBytes) > limitBytes) {
    return refuseTransfer(413, `A file may have at most ${limitBytes} bytes here.`);
  }
  return boundary === null ? { sizeBytes } : { boundary };
}

/**
 * Writes what the request brings, in one step when it is all there. The link is used before that: neither a race nor a
 * kill writes two files by one link. A refusal gives it back.
 */
export async function receiveUpload(
  { links, limits, timers, refusalWords }: TransferParts,
  { id, path, workspace, record }: LinkTarget<UploadRecord>,
  announced: Announced,
  { request, running, change }: {
    readonly request: Request;
    readonly running: Running;
    /** The id of the change that was made, where it can be undone. */
    readonly change: () => string | null;
  },
): Promise<Response> {
  const { headers, signal } = request; // from here on Deno tells it that the sender is gone
  const { mode, ifMatch } = record;
  const body = readBody(request.body, { limits, timers, running });
  let isUsed = false;
  let end: TransferEnd = "refused";
  async function* content(): AsyncGenerator<Uint8Array> {
    yield* "boundary" in announced ? fileOfForm(body.pieces(), announced.boundary) : body.pieces();
    if ("sizeBytes" in announced && await isCut(body.bytes, announced.sizeBytes, headers, signal)) {
      throw new CutUpload("hung_up");
    }
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
    const status = created ? 201 : 200;
    if ("boundary" in announced) return uploadedPage(status, record, sizeBytes);
    return answer(status, `${JSON.stringify({ size_bytes: sizeBytes, sha256, created })}\n`, {
      "content-type": "application/json",
    });
  } catch (error) {
    if (error instanceof FormProblem) return refuseTransfer(400, formWords[error.reason]);
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
async function isCut(bytes: number, declared: number | null, headers: Headers, signal: AbortSignal): Promise<boolean> {
  if (declared !== null) return bytes !== declared;
  if (headers.has("transfer-encoding")) return false;
  await pause(cancelledMs);
  return signal.aborted;
}

const formWords = {
  no_file: "Choose a file first.",
  malformed: "The form did not bring one whole file.",
};

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
  { limits, timers, running }: {
    readonly limits: TransferLimits;
    readonly timers: Timers;
    readonly running: Running;
  },
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

/** Why a form brings no file. */
export class FormProblem extends Error {
  constructor(readonly reason: "no_file" | "malformed") {
    super(`The form brings no file: ${reason}`);
  }
}

/** What a form may have beside the file's bytes. */
const maxFormBytes = 16_384;

/** The boundary of a form's parts (RFC 2046 §5.1.1); `null` for another body. */
export function formBoundary(contentType: string | null): string | null {
  const found = /^multipart\/form-data\s*;.*?boundary=(?:"([^"\r\n]{1,70})"|([^\s";,]{1,70}))[ \t]*(?:;|$)/i.exec(
    contentType ?? "",
  );
  return found?.[1] ?? found?.[2] ?? null;
}

/** The bytes of the first part, which has to be a file; the rest is ignored. */
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

/** The page on which a person uploads by a link. It works without script and cookies. */
export function uploadPage({ path, expiresAt, mode }: UploadRecord, limitBytes: number): Response {
  const replaced = mode === "create" ? "" : " A file that is there already is replaced.";
  const body = html`
    <h1>Upload a file</h1>
    <p>The file you choose is saved as <strong>${showName(
      path,
    )}</strong> in the workspace of this server.${replaced}</p>
    ${form}
    <p class="hint">It may have up to ${limitBytes.toLocaleString(
      "en-GB",
    )} bytes. The link works once, until ${dateAndTime(expiresAt)}.</p>
  `;
  return pageResponse({ title: "Upload a file", body });
}

const form = html`
  <form method="post" enctype="multipart/form-data">
    <label class="field" for="file">File</label>
    <input type="file" id="file" name="file" required>
    <div class="actions"><button>Upload</button></div>
  </form>
`;

/** That the file has arrived. */
function uploadedPage(status: number, { path }: UploadRecord, sizeBytes: number): Response {
  const body = html`
    <h1>The file has arrived</h1>
    <p>
      It is saved as <strong>${showName(path)}</strong> (${sizeBytes.toLocaleString("en-GB")} bytes). You can close this
      page.
    </p>
  `;
  return pageResponse({ title: "The file has arrived", status, body });
}

/** A refusal, with the form again where another try can succeed. */
export function refusedPage(status: number, words: string, again: boolean): Response {
  const title = again ? "The file was not saved" : "This link cannot be used";
  const body: Html = html`
    <h1>${title}</h1>
    <p class="note bad" role="alert">${words}</p>
    ${again && form}
  `;
  return pageResponse({ title, status, body });
}
