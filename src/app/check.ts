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

/** Makes the checks of one part. */
export function checksOf(name: string): Readonly<Record<Check["state"], (text: string, remedy?: string) => Check>> {
  const makerOf = (state: Check["state"]) => (text: string, remedy?: string): Check =>
    remedy === undefined ? { name, state, text } : { name, state, text, remedy };
  return { well: makerOf("well"), note: makerOf("note"), warning: makerOf("warning"), broken: makerOf("broken") };
}
