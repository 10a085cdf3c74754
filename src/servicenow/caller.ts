/** Who calls, and until when. */
export interface Caller {
  /** The `sub` of the caller's token here. */
  readonly subject: string;
  readonly signal: AbortSignal;
  /** When the last request of the call has to be answered, on the clock of the calls. */
  readonly deadline?: number;
}
