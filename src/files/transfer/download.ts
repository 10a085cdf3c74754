/** Sends a file by a link: the version that was linked, once, whole or from where an earlier request ended. */
import type { WorkspaceRefusal } from "../workspace/port.ts";
import {
  type DownloadRecord,
  type LinkTarget,
  pieceBytes,
  type Running,
  type TransferEnd,
  type TransferParts,
} from "./links.ts";

/** No page of ours shows it, runs it or frames it, and no cache or page learns the address, which is the credential. */
const transferHeaders = {
  "cache-control": "no-store, no-transform", // a proxy that compresses would break ranges
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
  "access-control-expose-headers": "Accept-Ranges, Content-Disposition, Content-Range, ETag, Retry-After",
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
      "access-control-allow-headers": "Range, If-Range, Content-Type",
      "access-control-max-age": "600",
      "referrer-policy": "no-referrer",
    },
  });
}

export const unknownLink = "This link is not valid: it was used, has expired, or was never made. Ask for a new one.";
export const accessEnded = "The access with which this link was made has ended.";
export const notAllowed = "A rule of this server's owner stands against this transfer.";
const changedFile = "The file has changed since this link was made. Ask for a new one.";

const statuses: Readonly<Record<WorkspaceRefusal["reason"], number>> = {
  not_found: 409,
  is_root: 409,
  is_directory: 409,
  not_a_directory: 409,
  not_a_file: 409,
  already_exists: 409,
  not_empty: 409,
  into_itself: 409,
  across: 409,
  conflict: 409,
  denied: 403,
  bad_name: 422,
  too_deep: 422,
  too_many_entries: 422,
  too_large: 413,
  document: 422,
  no_space: 507,
  quota: 507,
  io: 500,
  away: 503,
};

/** The status of a refusal by the workspace. */
export function statusOf({ reason }: WorkspaceRefusal): number {
  return statuses[reason];
}

/** `whole` where the header asks for nothing that is understood. */
type RequestedRange = Part | "whole" | "unsatisfiable";

/** Several ranges, which §14.2 lets a server ignore, are answered with the whole file. */
function parseRange(header: string | null, sizeBytes: number): RequestedRange {
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.replace(/[ \t]/g, "") ?? "");
  if (found === null) return "whole";
  const [, first = "", last = ""] = found;
  if (first === "" && last === "") return "whole";
  if (first === "") {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? "unsatisfiable" : [sizeBytes - length, sizeBytes];
  }
  if (last !== "" && Number(last) < Number(first)) return "whole"; // §14.1.1: not valid, so ignored
  if (Number(first) >= sizeBytes) return "unsatisfiable";
  return [Number(first), last === "" ? sizeBytes : Math.min(Number(last) + 1, sizeBytes)];
}

/** From the first byte to the one after the last. */
type Part = [number, number];

type LinkedFile = LinkTarget<DownloadRecord>;

type DownloadPlan = Exclude<Awaited<ReturnType<typeof planDownload>>, Response>;

/** What an answer has to say of the file, and the part that is asked for; or the refusal. */
export async function planDownload(
  { refusalWords }: TransferParts,
  { record, path, workspace }: LinkedFile,
  request: Request,
) {
  const { sizeBytes, version } = record;
  const found = await workspace.read(path, { offsetBytes: 0, lengthBytes: 0 });
  if (!found.ok) return refuseTransfer(statusOf(found.error), refusalWords(found.error));
  if (found.value.version !== version) return refuseTransfer(409, changedFile);
  const etag = etagOf(record);
  const headers = {
    "content-type": fileType,
    "content-disposition": contentDisposition(record.path),
    "accept-ranges": "bytes",
    "x-accel-buffering": "no", // what nginx took in advance would count as sent
    ...(request.method === "HEAD" ? {} : { etag }), // it is for the one that began the transfer
  };
  const ifRange = request.headers.get("if-range");
  // RFC 9110 §13.1.5: another validator asks for the whole; §14.2: ranges are of GET alone
  const ranged = request.method === "GET" && (ifRange === null || ifRange === etag);
  const range = ranged ? parseRange(request.headers.get("range"), sizeBytes) : "whole";
  if (range === "unsatisfiable") {
    return refuseTransfer(416, `The file has ${sizeBytes} ${sizeBytes === 1 ? "byte" : "bytes"}.`, {
      "content-range": `bytes */${sizeBytes}`,
    });
  }
  const part: Part = range === "whole" ? [0, sizeBytes] : range;
  const [from, to] = part;
  const ofPart = range === "whole" ? {} : { "content-range": `bytes ${from}-${to - 1}/${sizeBytes}` };
  return {
    status: range === "whole" ? 200 : 206,
    part,
    headers: { ...headers, "content-length": String(to - from), ...ofPart },
  };
}

/** The answer, which is read from the file as fast as it is taken. */
export function sendPart(
  parts: TransferParts,
  file: LinkedFile,
  { part: [from, to], status, headers }: DownloadPlan,
  running: Running,
): Response {
  const { limits, timers } = parts;
  const { id, record, path, workspace } = file;
  let offset = from;
  let stopTimer = (): void => {};
  let isOver = false;

  const finish = async (end: TransferEnd, sentTo: number): Promise<void> => {
    if (isOver) return;
    isOver = true;
    stopTimer();
    try {
      const sent = await noteSent(parts, id, running.holder, [from, sentTo]);
      running.end(end === "whole" && !sent ? "part" : end, sentTo - from);
    } catch {
      running.end(end, sentTo - from); // the storage is lost: the link ends by its time
    }
  };
  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, end: TransferEnd): void => {
    if (isOver) return;
    controller.error(new CutTransfer(end)); // the answer ends short of its Content-Length: no client takes it for whole
    void finish(end, offset);
  };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => running.onCut((end) => fail(controller, end)),
    async pull(controller) {
      stopTimer();
      if (isOver) return;
      if (offset === to) {
        controller.close();
        return await finish("whole", to);
      }
      const end = await running.check();
      if (end !== null) return fail(controller, end);
      const read = await workspace.read(path, { offsetBytes: offset, lengthBytes: Math.min(pieceBytes, to - offset) });
      if (!read.ok || read.value.version !== record.version || read.value.bytes.byteLength === 0) {
        return fail(controller, "changed");
      }
      if (isOver) return;
      offset += read.value.bytes.byteLength;
      controller.enqueue(read.value.bytes);
      stopTimer = timers.after(limits.stallMs, () => fail(controller, "stalled"));
    },
    // what was handed over counts: where the client goes on is not after it; Deno 2.7 cancels after the last byte
    cancel: () => finish(offset === to ? "whole" : "hung_up", offset),
  }, { highWaterMark: 0 });

  return answer(status, body, headers);
}

class CutTransfer extends Error {}

/** Whether all of the file was sent by now, which uses the link up. */
async function noteSent({ links }: TransferParts, id: string, holder: string, part: Part): Promise<boolean> {
  let isDone = false;
  await links.update(id, (record) => {
    if (record.direction !== "download") return null;
    const sentTo = Math.max(record.sentTo ?? 0, part[1]);
    isDone = sentTo >= record.sizeBytes;
    const repeats = record.repeats + (isMostlyNew(record, part) ? 0 : 1);
    return { ...record, sentTo, repeats, holder: record.holder === holder ? null : record.holder };
  });
  return isDone;
}

// A link gives its file once. What is lost behind us, in a proxy or in a socket's buffer, can be had again.

/** Bytes that may be lost so: from further before the end of what was sent none is sent again. */
const maxLostBytes = 8_388_608;
/** Answers by one link that send again at least as much as is new in them. */
const maxRepeats = 4;

/** Whether the link was used up by another than the client that began the transfer, which knows its ETag. */
export function isUsedUp(record: DownloadRecord, { headers }: Request): boolean {
  return record.sentTo !== null && record.sentTo >= record.sizeBytes && !isBeginner(record, headers);
}

/**
 * Whether the request may have this part. The first one may. One that goes on, as `curl -C -` does, may where more of
 * the part is new than was sent before; the client that began the transfer may repeat a little.
 */
export function mayHave(record: DownloadRecord, { headers }: Request, part: Part): boolean {
  if (isMostlyNew(record, part)) return true;
  const isNear = part[0] > 0 && part[0] + maxLostBytes >= (record.sentTo ?? 0);
  return isNear && record.repeats < maxRepeats && isBeginner(record, headers);
}

function isMostlyNew({ sentTo }: DownloadRecord, [from, to]: Part): boolean {
  return sentTo === null || to - Math.max(from, sentTo) > Math.min(to, sentTo) - from;
}

function isBeginner(record: DownloadRecord, headers: Headers): boolean {
  return headers.get("if-range") === etagOf(record) && headers.has("range");
}

function etagOf({ tag }: DownloadRecord): string {
  return `"${tag}"`;
}
