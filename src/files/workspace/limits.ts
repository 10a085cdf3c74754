/** The limits of a workspace, the same for every backend. */

/** How long changes are kept, and how many bytes of files. */
export interface TrashLimits {
  readonly keepMs: number;
  readonly maxBytes: number;
}

/** The limits of a workspace. */
export interface WorkspaceLimits {
  /** What one read may give. */
  readonly maxReadBytes: number;
  /** What one write may bring. */
  readonly maxWriteBytes: number;
  /** What one write in pieces may bring where no quota says less. */
  readonly maxArrivingBytes: number;
  /** How long a draft waits for its next piece. Longer than a link to it lives, and a piece takes. */
  readonly draftKeepMs: number;
  /** Drafts of a workspace: another one drops the oldest. */
  readonly maxDrafts: number;
  /** How large a file may become by appending and copying. */
  readonly maxFileBytes: number;
  /** What one listing may give. */
  readonly maxListEntries: number;
  /** How many entries one search may visit, and one deletion take away where nothing is kept of it. */
  readonly maxTreeEntries: number;
  /** Quota: what all files together may have. `null`: no quota. */
  readonly maxTotalBytes: number | null;
  /** Quota: how many files and directories there may be. `null`: no quota. */
  readonly maxFiles: number | null;
}

/** Limits that suit a person's own workspace. */
export const defaultWorkspaceLimits: WorkspaceLimits = {
  maxReadBytes: 1024 * 1024,
  maxWriteBytes: 1024 * 1024,
  maxArrivingBytes: 1024 * 1024 * 1024,
  draftKeepMs: 15 * 60 * 1000,
  maxDrafts: 128,
  maxFileBytes: 64 * 1024 * 1024,
  maxListEntries: 1000,
  maxTreeEntries: 20_000,
  maxTotalBytes: null,
  maxFiles: null,
};
