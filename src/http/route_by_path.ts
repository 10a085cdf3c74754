/** Finds the endpoint of a request's path. The only file that knows Hono, which the first request off `/mcp` loads. */
import { Hono } from "@hono/hono";
import type { Endpoint, Peer } from "../lib/endpoint.ts";

/** What an endpoint throws is left to the caller. */
export function routeByPath(endpoints: readonly (readonly [string, Endpoint])[], otherwise: Endpoint): Endpoint {
  const app = new Hono<{ Bindings: Peer }>();
  for (const [path, endpoint] of endpoints) app.all(path, ({ req, env }) => endpoint(req.raw, env));
  app.notFound(({ req, env }) => otherwise(req.raw, env));
  app.onError((error) => {
    throw error;
  });
  return (request, peer) => app.fetch(request, peer);
}
