/** Sees calls while they run. What watches them may refuse further ones, and cancel those. */
import type { Principal } from "../lib/principal.ts";

/** A call, as far as it is watched. */
export interface WatchedCall {
  readonly request: { readonly method: string; readonly params?: unknown };
  readonly principal: Principal;
  readonly tool: string | null;
}

export interface CallWatch {
  /** Why calls of this principal are stopped, in words for the model; `null` where they are not. */
  refusal(principal: Principal): string | null;
  /** Enters a call that does not answer at once, and gives the way out. */
  enter(call: WatchedCall, cancel: () => void): () => void;
}

/** Watches nothing. */
export const noCallWatch: CallWatch = { refusal: () => null, enter: () => () => {} };
