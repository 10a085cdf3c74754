/**
 * Which callers may open without a token. ServiceNow tests its connection so, while the SDKs start OAuth only when
 * connecting is answered 401: a handshake public to all would leave them stuck.
 */
import { clientIdentity } from "../mcp/initialize.ts";
import { kindOfMessage, type RpcCall } from "../mcp/jsonrpc.ts";

/** To whom the handshake is public. */
export interface PublicHandshakeOptions {
  /** `auto`: to callers that do not read event streams, or whose name matches; `always`; `never`. */
  readonly publicInitialize: "auto" | "always" | "never";
  /** Names (`clientInfo.name`) of clients that test their connection without a token. */
  readonly publicClientPattern: RegExp;
}

/** Whether this parsed body is the part of the handshake that its sender may have without a token. */
export function isPublicHandshake(options: PublicHandshakeOptions, body: unknown, accept: string | null): boolean {
  const kind = kindOfMessage(body);
  if (kind !== "request" && kind !== "notification") return false;
  const { method, params } = body as RpcCall;
  const opens = kind === "request" && method === "initialize";
  if (!opens && !(kind === "notification" && method === "notifications/initialized")) return false;
  switch (options.publicInitialize) {
    case "never":
      return false;
    case "always":
      return true;
    case "auto":
      return !acceptsEventStream(accept) ||
        (opens && options.publicClientPattern.test(clientIdentity(params).name ?? ""));
  }
}

/** Whether an Accept header asks for event streams by name (RFC 9110 §12.5.1). A wildcard does not. */
export function acceptsEventStream(accept: string | null): boolean {
  if (accept === null) return false;
  return accept.toLowerCase().split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    return type === "text/event-stream" && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
