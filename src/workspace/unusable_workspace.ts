/** Thrown when the workspace's directory cannot be made or used; `remedy` says what to do. */
export class UnusableWorkspaceError extends Error {
  override readonly name = "UnusableWorkspaceError";
  readonly remedy: string;

  /** `problem` names the directory and what is wrong with it. */
  constructor(problem: string, remedy: string, options?: ErrorOptions) {
    super(problem, options);
    this.remedy = remedy;
  }
}
