/**
 * Receives a file by a link: whole, in the parts that `Content-Range` tells, or from a form. What arrived is kept as a
 * draft until the link is too late, so that an upload that broke goes on where it ended.
 */
import { declaredLength } from "../../lib/request_text.ts";
import { pause } from "../../lib/time.ts";
import { maxArriving } from "../workspace/change.ts";
import type { Draft, Workspace, WorkspaceRefusal } from "../workspace/port.ts";
import { accessEnded, answer, notAllowed, refuseTransfer, statusOf, unknownLink } from "./download.ts";
import {
  CutUpload,
  fileOfForm,
  formBoundary,
  FormProblem,
  giveBack,
  maxFormBytes,
  notePlacing,
  openOnce,
  readBody,
} from "./upload_body.ts";
import { goingOn, type UploadRecord } from "./link_store.ts";
import type { LinkTarget, Running, TransferEnd, TransferParts } from "./running.ts";
import { uploadedPage } from "./upload_page.ts";

// * The header `Content-Range` of an upload (RFC 9110 §14.4, §14.5): a part of a file whose size is known, or `bytes *` with
// no body, which asks how much is there.

/** What a request brings. */
type SentRange =
  /** From the first byte to the one after the last. */
  | { readonly kind: "part"; readonly from: number; readonly to: number; readonly sizeBytes: number }
  | { readonly kind: "question"; readonly sizeBytes: number | null };

function parseContentRange(header: string): SentRange | null {
  const found = /^bytes[ \t]+(?:(\d{1,15})-(\d{1,15})\/(\d{1,15})|\*\/(\d{1,15}|\*))$/i.exec(header.trim());
  if (found === null) return null;
  const [, first, last, size, asked] = found;
  if (asked !== undefined) return { kind: "question", sizeBytes: asked === "*" ? null : Number(asked) };
  const part = { from: Number(first), to: Number(last) + 1, sizeBytes: Number(size) };
  return part.from < part.to && part.to <= part.sizeBytes ? { kind: "part", ...part } : null;
}

/** The header `Range` of an answer that says how much is there; nothing of none. */
function rangeOfKept(sizeBytes: number): Readonly<Record<string, string>> {
  return sizeBytes === 0 ? {} : { range: `bytes=0-${sizeBytes - 1}` };
}

interface UploadTarget extends LinkTarget {
  readonly record: UploadRecord;
  /** The id of the change that was made, where it can be undone. */
  change(): string | null;
}

/** What a request brings: all of the file where it says nothing else. */
type Sent = SentRange | { readonly kind: "whole"; readonly sizeBytes: number | null } | {
  readonly kind: "form";
  readonly boundary: string;
};

const anotherRequest = "Another request uses this link.";
const retrySeconds = "5";

/** How large a file may be here. */
export function maxUploadBytes({ limits }: Pick<Workspace, "limits">): number {
  return Math.min(maxArriving(limits), limits.maxTotalBytes ?? Infinity);
}

/** What the head of a request announces, or the refusal of what cannot be taken. */
export function planUpload(
  { workspace, record: { totalBytes } }: UploadTarget,
  request: Request,
): Sent | Response {
  const { headers, method } = request;
  if ((headers.get("content-encoding") ?? "identity").toLowerCase() !== "identity") {
    return refuseTransfer(415, "Send the file as it is, without Content-Encoding.", {
      "accept-encoding": "identity",
    });
  }
  const sent = readSent(headers, method === "POST");
  if (sent instanceof Response) return sent;
  const limitBytes = maxUploadBytes(workspace);
  const declared = declaredLength(request);
  const announced = totalBytesOf(sent) ?? (declared ?? 0) - (sent.kind === "form" ? maxFormBytes : 0);
  if (announced > limitBytes) return refuseTransfer(413, `A file may have at most ${limitBytes} bytes here.`);
  const told = sent.kind === "part" ? sent.to - sent.from : sent.kind === "question" ? 0 : null;
  if (told !== null && (declared ?? told) !== told) {
    return refuseTransfer(400, `The body has ${declared} bytes, and its Content-Range says ${told}.`);
  }
  const size = totalBytesOf(sent);
  if (totalBytes !== undefined && size !== undefined && size !== totalBytes && !isFirst(sent)) {
    return refuseTransfer(400, `The file has ${totalBytes} bytes, as an earlier part said.`);
  }
  return sent;
}

/** The size of the whole, where it is known with this request. */
export function knownTotalBytes({ totalBytes }: UploadRecord, sent: Sent): number | undefined {
  return isFirst(sent) ? totalBytesOf(sent) : totalBytes ?? totalBytesOf(sent);
}

function totalBytesOf(sent: Sent): number | undefined {
  return "sizeBytes" in sent ? sent.sizeBytes ?? undefined : undefined;
}

/** Whether the upload begins with the request, anew where there was a part. */
function isFirst(sent: Sent): boolean {
  return sent.kind === "part" ? sent.from === 0 : sent.kind !== "question";
}

function readSent(headers: Headers, isForm: boolean): Sent | Response {
  const range = headers.get("content-range");
  if (isForm) {
    const boundary = range === null ? formBoundary(headers.get("content-type")) : null;
    if (boundary !== null) return { kind: "form", boundary };
    return refuseTransfer(415, "Put the file here: curl -T FILE ADDRESS. POST is for the form of the upload page.");
  }
  if (range === null) return { kind: "whole", sizeBytes: declaredLength({ headers }) };
  const words = "Content-Range has to be like `bytes 0-499/1200`, or `bytes */*` to ask how much is there.";
  return parseContentRange(range) ?? refuseTransfer(400, words);
}

/**
 * Adds what the request brings to the draft. Once all of the file is there, the link says so, the file changes in one
 * step, and the link is used up: neither a refusal nor a kill in between loses what arrived, or writes it twice.
 */
export async function receiveUpload(
  parts: TransferParts,
  target: UploadTarget,
  sent: Sent,
  { request, running }: { readonly request: Request; readonly running: Running },
): Promise<Response> {
  const { refusalWords } = parts;
  const { headers, signal } = request; // from here on Deno tells it that the sender is gone
  const { id, record: { mode, ifMatch } } = target;
  const refuse = (refusal: WorkspaceRefusal): Response =>
    refuseTransfer(statusOf(refusal), sentence(refusalWords(refusal)));
  /** What arrived is kept where the refusal may pass, such as for a lack of room. */
  const leave = async (draft: Draft, refusal: WorkspaceRefusal): Promise<Response> => {
    const status = statusOf(refusal);
    const keptBytes = status < 500 || sent.kind === "form" ? 0 : draft.sizeBytes;
    if (keptBytes === 0) await draft.discard();
    return refuseTransfer(status, sentence(refusalWords(refusal)) + keptWords(keptBytes), rangeOfKept(keptBytes));
  };
  const options = { id, isNew: isFirst(sent), mode, ...(ifMatch === undefined ? {} : { ifMatch }) };
  const body = readBody(request.body, { ...parts, running });
  let draft: Draft | null = null;
  let end: TransferEnd = "refused";
  try {
    const cut = await running.check();
    if (cut !== null) throw new CutUpload(cut);
    const opened = await openOnce(parts.links, target, options);
    if (!opened.ok) return refuse(opened.error);
    draft = opened.value;
    if (draft === null) return refuseTransfer(409, anotherRequest, { "retry-after": retrySeconds });
    if (sent.kind === "part" && sent.from !== draft.sizeBytes) {
      const words = `There are ${draft.sizeBytes} bytes of the file here: go on with byte ${draft.sizeBytes}.`;
      return refuseTransfer(416, words, rangeOfKept(draft.sizeBytes));
    }
    const added = await addBody(draft, body.pieces(), sent);
    if (added !== null) return await leave(draft, added);
    if (!isWhole(draft, sent, target.record)) {
      end = "part";
      return answer(308, null, rangeOfKept(draft.sizeBytes));
    }
    const saved = await draft.save();
    if (!saved.ok) return await leave(draft, saved.error);
    if (await isCut(draft, sent, headers, signal)) throw new CutUpload("hung_up");
    const { holder } = running;
    const isOurs = await notePlacing(parts.links, id, { holder, totalBytes: draft.sizeBytes });
    if (!isOurs) throw new CutUpload("taken_over");
    const placed = await draft.place();
    if (!placed.ok) {
      const refusal = await leave(draft, placed.error);
      await giveBack(parts.links, id);
      return refusal;
    }
    await parts.links.update(id, () => "delete");
    end = "whole";
    const { sizeBytes, sha256, created } = placed.value;
    const status = created ? 201 : 200;
    if (sent.kind === "form") return uploadedPage(status, target.record, sizeBytes);
    return answer(status, `${JSON.stringify({ size_bytes: sizeBytes, sha256, created })}\n`, {
      "content-type": "application/json",
    });
  } catch (error) {
    if (sent.kind === "form") await draft?.discard(); // a browser begins anew
    if (error instanceof FormProblem) return refuseTransfer(400, formWords[error.reason]);
    if (!(error instanceof CutUpload)) throw error;
    end = error.end;
    const [status, words] = cutWords(error.end);
    const keptBytes = sent.kind === "form" || isFinal.has(status) ? 0 : draft?.sizeBytes ?? 0;
    return refuseTransfer(status, words + keptWords(keptBytes), rangeOfKept(keptBytes));
  } finally {
    body.stop();
    try {
      const isKept = draft !== null && draft.sizeBytes > 0;
      await (isKept ? draft?.close() : draft?.discard());
      if (isKept) await parts.links.update(id, (now) => goingOn(now, parts.clock(), parts.limits));
    } finally {
      running.end(end, body.bytes, target.change());
    }
  }
}

function keptWords(keptBytes: number): string {
  return keptBytes === 0 ? "" : ` Its first ${keptBytes} bytes are kept: go on with Content-Range.`;
}

/** Adds the file's bytes of a body; gives the refusal of the workspace where there is one. */
async function addBody(
  draft: Draft,
  pieces: AsyncIterable<Uint8Array>,
  sent: Sent,
): Promise<WorkspaceRefusal | null> {
  const to = sent.kind === "part" ? sent.to : sent.kind === "question" ? draft.sizeBytes : Infinity;
  for await (const piece of sent.kind === "form" ? fileOfForm(pieces, sent.boundary) : pieces) {
    if (draft.sizeBytes + piece.byteLength > to) throw new CutUpload("too_much");
    const added = await draft.append(piece);
    if (!added.ok) return added.error;
  }
  return null;
}

function isWhole({ sizeBytes }: Draft, sent: Sent, record: UploadRecord): boolean {
  return sent.kind === "whole" || sent.kind === "form" || sizeBytes === knownTotalBytes(record, sent);
}

/** When the sender of an ended body is known to be gone. */
const cancelledMs = 100;

/** By HTTP/2, which has no Transfer-Encoding, a body that its sender cancels ends like a whole one (RFC 9113 §8.1). */
async function isCut({ sizeBytes }: Draft, sent: Sent, headers: Headers, signal: AbortSignal): Promise<boolean> {
  if (sent.kind !== "whole") return false;
  if (sent.sizeBytes !== null) return sizeBytes !== sent.sizeBytes;
  if (headers.has("transfer-encoding")) return false;
  await pause(cancelledMs);
  return signal.aborted;
}

const formWords = {
  no_file: "Choose a file first.",
  malformed: "The form did not bring one whole file.",
};

/** No later request can go on. */
const isFinal: ReadonlySet<number> = new Set([403, 404]);

function cutWords(end: TransferEnd): readonly [number, string] {
  switch (end) {
    case "access_ended":
      return [403, accessEnded];
    case "not_allowed":
      return [403, notAllowed];
    case "used_up":
      return [404, unknownLink];
    case "taken_over":
      return [409, anotherRequest];
    case "stalled":
    case "too_long":
      return [408, "The file took too long to arrive. Nothing was written."];
    case "too_fragmented":
      return [400, "The file arrived in too many small pieces. Nothing was written."];
    case "too_much":
      return [400, "The body is longer than its Content-Range says. Nothing was written."];
    default:
      return [400, "The file did not arrive whole. Nothing was written."];
  }
}

function sentence(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}
