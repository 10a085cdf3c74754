/** Who calls, and until when. */
import type { LinkedAccess } from "./links.ts";

export interface Caller {
  /** The `sub` of the caller's token here. */
  readonly subject: string;
  readonly signal: AbortSignal;
  /** When the last request of the call has to be answered, on the clock of the calls. */
  readonly deadline?: number;
  /** The token of a call that asks several times: all of it is done as one account. */
  readonly held?: { current: LinkedAccess };
}
