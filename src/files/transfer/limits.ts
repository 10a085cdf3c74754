/** What bounds transfers; each instance counts for itself. */
export const transferLimits = {
  /** A transfer has to begin within this time, and one that broke has to go on within it, each time. */
  linkLifetimeMs: 600_000,
  /** How long one request may take. Store workspaces sweep what was staged an hour ago. */
  maxTransferMs: 3_000_000,
  /** How long one piece may take, either way: with its size, the least speed of a transfer. */
  stallMs: 60_000,
  maxAtOnce: 64,
  maxAtOncePerPerson: 8,
  /** For each link, those that are used up included: each request reads the storage. */
  requestsPerMinute: 120,
};

export type TransferLimits = Readonly<typeof transferLimits>;

/** So much is read, or gathered before it is written, in one step: at {@link TransferLimits.stallMs} 4 kB a second. */
export const pieceBytes = 262_144;
/** Parts of a file that were sent, with gaps between: a link that was used in more is over. */
export const maxSentParts = 64;
