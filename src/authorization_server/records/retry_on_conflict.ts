/** Optimistic concurrency: read, decide, commit with version checks, and start over when somebody was faster. */

/** What an attempt returns when its commit lost the race. */
export const conflict: unique symbol = Symbol("conflict");

const maxAttempts = 50;

/** Repeats `attempt` until it gives anything but {@link conflict}; throws when the contention never ends. */
export async function retryOnConflict<T>(attempt: () => Promise<T | typeof conflict>): Promise<T> {
  for (let count = 0; count < maxAttempts; count++) {
    const outcome = await attempt();
    if (outcome !== conflict) return outcome as T;
  }
  throw new Error(`Storage contention: ${maxAttempts} attempts of one change were overtaken`);
}
