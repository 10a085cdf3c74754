/** `GET /metrics`, on a listener of its own: no token protects it, only who can reach its address. */
import type { Endpoint } from "../lib/endpoint.ts";
import { addresseeOf, type KnownNames } from "./origin.ts";

/** Answers with what `expose` gives. A `Host` by name has to be known, as everywhere: a rebound page reads nothing here. */
export function createMetricsEndpoint(options: {
  readonly names: KnownNames;
  readonly contentType: string;
  readonly expose: () => Promise<string>;
}): Endpoint {
  const { names, contentType, expose } = options;
  return async (request) => {
    const addressee = addresseeOf(request, names);
    if (addressee === "malformed") return new Response("Host and target must make one URL\n", { status: 400 });
    if (addressee === "unknown") {
      return new Response("This Host is not allowed; see ALLOWED_HOSTS\n", { status: 403 });
    }
    if (new URL(request.url).pathname !== "/metrics") return new Response("See /metrics\n", { status: 404 });
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    return new Response(await expose(), { headers: { "content-type": contentType, "cache-control": "no-store" } });
  };
}
