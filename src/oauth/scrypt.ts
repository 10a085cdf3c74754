/** scrypt (RFC 7914) as PHC strings: what passphrases are hashed with where the runtime has no Argon2id. */
import { nodeCrypto } from "../lib/node_modules.ts";
import { randomBytes } from "../lib/random_secret.ts";
import { type PasswordAlgorithm, toPhcBase64 } from "./password_algorithm.ts";

const costs = { logCost: 17, blockSize: 8, parallelism: 1 } as const; // OWASP's first choice for scrypt: 128 MiB
const hashBytes = 32;
const maxMemoryBytes = 2 ** 30;
const phcPattern = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

interface Parameters {
  /** The binary logarithm of the cost N. */
  readonly logCost: number;
  readonly blockSize: number;
  readonly parallelism: number;
  readonly salt: Uint8Array;
}

export const scrypt: PasswordAlgorithm = {
  parse(phc) {
    const match = phcPattern.exec(phc);
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
    return { hash, again: (secret) => derive(secret, parameters, bytes) };
  },
  async hash(secret) {
    const salt = randomBytes(16);
    const hash = await derive(secret, { ...costs, salt }, hashBytes);
    const { logCost, blockSize, parallelism } = costs;
    return `$scrypt$ln=${logCost},r=${blockSize},p=${parallelism}$${toPhcBase64(salt)}$${hash}`;
  },
};

function derive(secret: Uint8Array, { logCost, blockSize, parallelism, salt }: Parameters, bytes: number) {
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
