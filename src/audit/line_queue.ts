/**
 * Lines on their way to the storage, in batches that one commit can hold. A line is encoded as it comes: kept as an
 * object until its batch is written, it would cost the collector of garbage more than it costs to write.
 */
import { gatherText } from "../lib/gathered_text.ts";
import type { NewBatch } from "./chain_writer.ts";
import { type BatchEncoder, createBatchEncoder } from "./batch_text.ts";
import { type AuditLine, callEvent } from "./line.ts";

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
  readonly encoder: BatchEncoder;
  readonly from: number;
  count: number;
  readonly calls: Record<string, number>;
}

/** Some 5,000 lines. The last few are counted before they are bytes, of which a character takes three at most. */
const maxBatchBytes = 380_000;
const decoder = new TextDecoder();

export function createLineQueue(): LineQueue {
  const full: WaitingBatch[] = [];
  const gathered = gatherText();
  let open: OpenBatch | null = null;
  let count = 0;
  const closeBatch = (): void => {
    if (open === null) return;
    const { from, count, calls } = open;
    full.push({ from, count, calls, bytes: gathered.take() });
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
      open ??= { encoder: createBatchEncoder(), from: line.time, count: 0, calls: {} };
      gathered.add(open.encoder.encode(line));
      open.count += 1;
      count += 1;
      if (line.event === callEvent) {
        const outcome = line.outcome ?? "";
        open.calls[outcome] = (open.calls[outcome] ?? 0) + 1;
      }
      if (gathered.size >= maxBatchBytes) closeBatch();
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
