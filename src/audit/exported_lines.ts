/** Stored lines as records for a collector of logs. */
import { headText, type KeptHead } from "./head.ts";
import type { AuditLine } from "./line.ts";

interface ExportedLine {
  readonly time: number;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | number | null>>;
}

/**
 * The last one says where the chain ends with it, for `audit verify --head`: the collector so keeps heads, out of reach
 * of those who can write the database.
 */
export function exportedLines(lines: readonly AuditLine[], head: KeptHead): readonly ExportedLine[] {
  return lines.map((line, index) => toExported(line, index === lines.length - 1 ? headText(head) : null));
}

function toExported({ time, event, tool, outcome, ...line }: AuditLine, head: string | null): ExportedLine {
  const attributes = {
    "portcullis.event": event,
    "portcullis.person": line.person,
    "portcullis.client": line.client,
    "portcullis.grant": line.grant,
    "portcullis.tool": tool,
    "portcullis.target": line.target,
    "portcullis.address": line.address,
    "portcullis.outcome": outcome,
    "portcullis.code": line.code,
    "portcullis.duration_ms": line.durationMs,
    "portcullis.change": line.change,
    "portcullis.request.id": line.requestId,
    "portcullis.audit.head": head,
  };
  return { time, body: [event, tool, outcome].filter((word) => word !== null).join(" "), attributes };
}
