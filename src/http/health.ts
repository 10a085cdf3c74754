/** `GET /health` and its two narrower kinds: for people, load balancers and containers. */
import type { Endpoint } from "../lib/endpoint.ts";

export interface HealthOptions {
  readonly version: string;
  /** Resolves when the storage can be read and written; rejects within a second when it cannot. */
  readonly probeStorage: () => Promise<unknown>;
  /** Whether the server was told to stop. */
  readonly isDraining: () => boolean;
}

/** `/health`: 200 with `status: "ok"`, or 503 with `status: "unavailable"` when the storage does not answer. */
export function createHealthEndpoint({ version, probeStorage }: HealthOptions): Endpoint {
  return onGet(async () => {
    const ok = await answers(probeStorage);
    const storage = ok ? "reachable" : "unreachable";
    return respond(ok, { status: ok ? "ok" : "unavailable", version, storage });
  });
}

/** `/health/live`: 200 while the process answers at all. A supervisor that restarts on any other status never kills a healthy process. */
export function createLivenessEndpoint(): Endpoint {
  return onGet(() => respond(true, { status: "live" }));
}

/** `/health/ready`: 503 while no request should be sent here: the server is about to stop, or its storage does not answer. */
export function createReadinessEndpoint({ isDraining, probeStorage }: HealthOptions): Endpoint {
  return onGet(async () => {
    if (isDraining()) return respond(false, { status: "draining" });
    const ok = await answers(probeStorage);
    return respond(ok, { status: ok ? "ready" : "storage_unreachable" });
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

function respond(ok: boolean, body: Readonly<Record<string, string>>): Response {
  return Response.json(body, { status: ok ? 200 : 503, headers: { "cache-control": "no-store" } });
}
