/** Random secrets and the hashes that are stored in their place. */
import { toBase64Url } from "./base64url.ts";
import { sha256Of } from "./sha256.ts";

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
