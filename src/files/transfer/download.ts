/** Sends a file by a link: the version that was linked, whole or from where an earlier request ended. */
import { answer, changedFile, refuseTransfer, statusOf } from "./answers.ts";
import { parseRange } from "./byte_range.ts";
import { contentDisposition, fileType } from "./file_headers.ts";
import { maxSentParts, pieceBytes } from "./limits.ts";
import { type DownloadRecord, goingOn } from "./link_record.ts";
import type { Running, TransferEnd } from "./running.ts";
import { addPart, bytesSentOf, isWhole, type Part } from "./sent_parts.ts";
import type { LinkTarget, TransferParts } from "./transfer_parts.ts";

/** Bytes of all answers by one link, as a multiple of the file: what is lost on the way is sent again. */
const maxTimesSent = 2;

interface LinkedFile extends LinkTarget {
  readonly record: DownloadRecord;
}

/** What an answer has to say of the file, and the part that is asked for; or the refusal. */
export async function planDownload(
  { refusalWords }: TransferParts,
  { record, path, workspace }: LinkedFile,
  request: Request,
): Promise<Response | { readonly status: 200 | 206; readonly part: Part; readonly headers: Record<string, string> }> {
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
    return refuseTransfer(416, `The file has ${sizeBytes} bytes.`, { "content-range": `bytes */${sizeBytes}` });
  }
  if (range === "whole") {
    return { status: 200, part: [0, sizeBytes], headers: { ...headers, "content-length": String(sizeBytes) } };
  }
  const [from, to] = range;
  const contentRange = `bytes ${from}-${to - 1}/${sizeBytes}`;
  return {
    status: 206,
    part: range,
    headers: { ...headers, "content-length": String(to - from), "content-range": contentRange },
  };
}

/** The answer, which is read from the file as fast as it is taken. */
export function sendPart(
  parts: TransferParts,
  file: LinkedFile,
  { part: [from, to], status, headers }: { part: Part; status: number; headers: Record<string, string> },
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
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      running.onCut((end) => {
        controller.error(new CutTransfer(end)); // the answer ends short of its Content-Length: no client takes it for whole
        void finish(end, offset);
      });
    },
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

  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, end: TransferEnd): void => {
    if (isOver) return;
    controller.error(new CutTransfer(end));
    void finish(end, offset);
  };
  return answer(status, body, headers);
}

class CutTransfer extends Error {}

/** Whether all of the file was sent by now, which uses the link up. */
async function noteSent(
  { links, clock, limits }: TransferParts,
  id: string,
  holder: string,
  part: Part,
): Promise<boolean> {
  let isDone = false;
  await links.update(id, (record) => {
    if (record.direction !== "download") return "leave";
    const sent = addPart(record.sent, part);
    isDone = isWhole(sent, record.sizeBytes);
    if (sent.length > maxSentParts) return "delete";
    const handedOver = (record.handedOver ?? 0) + part[1] - part[0];
    const noted = { ...record, sent, handedOver, holder: record.holder === holder ? null : record.holder };
    return isDone ? noted : goingOn(noted, clock(), limits);
  });
  return isDone;
}

function etagOf({ tag }: DownloadRecord): string {
  return `"${tag}"`;
}

/**
 * Whether a download is over for this request. Bytes may be lost behind us after the last was sent, in a proxy or in a
 * socket's buffer. Who began the transfer knows its ETag, and with that can get again what it has got already. Without
 * it a script may go on a little before the end of what was sent: more is new in its part than was sent before.
 */
export function isUsedUp(record: DownloadRecord, { headers }: Request, part?: Part): boolean {
  if ((record.handedOver ?? 0) >= maxTimesSent * record.sizeBytes && record.sizeBytes > 0) return true;
  if (headers.get("if-range") === etagOf(record) && headers.has("range")) return false;
  if (isWhole(record.sent, record.sizeBytes)) return true;
  const again = part === undefined ? 0 : bytesSentOf(record.sent, part);
  return part !== undefined && again > part[1] - part[0] - again;
}
