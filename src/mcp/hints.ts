/** What the tools of files and models say of themselves to clients that ask their person before a call. */

/** It changes nothing. */
export const readingHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** It may replace or delete what is there. */
export const changingHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: false,
} as const;
