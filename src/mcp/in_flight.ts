/** Legacy calls that still run, so that `notifications/cancelled` finds them, on whichever instance it arrives. */
import { sha256Of } from "../lib/secrets.ts";
import { watchEntries } from "../lib/stored_entries.ts";
import type { RpcId } from "./jsonrpc.ts";
import type { StorageKey } from "../storage/mod.ts";
import type { Principal } from "../lib/principal.ts";
import type { Services } from "./limits.ts";

/**
 * A cancellation waits so long for a call that is not watched yet, or an instance that has lost the storage; two
 * minutes of it are for clocks that are apart.
 */
const cancellationLifetimeMs = 180_000;

export function createInFlight({ storage, clock, timers, log }: Services) {
  const calls = new Map<string, Set<() => void>>();
  const keyOf = (owner: string, id: RpcId): string => `${typeof id === "number" ? "n" : "s"}${id} ${owner}`;
  const storedAt = (owner: string, id: RpcId): StorageKey => ["mcp_cancel", sha256Of(keyOf(owner, id)).toHex()];
  const cancel = (owner: string, id: RpcId): boolean => {
    const found = calls.get(keyOf(owner, id));
    if (found?.size !== 1) return false;
    for (const cancelOnly of found) cancelOnly();
    return true;
  };
  return {
    /** Enters a call and returns the way out. */
    enter(owner: string, id: RpcId, cancel: () => void) {
      const key = keyOf(owner, id);
      const entered = calls.getOrInsertComputed(key, () => new Set()).add(cancel);
      return () => {
        entered.delete(cancel);
        if (entered.size === 0 && calls.get(key) === entered) calls.delete(key);
      };
    },
    /** Cancels the one call with this id. Where an owner has two of them the notification could mean either: neither. */
    cancel,
    /** Whether one with this id runs here, or several do. */
    has: (owner: string, id: RpcId) => calls.has(keyOf(owner, id)),
    /** Watches for the session's cancellation at other instances, until the returned function is called. */
    watch(owner: string, id: RpcId) {
      const key = storedAt(owner, id);
      const { look, stop } = watchEntries(storage, [key], async () => {
        if (await storage.get(key) !== null) cancel(owner, id);
      }, { log, timers });
      look();
      return stop;
    },
    /** Passes a session's cancellation on to the other instances. */
    async tell(owner: string, id: RpcId) {
      const expiresAt = clock() + cancellationLifetimeMs;
      await storage.commit({ puts: [{ key: storedAt(owner, id), value: true, expiresAt }] });
    },
  };
}

/** What is watched of a call. */
export interface WatchedCall {
  readonly request: { readonly method: string; readonly params?: unknown };
  readonly principal: Principal;
  readonly tool: string | null;
  /** The tool's arguments by its own names, once they were understood. */
  readonly input?: unknown;
}

/** What sees calls while they run, and may stop them: the console's live calls. */
export interface CallWatch {
  /** Why calls of this principal are stopped, in words for the model; `null` where they are not. */
  refusal(principal: Principal): string | null;
  /** Enters a call that does not answer at once, and gives the way out. */
  enter(call: WatchedCall, cancel: () => void): () => void;
}

/** Watches nothing. */
export const noCallWatch: CallWatch = { refusal: () => null, enter: () => () => {} };
