/**
 * The `/mcp` endpoint: one posted body in, one answer out. Authentication comes first, and where it depends on the
 * body it is decided on the same single parse that is dispatched.
 */
import type { Log } from "../lib/log.ts";
import { parseJson } from "../lib/parse_json.ts";
import type { Principal } from "../lib/principal.ts";
import { type BodyBounds, type BodyRefusal, readRequestText } from "../lib/request_text.ts";
import type { McpAnswer } from "../mcp/answer.ts";
import type { Exchange } from "../mcp/exchange.ts";
import { errorCode, errorText, refusalCode } from "../mcp/jsonrpc.ts";
import type { McpServer } from "../mcp/mcp_server.ts";
import type { Profile } from "../mcp/profile.ts";
import { type EventStreamOptions, toEventStreamResponse, toSingleEventResponse } from "./event_stream.ts";
import { acceptsEventStream, acceptsOnlyEventStreams } from "./mcp_accept.ts";
import type { Peer } from "../lib/endpoint.ts";
import { isPublicHandshake, type PublicHandshakeOptions } from "./mcp_public_handshake.ts";

/** What the token guard found. The guard itself lives in the resource server; this is all the endpoint needs of it. */
export type AuthOutcome =
  | { readonly kind: "principal"; readonly principal: Principal }
  | { readonly kind: "no_token" }
  | { readonly kind: "refused"; readonly status: number; readonly reason: string; readonly wwwAuthenticate: string };

/** What the endpoint stands on. */
export interface McpEndpointOptions extends PublicHandshakeOptions {
  readonly mcp: McpServer;
  readonly authenticate: (request: Request) => AuthOutcome | Promise<AuthOutcome>;
  readonly challenge: {
    /** The value of WWW-Authenticate for a request without a token. */
    missingToken(request: Request): string;
    /** The same for a token that lacks scopes; all of these are needed. */
    insufficientScope(request: Request, scopes: readonly string[]): string;
  };
  /** Whose habits the answers follow; `null` is a caller without a token. */
  readonly profileOf: (principal: Principal | null) => Profile | Promise<Profile>;
  /** A name for the request, for audit and log. */
  readonly createRequestId: () => string;
  readonly log: Log;
  /** Hears of each token that is refused. */
  readonly onTokenRefused?: () => void;
  readonly maxBodyBytes: number;
  /** The same for callers without a token, who may only say `initialize`. */
  readonly maxPublicBodyBytes: number;
  /** Seconds in which a whole body has to arrive. */
  readonly bodyTimeoutSeconds: number;
  /** Those that are left out are {@link defaultEventStreamOptions}. */
  readonly eventStreams?: EventStreamOptions;
}

/** Event streams as most proxies like them. */
export const defaultEventStreamOptions: EventStreamOptions = { keepAliveMs: 15_000, retryMs: 1_000 };

/** Answers one request to `/mcp`, of any HTTP method. */
export type McpEndpoint = (request: Request, peer: Peer) => Promise<Response>;

const jsonInit = { headers: { "content-type": "application/json" } };

/** Builds the endpoint. */
export function createMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const { mcp, authenticate, challenge, profileOf, createRequestId, log } = options;
  const { eventStreams = defaultEventStreamOptions } = options;
  const bounds = { maxBytes: options.maxBodyBytes, timeoutSeconds: options.bodyTimeoutSeconds };
  const publicBounds = { maxBytes: options.maxPublicBodyBytes, timeoutSeconds: options.bodyTimeoutSeconds };

  const handle = async (request: Request, peer: Peer): Promise<Response> => {
    const pending = authenticate(request);
    const auth = pending instanceof Promise ? await pending : pending;
    if (auth.kind === "refused") {
      options.onTokenRefused?.();
      log.write("warn", "token_refused", { address: peer.address, reason: auth.reason });
      return refuse(auth.status, refusalCode.unauthorized, "Unauthorized", {
        "www-authenticate": auth.wwwAuthenticate,
      });
    }
    if (auth.kind === "no_token") return await handleWithoutToken(request);
    const chosen = profileOf(auth.principal);
    const profile = chosen instanceof Promise ? await chosen : chosen;
    const exchange = new HttpExchange(request, createRequestId(), auth.principal, profile);
    switch (request.method) {
      case "POST":
        return await handlePost(request, exchange);
      case "GET":
        return toResponse(request, await mcp.openStream(exchange));
      case "DELETE":
        return toResponse(request, await mcp.endSession(exchange));
      default:
        return methodNotAllowed("POST, GET, DELETE");
    }
  };

  const handlePost = async (request: Request, exchange: Exchange): Promise<Response> => {
    if (!isJson(request.headers.get("content-type"))) {
      return refuse(415, errorCode.invalidRequest, "Content-Type must be application/json");
    }
    const read = await readRequestText(request, bounds);
    if (!read.ok) return refuseBody(read.error, bounds);
    const body = parseJson(read.value);
    if (body === undefined) return refuse(400, errorCode.parseError, "Parse error: the body is not JSON");
    const answer = mcp.handle(body, exchange);
    return toResponse(request, answer instanceof Promise ? await answer : answer);
  };

  /** Everything is 401 but the public part of the handshake; nothing else can be learned without a token. */
  const handleWithoutToken = async (request: Request): Promise<Response> => {
    if (
      options.publicInitialize !== "never" && request.method === "POST" && isJson(request.headers.get("content-type"))
    ) {
      const read = await readRequestText(request, publicBounds);
      const body = read.ok ? parseJson(read.value) : undefined;
      if (isPublicHandshake(options, body, request.headers.get("accept"))) {
        const exchange = new HttpExchange(request, createRequestId(), null, await profileOf(null));
        return toResponse(request, await mcp.handle(body, exchange));
      }
    }
    return refuse(401, refusalCode.unauthorized, "Unauthorized", {
      "www-authenticate": challenge.missingToken(request),
    });
  };

  const toResponse = (request: Request, answer: McpAnswer): Response => {
    switch (answer.kind) {
      case "json":
        if (answer.sessionId !== undefined) {
          return respond(answer.status, answer.body, { "mcp-session-id": answer.sessionId });
        }
        if (answer.status === 200 && acceptsOnlyEventStreams(request.headers.get("accept"))) {
          return toSingleEventResponse(answer.body);
        }
        return answer.status === 200
          ? new Response(answer.body, jsonInit)
          : new Response(answer.body, { status: answer.status, ...jsonInit });
      case "accepted":
        return answer.status === 204
          ? new Response(null, { status: 204 })
          : new Response(null, { status: answer.status, headers: { "content-length": "0" } });
      case "stream":
        return toEventStreamResponse(answer.reader, eventStreams);
      case "method_not_allowed":
        return methodNotAllowed(answer.allow);
      case "insufficient_scope":
        return respond(403, answer.body, { "www-authenticate": challenge.insufficientScope(request, answer.scopes) });
      case "rate_limited":
        return respond(429, answer.body, { "retry-after": String(answer.retryAfterSeconds) });
    }
  };

  return async (request, peer) => {
    try {
      return await handle(request, peer);
    } catch (error) {
      log.write("error", "mcp_endpoint_failed", { error: error instanceof Error ? error.stack : String(error) });
      return refuse(500, errorCode.internalError, "Internal server error");
    }
  };
}

/** The HTTP side of an exchange. A class, since closures would cost each call. */
class HttpExchange implements Exchange {
  readonly hasHeaders = true;
  readonly #request: Request;
  readonly requestId: string;
  readonly principal: Principal | null;
  readonly profile: Profile;

  constructor(request: Request, requestId: string, principal: Principal | null, profile: Profile) {
    this.#request = request;
    this.requestId = requestId;
    this.principal = principal;
    this.profile = profile;
  }

  header(name: string): string | null {
    return this.#request.headers.get(name);
  }

  get acceptsStream(): boolean {
    return acceptsEventStream(this.#request.headers.get("accept"));
  }

  get disconnected(): AbortSignal {
    return this.#request.signal;
  }
}

function methodNotAllowed(allow: string): Response {
  return refuse(405, errorCode.invalidRequest, "Method not allowed", { allow });
}

function refuseBody(refusal: BodyRefusal, { maxBytes, timeoutSeconds }: BodyBounds): Response {
  switch (refusal) {
    case "too_large": // RFC 9110 §15.5.14: what is left of the body is not read, so nothing can follow it
      return refuse(413, errorCode.invalidRequest, `The body is larger than ${maxBytes} bytes`, {
        connection: "close",
      });
    case "too_slow": // RFC 9110 §15.5.9
      return refuse(408, errorCode.invalidRequest, `The body did not arrive within ${timeoutSeconds} seconds`, {
        connection: "close",
      });
    case "not_utf8":
      return refuse(400, errorCode.parseError, "Parse error: the body is not UTF-8");
    case "unreadable":
      return refuse(400, errorCode.parseError, "Parse error: the body could not be read");
  }
}

function refuse(status: number, code: number, message: string, headers?: Record<string, string>): Response {
  return respond(status, errorText(null, code, message), headers);
}

function respond(status: number, body: string, headers?: Record<string, string>): Response {
  return new Response(body, { status, headers: { "content-type": "application/json", ...headers } });
}

/** Whether a Content-Type is JSON; its parameters do not matter (RFC 8259 §11 defines none). */
function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  return contentType !== null && /^\s*application\/json\s*(;|$)/i.test(contentType);
}
