/** The surroundings of one message that came over stdio, which has no headers: they are read off what was agreed. */
import type { Principal } from "../lib/principal.ts";
import type { Exchange } from "./exchange.ts";
import { specProfile } from "./profile.ts";

/** What the opening settled. */
export interface StdioSession {
  /** `null` before `initialize` was answered. */
  protocolVersion: string | null;
  /** The session that `initialize` began. */
  id: string | null;
}

export function createStdioExchange(options: {
  readonly session: StdioSession;
  readonly requestId: string;
  readonly principal: Principal;
  readonly disconnected: AbortSignal;
}): Exchange {
  const { session, requestId, principal, disconnected } = options;
  return {
    requestId,
    principal,
    profile: specProfile,
    acceptsStream: true,
    hasHeaders: false,
    canComeBack: false,
    disconnected,
    header: (name) => {
      if (name === "mcp-protocol-version") return session.protocolVersion;
      return name === "mcp-session-id" ? session.id : null;
    },
  };
}
