/** Argon2id (RFC 9106) for passphrases, as PHC strings, with a cap on how many run at once. */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { equalInConstantTime } from "./random_secret.ts";

const costs = { memoryKibibytes: 19_456, passes: 2, parallelism: 1 } as const; // OWASP's minimum for Argon2id
const hashBytes = 32;
const phcPattern =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** Passphrases are at least this many characters long. */
export const minPassphraseCharacters = 12;
const maxPassphraseBytes = 1_024;

interface ParsedHash {
  readonly memoryKibibytes: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly hash: string;
}

function parsePasswordHash(phc: string): ParsedHash | null {
  const match = phcPattern.exec(phc);
  if (match === null) return null;
  const [, memory = "", passes = "", parallelism = "", salt = "", hash = ""] = match;
  const parsed = {
    memoryKibibytes: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: new Uint8Array(Buffer.from(salt, "base64")),
    hash,
  };
  // A gibibyte and 32 passes are far beyond sense; more would let a setting stop the server.
  const sane = parsed.memoryKibibytes >= 8 * parsed.parallelism && parsed.memoryKibibytes <= 1_048_576 &&
    parsed.passes >= 1 && parsed.passes <= 32 && parsed.parallelism >= 1;
  return sane ? parsed : null;
}

/** Why a passphrase cannot be used, in words for the person, or `null`. */
export function passphraseProblem(passphrase: string): string | null {
  if ([...passphrase].length < minPassphraseCharacters) {
    return `Use at least ${minPassphraseCharacters} characters: several words are easy to remember.`;
  }
  return Buffer.byteLength(passphrase) > maxPassphraseBytes ? `Use at most ${maxPassphraseBytes} bytes.` : null;
}

async function argon2id(passphrase: string, parameters: Omit<ParsedHash, "hash">, bytes: number): Promise<string> {
  const { memoryKibibytes, passes, parallelism, salt } = parameters;
  const secret = new TextEncoder().encode(passphrase.normalize("NFC")); // RFC 8265 §4.2.2: one spelling of each letter
  const key = await crypto.subtle.importKey("raw-secret", secret, "Argon2id", false, ["deriveBits"]);
  // TypeScript's library does not know the parameters of WICG "modern algorithms" yet.
  const algorithm = { name: "Argon2id", nonce: salt, memory: memoryKibibytes, passes, parallelism } as Algorithm;
  return Buffer.from(await crypto.subtle.deriveBits(algorithm, key, bytes * 8)).toString("base64").replace(/=+$/, "");
}

/** Whether this runtime can hash passphrases: Argon2id came to Deno later than the versions that some hosts run. */
export async function hasArgon2id(): Promise<boolean> {
  const least = { memoryKibibytes: 8, passes: 1, parallelism: 1, salt: new Uint8Array(16) };
  return await argon2id("", least, hashBytes).then(() => true, () => false);
}

/** Hashes a passphrase into a PHC string. Check {@link passphraseProblem} first. */
export async function hashPassword(passphrase: string): Promise<string> {
  const salt = new Uint8Array(randomBytes(16));
  const hash = await argon2id(passphrase, { ...costs, salt }, hashBytes);
  const { memoryKibibytes, passes, parallelism } = costs;
  const encodedSalt = Buffer.from(salt).toString("base64").replace(/=+$/, "");
  return `$argon2id$v=19$m=${memoryKibibytes},t=${passes},p=${parallelism}$${encodedSalt}$${hash}`;
}

/** Whether the passphrase has this hash. */
export async function verifyPassword(passphrase: string, phc: string): Promise<boolean> {
  const parsed = parsePasswordHash(phc);
  if (parsed === null || Buffer.byteLength(passphrase) > maxPassphraseBytes) return false;
  const hash = await argon2id(passphrase, parsed, Buffer.from(parsed.hash, "base64").byteLength);
  return equalInConstantTime(hash, parsed.hash);
}

/** Runs the expensive functions, at most so many at once; `"busy"` when too many wait already. */
export interface PasswordHasher {
  hash(passphrase: string): Promise<string | "busy">;
  verify(passphrase: string, phc: string): Promise<boolean | "busy">;
}

/** Caps hashing, so that a flood of sign-ins takes neither all memory nor all processors. */
export function createPasswordHasher(
  limits: { readonly maxConcurrentPasswordHashes: number; readonly maxWaitingPasswordHashes: number },
): PasswordHasher {
  let running = 0;
  const waiting: (() => void)[] = [];
  const enter = (): Promise<void> | "busy" | undefined => {
    if (running < limits.maxConcurrentPasswordHashes) {
      running++;
      return undefined;
    }
    if (waiting.length >= limits.maxWaitingPasswordHashes) return "busy";
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
