/** A recorder with a clock of its own on a storage, and what tests ask of it. */
import { createAuditRecorder, emptyLine, searchAudit } from "../../src/audit/recorder.ts";
import type { AuditFilter, AuditLine, AuditRecorder, FoundLine } from "../../src/audit/recorder.ts";
import type { AuditParts } from "../../src/audit/chain.ts";
import type { LogFields } from "../../src/lib/log.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import type { Storage } from "../../src/storage/port.ts";

export const secrets = createSecretBox(new Uint8Array(32).fill(7));

/** When these tests take place. */
export const start = 1_700_000_000_000;

export interface AuditPlace {
  readonly parts: AuditParts;
  readonly logged: { readonly event: string; readonly fields: LogFields | undefined }[];
  advance(milliseconds: number): void;
  recorder(holder?: string, maxWaitingLines?: number): AuditRecorder;
  /** Stores so many lines as batches of their own. */
  write(recorder: AuditRecorder, lines: readonly Partial<AuditLine>[]): Promise<void>;
  /** Every line that fits, page by page. */
  search(filter?: AuditFilter, limit?: number): Promise<FoundLine[]>;
}

export function auditPlace(storage: Storage): AuditPlace {
  let now = start;
  const logged: AuditPlace["logged"] = [];
  const log = {
    write: (_: string, event: string, fields?: LogFields) => void logged.push({ event, fields }),
    flush() {},
  };
  const parts: AuditParts = { storage, secrets, clock: () => now, log };
  return {
    parts,
    logged,
    advance: (milliseconds) => void (now += milliseconds),
    recorder: (holder, maxWaitingLines) =>
      createAuditRecorder({
        ...parts,
        holder: holder ?? "first",
        ...(maxWaitingLines === undefined ? {} : { maxWaitingLines }),
      }),
    async write(recorder, lines) {
      for (const line of lines) {
        now += 1_000;
        recorder.record({ ...emptyLine, time: now, event: "call", outcome: "ok", ...line });
        await recorder.flush();
      }
    },
    async search(filter = {}, limit = 10) {
      const found: FoundLine[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < 1_000; page++) {
        const { lines, cursor: next } = await searchAudit(storage, filter, { limit, cursor });
        found.push(...lines);
        if (next === null) return found;
        cursor = next;
      }
      throw new Error("the pages do not end");
    },
  };
}
