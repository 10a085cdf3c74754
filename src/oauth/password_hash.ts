/**
 * Hashes of passphrases, as PHC strings, with a cap on how many are made at once: Argon2id, or scrypt where the runtime
 * has no Argon2id.
 */
import { argon2id, hasArgon2id } from "./argon2id.ts";
import { isCommonPassphrase } from "./common_passphrase.ts";
import { equalInConstantTime } from "../lib/random_secret.ts";
import { scrypt } from "./scrypt.ts";

/** Passphrases are at least this many characters long. */
export const minPassphraseCharacters = 12;
const maxPassphraseBytes = 1_024;
/** Each takes 46 MiB, or 128 MiB where there is no Argon2id. */
const maxConcurrentHashes = 2;
const maxWaitingHashes = 16;

/** Why a passphrase cannot be used, in words for the user, or `null`. */
export function passphraseProblem(passphrase: string): string | null {
  if ([...passphrase].length < minPassphraseCharacters) {
    return `Use at least ${minPassphraseCharacters} characters: several words are easy to remember.`;
  }
  if (Buffer.byteLength(passphrase) > maxPassphraseBytes) return `Use at most ${maxPassphraseBytes} bytes.`;
  return isCommonPassphrase(passphrase)
    ? "This is among the passphrases that attackers try first. Use several words that do not belong together."
    : null;
}

/** Hashes a passphrase into a PHC string. Check {@link passphraseProblem} first. */
export async function hashPassword(passphrase: string, algorithm?: "scrypt"): Promise<string> {
  const { hash } = algorithm !== "scrypt" && await hasArgon2id() ? argon2id : scrypt;
  return await hash(toSecret(passphrase));
}

/** Whether the passphrase has this hash; `false` too where {@link canVerify} is. */
export async function verifyPassword(passphrase: string, phc: string): Promise<boolean> {
  const parsed = argon2id.parse(phc) ?? scrypt.parse(phc);
  if (parsed === null || Buffer.byteLength(passphrase) > maxPassphraseBytes || !await canVerify(phc)) return false;
  return equalInConstantTime(await parsed.again(toSecret(passphrase)), parsed.hash);
}

/** Whether this runtime can check a hash at all: a hash made elsewhere may need Argon2id. */
export async function canVerify(phc: string): Promise<boolean> {
  return argon2id.parse(phc) === null || await hasArgon2id();
}

/** Whether the passphrase ought to be hashed anew: it was hashed where there was no Argon2id, and here there is. */
export async function isOutdatedHash(phc: string): Promise<boolean> {
  return scrypt.parse(phc) !== null && await hasArgon2id();
}

function toSecret(passphrase: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(passphrase.normalize("NFC")); // RFC 8265 §4.2.2: one spelling of each letter
}

/** Runs the expensive functions, at most so many at once; `"busy"` when too many wait already. */
export interface PasswordHasher {
  hash(passphrase: string): Promise<string | "busy">;
  verify(passphrase: string, phc: string): Promise<boolean | "busy">;
}

/** Caps hashing, so that a flood of sign-ins takes neither all memory nor all processors. */
export function createPasswordHasher(): PasswordHasher {
  let running = 0;
  const waiting: (() => void)[] = [];
  const enter = (): Promise<void> | "busy" | undefined => {
    if (running < maxConcurrentHashes) {
      running++;
      return undefined;
    }
    if (waiting.length >= maxWaitingHashes) return "busy";
    return new Promise((resolve) => waiting.push(resolve));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next(); // hands its place on
  };
  const run = async <T>(work: () => Promise<T>): Promise<T | "busy"> => {
    const place = enter();
    if (place === "busy") return "busy";
    await place;
    try {
      return await work();
    } finally {
      leave();
    }
  };
  return {
    hash: (passphrase) => run(() => hashPassword(passphrase)),
    verify: (passphrase, phc) => run(() => verifyPassword(passphrase, phc)),
  };
}
