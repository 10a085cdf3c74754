/**
 * What a driver may be given. The same for all, so that whatever works on SQLite works on Deno KV, whose own limits
 * these stay within (100 checks, 2,048 bytes a key, 81,920 bytes of keys and 819,200 bytes in all for one commit).
 */
export const storageLimits = {
  /** One key, escaped as key_text.ts does it: each part in UTF-8 plus one byte, characters up to `%` threefold. */
  keyBytes: 1_024,
  /** One value, as JSON in UTF-8. */
  valueBytes: 524_288,
  /** The keys of one batch, together. */
  batchKeyBytes: 32_768,
  /** The values of one batch, together. */
  batchValueBytes: 589_824,
  checks: 100,
  /** Puts and deletes of one batch, together. */
  writes: 100,
} as const;

/** Whether a text has more bytes in UTF-8. Counted where it may: Node's counter takes 3 ms to load. */
export function isOver(text: string, bytes: number): boolean {
  return text.length * maxBytesOfUnit > bytes && Buffer.byteLength(text) > bytes;
}

/** Of UTF-8, for one unit of UTF-16. */
const maxBytesOfUnit = 3;

/** How long an operation waits for a database file that another process writes (SQLite, Deno KV). */
export const defaultBusyTimeoutMs = 5_000;
