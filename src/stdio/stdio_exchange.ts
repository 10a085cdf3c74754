/** The surroundings of one message that came over stdio, which has no headers: they are read off what was agreed. */
import type { Principal } from "../lib/principal.ts";
import type { Exchange, Profile } from "../mcp/exchange.ts";

/** What the opening settled. */
export interface StdioSession {
  /** `null` before `initialize` was answered. */
  protocolVersion: string | null;
}

/** Builds the exchange of one message. */
export function createStdioExchange(options: {
  readonly session: StdioSession;
  readonly requestId: string;
  readonly principal: Principal;
  readonly disconnected: AbortSignal;
}): Exchange {
  const { session, requestId, principal, disconnected } = options;
  const profile: Profile = "spec";
  return {
    requestId,
    principal,
    profile,
    disconnected,
    header: (name) => name === "mcp-protocol-version" ? session.protocolVersion : null,
  };
}
