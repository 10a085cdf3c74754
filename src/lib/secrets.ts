/**
 * Keys for each purpose, derived from the one master key of this installation (RFC 5869 HKDF-SHA-256), and the three
 * things done with them: sealing, opening, and message authentication. Distinct purposes never share a key.
 */
import { expand, extract } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { Hash } from "node:crypto";
import { nodeCrypto } from "./program.ts";

const encoder = new TextEncoder();

const nonceBytes = 12; // NIST SP 800-38D §5.2.1.1
const tagBytes = 16;
/** At least a nonce and a tag. Decoding other text takes a hundred times as long. */
const base64Url = /^[\w-]{38,}$/;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Seals, opens and authenticates under keys derived from one master key. */
export interface SecretBox {
  /** AES-256-GCM over UTF-8 text; `context` is authenticated with it. Gives base64url text. */
  seal(purpose: string, plaintext: string, context: string): Promise<string>;
  /** The sealed text, or `null` when it was altered, sealed for another purpose or context, or under another key. */
  open(purpose: string, sealed: string, context: string): Promise<string | null>;
  /** HMAC-SHA-256 of `message`, as base64url text. Compare with `equalInConstantTime`. */
  authenticate(purpose: string, message: string): string;
}

/** Builds a {@link SecretBox} over a master key of 32 bytes; throws `RangeError` for any other length. */
export function createSecretBox(masterKey: Uint8Array): SecretBox {
  if (masterKey.byteLength !== 32) throw new RangeError("The master key must have 32 bytes");
  const keyFor = createKeyDerivation(masterKey);
  const sealingKey = oncePerPurpose((purpose) =>
    crypto.subtle.importKey("raw", keyFor(`portcullis/v1/seal/${purpose}`), "AES-GCM", false, ["encrypt", "decrypt"])
  );
  const hmac = oncePerPurpose((purpose) => createHmac(keyFor(`portcullis/v1/mac/${purpose}`)));
  return {
    async seal(purpose, plaintext, context) {
      const nonce = randomBytes(nonceBytes);
      const key = await sealingKey(purpose);
      const sealed = await crypto.subtle.encrypt(aesGcm(nonce, context), key, encoder.encode(plaintext));
      const bytes = new Uint8Array(nonceBytes + sealed.byteLength);
      bytes.set(nonce);
      bytes.set(new Uint8Array(sealed), nonceBytes);
      return toBase64Url(bytes);
    },
    async open(purpose, sealed, context) {
      if (!base64Url.test(sealed) || sealed.length % 4 === 1) return null;
      const bytes = Uint8Array.fromBase64(sealed, { alphabet: "base64url" });
      if (toBase64Url(bytes) !== sealed) return null;
      const key = await sealingKey(purpose);
      try {
        const nonce = bytes.subarray(0, nonceBytes);
        return decoder.decode(await crypto.subtle.decrypt(aesGcm(nonce, context), key, bytes.subarray(nonceBytes)));
      } catch {
        return null; // the tag did not match: altered, or sealed under another key
      }
    },
    authenticate: (purpose, message) => toBase64Url(hmac(purpose)(message)),
  };
}

function aesGcm(iv: Uint8Array<ArrayBuffer>, context: string): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: encoder.encode(context), tagLength: tagBytes * 8 };
}

function oncePerPurpose<T>(make: (purpose: string) => T): (purpose: string) => T {
  const made = new Map<string, T>();
  return (purpose) => made.getOrInsertComputed(purpose, make);
}

// * SHA-256 of short texts, and HMAC-SHA-256. In JavaScript, since Node's cryptography takes 13 ms of a start to load
// and is hardly faster for 200 bytes; files are hashed by `createDigest`.

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

/** Bytes as base64url text without padding (RFC 4648 §5). */
export function toBase64Url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

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

// MACed ids, each for one session: any instance can reject a forged id without touching the storage.

const randomLength = 12;
const markLength = 16;
export const issuedIdLength: number = randomLength + markLength;

/** Ids of one purpose; those of another are none here. */
export function createIssuedIds(secretBox: Pick<SecretBox, "authenticate">, purpose: string) {
  const markOf = (random: string, owner: string): string =>
    secretBox.authenticate(purpose, `${random} ${owner}`).slice(0, markLength);
  return {
    /** A new id for a session. */
    issue(owner: string) {
      const random = randomText(randomLength * 3 / 4);
      return random + markOf(random, owner);
    },
    /** Whether the id was issued for this session, by any instance. */
    isIssued(id: string, owner: string) {
      return equalInConstantTime(id.slice(randomLength), markOf(id.slice(0, randomLength), owner));
    },
  };
}

// SHA-256 of content of any length, by native code: it takes 13 ms to load, and then a tenth of what JavaScript takes.

/** A digest of content that comes in pieces. */
export function createDigest(): Hash {
  return nodeCrypto().createHash("sha256");
}

/** The digest of content that is there, as hexadecimal digits. */
export function digestOf(content: string | Uint8Array): string {
  return nodeCrypto().hash("sha256", content);
}
