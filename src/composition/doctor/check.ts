/** What one check of `doctor` found. */

/**
 * `broken` keeps the server from starting or from serving clients; a `warning` keeps a part from working; a `note` is no
 * verdict, but tells what is not covered.
 */
export interface Check {
  readonly name: string;
  readonly state: "well" | "note" | "warning" | "broken";
  readonly text: string;
  /** What to do about it. */
  readonly remedy?: string;
}
