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

/** Whether the passphrase should be rehashed: with Argon2id, which its runtime did not have. */
export async function isOutdatedHash(phc: string): Promise<boolean> {
  return scrypt.parse(phc) !== null && await hasArgon2id();
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
    hash: (passphrase: string) => run(() => hashPassword(passphrase)),
    verify: (passphrase: string, phc: string) => run(() => verifyPassword(passphrase, phc)),
  };
}

// What a function that hashes passphrases has to offer; its hashes are PHC strings, which say how they were made.

/** One such function. The secret is the normalised passphrase as UTF-8. */
interface PasswordAlgorithm {
  /** Hashes with a fresh salt and the costs of today. */
  hash(secret: Uint8Array<ArrayBuffer>): Promise<string>;
  /** Reads a PHC string of this algorithm with sensible costs; `null` for any other text. */
  parse(phc: string): ParsedHash | null;
}

/** A PHC string taken apart. */
interface ParsedHash {
  /** In base64 without padding, as in the string. */
  readonly hash: string;
  /** The hash of another secret with the same salt, costs and length. */
  readonly again: (secret: Uint8Array<ArrayBuffer>) => Promise<string>;
}

/** Base64 as PHC strings have it: without padding. */
function toPhcBase64(bytes: Uint8Array): string {
  return bytes.toBase64({ omitPadding: true });
}

// Argon2id (RFC 9106) as PHC strings: what passphrases are hashed with wherever the runtime has it.

/**
 * OWASP's first choice for Argon2id. Of its equals this one alone is above 32 MiB, from where on glibc gives the memory
 * of each hash back to the system: at 19 MiB, version 2.36 kept nearly all of it, and the process grew with every try.
 */
const costs = { memoryKibibytes: 47_104, passes: 1, parallelism: 1 } as const;
const hashBytes = 32;
const phcPattern =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

interface Parameters {
  readonly memoryKibibytes: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Uint8Array<ArrayBuffer>;
}

/** Argon2id. */
const argon2id: PasswordAlgorithm = {
  parse(phc) {
    const match = phcPattern.exec(phc);
    if (match === null) return null;
    const [, memory = "", passes = "", parallelism = "", salt = "", hash = ""] = match;
    const parameters = {
      memoryKibibytes: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
      salt: new Uint8Array(Buffer.from(salt, "base64")),
    };
    // A gibibyte and 32 passes are far beyond sense; more would let a setting stop the server.
    const isSane = parameters.memoryKibibytes >= 8 * parameters.parallelism &&
      parameters.memoryKibibytes <= 1_048_576 &&
      parameters.passes >= 1 && parameters.passes <= 32 && parameters.parallelism >= 1;
    if (!isSane) return null;
    const bytes = Buffer.from(hash, "base64").byteLength;
    return { hash, again: (secret) => derive(secret, parameters, bytes) };
  },
  async hash(secret) {
    const salt = randomBytes(16);
    const hash = await derive(secret, { ...costs, salt }, hashBytes);
    const { memoryKibibytes, passes, parallelism } = costs;
    return `$argon2id$v=19$m=${memoryKibibytes},t=${passes},p=${parallelism}$${toPhcBase64(salt)}$${hash}`;
  },
};

let availability: Promise<boolean> | undefined;

/** Whether this runtime has Argon2id: it came to Deno later than the versions that some hosts run. */
export function hasArgon2id(): Promise<boolean> {
  const least = { memoryKibibytes: 8, passes: 1, parallelism: 1, salt: new Uint8Array(16) };
  availability ??= derive(new Uint8Array(), least, hashBytes).then(() => true, () => false);
  return availability;
}

async function derive(secret: Uint8Array<ArrayBuffer>, parameters: Parameters, bytes: number): Promise<string> {
  const { memoryKibibytes, passes, parallelism, salt } = parameters;
  const key = await crypto.subtle.importKey("raw-secret", secret, "Argon2id", false, ["deriveBits"]);
  // TypeScript's library does not know the parameters of WICG "modern algorithms" yet.
  const algorithm = { name: "Argon2id", nonce: salt, memory: memoryKibibytes, passes, parallelism } as Algorithm;
  return toPhcBase64(new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, bytes * 8)));
}

// scrypt (RFC 7914) as PHC strings: what passphrases are hashed with where the runtime has no Argon2id.

const scryptCosts = { logCost: 17, blockSize: 8, parallelism: 1 } as const; // OWASP's first choice for scrypt: 128 MiB
const scryptHashBytes = 32;
const maxMemoryBytes = 2 ** 30;
const scryptPhcPattern =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

interface ScryptParameters {
  /** The binary logarithm of the cost N. */
  readonly logCost: number;
  readonly blockSize: number;
  readonly parallelism: number;
  readonly salt: Uint8Array;
}

/** scrypt (RFC 7914) as PHC strings, where the runtime has no Argon2id. */
export const scrypt: PasswordAlgorithm = {
  parse(phc) {
    const match = scryptPhcPattern.exec(phc);
    if (match === null) return null;
    const [, logCost = "", blockSize = "", parallelism = "", salt = "", hash = ""] = match;
    const parameters = {
      logCost: Number(logCost),
      blockSize: Number(blockSize),
      parallelism: Number(parallelism),
      salt: Buffer.from(salt, "base64"),
    };
    const { logCost: ln, blockSize: r, parallelism: p } = parameters;
    // More would let a setting stop the server.
    const isSane = ln >= 1 && r >= 1 && p >= 1 && p <= 16 && 128 * 2 ** ln * r <= maxMemoryBytes;
    if (!isSane) return null;
    const bytes = Buffer.from(hash, "base64").byteLength;
    return { hash, again: (secret) => scryptDerive(secret, parameters, bytes) };
  },
  async hash(secret) {
    const salt = randomBytes(16);
    const hash = await scryptDerive(secret, { ...scryptCosts, salt }, scryptHashBytes);
    const { logCost, blockSize, parallelism } = scryptCosts;
    return `$scrypt$ln=${logCost},r=${blockSize},p=${parallelism}$${toPhcBase64(salt)}$${hash}`;
  },
};

function scryptDerive(secret: Uint8Array, { logCost, blockSize, parallelism, salt }: ScryptParameters, bytes: number) {
  const options = { N: 2 ** logCost, r: blockSize, p: parallelism, maxmem: 2 * maxMemoryBytes };
  return new Promise<string>((resolve, reject) =>
    nodeCrypto().scrypt(
      secret,
      salt,
      bytes,
      options,
      (error, hash) => error === null ? resolve(toPhcBase64(hash)) : reject(error),
    )
  );
}

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
const famousPhrases = new Set([
  "iloveyousomuch",
  "nevergonnagiveyouup",
  "opensesame",
  "thequickbrownfox",
  "thisismypassword",
  "tobeornottobe",
]);
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
const lookalikes: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  "$": "s",
  "!": "i",
};
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
  return [text, text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "").replace(/[013457@$!]/g, (sign) => lookalikes[sign] ?? "")]
    .map((spelling) => spelling.replace(/[^\p{L}]/gu, ""))
    .some((letters) => letters !== "" && (famousPhrases.has(letters) || consistsOfCommonWords(letters)));
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
