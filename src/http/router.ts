/** The routes: one line for each endpoint, and which protections stand before it. The only file that knows Hono. */
import { type Context, Hono } from "@hono/hono";
import type { Log } from "../lib/log/log.ts";
import { allowOrigin, preflightResponse } from "./cors.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { toFailedResponse } from "./failed_response.ts";
import { observeRoutes, type RouteObserver } from "./observed_routes.ts";
import { notFoundPage } from "./home.ts";
import { addresseeOf, isKnownOrigin, type KnownNames } from "./origin.ts";
import { wantsPage } from "./wants_page.ts";

/** Every endpoint of the server, rate limits included. */
interface Endpoints {
  readonly mcp: Endpoint;
  readonly protectedResourceMetadata: Endpoint;
  readonly authorizationServerMetadata: Endpoint;
  readonly jwks: Endpoint;
  readonly register: Endpoint;
  readonly authorize: Endpoint;
  readonly signIn: Endpoint;
  readonly consent: Endpoint;
  readonly grants: Endpoint;
  readonly signOut: Endpoint;
  readonly setUp: Endpoint;
  readonly token: Endpoint;
  readonly revoke: Endpoint;
  readonly introspect: Endpoint;
  /** Where a ServiceNow instance is configured. */
  readonly servicenowCallback?: Endpoint;
  readonly servicenowLink?: Endpoint;
  readonly health: Endpoint;
  readonly live: Endpoint;
  readonly ready: Endpoint;
  readonly icons: Endpoint;
  readonly serverCard: Endpoint;
  readonly catalog: Endpoint;
  readonly home: Endpoint;
  /** What a browser is shown at the address for agents. */
  readonly mcpPage: Endpoint;
}

type RouteContext = Context<{ Bindings: Peer }>;
type Route = (context: RouteContext) => Response | Promise<Response>;

/** Builds the one request handler of the server. */
export function createRouter(
  endpoints: Endpoints,
  names: KnownNames,
  log: Log,
  observers: readonly RouteObserver[] = [],
): Endpoint {
  const app = new Hono<{ Bindings: Peer }>();
  const plain = (endpoint: Endpoint): Route => (context) => endpoint(context.req.raw, context.env);

  // No cookie, no ambient authority: pages of any origin may read these (RFC 8414, RFC 7591 and RFC 6749 by browser clients).
  const shared = (endpoint: Endpoint): Route => async ({ req, env }) => {
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
  const page = (endpoint: Endpoint): Route => async ({ req, env }) => {
    const origin = req.raw.headers.get("origin");
    if (origin !== "null" && !isKnownOrigin(origin, names)) return forbidden("Origin");
    try {
      return await endpoint(req.raw, env);
    } catch (error) {
      return toFailedResponse(error, "person", log);
    }
  };

  const mcp: Endpoint = (request, peer) => {
    const origin = request.headers.get("origin");
    if (origin === null) return request.method === "OPTIONS" ? noOrigin() : endpoints.mcp(request, peer);
    if (!isKnownOrigin(origin, names)) return forbidden("Origin");
    if (request.method === "OPTIONS") {
      return preflightResponse(origin, "GET, POST, DELETE", request.headers.get("access-control-request-headers"));
    }
    const response = endpoints.mcp(request, peer);
    return response instanceof Promise
      ? response.then((answer) => allowOrigin(answer, origin))
      : allowOrigin(response, origin);
  };

  const mcpOrPage: Endpoint = (request, peer) =>
    wantsPage(request) ? endpoints.mcpPage(request, peer) : mcp(request, peer);

  // Clients follow no redirect on POST without losing headers, so both spellings are served (interop).
  app.all("/mcp", plain(mcpOrPage));
  app.all("/mcp/", plain(mcpOrPage));
  app.all("/.well-known/oauth-protected-resource", shared(endpoints.protectedResourceMetadata));
  app.all("/.well-known/oauth-protected-resource/mcp", shared(endpoints.protectedResourceMetadata)); // RFC 9728 §3.1
  app.all("/.well-known/oauth-authorization-server", shared(endpoints.authorizationServerMetadata)); // RFC 8414 §3
  app.all("/.well-known/jwks.json", shared(endpoints.jwks));
  app.all("/.well-known/ai-catalog.json", shared(endpoints.catalog));
  app.all("/mcp/server-card", shared(endpoints.serverCard)); // SEP-2127
  // What is looked for below another issuer (RFC 8414 §3.3), or as OpenID Connect, is not here: pages may read that too.
  app.all("/.well-known/*", shared(notFound));
  app.all("/mcp/.well-known/*", shared(notFound));
  app.all("/oauth/register", shared(endpoints.register));
  app.all("/oauth/token", shared(endpoints.token));
  app.all("/oauth/revoke", shared(endpoints.revoke));
  app.all("/oauth/introspect", shared(endpoints.introspect));
  app.all("/oauth/authorize", page(endpoints.authorize));
  app.all("/oauth/sign-in", page(endpoints.signIn));
  app.all("/oauth/consent", page(endpoints.consent));
  app.all("/oauth/grants", page(endpoints.grants));
  app.all("/oauth/sign-out", page(endpoints.signOut));
  app.all("/setup", page(endpoints.setUp));
  if (endpoints.servicenowCallback) app.all("/servicenow/callback", page(endpoints.servicenowCallback));
  if (endpoints.servicenowLink) app.all("/servicenow/link", page(endpoints.servicenowLink));
  // The 2025-03-26 fallback paths, and the guide's.
  app.all("/register", shared(endpoints.register));
  app.all("/token", shared(endpoints.token));
  app.all("/revoke", shared(endpoints.revoke));
  app.all("/authorize", page(endpoints.authorize));
  app.all("/health", plain(endpoints.health));
  app.all("/health/live", plain(endpoints.live));
  app.all("/health/ready", plain(endpoints.ready));
  app.all("/icons/*", shared(endpoints.icons));
  app.all("/", plain(endpoints.home));

  app.notFound(({ req }) => wantsPage(req.raw) ? notFoundPage() : notFound());
  app.onError((error) => toFailedResponse(error, "program", log));

  const answer: Endpoint = (request, peer) => {
    const addressee = addresseeOf(request, names);
    if (addressee !== "known") return addressee === "unknown" ? forbidden("Host") : badAddress();
    // A shortcut for the one request that comes often; it answers as the route above does.
    return request.method === "POST" && isMcpUrl(request.url) ? mcp(request, peer) : app.fetch(request, peer);
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
