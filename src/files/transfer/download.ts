/** Sends a file by a link: the version that was linked, once. */
import type { WorkspaceRefusal } from "../workspace/port.ts";
import { pieceBytes } from "./links.ts";
import type { DownloadRecord, LinkTarget, Running, TransferEnd, TransferParts } from "./links.ts";

/** No page of ours shows it, runs it or frames it, and no cache or page learns the address, which is the credential. */
const transferHeaders = {
  "cache-control": "no-store, no-transform",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "x-robots-tag": "noindex",
};

const fileType = "application/octet-stream";

const maxAsciiName = 100;
/** What reorders, hides or ends text, and what a file system takes for more than a letter. */
const misleading = /[\p{Cc}\p{Cf}\u2028\u2029\\/:*?"<>|]+/gu;

/** The last name of a path in letters that are safe in an address, a shell and a file system. */
export function headerName(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const plain = name.normalize("NFC").replace(/[^A-Za-z0-9._-]+/g, "_").replace(/^[.-]+/, "_");
  return plain.length <= maxAsciiName ? plain : `${plain.slice(0, maxAsciiName / 2)}${plain.slice(-maxAsciiName / 2)}`;
}

/** RFC 6266 §4.1, with the name in ASCII for old clients and in UTF-8 (RFC 8187 §3.2.1). */
function contentDisposition(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toWellFormed().replace(misleading, "_");
  const extended = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${headerName(path)}"; filename*=UTF-8''${extended}`;
}

/**
 * The sandboxes of clients have origins that no list can name (`null`, or one made for each conversation). No cookie is
 * read here: who knows the address may fetch it from any program, so a page that knows it may, too.
 */
const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "Content-Disposition, Retry-After",
};

/** Of a file that is to be kept, not shown. */
export function attachmentHeaders(path: string): Readonly<Record<string, string>> {
  return { ...transferHeaders, "content-type": fileType, "content-disposition": contentDisposition(path) };
}

export function answer(status: number, body: BodyInit | null, headers: Readonly<Record<string, string>>): Response {
  return new Response(body, { status, headers: { ...transferHeaders, ...corsHeaders, ...headers } });
}

export function refuseTransfer(
  status: number,
  words: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return answer(status, `${words}\n`, { "content-type": "text/plain; charset=utf-8", ...headers });
}

/** For `OPTIONS`, which browsers send without the file's being touched. */
export function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...corsHeaders,
      "access-control-allow-methods": "GET, HEAD, PUT",
      "access-control-allow-headers": "Content-Type",
      "access-control-max-age": "600",
      "referrer-policy": "no-referrer",
    },
  });
}

export const unknownLink = "This link is not valid: it was used, has expired, or was never made. Ask for a new one.";
export const accessEnded = "The access with which this link was made has ended.";
export const notAllowed = "A rule of this server's owner stands against this transfer.";
const changedFile = "The file has changed since this link was made. Ask for a new one.";

const statuses: Readonly<Partial<Record<WorkspaceRefusal["reason"], number>>> = {
  denied: 403,
  bad_name: 422,
  too_deep: 422,
  too_many_entries: 422,
  document: 422,
  too_large: 413,
  no_space: 507,
  quota: 507,
  io: 500,
  away: 503,
};

/** The status of a refusal by the workspace. */
export function statusOf({ reason }: WorkspaceRefusal): number {
  return statuses[reason] ?? 409;
}

type LinkedFile = LinkTarget<DownloadRecord>;
/** What an answer has to say of the file, or the refusal. */
export async function planDownload({ refusalWords }: TransferParts, { record, path, workspace }: LinkedFile) {
  const found = await workspace.read(path, { offsetBytes: 0, lengthBytes: 0 });
  if (!found.ok) return refuseTransfer(statusOf(found.error), refusalWords(found.error));
  if (found.value.version !== record.version) return refuseTransfer(409, changedFile);
  return {
    "content-type": fileType,
    "content-disposition": contentDisposition(record.path),
    "content-length": String(record.sizeBytes),
    "x-accel-buffering": "no", // what nginx took in advance would count as sent
  };
}

/** The answer, which is read from the file as fast as it is taken. */
export function sendFile(
  { limits, timers }: TransferParts,
  { record, path, workspace }: LinkedFile,
  headers: Exclude<Awaited<ReturnType<typeof planDownload>>, Response>,
  running: Running,
): Response {
  const { sizeBytes, version } = record;
  let offset = 0;
  let stopTimer = (): void => {};
  let isOver = false;

  const finish = (end: TransferEnd): void => {
    isOver = true;
    stopTimer();
    running.end(end, offset);
  };
  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, end: TransferEnd): void => {
    if (isOver) return;
    controller.error(new CutTransfer(end)); // the answer ends short of its Content-Length: no client takes it for whole
    finish(end);
  };
  const sendPiece = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    stopTimer();
    if (isOver) return;
    if (offset === sizeBytes) {
      controller.close();
      return finish("whole");
    }
    const end = await running.check();
    if (end !== null) return fail(controller, end);
    const read = await workspace.read(path, { offsetBytes: offset, lengthBytes: pieceBytes });
    if (!read.ok || read.value.version !== version || read.value.bytes.byteLength === 0) {
      return fail(controller, "changed");
    }
    if (isOver) return;
    offset += read.value.bytes.byteLength;
    controller.enqueue(read.value.bytes);
    stopTimer = timers.after(limits.stallMs, () => fail(controller, "stalled"));
  };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => running.onCut((end) => fail(controller, end)),
    // a lost database or workspace ends the transfer, which would count as one that runs
    pull: (controller) => sendPiece(controller).catch(() => fail(controller, "refused")),
    // Deno 2.7 cancels after the last byte
    cancel: () => finish(offset === sizeBytes ? "whole" : "hung_up"),
  }, { highWaterMark: 0 });

  return answer(200, body, headers);
}

class CutTransfer extends Error {}
