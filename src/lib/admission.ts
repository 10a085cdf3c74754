/** What rate limits and throttles answer. */

export type Admission = { readonly ok: true } | Throttled;

/** Not now, but after so many seconds (for `Retry-After`, RFC 9110 §10.2.3). */
export interface Throttled {
  readonly ok: false;
  readonly retryAfterSeconds: number;
}

export const admitted: Admission = { ok: true };
