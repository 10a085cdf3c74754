/**
 * Hashes of passphrases, as PHC strings, with a cap on how many are made at once: Argon2id, or scrypt where the runtime
 * has no Argon2id.
 */
import { equalInConstantTime, randomBytes } from "../lib/secrets.ts";
import { nodeCrypto } from "../lib/program.ts";

/** Passphrases are at least this many characters long. */
export const minPassphraseCharacters = 12;
const maxPassphraseBytes = 1_024;
/** Each takes 46 MiB, or 128 MiB without Argon2id. */
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
  const { derive, costs, write } = algorithm !== "scrypt" && await hasArgon2id() ? argon2id : scrypt;
  const salt = randomBytes(16);
  const hash = await derive(toSecret(passphrase), salt, hashBytes, costs);
  return `${write(costs)}$${toPhcBase64(salt)}$${toPhcBase64(hash)}`;
}

/** Whether the passphrase has this hash; `false` too where {@link canVerify} is. */
export async function verifyPassword(passphrase: string, phc: string): Promise<boolean> {
  const parsed = parsePhc(argon2id, phc) ?? parsePhc(scrypt, phc);
  if (parsed === null || Buffer.byteLength(passphrase) > maxPassphraseBytes || !await canVerify(phc)) return false;
  return equalInConstantTime(await parsed.again(toSecret(passphrase)), parsed.hash);
}

/** Whether this runtime can check a hash at all: a hash made elsewhere may need Argon2id. */
export async function canVerify(phc: string): Promise<boolean> {
  return parsePhc(argon2id, phc) === null || await hasArgon2id();
}

/** Whether the passphrase should be rehashed: with Argon2id, which its runtime did not have. */
export async function isOutdatedHash(phc: string): Promise<boolean> {
  return parsePhc(scrypt, phc) !== null && await hasArgon2id();
}

function toSecret(passphrase: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(passphrase.normalize("NFC")); // RFC 8265 §4.2.2: one spelling of each letter
}

/** Hashing with a bound on how many hashes run and wait. */
export type PasswordHasher = ReturnType<typeof createPasswordHasher>;

/**
 * Caps hashing, so that a flood of sign-ins takes neither all memory nor all processors: `"busy"` when too many wait
 * already.
 */
export function createPasswordHasher() {
  let running = 0;
  const waiting: (() => void)[] = [];
  const run = async <T>(work: () => Promise<T>): Promise<T | "busy"> => {
    if (running < maxConcurrentHashes) running++;
    else if (waiting.length >= maxWaitingHashes) return "busy";
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next(); // hands its place on
    }
  };
  return {
    hash: (passphrase: string) => run(() => hashPassword(passphrase)),
    verify: (passphrase: string, phc: string) => run(() => verifyPassword(passphrase, phc)),
  };
}

// The functions that hash passphrases. Their hashes are PHC strings, which say how they were made: by three costs, in
// the order of the string, and a salt.

type Costs = readonly [number, number, number];

interface PasswordAlgorithm {
  /** The costs, then salt and hash in base64 without padding. */
  readonly pattern: RegExp;
  /** The beginning of a string. */
  readonly write: (costs: Costs) => string;
  /** Of today. */
  readonly costs: Costs;
  /** Whether a string may ask for so much: more would let a setting stop the server. */
  readonly isSane: (...costs: Costs) => boolean;
  readonly derive: (secret: Bytes, salt: Bytes, bytes: number, costs: Costs) => Promise<Uint8Array>;
}

type Bytes = Uint8Array<ArrayBuffer>;

const hashBytes = 32;

/** The hash in a string of this algorithm with sensible costs, and the hash of another secret; `null` for other text. */
function parsePhc({ pattern, isSane, derive }: PasswordAlgorithm, phc: string) {
  const [, first, second, third, salt = "", hash = ""] = pattern.exec(phc) ?? [];
  const costs: Costs = [Number(first), Number(second), Number(third)];
  if (hash === "" || !isSane(...costs)) return null;
  const bytes = Buffer.from(hash, "base64").byteLength;
  const again = (secret: Bytes) => derive(secret, new Uint8Array(Buffer.from(salt, "base64")), bytes, costs);
  return { hash, again: async (secret: Bytes) => toPhcBase64(await again(secret)) };
}

/** Base64 as PHC strings have it: without padding. */
function toPhcBase64(bytes: Uint8Array): string {
  return bytes.toBase64({ omitPadding: true });
}

/**
 * Argon2id (RFC 9106), wherever the runtime has it. The costs are OWASP's first choice. Of its equals this one alone is
 * above 32 MiB, from where on glibc gives the memory of each hash back to the system: at 19 MiB, version 2.36 kept nearly
 * all of it, and the process grew with every try.
 */
const argon2id: PasswordAlgorithm = {
  pattern: /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/,
  write: ([memory, passes, parallelism]) => `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}`,
  costs: [47_104, 1, 1],
  isSane: (memoryKibibytes, passes, parallelism) =>
    memoryKibibytes >= 8 * parallelism && memoryKibibytes <= 1_048_576 &&
    passes >= 1 && passes <= 32 && parallelism >= 1,
  async derive(secret, salt, bytes, [memory, passes, parallelism]) {
    const key = await crypto.subtle.importKey("raw-secret", secret, "Argon2id", false, ["deriveBits"]);
    // TypeScript's library does not know the parameters of WICG "modern algorithms" yet.
    const algorithm = { name: "Argon2id", nonce: salt, memory, passes, parallelism } as Algorithm;
    return new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, bytes * 8));
  },
};

let availability: Promise<boolean> | undefined;

/** Whether this runtime has Argon2id: it came to Deno later than the versions that some hosts run. */
export function hasArgon2id(): Promise<boolean> {
  availability ??= argon2id.derive(new Uint8Array(), new Uint8Array(16), hashBytes, [8, 1, 1])
    .then(() => true, () => false);
  return availability;
}

const maxScryptBytes = 2 ** 30;

/** scrypt (RFC 7914), where the runtime has no Argon2id. The costs are OWASP's first choice: 128 MiB. */
const scrypt: PasswordAlgorithm = {
  pattern: /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/,
  write: ([logCost, blockSize, parallelism]) => `$scrypt$ln=${logCost},r=${blockSize},p=${parallelism}`,
  costs: [17, 8, 1],
  isSane: (ln, r, p) => ln >= 1 && r >= 1 && p >= 1 && p <= 16 && 128 * 2 ** ln * r <= maxScryptBytes,
  derive(secret, salt, bytes, [ln, r, p]) {
    const options = { N: 2 ** ln, r, p, maxmem: 2 * maxScryptBytes };
    const { scrypt } = nodeCrypto();
    return new Promise((resolve, reject) =>
      scrypt(secret, salt, bytes, options, (error, hash) => error === null ? resolve(hash) : reject(error))
    );
  },
};

const commonWords = new Set(
  ("abc access account admin administrator alpha angel apple april august autumn baby bailey baseball basketball batman " +
    "beta blue boy buster change changeit changeme charlie cheese chocolate claude computer cookie daniel december default " +
    "demo dragon easy enter family february flower football freedom friday friend fuck fuckyou ginger girl god google guest " +
    "hannah hello hockey home hunter i iloveyou in internet january jennifer jessica jesus jordan july june justin killer lady let " +
    "letmein life login london love lovely lover maggie magic march master matrix matthew mcp me michael michelle mickey " +
    "money monday monkey mustang mypassword network nicole november october one ollama operator orange owner pass passcode " +
    "passphrase passwort password pepper please portcullis princess purple pussy qazwsx qwerty root secret secure september " +
    "server service servicenow shadow silver soccer spring star starwars summer sunday sunshine super superman support sweet " +
    "sysadmin system temp test tester testing thomas three tigger trustno1 trustno two user welcome whatever william winter " +
    "word world yankees you zaq").split(" "),
);
const famousPhrases = new Set(
  "iloveyousomuch nevergonnagiveyouup opensesame thequickbrownfox thisismypassword tobeornottobe".split(" "),
);
const runs = [
  "abcdefghijklmnopqrstuvwxyz",
  "qwertyuiopasdfghjklzxcvbnm",
  "qwertzuiopasdfghjklyxcvbnm",
  "azertyuiopqsdfghjklmwxcvbn",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik",
  "1q2w3e4r5t6y7u8i9o0p",
  "0123456789",
  "1234567890",
].flatMap((run) => [run, [...run].reverse().join("")]).map((run) => run.repeat(3));
/** Signs, and the letters that they stand for. */
const [signs, letters] = ["013457@$!", "oieastasi"];
const minDistinctCharacters = 5;
/** Longer passphrases are judged by their beginning, which bounds the work. */
const maxJudgedCharacters = 128;

/**
 * Recognises passphrases that attackers try first (NIST SP 800-63B §3.1.1.2). Published lists hold few of our length,
 * so what they are made of is listed instead: common words with digits around them, repetitions, keyboard and number
 * runs.
 */
function isCommonPassphrase(passphrase: string): boolean {
  const text = passphrase.slice(0, maxJudgedCharacters).normalize("NFKC").toLowerCase();
  if (new Set(text).size < minDistinctCharacters || isRepetition(text)) return true;
  const compact = text.replace(/[^\p{L}\p{N}]/gu, "");
  const isMostlyCompact = compact.length * 2 > text.length;
  if (isMostlyCompact && (runs.some((run) => run.includes(compact)) || isRepetition(compact))) return true;
  // Digits and signs around and between the words count for nothing; lookalikes of letters count as these.
  return [
    text,
    text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "").replace(/[013457@$!]/g, (sign) => letters[signs.indexOf(sign)] ?? ""),
  ]
    .map((spelling) => spelling.replace(/[^\p{L}]/gu, ""))
    .some((text) => text !== "" && (famousPhrases.has(text) || consistsOfCommonWords(text)));
}

/** One piece twice or more, the last time perhaps in part: `passwordpassword`, `abcabcab`. */
function isRepetition(text: string): boolean {
  for (let length = 1; length <= text.length / 2; length++) {
    if (text.slice(length) === text.slice(0, text.length - length)) return true;
  }
  return false;
}

function consistsOfCommonWords(letters: string): boolean {
  const reachable = new Set([0]);
  for (let end = 1; end <= letters.length; end++) {
    for (const start of reachable) {
      const piece = letters.slice(start, end);
      if (commonWords.has(piece) || (piece.length >= 3 && runs.some((run) => run.includes(piece)))) {
        reachable.add(end);
        break;
      }
    }
  }
  return reachable.has(letters.length);
}
