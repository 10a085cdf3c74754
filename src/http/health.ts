/** `GET /health`: whether this instance can serve, for people, load balancers and containers. */
import type { Endpoint } from "./endpoint.ts";

/** Answers 200 with `status: "ok"`, or 503 with `status: "unavailable"` when the storage does not answer. */
export function createHealthEndpoint(options: {
  readonly version: string;
  /** Reads something from the storage; rejects when it is lost. */
  readonly probeStorage: () => Promise<unknown>;
}): Endpoint {
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    const storage = await options.probeStorage().then(() => "reachable", () => "unreachable");
    const ok = storage === "reachable";
    return Response.json({ status: ok ? "ok" : "unavailable", version: options.version, storage }, {
      status: ok ? 200 : 503,
      headers: { "cache-control": "no-store" },
    });
  };
}
