/** What a function that hashes passphrases has to offer; its hashes are PHC strings, which say how they were made. */

/** One such function. The secret is the normalised passphrase as UTF-8. */
export interface PasswordAlgorithm {
  /** Hashes with a fresh salt and the costs of today. */
  hash(secret: Uint8Array<ArrayBuffer>): Promise<string>;
  /** Reads a PHC string of this algorithm with sensible costs; `null` for any other text. */
  parse(phc: string): ParsedHash | null;
}

/** A PHC string taken apart. */
interface ParsedHash {
  /** In base64 without padding, as in the string. */
  readonly hash: string;
  /** The hash of another secret with the same salt, costs and length. */
  readonly again: (secret: Uint8Array<ArrayBuffer>) => Promise<string>;
}

/** Base64 as PHC strings have it: without padding. */
export function toPhcBase64(bytes: Uint8Array): string {
  return bytes.toBase64({ omitPadding: true });
}
