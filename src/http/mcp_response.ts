/** How answers and refusals of `/mcp` go out over HTTP. */
import type { BodyBounds, BodyRefusal } from "../lib/request_text.ts";
import { headerOf } from "../lib/served_request.ts";
import type { McpAnswer } from "../mcp/answer.ts";
import { errorText, refusalCode, rpcErrorCode } from "../mcp/jsonrpc.ts";
import { intakeRetrySeconds } from "./body_intake.ts";
import { type EventStreamOptions, toEventStreamResponse, toSingleEventResponse } from "./event_stream.ts";
import { toLateJsonResponse } from "./late_json.ts";
import { acceptsOnlyEventStreams } from "./mcp_accept.ts";

/** What a refusal for want of scopes is sent with. */
export interface ScopeChallenge {
  /** The value of WWW-Authenticate for a token that lacks scopes; all of these are needed. */
  insufficientScope(request: Request, scopes: readonly string[]): string;
}

const jsonInit = { headers: { "content-type": "application/json" } };
/** Deno writes head and body apart once they are longer than 512 bytes, except in chunks: HTTP/1.1 alone has those. */
const chunkedInit = { headers: { "content-type": "application/json", "transfer-encoding": "chunked" } };
const leastChunkedCharacters = 400;
/** A connection keeps a buffer of the size of its largest chunked answer. */
const maxChunkedCharacters = 16_384;

/** Encodes answers of the protocol layer, in the kind that their caller reads. */
export function createAnswerEncoder(
  { challenge, eventStreams }: { readonly challenge: ScopeChallenge; readonly eventStreams: EventStreamOptions },
): (request: Request, answer: McpAnswer) => Response {
  return (request, answer) => {
    switch (answer.kind) {
      case "json":
        if (answer.sessionId !== undefined) {
          return respond(answer.status, answer.body, { "mcp-session-id": answer.sessionId });
        }
        if (answer.status === 200 && acceptsOnlyEventStreams(headerOf(request, "accept"))) {
          return toSingleEventResponse(answer.body);
        }
        return answer.status === 200
          ? new Response(answer.body, isSentInChunks(answer.body.length) ? chunkedInit : jsonInit)
          : new Response(answer.body, { status: answer.status, ...jsonInit });
      case "accepted":
        return answer.status === 204
          ? new Response(null, { status: 204 })
          : new Response(null, { status: answer.status, headers: { "content-length": "0" } });
      case "stream":
        return toEventStreamResponse(answer.reader, eventStreams);
      case "late_json":
        return acceptsOnlyEventStreams(headerOf(request, "accept"))
          ? toEventStreamResponse(answer.reader, eventStreams)
          : toLateJsonResponse(answer.reader, eventStreams.keepAliveMs);
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

function isSentInChunks(characters: number): boolean {
  return characters > leastChunkedCharacters && characters <= maxChunkedCharacters;
}

/** The answer to a wrong verb (RFC 9110 §15.5.6). */
export function methodNotAllowed(allow: string, message = "Method not allowed"): Response {
  return refuse(405, rpcErrorCode.invalidRequest, message, { allow });
}

const linkRemedy = "; file_write with link brings larger files";

/** The answer to a body that was not read. */
export function refuseBody(refusal: BodyRefusal, { maxBytes, timeoutMs }: BodyBounds): Response {
  switch (refusal) {
    case "too_large": // RFC 9110 §15.5.14: what is left of the body is not read, so nothing can follow it
      return refuse(413, rpcErrorCode.invalidRequest, `The body is larger than ${maxBytes} bytes${linkRemedy}`, {
        connection: "close",
      });
    case "encoded":
      return refuse(415, rpcErrorCode.invalidRequest, "Send the body as it is, without Content-Encoding", {
        "accept-encoding": "identity",
      });
    case "too_fragmented":
      return refuse(400, rpcErrorCode.invalidRequest, "The body arrived in too many small pieces", {
        connection: "close",
      });
    case "too_slow": // RFC 9110 §15.5.9
      return refuse(408, rpcErrorCode.invalidRequest, `The body did not arrive within ${timeoutMs / 1_000} seconds`, {
        connection: "close",
      });
    case "over_share":
      return refuseLoad("Too many requests of yours are in flight");
    case "not_utf8":
      return refuse(400, rpcErrorCode.parseError, "Parse error: the body is not UTF-8");
    case "unreadable":
      return refuse(400, rpcErrorCode.parseError, "Parse error: the body could not be read");
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
