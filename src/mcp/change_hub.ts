/** Passes changes on to the open streams of this process. */
import type { TaskView } from "./task_record.ts";

/** The lists that may change while the server runs. */
export const listNames = ["tools", "prompts", "resources"] as const;

export type OfferChange =
  | { readonly kind: typeof listNames[number] }
  | { readonly kind: "task"; readonly task: TaskView; readonly subject: string; readonly clientId: string };

export interface ChangeHub {
  publish(change: OfferChange): void;
  /** Calls `listener` for every change until the returned function is called. */
  subscribe(listener: (change: OfferChange) => void): () => void;
}

export function createChangeHub(): ChangeHub {
  const listeners = new Set<(change: OfferChange) => void>();
  return {
    publish(change) {
      for (const listener of [...listeners]) listener(change);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
