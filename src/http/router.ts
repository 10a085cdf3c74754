/** Serves the routes, each behind the checks of its kind; finds the client's address. The only file that knows Hono. */
import { type Context, Hono } from "@hono/hono";
import { type Html, html, pageResponse, wantsPage } from "../lib/page.ts";
import { crashText, unavailability } from "../lib/system_fault.ts";
import type { Log } from "../lib/log.ts";
import { type Endpoint, onGet, type Peer, type Route } from "../lib/endpoint.ts";
import { headerOf, requestHost } from "../lib/request_text.ts";
import { whenReady } from "../lib/turns.ts";
import { isTrustedProxy, parseIpAddress, type TrustedProxies } from "../lib/network.ts";

type Handler = (context: Context<{ Bindings: Peer }>) => Response | Promise<Response>;

/** Sees how clients arrive; a request to `/mcp` with a known Host and Origin is none of its business. */
interface Arrivals {
  /** Answers with a peer that takes what the endpoint reports of this request. */
  around(request: Request, peer: Peer, answer: (peer: Peer) => Response | Promise<Response>): Promise<Response>;
  noteForeign(request: Request, peer: Peer, reason: "unknown_host" | "unknown_origin" | "malformed_address"): void;
}

/** Builds the one request handler of the server. */
export function createRouter(
  { mcp: mcpEndpoint, mcpPage, routes, base = "", names, log, arrivals }: {
    readonly mcp: Endpoint;
    /** What a browser is shown at the address for agents. */
    readonly mcpPage: Endpoint;
    readonly routes: readonly Route[];
    /** The path below which clients know the server, as `basePathOf` gives it. */
    readonly base?: string;
    readonly names: KnownNames;
    readonly log: Log;
    readonly arrivals?: Arrivals;
  },
): Endpoint {
  const app = new Hono<{ Bindings: Peer }>();
  const plain = (endpoint: Endpoint): Handler => (context) => endpoint(context.req.raw, context.env);
  const answerFor = async (reader: ReaderKind, endpoint: Endpoint, request: Request, peer: Peer): Promise<Response> => {
    try {
      return await endpoint(request, peer);
    } catch (error) {
      return toFailedResponse(error, reader, log);
    }
  };

  // No cookie, no ambient authority: pages of any origin may read these (RFC 8414, RFC 7591 and RFC 6749 by browser
  // clients).
  const shared = (endpoint: Endpoint): Handler => async ({ req: { raw: request }, env }) => {
    if (request.method === "OPTIONS") {
      return preflightResponse("*", "GET, POST", request.headers.get("access-control-request-headers"));
    }
    return allowOrigin(await answerFor("program", endpoint, request, env), "*");
  };

  // Pages work by cookie: a form that another site posts here is refused before it is read. `null` is what browsers
  // send for our own forms under `Referrer-Policy: no-referrer`; the form's own handle decides about those.
  const page = (endpoint: Endpoint): Handler => async ({ req, env }) => {
    const origin = req.raw.headers.get("origin");
    if (origin !== "null" && !isKnownOrigin(origin, names)) return forbidden("Origin");
    return await answerFor("person", endpoint, req.raw, env);
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
    return whenReady(mcpEndpoint(request, peer), (answer) => allowOrigin(answer, origin));
  };

  const mcpOrPage: Endpoint = (request, peer) => wantsPage(request) ? mcpPage(request, peer) : mcp(request, peer);

  // Clients follow no redirect on POST without losing headers, so both spellings are served (interop).
  app.all("/mcp", plain(mcpOrPage));
  app.all("/mcp/", plain(mcpOrPage));
  const handlers = { page, shared, plain };
  for (const { paths, kind, endpoint } of routes) {
    for (const path of paths) app.all(path, handlers[kind](endpoint));
  }
  // What is looked for below another issuer (RFC 8414 §3.3), or as OpenID Connect, is not here: pages may read that
  // too.
  app.all("/.well-known/*", shared(notFound));
  app.all("/mcp/.well-known/*", shared(notFound));

  app.notFound(({ req }) => wantsPage(req.raw) ? notFoundPage(base) : notFound());
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
  return base === "" ? answer : (request, peer) => answer(withoutBase(request, base), peer);
}

/**
 * The request as the routes have it: the one place that removes the path which the server shares its host by. A proxy
 * may have removed it before. In a well-known address it comes last (RFC 8414 §3.1, RFC 9728 §3.1); clients also try it
 * first.
 */
function withoutBase(request: Request, base: string): Request {
  const url = URL.parse(request.url);
  if (url === null) return request; // refused by what follows
  const [wellKnown = ""] = /^\/\.well-known\/[^/]+/.exec(url.pathname) ?? [];
  const path = url.pathname.slice(wellKnown.length);
  if (path !== base && !path.startsWith(`${base}/`)) return request;
  return new Request(`${url.origin}${wellKnown + path.slice(base.length) || "/"}${url.search}`, request);
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

// * Who may call from a browser, and under which name the server may be called. A page that a victim visits can reach a
// server on the victim's own machine, directly or by DNS rebinding; both are refused here (MCP transports, "Security
// Warning": Origin MUST be validated).

/** The names under which this server is known. All lower case. */
interface KnownNames {
  /** Origins whose pages may call: our own spellings and those the operator allows. */
  readonly origins: ReadonlySet<string>;
  /** Values of `Host` that mean this server, with the port if there is one. IP literals need no entry. */
  readonly hosts: ReadonlySet<string>;
}

/** Whether `Origin` is absent (not a browser) or one of ours. `null`, the origin of no one, never is. */
export function isKnownOrigin(origin: string | null, names: KnownNames): boolean {
  return origin === null || names.origins.has(origin.toLowerCase());
}

/**
 * Whether `Host` can be trusted to be us. Rebinding needs a name that the attacker's DNS serves, so an address is
 * always fine and a name must be known.
 */
export function isKnownHost(host: string, names: KnownNames): boolean {
  return names.hosts.has(host.toLowerCase()) || /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])(:\d+)?$/i.test(host);
}

/** What a request is addressed to: one of our names, another one, or nothing that a URL can have. */
type Addressee = "known" | "unknown" | "malformed";

/**
 * Judges `Host` and the request target before anything else parses them: Deno joins both into `request.url` unseen, so
 * that it may be no URL at all, or one of another host than `Host` (RFC 9112 §3.2: such a request is answered 400).
 */
export function addresseeOf(request: Request, names: KnownNames): Addressee {
  const host = requestHost(request);
  if (host === null) return "malformed";
  if (!names.hosts.has(host.toLowerCase())) {
    const named = URL.parse(`http://${host}`);
    if (named === null || named.href !== `${named.origin}/`) return "malformed";
    if (!isKnownHost(host, names)) return "unknown";
  }
  return isTargetAt(request.url, host) ? "known" : "malformed";
}

/** Whether a URL that `Host` went into, or that was sent whole (RFC 9112 §3.2.2), is of this host. */
function isTargetAt(url: string, host: string): boolean {
  const start = url.indexOf("://") + 3;
  if (url.startsWith(host, start) && url.charAt(start + host.length) === "/") return true;
  const target = URL.parse(url);
  return target !== null && target.username === "" && target.host === URL.parse(`${target.protocol}//${host}`)?.host;
}

/**
 * `GET /metrics`, on a separate listener: no token protects it, any client that reaches its address can read what `expose`
 * gives. A `Host` by name has to be known, as everywhere: a rebound page reads nothing here.
 */
export function createMetricsEndpoint(names: KnownNames, expose: () => string): Endpoint {
  const contentType = "text/plain; version=0.0.4; charset=utf-8";
  const answer = onGet(() =>
    new Response(expose(), { headers: { "content-type": contentType, "cache-control": "no-store" } })
  );
  return (request, peer) => {
    const addressee = addresseeOf(request, names);
    if (addressee === "malformed") return new Response("Host and target must make one URL\n", { status: 400 });
    if (addressee === "unknown") {
      return new Response("This Host is not allowed; see ALLOWED_HOSTS\n", { status: 403 });
    }
    if (new URL(request.url).pathname !== "/metrics") return new Response("See /metrics\n", { status: 404 });
    return answer(request, peer);
  };
}

/** Our own names for a server URL, its spellings on loopback, and what the operator adds. */
export function knownNames(
  serverUrls: readonly string[],
  allowedOrigins: readonly string[],
  allowedHosts: readonly string[],
): KnownNames {
  const ports = new Set(serverUrls.map((url) => url.startsWith("https:") ? ":443" : ":80"));
  const hosts = [...serverUrls.map((url) => new URL(url).host), ...allowedHosts].map((host) => host.toLowerCase());
  const origins = [...serverUrls.map((url) => new URL(url).origin), ...allowedOrigins].map((origin) =>
    origin.toLowerCase()
  );
  return {
    origins: new Set(
      origins.flatMap((origin) => withDefaultPort(origin, origin.startsWith("https:") ? ":443" : ":80")),
    ),
    hosts: new Set(hosts.flatMap((host) => [...ports].flatMap((port) => withDefaultPort(host, port)))),
  };
}

/** A host or origin with the default port of its scheme, and without: both name one server (RFC 9110 §4.2.3). */
function withDefaultPort(name: string, port: string): readonly string[] {
  if (name.endsWith(port)) return [name, name.slice(0, -port.length)];
  return /:\d+$/.test(name) ? [name] : [name, `${name}${port}`];
}

// The address of a request's client: the connection's other end, or what trusted proxies say of it.

/** Asks Deno for the address when it is first read: most requests never read it. A class, since closures cost. */
export class ConnectionPeer implements Peer {
  constructor(
    private readonly request: Request,
    private readonly info: Deno.ServeHandlerInfo<Deno.NetAddr>,
    private readonly trusted: TrustedProxies | undefined,
  ) {}

  get answerSent(): Promise<void> {
    return this.info.completed.catch(() => {});
  }

  get address(): string {
    // Where the platform listens by other means than TCP, there is none; all who call then share one.
    const hostname = (this.info.remoteAddr as Partial<Deno.NetAddr>).hostname ?? "unknown";
    return this.trusted === undefined ? hostname : clientAddress(hostname, this.request.headers, this.trusted);
  }
}

/**
 * The client's address: the nearest one, counted from this server, that is no trusted proxy's. Each trusted hop is
 * believed about the one before it and about nothing else, so what a client wrote into the header itself is never
 * reached.
 *
 * A proxy that writes `Forwarded` (RFC 7239) instead passes on `X-Forwarded-For` as the client sent it. So where the
 * former is there, neither is believed.
 */
export function clientAddress(connection: string, headers: Headers, trusted: TrustedProxies): string {
  const listed = headers.get("x-forwarded-for");
  if (listed === null || headers.has("forwarded") || !isTrustedProxy(connection, 0, trusted)) return connection;
  let address = connection;
  for (const [hop, item] of listed.split(",").reverse().entries()) {
    const before = addressIn(item);
    if (before === null) return address; // "unknown", or a name that a proxy made up
    address = before;
    if (!isTrustedProxy(address, hop + 1, trusted)) return address;
  }
  return address;
}

/** One item of `X-Forwarded-For`, a list that each proxy appends to, with or without ports; `null` for no address. */
function addressIn(item: string): string | null {
  const node = item.trim();
  const [, ipv6, ipv4] = /^\[([^\]]*)\](?::\w+)?$|^([\d.]+):\d+$/.exec(node) ?? [];
  const address = ipv6 ?? ipv4 ?? node;
  return parseIpAddress(address) === null ? null : address;
}

// Cross-origin resource sharing: answers to preflights, and the headers that let a page read an answer.

/** Request headers that MCP clients in browsers send (MCP transports; the modern era adds `Mcp-*`). */
const allowHeaders =
  "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID, " +
  "If-None-Match";
const exposeHeaders = "Mcp-Session-Id, WWW-Authenticate, Retry-After, ETag";
const preflightMaxAgeSeconds = "600";

/** Answers `OPTIONS` for an endpoint that `origin` may call. Comes before authentication: browsers send no token here. */
function preflightResponse(origin: string, methods: string, requestedHeaders: string | null): Response {
  // `Mcp-Param-*` names come from tools, so a preflight that asks for such headers gets them by name.
  const parameters = (requestedHeaders ?? "").split(",").map((name) => name.trim())
    .filter((name) => /^mcp-param-[a-z0-9_-]+$/i.test(name));
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": methods,
      "access-control-allow-headers": [allowHeaders, ...parameters].join(", "),
      "access-control-max-age": preflightMaxAgeSeconds,
      vary: "Origin, Access-Control-Request-Headers",
    },
  });
}

/** Lets `origin` (or `*`) read the response. Changes and returns the same response. */
function allowOrigin(response: Response, origin: string): Response {
  response.headers.set("access-control-allow-origin", origin);
  response.headers.set("access-control-expose-headers", exposeHeaders);
  if (origin !== "*") response.headers.append("vary", "Origin");
  return response;
}

// The answer when an endpoint throws: the database is unavailable, or there is a bug.

/** Which kind of answer the caller reads. */
type ReaderKind = "program" | "person";

/** 503 with Retry-After while the database is lost or the machine lacks something; else 500. */
function toFailedResponse(error: unknown, reader: ReaderKind, log: Log): Response {
  const unavailable = unavailability(error);
  if (unavailable?.cause !== "storage_unavailable") {
    log.write("error", "request_failed", { error: crashText(error) });
  }
  if (unavailable === null) {
    if (reader === "program") return Response.json({ error: "server_error" }, { status: 500 });
    const words = "The fault is on this server, and its log has the details. Start again from the client.";
    return failurePage(500, "Something went wrong", html`<p>${words}</p>`);
  }
  const { cause, text, retryAfterSeconds } = unavailable;
  if (reader === "program") {
    const headers = { "retry-after": String(retryAfterSeconds), "cache-control": "no-store" };
    return Response.json({ error: "temporarily_unavailable", error_description: text }, { status: 503, headers });
  }
  const response = failurePage(
    503,
    "This server cannot answer right now",
    html`
      <p>${cause === "storage_unavailable" ? "Its database is not available. Nothing was changed." : `${text}.`}</p>
      <p>Wait a moment, then go back and try again. If this page stays, tell the person who runs the server: its log says
        what is wrong.</p>
    `,
  );
  response.headers.set("retry-after", String(retryAfterSeconds));
  return response;
}

function failurePage(status: number, title: string, words: Html): Response {
  return pageResponse({ title, status, body: html`<h1>${title}</h1>${words}` });
}

/** The page of an address that does not exist. */
export function notFoundPage(base: string): Response {
  const title = "Page not found";
  const body = html`
    <h1>${title}</h1>
    <p>Check the address.</p>
    <p
      class="hint"><a href="${base}/">How to connect a client</a> · <a href="${base}/oauth/grants">Your Access page</a></p>
  `;
  return pageResponse({ title, status: 404, body });
}
