/** Notices for this process's open streams: changed lists and tasks, and lists that grow with a token's scopes. */
import { callerKey, type Principal } from "../lib/principal.ts";
import type { TaskView } from "./task_store.ts";

/** The lists that may change while the server runs. */
export const listNames = ["tools", "prompts", "resources"] as const;

type OfferChange =
  | { readonly kind: typeof listNames[number] }
  | { readonly kind: "task"; readonly task: TaskView; readonly subject: string; readonly clientId: string };

export function createChangeHub() {
  const listeners = new Set<(change: OfferChange) => void>();
  return {
    publish(change: OfferChange) {
      for (const listener of [...listeners]) listener(change);
    },
    /** Calls `listener` for every change until the returned function is called. */
    subscribe(listener: (change: OfferChange) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

interface Listener {
  known: Principal["scopes"];
  readonly tell: () => void;
}

/**
 * Lists show what a token may use. Once a client comes with a token of more scopes, after step-up, the streams that it
 * opened with an earlier one are told that its lists changed.
 */
export function createScopeNotices() {
  const clients = new Map<string, Set<Listener>>();

  const note = (principal: Principal): void => {
    if (clients.size === 0) return;
    const { scopes } = principal;
    for (const listener of [...clients.get(callerKey(principal)) ?? []]) {
      // A person's scripts are one client: a token of other scopes, not more, is no step-up.
      if (listener.known.size >= scopes.size || !listener.known.isSubsetOf(scopes)) continue;
      listener.known = scopes;
      listener.tell();
    }
  };
  return {
    /** Looks at the scopes of a request. */
    note,
    /** Calls `tell` when the principal comes with these scopes and more, until the returned function is called. */
    listen(principal: Principal, tell: () => void) {
      note(principal);
      const key = callerKey(principal);
      const listeners = clients.getOrInsertComputed(key, () => new Set());
      const listener: Listener = { known: principal.scopes, tell };
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) clients.delete(key);
      };
    },
  };
}
