/** How answers and refusals of `/mcp` go out over HTTP. */
import { errorText, type Frame, type McpAnswer, refusalCode, rpcErrorCode } from "../mcp/mod.ts";
import { type BodyBounds, type BodyRefusal, headerOf } from "../lib/request_text.ts";
import { intakeRetrySeconds } from "./rate_limit.ts";

/** A stream of messages as Server-Sent Events (WHATWG HTML §9.2). */
export const eventStreamOptions = {
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
export type OnStreamEnd = (isWhole: boolean, characters: number) => void;

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
export function acceptsJsonAlone(accept: string | null): boolean {
  const types = acceptedTypes(accept);
  return types.length > 0 && types.every((type) => type === "application/json");
}

/** Whether a caller takes anything: by a wildcard that fits JSON, or by no Accept header (RFC 9110 §12.5.1). */
export function acceptsAnything(accept: string | null): boolean {
  const types = acceptedTypes(accept);
  return types.length === 0 || types.some((type) => type === "*/*" || type === "application/*");
}

/** Whether a caller names event streams and nothing that JSON would fit. */
function acceptsOnlyEventStreams(accept: string | null): boolean {
  return accept !== null && !accept.includes("json") && !accept.includes("*") && acceptsEventStream(accept);
}

/** What a refusal for want of scopes is sent with. */
export interface ScopeChallenge {
  /** The value of WWW-Authenticate for a token that lacks scopes; all of these are needed. */
  insufficientScope(request: Request, scopes: readonly string[]): string;
}

const jsonInit = { headers: { "content-type": "application/json" } };

/** Encodes answers of the protocol layer, in the kind that their caller reads. */
export function createAnswerEncoder(
  { challenge, eventStreams }: { readonly challenge: ScopeChallenge; readonly eventStreams: EventStreamOptions },
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

/** The answer to a wrong verb (RFC 9110 §15.5.6). */
export function methodNotAllowed(allow: string, message = "Method not allowed"): Response {
  return refuse(405, rpcErrorCode.invalidRequest, message, { allow });
}

const linkRemedy = "; file_write with link brings larger files";

/** The answer to a body that was not read. What is left of it is not read either, so nothing can follow it. */
export function refuseBody(refusal: BodyRefusal, { maxBytes, timeoutMs }: BodyBounds): Response {
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
export function refuseLoad(message: string): Response {
  return refuse(503, refusalCode.unavailable, `${message}. Try again in ${intakeRetrySeconds} s`, {
    "retry-after": String(intakeRetrySeconds),
    connection: "close",
  });
}

/** A refusal before there is a request to answer: an error without an id. */
export function refuse(status: number, code: number, message: string, headers?: Record<string, string>): Response {
  return respond(status, errorText(null, code, message), headers);
}

function respond(status: number, body: string, headers?: Record<string, string>): Response {
  return new Response(body, { status, headers: { "content-type": "application/json", ...headers } });
}
