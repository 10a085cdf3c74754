/**
 * Which callers may open without a token. ServiceNow tests its connection so, while other clients start to sign in only
 * when `initialize` is answered 401: a handshake public to all would leave them stuck.
 */
import { acceptsAnything, acceptsEventStream, acceptsJsonAlone } from "./mcp_accept.ts";
import { serviceNowName } from "../mcp/profile.ts";
import { clientIdentity } from "../mcp/initialize.ts";
import { kindOfMessage, type RpcCall } from "../mcp/jsonrpc.ts";

export interface PublicHandshakeOptions {
  /** `auto`: to callers that read JSON alone, whose name matches, or on this machine; `always`; `never`. */
  readonly publicInitialize: "auto" | "always" | "never";
  /** Whether clients know the server by a loopback address. */
  readonly isOnLoopback: boolean;
}

// claude.ai accepts anything, and takes a public handshake for a server that needs no sign-in.
const misreadsPublicHandshake = /^anthropic(\/|$)/i;

/** Whether this parsed body is the part of the handshake that its sender may have without a token. */
export function isPublicHandshake(options: PublicHandshakeOptions, body: unknown, accept: string | null): boolean {
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

function mayOpen(
  { isOnLoopback }: PublicHandshakeOptions,
  name: string,
  accept: string | null,
): boolean {
  if (serviceNowName.test(name)) return true;
  if (misreadsPublicHandshake.test(name) || acceptsEventStream(accept)) return false;
  return acceptsJsonAlone(accept) || (isOnLoopback && acceptsAnything(accept));
}
