/** Thrown when a database cannot be opened; `remedy` says what to do. Neither text holds a password. */
export class UnusableStorageError extends Error {
  override readonly name = "UnusableStorageError";
  readonly remedy: string;

  /** `problem` names the database and what is wrong with it. */
  constructor(problem: string, remedy: string, options?: ErrorOptions) {
    super(problem, options);
    this.remedy = remedy;
  }
}
