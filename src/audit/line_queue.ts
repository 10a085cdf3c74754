/**
 * Lines on their way to the storage, in batches that one commit can hold. A line is encoded as it comes: kept as an
 * object until its batch is written, it would cost the collector of garbage more than it costs to write.
 */
import { gatherText } from "../lib/log/gathered_text.ts";
import type { NewBatch } from "./chain_writer.ts";
import { type AuditLine, auditLineEnd, callEvent, encodeLine } from "./line.ts";

interface LineQueue {
  /** Lines that wait. */
  readonly count: number;
  /** Whether a batch is full: it does not wait for the time to pass. */
  readonly isFull: boolean;
  add(line: AuditLine): void;
  /** The oldest batch, full or not; stays until {@link removeFirst}. `null` where no line waits. */
  first(): NewBatch | null;
  removeFirst(): void;
}

type WaitingBatch = Omit<NewBatch, "lines"> & { readonly bytes: Uint8Array };

interface OpenBatch {
  readonly from: number;
  count: number;
  readonly calls: Record<string, number>;
}

/** Some 3,300 lines. The last few are counted before they are bytes, of which a character takes three at most. */
const maxBatchBytes = 380_000;
const decoder = new TextDecoder();

export function createLineQueue(): LineQueue {
  const full: WaitingBatch[] = [];
  const gathered = gatherText();
  let open: OpenBatch | null = null;
  let count = 0;
  const closeBatch = (): void => {
    if (open !== null) full.push({ ...open, bytes: gathered.take() });
    open = null;
  };
  return {
    get count() {
      return count;
    },
    get isFull() {
      return full.length > 0;
    },
    add(line) {
      const text = encodeLine(line) + auditLineEnd;
      if (gathered.size + text.length > maxBatchBytes) closeBatch();
      open ??= { from: line.time, count: 0, calls: {} };
      gathered.add(text);
      open.count += 1;
      count += 1;
      if (line.event === callEvent) {
        const outcome = line.outcome ?? "";
        open.calls[outcome] = (open.calls[outcome] ?? 0) + 1;
      }
    },
    first() {
      if (full.length === 0) closeBatch();
      const [batch] = full;
      return batch === undefined ? null : { ...batch, lines: decoder.decode(batch.bytes) };
    },
    removeFirst() {
      count -= full.shift()?.count ?? 0;
    },
  };
}
