/**
 * Files in and out past the model: a tool makes a link, and a browser, a script or a client's sandbox gets or puts the
 * bytes at it. A link is for one file, one direction, one transfer and the person whose call made it.
 */
import type { Peer } from "../../lib/endpoint.ts";
import { failure, success } from "../../lib/result.ts";
import type { Log } from "../../lib/log.ts";
import { wantsPage } from "../../lib/page.ts";
import { hasScopes, type Principal } from "../../lib/principal.ts";
import type { SecretBox } from "../../lib/secrets.ts";
import type { Clock, Timers } from "../../lib/time.ts";
import { createRateLimiter } from "../../http/mod.ts";
import type { Storage } from "../../storage/mod.ts";
import { parseFilePath, toPathText, type WorkspacePath } from "../workspace/path.ts";
import { workspaceOf, type WorkspaceRefusal, type WorkspaceSource } from "../workspace/port.ts";
import {
  accessEnded,
  answer,
  headerName,
  notAllowed,
  planDownload,
  preflight,
  refuseTransfer,
  sendFile,
  unknownLink,
} from "./download.ts";
import {
  about,
  type Access,
  createRunningTransfers,
  createTransferStore,
  principalOf,
  refusalOf,
  type TransferLimits,
  transferLimits,
  type TransferRecord,
} from "./links.ts";
import { type TransferLink, type TransferLinks, transferPath } from "./port.ts";
import { maxUploadBytes, receiveUpload, refusalOfHead, uploadPage } from "./upload.ts";

/** What transfers need of the other parts. */
interface TransfersOptions {
  readonly serverUrl: string;
  readonly source: WorkspaceSource;
  readonly storage: Storage;
  readonly secrets: Pick<SecretBox, "authenticate">;
  readonly access: Access;
  readonly log: Log;
  readonly clock: Clock;
  readonly timers: Timers;
  /** A refusal of the workspace in words, without a full stop. */
  readonly refusalWords: (refusal: WorkspaceRefusal) => string;
  readonly limits?: Partial<TransferLimits>;
}

const neededScopes = { download: ["files:read"], upload: ["files:write"] };
const methods = { download: ["GET", "HEAD"], upload: ["PUT"] };
const minute = 60_000;
const busySeconds = 5;

/**
 * The links and the endpoint that serves them. `app` routes `/files/` to `endpoint`, hands `links` to the tools, and at
 * a stop calls `finish` (uploads that run arrive), then `close` (what still runs is cut).
 */
export function createTransfers(
  { serverUrl, source, storage, secrets, access, log, clock, timers, refusalWords, ...options }: TransfersOptions,
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
      principal: storedPrincipal(principal),
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
    const workspace = workspaceOf(source, principal).begin(author, (begun) => change = begun);
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
      const found = await workspaceOf(source, principal).read(path, { offsetBytes: 0, lengthBytes: 0 });
      if (!found.ok) return found;
      const { sizeBytes, version } = found.value;
      const link = await issue({
        ...await recordFor(principal, "download", path),
        version,
        sizeBytes,
      });
      return success({ ...link, sizeBytes });
    },
    async forUpload(principal, path, { mode = "overwrite", ifMatch }) {
      const found = await workspaceOf(source, principal).stat(path);
      if (!found.ok && found.error.reason !== "not_found") return found;
      if (found.ok && found.value.kind === "directory") return failure({ reason: "is_directory" });
      if (found.ok && mode === "create") return failure({ reason: "already_exists" });
      const record = await recordFor(principal, "upload", path);
      // what a person approved is for what is there now: a file to replace, or none
      const isHeld = "approvedFor" in record && ifMatch === undefined;
      const now = isHeld && found.ok ? await workspaceOf(source, principal).read(path) : null;
      const seen = ifMatch ?? (now?.ok ? now.value.sha256 : null);
      const rule = {
        mode: isHeld && !found.ok ? "create" as const : mode,
        ...(seen === null ? {} : { ifMatch: seen }),
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

function storedPrincipal(principal: Principal): TransferRecord["principal"] {
  return { ...principal, scopes: [...principal.scopes] };
}
