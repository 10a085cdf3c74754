/** What the log says of a request or a sign-in, as a line of the stored audit. */
import type { LogFields } from "../lib/log.ts";
import type { AuditEntry } from "../mcp/mod.ts";
import { type AuditLine, callEvent, touchedBy } from "./line.ts";

/** Called for every call. */
export function lineOfRequest(entry: AuditEntry, params: unknown): AuditLine {
  return {
    time: entry.time,
    event: entry.tool === null ? "request" : callEvent,
    person: entry.subject,
    client: entry.clientId,
    grant: entry.grantId,
    tool: entry.tool ?? entry.method,
    target: touchedBy(params),
    address: null,
    outcome: entry.outcome,
    code: entry.code,
    durationMs: entry.durationMs,
    change: entry.change ?? null,
    requestId: entry.requestId,
  };
}

/** The log's names for the same thing differ by part. */
export function lineOfLog(time: number, event: string, fields: LogFields = {}): AuditLine {
  const textOf = (...names: readonly string[]): string | null => {
    for (const name of names) {
      const value = fields[name];
      if (typeof value === "string") return value;
      if (typeof value === "number") return String(value);
    }
    return null;
  };
  const { durationMs } = fields;
  const person = textOf("subject", "user");
  const by = textOf("by");
  return {
    time,
    event,
    person,
    client: textOf("clientId", "client"),
    grant: textOf("grant", "token"),
    tool: textOf("tool"),
    target: textOf("what") ?? (by === null || by === person ? null : `by ${by}`),
    address: textOf("address"),
    outcome: textOf("outcome"),
    code: textOf("reason", "code"),
    durationMs: typeof durationMs === "number" ? durationMs : null,
    change: textOf("change"),
    requestId: textOf("requestId"),
  };
}
