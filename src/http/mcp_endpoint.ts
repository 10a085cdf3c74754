/**
 * The `/mcp` endpoint: one posted body in, one answer out. Authentication comes first, and where it depends on the
 * body it is decided on the same single parse that is dispatched.
 */
import {
  bodyTimeoutMs,
  declaredLength,
  headerOf,
  keepHeaders,
  readRequestText,
  withRequestText,
} from "../lib/request_text.ts";
import type { BodyBounds, BodyOptions, BodyRefusal } from "../lib/request_text.ts";
import { type BodyIntake, createBodyIntake, intakeBytesFor, intakeRetrySeconds, requestBytes } from "./guard.ts";
import { type AuthOutcome, callerKey, type Principal, shareKey } from "../lib/principal.ts";
import {
  clientIdentity,
  errorText,
  kindOfMessage,
  modernVersion,
  refusalCode,
  rpcErrorCode,
  serviceNowName,
  tooManyCalls,
} from "../mcp/mod.ts";
import type { Exchange, Frame, McpAnswer, McpServer, Profile, PublicExchange, RpcCall } from "../mcp/mod.ts";
import { noteAnswer, runInTurn, smallAnswerCharacters, type Throttled, whenReady } from "../lib/turns.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import type { Log } from "../lib/log.ts";
import { parseJson, whyTooMuch } from "../lib/json.ts";
import type { Result } from "../lib/result.ts";
import { crashText, unavailability } from "../lib/system_fault.ts";
import { addressKey } from "../lib/network.ts";

interface Outsiders {
  /** Without a good token; the reason says why one was refused. */
  noteStranger(request: Request, peer: Peer, answer: { readonly status: number; readonly reason: string | null }): void;
  /** With a good token, and refused as a whole. */
  noteRefused(principal: Principal, request: Request, status: number): void;
  /** A session's stream was opened; returns what to call at its end. */
  noteStream(principal: Principal): OnStreamEnd;
  /** A slow answer ended: whether its caller was there to the last. */
  noteAnswer(principal: Principal, isWhole: boolean): void;
}

export interface McpEndpointOptions extends PublicHandshakeOptions {
  readonly mcp: McpServer;
  readonly authenticate: (request: Request) => AuthOutcome | Promise<AuthOutcome>;
  /** The values of WWW-Authenticate. */
  readonly challenge: {
    /** For a request without a token. */
    missingToken(request: Request): string;
    /** For a token that lacks scopes; all of these are needed. */
    insufficientScope(request: Request, scopes: readonly string[]): string;
  };
  /** Whose habits the answers follow. */
  readonly profileOf: (principal: Principal, isApart: boolean) => Profile | Promise<Profile>;
  /** The same for callers without a token. */
  readonly publicProfile: Profile;
  /** A name for the request, for audit and log. */
  readonly createRequestId: () => string;
  readonly log: Log;
  /** Called for each refused token. */
  readonly onTokenRefused?: () => void;
  /** Observes requests that never become a call, and the ends of streams and slow answers. */
  readonly outsiders?: Outsiders;
  /** By which answers are slow, in milliseconds. */
  readonly elapsed?: () => number;
  readonly maxBodyBytes: number;
  /** The same for callers without a token, who may only say `initialize`. */
  readonly maxPublicBodyBytes?: number;
  /** How long a whole body may take to arrive. */
  readonly bodyTimeoutMs?: number;
  /** What bodies and answers may take at once. */
  readonly intake?: BodyIntake;
  /** The same for callers without a token. */
  readonly publicIntake?: BodyIntake;
  /** Why a principal's next call would be refused, so that its body need not be read; `null` where it would not. */
  readonly refusalOfCalls?: (principal: Principal) => Throttled | null;
  /** Options other than {@link eventStreamOptions}. */
  readonly eventStreams?: Partial<EventStreamOptions> | undefined;
}

/** The largest body of a caller without a token. */
export const defaultMaxPublicBodyBytes = 65_536;

/** Answers one request to `/mcp`, of any HTTP method: at once where nothing has to be waited for. */
export function createMcpEndpoint(options: McpEndpointOptions): Endpoint {
  const { mcp, authenticate, challenge, profileOf, createRequestId, log, outsiders, elapsed = () => 0 } = options;
  const eventStreams = { ...eventStreamOptions, ...options.eventStreams };
  const { maxPublicBodyBytes = defaultMaxPublicBodyBytes, bodyTimeoutMs: timeoutMs = bodyTimeoutMs } = options;
  const bounds = { maxBytes: options.maxBodyBytes, timeoutMs };
  const toResponse = createAnswerEncoder({ challenge, eventStreams });
  const publicBounds = { maxBytes: maxPublicBodyBytes, timeoutMs };

  const { intake = createBodyIntake(intakeBytesFor(options.maxBodyBytes)) } = options;
  const { publicIntake = createBodyIntake(intakeBytesFor(maxPublicBodyBytes)) } = options;

  const handle = (request: Request, peer: Peer, auth: AuthOutcome): Response | Promise<Response> => {
    switch (auth.kind) {
      case "refused":
        options.onTokenRefused?.();
        log.write("warn", "token_refused", { address: peer.address, reason: auth.reason });
        return refuse(auth.status, refusalCode.unauthorized, "Unauthorized", {
          "www-authenticate": auth.wwwAuthenticate,
        });
      case "no_token":
        return handleWithoutToken(request, peer);
      case "principal":
        return whenReady(profileOf(auth.principal, isApart(request)), (profile) => {
          const exchange = new HttpExchange(request, createRequestId(), profile, auth.principal);
          return request.method === "POST" ? handlePost(request, exchange, peer) : handleOther(request, exchange);
        });
    }
  };

  const handleOther = async (request: Request, exchange: HttpExchange): Promise<Response> => {
    const refusal = await mcp.refuseRate(exchange.principal);
    if (refusal !== null) return toResponse(request, refusal);
    if (request.method === "DELETE") return toResponse(request, await mcp.endSession(exchange));
    if (request.method !== "GET") return methodNotAllowed("POST, GET, DELETE");
    const answer = await mcp.openStream(exchange);
    return toResponse(
      request,
      answer,
      answer.kind === "stream" ? outsiders?.noteStream(exchange.principal) : undefined,
    );
  };

  const handlePost = (request: Request, exchange: HttpExchange, peer: Peer): Response | Promise<Response> => {
    const { principal } = exchange;
    /** A body that is not handled counts as one. */
    const refuseWhole = (response: Response): Response | Promise<Response> =>
      whenReady(mcp.refuseRate(principal), (refusal) => refusal === null ? response : toResponse(request, refusal));
    if (!isJson(headerOf(request, "content-type"))) {
      return refuseWhole(refuse(415, rpcErrorCode.invalidRequest, "Content-Type must be application/json"));
    }
    const declared = declaredLength(request);
    if (declared === null || declared > smallBodyBytes) {
      const refusal = options.refusalOfCalls?.(principal) ?? null;
      if (refusal !== null) return toResponse(request, tooManyCalls(null, refusal.retryAfterSeconds));
    }
    const caller = callerKey(principal);
    const hold = holdBody(request, intake, caller, bounds);
    if (hold instanceof Response) return hold;

    const noteSize = (characters: number): void => noteAnswer(shareKey(principal), characters, peer);
    const encode = (answer: McpAnswer, startedAt: number | null): Response => {
      if (answer.kind === "json" && answer.body.length > smallAnswerCharacters && peer.answerSent !== undefined) {
        const size = answer.body.length;
        if (!intake.take(caller, size)) return refuseLoad("Answers of yours wait to be read");
        void peer.answerSent.then(() => intake.release(caller, size));
        noteSize(size);
      }
      if (answer.kind === "json" && answer.isMalformed && answer.status < 400) {
        outsiders?.noteRefused(principal, request, 400);
      }
      if (answer.kind !== "json") keepHeaders(request); // the call may go on, and ask for one
      else if (startedAt !== null && elapsed() - startedAt > slowAnswerMs) {
        outsiders?.noteAnswer(principal, !exchange.disconnected.aborted);
      }
      if (answer.kind !== "stream") return toResponse(request, answer);
      return toResponse(request, answer, (isWhole, characters) => {
        noteSize(characters);
        outsiders?.noteAnswer(principal, isWhole);
      });
    };
    const answerBody = (read: Result<string, BodyRefusal>): Response | Promise<Response> => {
      if (!read.ok) return intake.isAbandoned ? refuseStopping() : refuseWhole(refuseBody(read.error, bounds));
      const body = parseJson(read.value, maxBodyValues);
      if (body === undefined) {
        const problem = whyTooMuch(read.value, maxBodyValues) ?? "is not JSON";
        return refuseWhole(refuse(400, rpcErrorCode.parseError, `Parse error: the body ${problem}`));
      }
      const handled = mcp.handle(body, exchange);
      const startedAt = handled instanceof Promise ? elapsed() : null;
      return whenReady(handled, (answer) => encode(answer, startedAt));
    };
    let response: Response | Promise<Response> | undefined;
    try {
      return response = withRequestText(request, bounds, hold, (read) => {
        intake.arrived();
        return runInTurn(shareKey(principal), (hasWaited) => {
          // MCP 2026-07-28, basic/transports: to go is to cancel
          const isCancelled = hasWaited && request.signal.aborted &&
            exchange.header("mcp-protocol-version") === modernVersion;
          return isCancelled ? refuseWhole(new Response(null, { status: 202 })) : answerBody(read);
        });
      });
    } finally {
      if (response instanceof Promise) response.then(() => hold.release(), () => hold.release());
      else hold.release();
    }
  };

  /** Everything is 401 but the public part of the handshake; nothing else can be learned without a token. */
  const handleWithoutToken = async (request: Request, peer: Peer): Promise<Response> => {
    if (
      options.publicInitialize !== "never" && request.method === "POST" && isJson(request.headers.get("content-type"))
    ) {
      const hold = holdBody(request, publicIntake, addressKey(peer.address), publicBounds);
      if (hold instanceof Response) return hold;
      try {
        const read = await readRequestText(request, publicBounds, hold);
        publicIntake.arrived();
        if (!read.ok && publicIntake.isAbandoned) return refuseStopping();
        const body = read.ok ? parseJson(read.value) : undefined;
        if (isPublicHandshake(options, body, request.headers.get("accept"))) {
          const exchange = new PublicHttpExchange(request, createRequestId(), options.publicProfile);
          return toResponse(request, await mcp.handlePublic(body, exchange));
        }
      } finally {
        hold.release();
      }
    }
    return refuse(401, refusalCode.unauthorized, "Unauthorized", {
      "www-authenticate": challenge.missingToken(request),
    });
  };

  const answer = (request: Request, peer: Peer, auth: AuthOutcome): Response | Promise<Response> =>
    whenReady(handle(request, peer, auth), (response) => {
      const { status } = response;
      if (auth.kind !== "principal") {
        outsiders?.noteStranger(request, peer, { status, reason: auth.kind === "refused" ? auth.reason : null });
      } else if (status >= 400) outsiders?.noteRefused(auth.principal, request, status);
      return response;
    });

  const fail = (request: Request, peer: Peer, error: unknown): Response => {
    const unavailable = unavailability(error);
    if (unavailable?.cause !== "storage_unavailable") {
      log.write("error", "mcp_endpoint_failed", { error: crashText(error) });
    }
    if (unavailable === null) return refuse(500, rpcErrorCode.internalError, "Internal server error");
    outsiders?.noteStranger(request, peer, { status: 503, reason: null });
    const retryAfter = `${unavailable.retryAfterSeconds}`;
    return refuse(503, refusalCode.unavailable, unavailable.text, { "retry-after": retryAfter });
  };

  return (request, peer) => {
    try {
      const answered = whenReady(authenticate(request), (auth) => answer(request, peer, auth));
      if (!(answered instanceof Promise)) return answered;
      const pass = setImmediate(() => keepHeaders(request)); // they can be read until it is answered
      return answered.catch((error) => fail(request, peer, error)).finally(() => clearImmediate(pass));
    } catch (error) {
      return fail(request, peer, error);
    }
  };
}

/** Bodies of pings, cancellations and the like: read even when the caller's calls are refused. */
const smallBodyBytes = 4_096;
/** Of a long body: to parse some hundred thousand empty arrays held the thread for 40 to 76 ms. */
const maxBodyValues = 20_000;
/** Answers after so long may be too late for their caller. */
const slowAnswerMs = 1_000;

/** Whether a Content-Type is JSON; its parameters do not matter (RFC 8259 §11 defines none). */
function isJson(contentType: string | null): boolean {
  return contentType !== null && /^\s*application\/json\s*(;|$)/i.test(contentType);
}

/** Whether the request is in a session, or of the revision whose requests say themselves whose they are. */
function isApart(request: Request): boolean {
  return headerOf(request, "mcp-session-id") !== null || headerOf(request, "mcp-protocol-version") === modernVersion;
}

/** What `readRequestText` is given, and released when the request is answered. A class, since closures cost each call. */
class BodyHold implements BodyOptions {
  constructor(
    readonly declared: number | null,
    private readonly intake: BodyIntake,
    private readonly caller: string,
    private bytes: number,
  ) {}

  admitMore(bytes: number): boolean {
    if (!this.intake.take(this.caller, bytes)) return false;
    this.bytes += bytes;
    return true;
  }

  release(): void {
    this.intake.release(this.caller, this.bytes);
  }
}

/** Takes the caller's share for a body, or gives the refusal. */
function holdBody(request: Request, intake: BodyIntake, caller: string, bounds: BodyBounds): BodyHold | Response {
  const declared = declaredLength(request);
  const bytes = requestBytes + Math.min(declared ?? 0, bounds.maxBytes);
  switch (intake.admit(caller, bytes)) {
    case "admitted":
      return new BodyHold(declared, intake, caller, bytes);
    case "stopping":
      return refuseStopping();
    case "over_share":
      return refuseBody("over_share", bounds);
  }
}

/** The answer to a body that our own stop keeps from arriving. */
function refuseStopping(): Response {
  return refuseLoad("The server is stopping");
}

/** What the protocol layer sees of a request over HTTP. Classes, since closures would cost each call. */
class PublicHttpExchange implements PublicExchange {
  readonly hasHeaders = true;

  constructor(protected readonly request: Request, readonly requestId: string, readonly profile: Profile) {}

  header(name: string): string | null {
    return headerOf(this.request, name);
  }
}

class HttpExchange extends PublicHttpExchange implements Exchange {
  readonly canComeBack = true;

  constructor(request: Request, requestId: string, profile: Profile, readonly principal: Principal) {
    super(request, requestId, profile);
  }

  get acceptsStream(): boolean {
    return acceptsEventStream(headerOf(this.request, "accept"));
  }

  get disconnected(): AbortSignal {
    return this.request.signal;
  }
}

// * Which callers may open without a token. ServiceNow tests its connection so, while other clients start to sign in
// only when `initialize` is answered 401: a handshake public to all would leave them stuck.

interface PublicHandshakeOptions {
  /** `auto`: to callers that read JSON alone, whose name matches, or on this machine; `always`; `never`. */
  readonly publicInitialize: "auto" | "always" | "never";
  /** Whether clients know the server by a loopback address. */
  readonly isOnLoopback: boolean;
}

// claude.ai accepts anything, and takes a public handshake for a server that needs no sign-in.
const misreadsPublicHandshake = /^anthropic(\/|$)/i;

/** Whether this parsed body is the part of the handshake that its sender may have without a token. */
function isPublicHandshake(options: PublicHandshakeOptions, body: unknown, accept: string | null): boolean {
  const kind = kindOfMessage(body);
  if (kind !== "request" && kind !== "notification") return false;
  const { method, params } = body as RpcCall;
  const isOpening = kind === "request" && method === "initialize";
  if (!isOpening && !(kind === "notification" && method === "notifications/initialized")) return false;
  switch (options.publicInitialize) {
    case "never":
      return false;
    case "always":
      return true;
    case "auto":
      return !isOpening || mayOpen(options, clientIdentity(params).name ?? "", accept);
  }
}

function mayOpen({ isOnLoopback }: PublicHandshakeOptions, name: string, accept: string | null): boolean {
  if (serviceNowName.test(name)) return true;
  if (misreadsPublicHandshake.test(name) || acceptsEventStream(accept)) return false;
  return acceptsJsonAlone(accept) || (isOnLoopback && acceptsAnything(accept));
}

// What a caller of `/mcp` accepts. It decides the kind of answer where possible; no request is refused for it.

/** The media types of an Accept header in lower case, without the ones refused by `q=0` (RFC 9110 §12.4.2). */
function acceptedTypes(accept: string | null): readonly string[] {
  if (accept === null || accept === "") return [];
  return accept.toLowerCase().split(",").flatMap((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    return type === "" || parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [type];
  });
}

/** Whether an Accept header asks for event streams by name (RFC 9110 §12.5.1). A wildcard does not. */
export function acceptsEventStream(accept: string | null): boolean {
  return accept !== null && acceptedTypes(accept).includes("text/event-stream");
}

/** Whether a caller asks for JSON by name and for nothing else. */
function acceptsJsonAlone(accept: string | null): boolean {
  const types = acceptedTypes(accept);
  return types.length > 0 && types.every((type) => type === "application/json");
}

/** Whether a caller takes anything: by a wildcard that fits JSON, or by no Accept header (RFC 9110 §12.5.1). */
function acceptsAnything(accept: string | null): boolean {
  const types = acceptedTypes(accept);
  return types.length === 0 || types.some((type) => type === "*/*" || type === "application/*");
}

/** Whether a caller names event streams and nothing that JSON would fit. */
function acceptsOnlyEventStreams(accept: string | null): boolean {
  return accept !== null && !accept.includes("json") && !accept.includes("*") && acceptsEventStream(accept);
}

// How answers and refusals go out.

const jsonInit = { headers: { "content-type": "application/json" } };

/** Encodes answers of the protocol layer, in the kind that their caller reads. */
function createAnswerEncoder(
  { challenge, eventStreams }: Pick<McpEndpointOptions, "challenge"> & { readonly eventStreams: EventStreamOptions },
): (request: Request, answer: McpAnswer, onStreamEnd?: OnStreamEnd) => Response {
  return (request, answer, onStreamEnd) => {
    switch (answer.kind) {
      case "json":
        if (answer.sessionId !== undefined) {
          return respond(answer.status, answer.body, { "mcp-session-id": answer.sessionId });
        }
        if (answer.status === 200 && acceptsOnlyEventStreams(headerOf(request, "accept"))) {
          return new Response(toEvent({ id: null, text: answer.body }, 0), { headers: eventStreamHeaders });
        }
        return answer.status === 200 ? new Response(answer.body, jsonInit) : respond(answer.status, answer.body);
      case "accepted":
        return answer.status === 204
          ? new Response(null, { status: 204 })
          : new Response(null, { status: answer.status, headers: { "content-length": "0" } });
      case "stream":
        return toStreamResponse(answer, eventStreams, onStreamEnd);
      case "method_not_allowed":
        return methodNotAllowed(answer.allow, answer.message);
      case "insufficient_scope":
        return respond(403, answer.body, { "www-authenticate": challenge.insufficientScope(request, answer.scopes) });
      case "unavailable":
        return respond(503, answer.body, { "retry-after": String(answer.retryAfterSeconds) });
      case "rate_limited":
        return respond(429, answer.body, { "retry-after": String(answer.retryAfterSeconds) });
    }
  };
}

/** A stream of messages as Server-Sent Events (WHATWG HTML §9.2). */
const eventStreamOptions = {
  /** A comment is sent after so long a silence, so that no proxy takes the connection for dead. */
  keepAliveMs: 15_000,
  /** What a client waits before it comes back to a stream that lost its connection. */
  retryMs: 1_000,
};

/** Times of a stream of server-sent events, in milliseconds. */
export type EventStreamOptions = Readonly<typeof eventStreamOptions>;

const unheld = { "cache-control": "no-store", "x-accel-buffering": "no" }; // nginx would hold the beginning back
const eventStreamHeaders = { "content-type": "text/event-stream", ...unheld };
const encoder = new TextEncoder();
const comment = encoder.encode(": keep-alive\n\n");
const jsonHeaders = { "content-type": "application/json", ...unheld };
const blank = encoder.encode(" "); // RFC 8259 §2: whitespace may stand before the value

/** Called once, when a stream ends: whether its last message was sent, or its caller left before; and its size so far. */
type OnStreamEnd = (isWhole: boolean, characters: number) => void;

/** The response that carries a stream. One that has ended already goes out as a single text, which costs far less. */
function toStreamResponse(
  { reader, isJson = false }: Extract<McpAnswer, { kind: "stream" }>,
  { keepAliveMs, retryMs }: EventStreamOptions,
  onEnd?: OnStreamEnd,
): Response {
  let isOver = false;
  let characters = 0;
  const end = (isWhole: boolean): void => {
    if (!isOver) onEnd?.(isWhole, characters);
    isOver = true;
  };
  const rest = reader.rest();
  const headers = isJson ? jsonHeaders : eventStreamHeaders;
  const idle = isJson ? blank : comment;
  const encode = (frame: Frame): string => isJson ? frame.text : toEvent(frame, retryMs);
  if (rest !== null) {
    const text = rest.map(encode).join("");
    characters = text.length;
    end(true);
    return new Response(text, { headers });
  }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (isJson) controller.enqueue(idle); // only of a body that is being sent is the loss of its connection noticed
    },
    async pull(controller) {
      const frame = await reader.next(keepAliveMs);
      if (frame === null) {
        end(true);
        controller.close();
      } else if (frame === "idle") controller.enqueue(idle);
      else {
        characters += frame.text.length;
        controller.enqueue(encoder.encode(encode(frame)));
      }
    },
    cancel() {
      end(false);
      reader.cancel();
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers });
}

/** JSON text has no line breaks, so that one data line carries any message. */
function toEvent({ id, text }: Frame, retryMs: number): string {
  if (text === "") return `id: ${id}\nretry: ${retryMs}\ndata:\n\n`; // SEP-1699: priming event
  return id === null ? `event: message\ndata: ${text}\n\n` : `id: ${id}\nevent: message\ndata: ${text}\n\n`;
}

/** The answer to a wrong verb (RFC 9110 §15.5.6). */
function methodNotAllowed(allow: string, message = "Method not allowed"): Response {
  return refuse(405, rpcErrorCode.invalidRequest, message, { allow });
}

const linkRemedy = "; file_write with link brings larger files";

/** The answer to a body that was not read. What is left of it is not read either, so nothing can follow it. */
function refuseBody(refusal: BodyRefusal, { maxBytes, timeoutMs }: BodyBounds): Response {
  const { invalidRequest, parseError } = rpcErrorCode;
  const close = { connection: "close" };
  switch (refusal) {
    case "too_large": // RFC 9110 §15.5.14
      return refuse(413, invalidRequest, `The body is larger than ${maxBytes} bytes${linkRemedy}`, close);
    case "encoded":
      return refuse(415, invalidRequest, "Send the body as it is, without Content-Encoding", {
        "accept-encoding": "identity",
      });
    case "too_fragmented":
      return refuse(400, invalidRequest, "The body arrived in too many small pieces", close);
    case "too_slow": // RFC 9110 §15.5.9
      return refuse(408, invalidRequest, `The body did not arrive within ${timeoutMs / 1_000} seconds`, close);
    case "over_share":
      return refuseLoad("Too many requests of yours are in flight");
    case "not_utf8":
      return refuse(400, parseError, "Parse error: the body is not UTF-8");
    case "unreadable":
      return refuse(400, parseError, "Parse error: the body could not be read");
  }
}

/** The answer to a request that finds no room; what is left of its body is not read. */
function refuseLoad(message: string): Response {
  return refuse(503, refusalCode.unavailable, `${message}. Try again in ${intakeRetrySeconds} s`, {
    "retry-after": String(intakeRetrySeconds),
    connection: "close",
  });
}

/** A refusal before there is a request to answer: an error without an id. */
function refuse(status: number, code: number, message: string, headers?: Record<string, string>): Response {
  return respond(status, errorText(null, code, message), headers);
}

function respond(status: number, body: string, headers?: Record<string, string>): Response {
  return new Response(body, { status, headers: { "content-type": "application/json", ...headers } });
}
