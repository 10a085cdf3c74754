/** Results: what a step gives or why it is refused, what cannot be used, and words that tell of it. */

/** An expected outcome: a value, or a refusal with a tagged reason. Exceptions are for bugs and lost infrastructure. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

export function success<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** Wraps a refusal as a failed {@link Result}. */
export function failure<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}

/** What keeps a part from being used, and what to do about it. Neither text holds a secret. */
export interface Problem {
  readonly problem: string;
  readonly remedy: string;
}

/** A {@link Problem} that is thrown: a database, a directory or an address that cannot be used. */
export class UnusableError extends Error implements Problem {
  override readonly name: string = "UnusableError";
  readonly remedy: string;

  constructor(problem: string, remedy: string, options?: ErrorOptions) {
    super(problem, options);
    this.remedy = remedy;
  }

  get problem(): string {
    return this.message;
  }
}

/** What a step gives; where it throws an {@link UnusableError}, that. */
export async function orUnusable<T>(step: Promise<T>): Promise<T | UnusableError> {
  try {
    return await step;
  } catch (error) {
    if (error instanceof UnusableError) return error;
    throw error;
  }
}

/** Closes parts in their order, each whatever became of those before it, and then throws the first failure. */
export async function closeAll(...closings: readonly ((() => unknown) | undefined)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closings) {
    try {
      await close?.();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** `error:` then `hint:`. */
export function problemText({ problem, remedy }: Problem): string {
  return `error: ${problem}\nhint: ${remedy}\n`;
}

/** A count and its noun: `1 byte`, `2 bytes`, `3 entries`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

/**
 * What a look at one part of a server found. `broken` keeps the server from starting or from serving clients; a `warning` keeps a part from working; a `note` is
 * no verdict, but tells what is not covered.
 */
export interface Check {
  readonly name: string;
  readonly state: "well" | "note" | "warning" | "broken";
  readonly text: string;
  /** What to do about it. */
  readonly remedy?: string;
}
