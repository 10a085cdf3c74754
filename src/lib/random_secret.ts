/** Random secrets and the hashes that are stored in their place. */
import { sha256Of } from "./sha256.ts";

/** Bytes as base64url text without padding (RFC 4648 §5). */
export function toBase64Url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

const encoder = new TextEncoder();

/** 256 random bits as base64url text. */
export function randomSecret(): string {
  return randomText(32);
}

/** 128 random bits as 32 hexadecimal digits: an identifier, not a secret. */
export function randomId(): string {
  return randomBytes(16).toHex();
}

/** Random bytes as base64url text. */
export function randomText(bytes: number): string {
  return toBase64Url(randomBytes(bytes));
}

export function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(count));
}

/** SHA-256 as base64url text. Right for secrets of high entropy only; passphrases need Argon2id. */
export function hashSecret(secret: string): string {
  return toBase64Url(sha256Of(secret));
}

/** Whether `secret` has this hash, compared in constant time. */
export function matchesHash(secret: string, hash: string): boolean {
  return equalInConstantTime(hashSecret(secret), hash);
}

/** Whether two texts are the same, in a time that depends on their lengths only. */
export function equalInConstantTime(left: string, right: string): boolean {
  const a = encoder.encode(left);
  const b = encoder.encode(right);
  if (a.byteLength !== b.byteLength) return false;
  let difference = 0;
  for (let at = 0; at < a.byteLength; at++) difference |= (a[at] ?? 0) ^ (b[at] ?? 0);
  return difference === 0;
}
