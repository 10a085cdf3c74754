/** The audit record: who called what, with which outcome, and for how long. No contents, no secrets. */

/** How a call ended. */
export type AuditOutcome =
  | "ok"
  | "tool_error"
  | "protocol_error"
  | "insufficient_scope"
  | "rate_limited"
  /** An administrator has stopped calls, or this one. */
  | "stopped"
  | "cancelled"
  | "unavailable"
  | "internal_error";

/** One record per JSON-RPC request. */
export interface AuditEntry {
  /** When the call ended, in milliseconds since the epoch. */
  readonly time: number;
  readonly requestId: string;
  /** The user's id; `null` for the public handshake. */
  readonly subject: string | null;
  readonly clientId: string | null;
  /** The grant of the token; `null` for the public handshake. */
  readonly grantId: string | null;
  readonly method: string;
  /** The tool's name, when a known tool was called. */
  readonly tool: string | null;
  readonly outcome: AuditOutcome;
  /** The error's code: a JSON-RPC number or the tool's own snake_case reason. */
  readonly code: string | null;
  readonly durationMs: number;
  /** The trace that the caller says the request belongs to. */
  readonly traceId?: string;
  /** Names the change that the call made, where it can be undone. */
  readonly change?: string;
}

/** Takes one record per request, with the request's parameters as they came, a tool's arguments by its own names. */
export type TakeAudit = (entry: AuditEntry, params?: unknown) => void;
