/** Waiting for a KV file that another opening, in this process or another, is writing: KV itself does not wait. */

/** {@link whenUnlocked} with its time-out given. */
export type Unlocked = <T>(step: () => Promise<T>) => Promise<T>;

const mostMs = 20;

/** Runs `step` again while the file is locked: nothing was written then. */
export async function whenUnlocked<T>(timeoutMs: number, step: () => Promise<T>): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (let attempt = 1;; attempt++) {
    try {
      return await step();
    } catch (error) {
      const isLocked = error instanceof Error && error.message.includes("database is locked"); // it has no code
      if (!isLocked || performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.min(attempt, mostMs)));
    }
  }
}
