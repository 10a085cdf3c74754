/**
 * Which callers may open without a token. ServiceNow tests its connection so, while the SDKs start OAuth only when
 * connecting is answered 401: a handshake public to all would leave them stuck.
 */
import { acceptsEventStream } from "./mcp_accept.ts";
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
