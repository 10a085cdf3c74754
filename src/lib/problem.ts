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

/** `error:` then `hint:`. */
export function problemText({ problem, remedy }: Problem): string {
  return `error: ${problem}\nhint: ${remedy}\n`;
}
