/** Legacy calls that still run, so that `notifications/cancelled` finds them. */
import type { RpcId } from "./jsonrpc.ts";

/** The calls that run, by the owner of the request and the request's id. */
export interface InFlight {
  /** Enters a call and returns the way out. */
  enter(owner: string, id: RpcId, cancel: () => void): () => void;
  /** Cancels the one call with this id. Where an owner has two of them the notification could mean either: neither. */
  cancel(owner: string, id: RpcId): boolean;
}

/** Makes an empty table. */
export function createInFlight(): InFlight {
  const calls = new Map<string, (() => void)[]>();
  const keyOf = (owner: string, id: RpcId): string => `${typeof id === "number" ? "n" : "s"}${id} ${owner}`;
  return {
    enter(owner, id, cancel) {
      const key = keyOf(owner, id);
      const entered = calls.get(key);
      if (entered === undefined) calls.set(key, [cancel]);
      else entered.push(cancel);
      return () => {
        const left = calls.get(key)?.filter((each) => each !== cancel) ?? [];
        if (left.length === 0) calls.delete(key);
        else calls.set(key, left);
      };
    },
    cancel(owner, id) {
      const [only, ...others] = calls.get(keyOf(owner, id)) ?? [];
      if (only === undefined || others.length > 0) return false;
      only();
      return true;
    },
  };
}
