/** `GET /health` and its two narrower kinds: for people, load balancers and containers. */
import type { Endpoint } from "../lib/endpoint.ts";

export interface HealthOptions {
  readonly version: string;
  /** Resolves when the storage can be read and written; rejects within a second when it cannot. */
  readonly probeStorage: () => Promise<unknown>;
  /** Whether the files can be reached; `false` where their directory is gone, or another is in its place. */
  readonly isWorkspaceThere: () => Promise<boolean>;
  /** Whether the server was told to stop. */
  readonly isDraining: () => boolean;
}

/** `/health`: 200 with `status: "ok"`, or 503 with `status: "unavailable"` when the storage or the workspace does not answer. */
export function createHealthEndpoint({ version, probeStorage, isWorkspaceThere }: HealthOptions): Endpoint {
  return onGet(async () => {
    const [isStored, isThere] = await Promise.all([answers(probeStorage), isWorkspaceThere()]);
    const ok = isStored && isThere;
    const [storage, workspace] = [isStored, isThere].map((each) => each ? "reachable" : "unreachable");
    return respond(ok, { status: ok ? "ok" : "unavailable", version, storage, workspace });
  });
}

/** `/health/live`: 200 while the process answers at all. A supervisor that restarts on any other status never kills a healthy process. */
export function createLivenessEndpoint(): Endpoint {
  return onGet(() => respond(true, { status: "live" }));
}

/** `/health/ready`: 503 while no request should be sent here: the server is about to stop, or its storage or workspace does not answer. */
export function createReadinessEndpoint({ isDraining, probeStorage, isWorkspaceThere }: HealthOptions): Endpoint {
  return onGet(async () => {
    if (isDraining()) return respond(false, { status: "draining" });
    if (!await answers(probeStorage)) return respond(false, { status: "storage_unreachable" });
    const ok = await isWorkspaceThere();
    return respond(ok, { status: ok ? "ready" : "workspace_unreachable" });
  });
}

function onGet(answer: () => Response | Promise<Response>): Endpoint {
  return (request) =>
    request.method === "GET" || request.method === "HEAD"
      ? answer()
      : new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
}

function answers(probe: () => Promise<unknown>): Promise<boolean> {
  return probe().then(() => true, () => false);
}

function respond(ok: boolean, body: Readonly<Record<string, string | undefined>>): Response {
  return Response.json(body, { status: ok ? 200 : 503, headers: { "cache-control": "no-store" } });
}
