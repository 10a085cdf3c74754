/** How long, how much and how many: every bound on talking to a ServiceNow instance, each of them a setting. */

/** Bounds on calls to an instance. Seconds may be fractions. */
export interface ServicenowLimits {
  /** One request, to the end of its answer. */
  readonly attemptSeconds: number;
  /** A call with its attempts, its waits and a new token. Agents of ServiceNow give up after 30 seconds; a tool makes two calls at most. */
  readonly callSeconds: number;
  /** How often a call that only reads is sent, the first time included. */
  readonly maxAttempts: number;
  /** Pause before the second attempt; it doubles for each further one, and half of it is random. */
  readonly retryDelaySeconds: number;
  /** A `Retry-After` up to this is waited for; a longer one is told to the caller. */
  readonly maxRetryAfterSeconds: number;
  /** Until then at most, a person's calls are refused here after the instance said to come back later. */
  readonly maxPauseSeconds: number;
  /** People for whom that is remembered. */
  readonly maxPausedUsers: number;
  /** The JSON of one answer. */
  readonly maxReplyBytes: number;
  readonly maxAttachmentBytes: number;
  /** Tools cut longer values and say so; resources do not. */
  readonly maxFieldCharacters: number;
  readonly maxSearchResults: number;
  /** Free text that is sent to the instance. */
  readonly maxTextCharacters: number;
  /** A request to the token endpoint. Shorter than {@link refreshLockSeconds}. */
  readonly tokenSeconds: number;
  /** An access token is renewed this long before it ends. */
  readonly refreshEarlySeconds: number;
  /** After this long, another server instance may take over a refresh that was begun and never ended. */
  readonly refreshLockSeconds: number;
  /** After a refresh that found no instance, nobody tries again for this long. */
  readonly refreshPauseSeconds: number;
  /** How long a person may take to sign in at the instance. */
  readonly linkStateLifetimeSeconds: number;
}

/** What holds unless the operator says otherwise. */
export const defaultServicenowLimits: ServicenowLimits = {
  attemptSeconds: 10,
  callSeconds: 14,
  maxAttempts: 3,
  retryDelaySeconds: 0.25,
  maxRetryAfterSeconds: 3,
  maxPauseSeconds: 3_600,
  maxPausedUsers: 10_000,
  maxReplyBytes: 1_048_576,
  maxAttachmentBytes: 1_048_576,
  maxFieldCharacters: 20_000,
  maxSearchResults: 50,
  maxTextCharacters: 20_000,
  tokenSeconds: 10,
  refreshEarlySeconds: 60,
  refreshLockSeconds: 30,
  refreshPauseSeconds: 5,
  linkStateLifetimeSeconds: 600,
};
