/**
 * Keys for each purpose, derived from the one master key of this installation (RFC 5869 HKDF-SHA-256), and the three
 * things done with them: sealing, opening, and message authentication. Distinct purposes never share a key.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { Buffer } from "node:buffer";

const base64Url = /^[\w-]*$/;
const nonceBytes = 12; // NIST SP 800-38D §5.2.1.1
const tagBytes = 16;

/** Seals, opens and authenticates under keys derived from one master key. */
export interface SecretBox {
  /** AES-256-GCM over UTF-8 text; `context` is authenticated with it. Gives base64url text. */
  seal(purpose: string, plaintext: string, context: string): string;
  /** The sealed text, or `null` when it was altered, sealed for another purpose or context, or under another key. */
  open(purpose: string, sealed: string, context: string): string | null;
  /** HMAC-SHA-256 of `message`, as base64url text. Compare with `equalInConstantTime`. */
  authenticate(purpose: string, message: string): string;
}

/** Builds a {@link SecretBox} over a master key of 32 bytes; throws `RangeError` for any other length. */
export function createSecretBox(masterKey: Uint8Array): SecretBox {
  if (masterKey.byteLength !== 32) throw new RangeError("The master key must have 32 bytes");
  const keys = new Map<string, Uint8Array>();
  const keyFor = (purpose: string): Uint8Array => {
    let key = keys.get(purpose);
    if (key === undefined) {
      key = new Uint8Array(hkdfSync("sha256", masterKey, new Uint8Array(0), `portcullis/v1/${purpose}`, 32));
      keys.set(purpose, key);
    }
    return key;
  };
  return {
    seal(purpose, plaintext, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", keyFor(`seal/${purpose}`), nonce);
      cipher.setAAD(Buffer.from(context, "utf8"));
      return Buffer.concat([nonce, cipher.update(plaintext, "utf8"), cipher.final(), cipher.getAuthTag()])
        .toString("base64url");
    },
    open(purpose, sealed, context) {
      if (!base64Url.test(sealed)) return null; // decoding other text takes a hundred times as long
      const bytes = Buffer.from(sealed, "base64url");
      if (bytes.byteLength < nonceBytes + tagBytes || bytes.toString("base64url") !== sealed) return null;
      const end = bytes.byteLength - tagBytes;
      const decipher = createDecipheriv(
        "aes-256-gcm",
        keyFor(`seal/${purpose}`),
        bytes.subarray(0, nonceBytes),
        { authTagLength: tagBytes },
      );
      decipher.setAAD(Buffer.from(context, "utf8"));
      decipher.setAuthTag(bytes.subarray(end));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, end)), decipher.final()]).toString("utf8");
      } catch {
        return null; // the tag did not match: altered, or sealed under another key
      }
    },
    authenticate(purpose, message) {
      return createHmac("sha256", keyFor(`mac/${purpose}`)).update(message, "utf8").digest("base64url");
    },
  };
}
