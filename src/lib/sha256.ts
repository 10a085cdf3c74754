/**
 * SHA-256 of short texts, and HMAC-SHA-256. In JavaScript, since Node's cryptography takes 13 ms of a start to load and is
 * hardly faster for 200 bytes; files go to content_digest.ts.
 */
import { expand, extract } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";

const encoder = new TextEncoder();

/** The hash of a text's UTF-8 form. */
export function sha256Of(text: string): Uint8Array {
  return sha256(encoder.encode(text));
}

/** Derives keys of 32 bytes, one for each purpose, from a secret of high entropy (RFC 5869, without a salt). */
export function createKeyDerivation(secret: Uint8Array): (purpose: string) => Uint8Array<ArrayBuffer> {
  const extracted = extract(sha256, secret);
  return (purpose) => new Uint8Array(expand(sha256, extracted, encoder.encode(purpose), 32));
}

/** Authenticates the UTF-8 form of texts under one key (RFC 2104). */
export function createHmac(key: Uint8Array): (text: string) => Uint8Array {
  const keyed = hmac.create(sha256, key);
  return (text) => keyed.clone().update(encoder.encode(text)).digest();
}
