/**
 * Files in and out past the model: a tool makes a link, and a browser, a script or a client's sandbox gets or puts the
 * bytes at it. A link is for one file, one direction, one transfer and the person whose call made it.
 */
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { failure, success } from "../lib/result.ts";
import type { Log } from "../lib/log/log.ts";
import { hasScopes, type Principal } from "../lib/principal.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Timers } from "../lib/time/timers.ts";
import { createRateLimiter } from "../rate_limit/rate_limit.ts";
import type { Storage } from "../storage/port.ts";
import { toPathText } from "../workspace/file_display.ts";
import { parseFilePath, type WorkspacePath } from "../workspace/path.ts";
import { workspaceOf, type WorkspaceRefusal, type WorkspaceSource } from "../workspace/port.ts";
import { accessEnded, answer, preflight, refuseTransfer, unknownLink } from "./answers.ts";
import { randomId } from "../lib/random_secret.ts";
import { isUsedUp, planDownload, sendPart } from "./download.ts";
import { plainName } from "./file_headers.ts";
import { type TransferLimits, transferLimits } from "./limits.ts";
import { principalOf, storedPrincipal, type TransferRecord } from "./link_record.ts";
import { createTransferStore } from "./link_store.ts";
import type { TransferLink, TransferLinks } from "./port.ts";
import { about, type Access, createRunningTransfers, type RunningTransfers } from "./running.ts";
import { receiveUpload, refuseUpload } from "./upload.ts";

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

export const transferPath = "/files/";

const neededScopes = { download: ["files:read"], upload: ["files:write"] };
const methods = { download: ["GET", "HEAD"], upload: ["PUT"] };
const minute = 60_000;
const busySeconds = 5;

export function createTransfers(
  { serverUrl, source, storage, secrets, access, log, clock, timers, refusalWords, ...options }: TransfersOptions,
): { readonly links: TransferLinks; readonly endpoint: Endpoint } & Pick<RunningTransfers, "finish" | "close"> {
  const limits = { ...transferLimits, ...options.limits };
  const links = createTransferStore({ storage, secrets, keepMs: limits.maxTransferMs });
  const running = createRunningTransfers({ links, access, limits, timers, log });
  const requests = createRateLimiter({ count: limits.requestsPerMinute, windowMs: minute, clock: timers.elapsed });
  const parts = { links, limits, timers, refusalWords };

  const issue = async (record: TransferRecord): Promise<TransferLink> => {
    const secret = await links.issue(record);
    const { direction, path, expiresAt } = record;
    log.write("audit", "transfer_link_made", about(links.idOf(secret) ?? "", record));
    // the name is for `curl -O`; the address is as unguessable without it
    const name = direction === "download" ? `/${plainName(path)}` : "";
    return { url: `${serverUrl}${transferPath}${secret}${name}`, expiresAt };
  };
  const recordFor = (principal: Principal, { text }: WorkspacePath) => ({
    principal: storedPrincipal(principal),
    path: toPathText(text),
    expiresAt: clock() + limits.linkLifetimeMs,
    holder: null,
  });

  const serve = async (id: string, record: TransferRecord, request: Request, peer: Peer) => {
    const path = parseFilePath(record.path);
    if (!path.ok) return refuseTransfer(404, unknownLink);
    const principal = principalOf(record);
    const { subject, clientId, grantId } = principal;
    const workspace = workspaceOf(source, principal).begin({ subject, clientId, grantId, tool: "file_write" });
    const file = { id, path: path.value, workspace };
    if (record.direction === "upload") {
      const refused = refuseUpload(file.workspace, request);
      if (refused !== null) return refused;
      const upload = await running.begin(id, record, peer.address);
      return typeof upload === "string"
        ? refuseToBegin(upload)
        : await receiveUpload(parts, { ...file, record }, request, upload);
    }
    const plan = await planDownload(parts, { ...file, record }, request);
    if (plan instanceof Response) return plan;
    if (request.method === "HEAD") return answer(200, null, plan.headers);
    const download = await running.begin(id, record, peer.address);
    return typeof download === "string"
      ? refuseToBegin(download)
      : sendPart(parts, { ...file, record }, plan, download);
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
      record === null || record.expiresAt <= clock() || (name ?? plainName(record.path)) !== plainName(record.path)
    ) {
      return refuseTransfer(404, unknownLink);
    }
    if (record.direction === "download" && isUsedUp(record, request)) return refuseTransfer(404, unknownLink);
    const allowed = methods[record.direction];
    if (!allowed.includes(request.method)) {
      const words = record.direction === "upload" ? "Put the file here: curl -T FILE ADDRESS" : "Get the file here.";
      return refuseTransfer(405, words, { allow: [...allowed, "OPTIONS"].join(", ") });
    }
    // a browser that fetches what may be opened next would use the link up
    if (request.headers.get("sec-purpose")?.includes("prefetch")) {
      return refuseTransfer(403, "This link is not for previews.");
    }
    const principal = principalOf(record);
    if (!hasScopes(principal, neededScopes[record.direction]) || !await access.isLive(principal)) {
      return refuseTransfer(403, accessEnded);
    }
    return await serve(id, record, request, peer);
  };

  return {
    links: {
      async forDownload(principal, path) {
        const found = await workspaceOf(source, principal).read(path, { offsetBytes: 0, lengthBytes: 0 });
        if (!found.ok) return found;
        const { sizeBytes, version } = found.value;
        const link = await issue({
          ...recordFor(principal, path),
          direction: "download",
          version,
          sizeBytes,
          tag: randomId(),
          sent: [],
        });
        return success({ ...link, sizeBytes });
      },
      async forUpload(principal, path, { mode = "overwrite", ifMatch }) {
        const found = await workspaceOf(source, principal).stat(path);
        if (!found.ok && found.error.reason !== "not_found") return found;
        if (found.ok && found.value.kind === "directory") return failure({ reason: "is_directory" });
        if (found.ok && mode === "create") return failure({ reason: "already_exists" });
        const rule = { mode, ...(ifMatch === undefined ? {} : { ifMatch }) };
        return success(await issue({ ...recordFor(principal, path), direction: "upload", ...rule }));
      },
    },
    async endpoint(request, peer) {
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

function refuseToBegin(why: "busy" | "used_up"): Response {
  if (why === "used_up") return refuseTransfer(404, unknownLink);
  const words = "Too many files are on their way; try again in a moment.";
  return refuseTransfer(503, words, { "retry-after": String(busySeconds) });
}
