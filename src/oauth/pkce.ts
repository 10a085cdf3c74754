/** Proof Key for Code Exchange (RFC 7636), S256 only. */
import { matchesHash } from "../lib/random_secret.ts";

/** Whether the text can be an S256 challenge: 32 bytes as base64url without padding (RFC 7636 §4.2). */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** Whether the verifier is well formed (RFC 7636 §4.1) and hashes to the challenge (§4.6). */
export function verifyCodeVerifier(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  return matchesHash(verifier, challenge);
}
