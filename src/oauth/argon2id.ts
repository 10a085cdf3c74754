/** Argon2id (RFC 9106) as PHC strings: what passphrases are hashed with wherever the runtime has it. */
import { randomBytes } from "../lib/random_secret.ts";
import { type PasswordAlgorithm, toPhcBase64 } from "./password_algorithm.ts";

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
export const argon2id: PasswordAlgorithm = {
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
