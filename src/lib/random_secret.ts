/** Random secrets and the hashes that are stored in their place. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";

/** 256 random bits as base64url text. */
export function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** 128 random bits as 32 hexadecimal digits: an identifier, not a secret. */
export function randomId(): string {
  return randomBytes(16).toString("hex");
}

/** SHA-256 as base64url text. Right for secrets of high entropy only; passphrases need Argon2id. */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret, "utf8").digest("base64url");
}

/** Whether `secret` has this hash, compared in constant time. */
export function matchesHash(secret: string, hash: string): boolean {
  return equalInConstantTime(hashSecret(secret), hash);
}

/** Whether two texts are the same, in a time that depends on their lengths only. */
export function equalInConstantTime(left: string, right: string): boolean {
  const a = Buffer.from(left, "utf8");
  const b = Buffer.from(right, "utf8");
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
