/**
 * Texts from one instance to another, through the storage: entries below one key, in order, each text in as many pieces
 * as it needs. The entry at the key itself says how the sender is, and is what the receiver watches.
 */
import * as z from "zod";
import { parseStored } from "../lib/storage_fault.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { watchEntries } from "../lib/watch_entries.ts";
import type { Timers } from "../lib/timers.ts";
import type { Storage, StorageKey } from "../storage/port.ts";

/** So many characters have less than 524,288 bytes as JSON, whatever they are. */
const pieceCharacters = 80_000;
const readAtOnce = 10;

const pieceShape = z.lazy(() => z.tuple([z.string(), z.boolean()]));
const headShape = z.lazy(() => z.object({ ended: z.boolean() }));

/** Names sort as the numbers do. */
function pieceName(number: number): string {
  return String(number).padStart(9, "0");
}

interface PipeOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly key: StorageKey;
  /** How long what was sent waits for its receiver, from the last sign of the sender on. */
  readonly lifetimeMs: number;
}

/** The sender's end. Each call waits for the one before it. */
interface PipeSender {
  send(text: string): Promise<void>;
  /** Says that the sender is there. */
  beat(): Promise<void>;
  end(): Promise<void>;
}

export function createPipeSender({ storage, clock, key, lifetimeMs }: PipeOptions): PipeSender {
  let pieces = 0;
  const commit = async (piece: string | null, hasMore: boolean, ended: boolean): Promise<void> => {
    const expiresAt = clock() + lifetimeMs;
    const head = { key, value: { ended }, expiresAt };
    if (piece === null) return void await storage.commit({ puts: [head] });
    const at: StorageKey = [...key, pieceName(pieces)];
    await storage.commit({ puts: [{ key: at, value: [piece, hasMore], expiresAt }, head] });
    pieces += 1;
  };
  return {
    async send(text) {
      for (let from = 0; from === 0 || from < text.length; from += pieceCharacters) {
        const to = from + pieceCharacters;
        await commit(text.slice(from, to), to < text.length, false);
      }
    },
    beat: () => commit(null, false, false),
    end: () => commit(null, false, true),
  };
}

/** What the receiver's end calls, one after the other. */
interface PipeReceiver {
  readonly onText: (text: string) => void;
  /** The sender is there and has not ended. */
  readonly onSign?: () => void;
  readonly onEnd?: () => void;
}

/**
 * Receives until the end, until a piece is missing, or until the returned function is called. What was received is
 * deleted.
 */
export function receiveFromPipe(
  { storage, key, log, timers }: Pick<PipeOptions, "storage" | "key"> & {
    readonly log: Log;
    readonly timers?: Timers | undefined;
  },
  to: PipeReceiver,
): () => void {
  let unfinished = "";
  let last: StorageKey | undefined;
  let received = 0;
  let stopped = false;
  const watch = watchEntries(storage, [key], async () => {
    const head = await storage.get(key);
    if (stopped || head === null) return;
    const { ended } = parseStored(headShape, head.value, "pipe");
    if (!ended) to.onSign?.();
    for (;;) {
      const found = await storage.list(key, { limit: readAtOnce, ...(last === undefined ? {} : { after: last }) });
      for (const { key: at, value } of found) {
        if (stopped) return;
        if (at.at(-1) !== pieceName(received)) { // the one before has expired, by a clock that jumped
          stop();
          return to.onEnd?.();
        }
        received += 1;
        const [piece, hasMore] = parseStored(pieceShape, value, "pipe");
        last = at;
        unfinished += piece;
        if (hasMore) continue;
        to.onText(unfinished);
        unfinished = "";
      }
      if (found.length > 0) await storage.commit({ deletes: found.map((each) => each.key) });
      if (found.length < readAtOnce) break;
    }
    if (stopped || !ended) return;
    stop();
    to.onEnd?.();
    await storage.commit({ deletes: [key] });
  }, { log, timers });
  const stop = (): void => {
    stopped = true;
    watch.stop();
  };
  watch.look();
  return stop;
}
