/** Serves the routes, each behind the checks of its kind. The only file that knows Hono. */
import { type Context, Hono } from "@hono/hono";
import type { Log } from "../lib/log.ts";
import { allowOrigin, preflightResponse } from "./cors.ts";
import type { Endpoint, Peer, Route } from "../lib/endpoint.ts";
import { headerOf } from "../lib/served_request.ts";
import { wantsPage } from "../lib/wants_page.ts";
import { toFailedResponse } from "./failed_response.ts";
import { observeRoutes, type RouteObserver } from "./observed_routes.ts";
import { notFoundPage } from "./home.ts";
import { addresseeOf, isKnownOrigin, type KnownNames } from "./origin.ts";

type Handler = (context: Context<{ Bindings: Peer }>) => Response | Promise<Response>;

/** Sees how clients arrive; a request to `/mcp` with a known Host and Origin is none of its business. */
interface Arrivals {
  /** Answers with a peer that takes what the endpoint reports of this request. */
  around(request: Request, peer: Peer, answer: (peer: Peer) => Response | Promise<Response>): Promise<Response>;
  noteForeign(request: Request, peer: Peer, reason: "unknown_host" | "unknown_origin" | "malformed_address"): void;
}

/** Builds the one request handler of the server. */
export function createRouter(
  { mcp: mcpEndpoint, mcpPage, routes, names, log, observers = [], arrivals }: {
    readonly mcp: Endpoint;
    /** What a browser is shown at the address for agents. */
    readonly mcpPage: Endpoint;
    readonly routes: readonly Route[];
    readonly names: KnownNames;
    readonly log: Log;
    readonly observers?: readonly RouteObserver[];
    readonly arrivals?: Arrivals;
  },
): Endpoint {
  const app = new Hono<{ Bindings: Peer }>();
  const plain = (endpoint: Endpoint): Handler => (context) => endpoint(context.req.raw, context.env);

  // No cookie, no ambient authority: pages of any origin may read these (RFC 8414, RFC 7591 and RFC 6749 by browser clients).
  const shared = (endpoint: Endpoint): Handler => async ({ req, env }) => {
    if (req.method === "OPTIONS") {
      return preflightResponse("*", "GET, POST", req.raw.headers.get("access-control-request-headers"));
    }
    try {
      return allowOrigin(await endpoint(req.raw, env), "*");
    } catch (error) {
      return allowOrigin(toFailedResponse(error, "program", log), "*");
    }
  };

  // Pages work by cookie: a form that another site posts here is refused before it is read. `null` is what browsers
  // send for our own forms under `Referrer-Policy: no-referrer`; the form's own handle decides about those.
  const page = (endpoint: Endpoint): Handler => async ({ req, env }) => {
    const origin = req.raw.headers.get("origin");
    if (origin !== "null" && !isKnownOrigin(origin, names)) return forbidden("Origin");
    try {
      return await endpoint(req.raw, env);
    } catch (error) {
      return toFailedResponse(error, "person", log);
    }
  };

  const mcp: Endpoint = (request, peer) => {
    const origin = headerOf(request, "origin");
    if (origin === null) return request.method === "OPTIONS" ? noOrigin() : mcpEndpoint(request, peer);
    if (!isKnownOrigin(origin, names)) {
      arrivals?.noteForeign(request, peer, "unknown_origin");
      return forbidden("Origin");
    }
    if (request.method === "OPTIONS") {
      return preflightResponse(origin, "GET, POST, DELETE", request.headers.get("access-control-request-headers"));
    }
    const response = mcpEndpoint(request, peer);
    return response instanceof Promise
      ? response.then((answer) => allowOrigin(answer, origin))
      : allowOrigin(response, origin);
  };

  const mcpOrPage: Endpoint = (request, peer) => wantsPage(request) ? mcpPage(request, peer) : mcp(request, peer);

  // Clients follow no redirect on POST without losing headers, so both spellings are served (interop).
  app.all("/mcp", plain(mcpOrPage));
  app.all("/mcp/", plain(mcpOrPage));
  const handlers = { page, shared, plain };
  for (const { paths, kind, endpoint } of routes) {
    for (const path of paths) app.all(path, handlers[kind](endpoint));
  }
  // What is looked for below another issuer (RFC 8414 §3.3), or as OpenID Connect, is not here: pages may read that too.
  app.all("/.well-known/*", shared(notFound));
  app.all("/mcp/.well-known/*", shared(notFound));

  app.notFound(({ req }) => wantsPage(req.raw) ? notFoundPage() : notFound());
  app.onError((error) => toFailedResponse(error, "program", log));

  const answer: Endpoint = (request, peer) => {
    const addressee = addresseeOf(request, names);
    if (addressee !== "known") {
      arrivals?.noteForeign(request, peer, addressee === "unknown" ? "unknown_host" : "malformed_address");
      return addressee === "unknown" ? forbidden("Host") : badAddress();
    }
    // A shortcut for the one request that comes often; it answers as the route above does.
    if (request.method === "POST" && isMcpUrl(request.url)) return mcp(request, peer);
    const onward = (as: Peer): Response | Promise<Response> => app.fetch(request, as);
    return arrivals === undefined ? onward(peer) : arrivals.around(request, peer, onward);
  };
  return observeRoutes(answer, new Set(app.routes.map(({ path }) => path)), observers);
}

/** Whether a request's absolute URL has exactly the path `/mcp`, spelled plainly and without a query. */
function isMcpUrl(url: string): boolean {
  return url.endsWith("/mcp") && url.indexOf("/", url.indexOf("://") + 3) === url.length - 4;
}

function forbidden(header: "Origin" | "Host"): Response {
  const setting = header === "Origin" ? "ALLOWED_ORIGINS" : "ALLOWED_HOSTS";
  return Response.json({ error: "forbidden", error_description: `This ${header} is not allowed; see ${setting}` }, {
    status: 403,
  });
}

function notFound(): Response {
  return Response.json({ error: "not_found" }, { status: 404 });
}

function badAddress(): Response {
  const description = "Host and request target must make one URL";
  return Response.json({ error: "invalid_request", error_description: description }, { status: 400 });
}

function noOrigin(): Response {
  return new Response(null, { status: 204, headers: { allow: "GET, POST, DELETE, OPTIONS" } });
}
