/**
 * Keys for each purpose, derived from the one master key of this installation (RFC 5869 HKDF-SHA-256), and the three
 * things done with them: sealing, opening, and message authentication. Distinct purposes never share a key.
 */
import type { Hash } from "node:crypto";
import { randomBytes, toBase64Url } from "./random_secret.ts";
import { createHmac, createKeyDerivation } from "./sha256.ts";
import { nodeCrypto } from "./program.ts";

const nonceBytes = 12; // NIST SP 800-38D §5.2.1.1
const tagBytes = 16;
/** At least a nonce and a tag. Decoding other text takes a hundred times as long. */
const base64Url = /^[\w-]{38,}$/;
const encoder = new TextEncoder();
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
  return (purpose) => {
    let value = made.get(purpose);
    if (value === undefined) made.set(purpose, value = make(purpose));
    return value;
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
