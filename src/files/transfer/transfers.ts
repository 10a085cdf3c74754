/**
 * Files in and out past the model: a tool makes a link, and a browser, a script or a client's sandbox gets or puts the
 * bytes at it. A link is for one file, one direction, one transfer and the person whose call made it.
 */
import type { Peer } from "../../lib/endpoint.ts";
import { failure, success } from "../../lib/result.ts";
import { dateAndTime, html, pageResponse, wantsPage } from "../../lib/page.ts";
import { hasScopes, type Principal } from "../../lib/principal.ts";
import type { SecretBox } from "../../lib/secrets.ts";
import { pause, type Timers } from "../../lib/time.ts";
import { createRateLimiter } from "../../http/mod.ts";
import type { Foundation } from "../../storage/mod.ts";
import { stateOf } from "../workspace/entry_state.ts";
import { newNameProblem, parseFilePath, showName, toPathText, type WorkspacePath } from "../workspace/path.ts";
import type { Workspace, WorkspaceRefusal, WorkspaceSource } from "../workspace/port.ts";
import { maxArriving, otherNamesWords } from "../workspace/change.ts";
import {
  accessEnded,
  answer,
  headerName,
  notAllowed,
  planDownload,
  preflight,
  refuseTransfer,
  sendFile,
  statusOf,
  unknownLink,
} from "./download.ts";
import {
  about,
  type Access,
  createRunningTransfers,
  createTransferStore,
  type LinkTarget,
  pieceBytes,
  principalOf,
  refusalOf,
  type Running,
  type TransferEnd,
  type TransferLimits,
  transferLimits,
  type TransferParts,
  type TransferRecord,
  type UploadRecord,
} from "./links.ts";
import { type TransferLink, type TransferLinks, transferPath } from "./port.ts";
import { declaredLength, isEncoded, isTooFragmented, piecesATurn } from "../../lib/request_text.ts";

const neededScopes = { download: ["files:read"], upload: ["files:write"] };
const methods = { download: ["GET", "HEAD"], upload: ["PUT"] };
const minute = 60_000;
const busySeconds = 5;

/**
 * The links and the endpoint that serves them. `app` routes `/files/` to `endpoint`, hands `links` to the tools, and at
 * a stop calls `finish` (uploads that run arrive), then `close` (what still runs is cut).
 */
export function createTransfers(
  { serverUrl, source, storage, secrets, access, log, clock, timers, refusalWords, ...options }: Foundation & {
    readonly serverUrl: string;
    readonly source: WorkspaceSource;
    readonly secrets: Pick<SecretBox, "authenticate">;
    readonly access: Access;
    readonly timers: Timers;
    /** A refusal of the workspace in words, without a full stop. */
    readonly refusalWords: (refusal: WorkspaceRefusal) => string;
    readonly limits?: Partial<TransferLimits>;
  },
) {
  const limits = { ...transferLimits, ...options.limits };
  const links = createTransferStore({ storage, secrets, keepMs: limits.maxTransferMs });
  const running = createRunningTransfers({ access, limits, timers, log });
  const requests = createRateLimiter({ count: limits.requestsPerMinute, windowMs: minute, clock: timers.elapsed });
  const parts = { links, limits, timers, refusalWords };

  const issue = async (record: TransferRecord): Promise<TransferLink> => {
    const secret = await links.issue(record);
    const { direction, path, expiresAt } = record;
    log.write("audit", "transfer_link_made", about(links.idOf(secret) ?? "", record));
    // the name is for `curl -O`; the address is as unguessable without it
    const name = direction === "download" ? `/${headerName(path)}` : "";
    return { url: `${serverUrl}${transferPath}${secret}${name}`, expiresAt };
  };
  const recordFor = async <D extends "download" | "upload">(
    principal: Principal,
    direction: D,
    { text }: WorkspacePath,
  ) => {
    const path = toPathText(text);
    const verdict = await access.judge({ principal, direction, path });
    return {
      direction,
      principal: { ...principal, scopes: [...principal.scopes] },
      path,
      expiresAt: clock() + limits.linkLifetimeMs,
      isUsed: false,
      ...(typeof verdict === "string" ? {} : { approvedFor: verdict.ask }),
    };
  };

  const serve = async (id: string, record: TransferRecord, request: Request, peer: Peer) => {
    const path = parseFilePath(record.path);
    if (!path.ok) return refuseTransfer(404, unknownLink);
    const principal = principalOf(record);
    const { subject, clientId, grantId } = principal;
    let change: string | null = null;
    const author = { subject, clientId, grantId, tool: "file_write" };
    const workspace = source(principal).begin(author, (begun) => change = begun);
    const file = { id, path: path.value, workspace };
    if (record.direction === "upload") {
      if (wantsPage(request)) return uploadPage(record, maxUploadBytes(workspace));
      const refusal = refusalOfHead(workspace, request);
      if (refusal !== null) return refusal;
      const upload = running.begin(id, record, peer);
      if (upload === null) return refuseBusy();
      return await receiveUpload(parts, { ...file, record }, { request, running: upload, change: () => change });
    }
    const headers = await planDownload(parts, { ...file, record });
    if (headers instanceof Response) return headers;
    if (request.method === "HEAD") return answer(200, null, headers);
    const download = running.begin(id, record, peer);
    if (download === null) return refuseBusy();
    let isFirst = false;
    try {
      isFirst = await links.setUsed(id, true);
    } finally {
      if (!isFirst) download.end("used_up", 0);
    }
    return isFirst ? sendFile(parts, { ...file, record }, headers, download) : refuseTransfer(404, unknownLink);
  };

  const answerRequest = async (request: Request, peer: Peer): Promise<Response> => {
    const [secret = "", name = null, ...more] = new URL(request.url).pathname.slice(transferPath.length).split("/");
    const id = links.idOf(secret);
    if (id === null || more.length > 0) return refuseTransfer(404, unknownLink);
    const admission = requests.take(id);
    if (!admission.ok) {
      return refuseTransfer(429, "Too many requests by this link.", {
        "retry-after": String(admission.retryAfterSeconds),
      });
    }
    const record = await links.read(id);
    if (
      record === null || record.isUsed || record.expiresAt <= clock() ||
      (name ?? headerName(record.path)) !== headerName(record.path)
    ) {
      return refuseTransfer(404, unknownLink);
    }
    const allowed = methods[record.direction];
    if (!allowed.includes(request.method) && !(record.direction === "upload" && wantsPage(request))) {
      const words = record.direction === "upload" ? "Put the file here: curl -T FILE ADDRESS" : "Get the file here.";
      return refuseTransfer(405, words, { allow: [...allowed, "OPTIONS"].join(", ") });
    }
    // a browser that fetches what may be opened next would use the link up
    if (request.headers.get("sec-purpose")?.includes("prefetch")) {
      return refuseTransfer(403, "This link is not for previews.");
    }
    if (!hasScopes(principalOf(record), neededScopes[record.direction])) return refuseTransfer(403, accessEnded);
    const refusal = await refusalOf(access, record);
    if (refusal !== null) return refuseTransfer(403, refusal === "not_allowed" ? notAllowed : accessEnded);
    return await serve(id, record, request, peer);
  };

  const forTools: TransferLinks = {
    async forDownload(principal, path) {
      const found = await source(principal).read(path, { offsetBytes: 0, lengthBytes: 0 });
      if (!found.ok) return found;
      const { sizeBytes, version } = found.value;
      const link = await issue({ ...await recordFor(principal, "download", path), version, sizeBytes });
      return success({ ...link, sizeBytes });
    },
    async forUpload(principal, path, { mode = "overwrite", ifMatch }) {
      const found = await source(principal).stat(path);
      if (!found.ok && found.error.reason !== "not_found") return found;
      const problem = found.ok ? null : newNameProblem(path.segments.at(-1) ?? ""); // the upload would be refused for it
      if (problem !== null) return failure({ reason: "bad_name", rule: problem });
      if (found.ok && found.value.kind === "directory") return failure({ reason: "is_directory" });
      if (found.ok && mode === "create") return failure({ reason: "already_exists" });
      const record = await recordFor(principal, "upload", path);
      // what a person approved is for what is there now: a file to replace, or none
      const isHeld = "approvedFor" in record;
      const now = isHeld && found.ok ? await source(principal).read(path) : null;
      const seen = ifMatch ?? (now?.ok ? now.value.sha256 : null);
      const rule = {
        mode: isHeld && !found.ok ? "create" as const : mode,
        ...(seen === null ? {} : { ifMatch: seen }),
        ...isHeld && { approvedState: JSON.stringify(await stateOf(source(principal), path, false)) },
      };
      return success(await issue({ ...record, ...rule }));
    },
  };
  return {
    links: forTools,
    async endpoint(request: Request, peer: Peer): Promise<Response> {
      if (request.method === "OPTIONS") return preflight();
      const response = await answerRequest(request, peer);
      // the rest of a refused body is not read: what follows it on the connection could not be told from it
      if (response.status >= 400 && request.body !== null) response.headers.set("connection", "close");
      return response;
    },
    finish: running.finish,
    close: running.close,
  };
}

function refuseBusy(): Response {
  const words = "Too many files are on their way; try again in a moment.";
  return refuseTransfer(503, words, { "retry-after": String(busySeconds) });
}

// * Receives a file by a link, as the body of a PUT. An upload that breaks changes nothing and leaves the link good: it
// starts again.

/** How large a file may be here. */
function maxUploadBytes({ limits }: Pick<Workspace, "limits">): number {
  return Math.min(maxArriving(limits), limits.maxTotalBytes ?? Infinity);
}

/** The refusal of what the head of a request announces; `null` where it can be taken. */
function refusalOfHead(workspace: Workspace, request: Request): Response | null {
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
async function receiveUpload(
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
  const { mode, ifMatch, approvedState } = record;
  const body = readBody(request.body, { limits, timers, running });
  let isUsed = false;
  let end: TransferEnd = "refused";
  async function* content(): AsyncGenerator<Uint8Array> {
    yield* body.pieces();
    if (await isCut(body.bytes, request, signal)) throw new CutUpload("hung_up");
    const state = approvedState && JSON.stringify(await stateOf(workspace, path, false));
    if (state !== approvedState) throw new CutUpload("changed");
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
    const { sizeBytes, sha256, created, otherNames } = written.value;
    const note = otherNamesWords(otherNames) || undefined;
    return answer(created ? 201 : 200, `${JSON.stringify({ size_bytes: sizeBytes, sha256, created, note })}\n`, {
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
  changed: [409, "What is there has changed since this upload was approved. Ask for a new link. Nothing was written."],
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
function uploadPage({ path, expiresAt, mode }: UploadRecord, limitBytes: number): Response {
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
