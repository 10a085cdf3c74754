/** What is wrong with the configuration. */

/** What is wrong with one setting. `value` is redacted for secrets. */
export interface ConfigProblem {
  readonly field: string;
  /** Left out where there is none to show. */
  readonly value?: string;
  readonly hint: string;
}
