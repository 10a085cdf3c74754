/** The Ed25519 keys that sign access tokens: made on first use, rotated with overlap, published as a JWK set. */
import type { AuthorizationServerOptions } from "./context.ts";
import { loadOnce } from "../lib/load_once.ts";
import { randomId } from "../lib/random_secret.ts";
import { currentSigningKey, type SigningKey, signingKeys, signingKidAt } from "./records/signing_key.ts";
import { conflict, retryOnConflict } from "./records/record_family.ts";

export type SigningKeyOptions = Pick<AuthorizationServerOptions, "storage" | "secrets" | "clock">;

/** A public key as RFC 7517 publishes it. */
interface PublishedKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly kid: string;
  readonly use: "sig";
  readonly alg: "EdDSA";
}

/** The keys of one installation. */
export interface SigningKeys {
  current(): Promise<{ readonly kid: string; readonly privateKey: CryptoKey }>;
  /** A published key, or `null` for one that is unknown or retired. */
  find(kid: string): Promise<CryptoKey | null>;
  published(): Promise<PublishedKey[]>;
}

/** What private halves are sealed for. */
export const sealPurpose = "signing-key";
const maxPublishedKeys = 100;
const loadJose = loadOnce(() => import("@panva/jose"));

/** Makes a key and keeps it nowhere. */
export async function makeSigningKey({ secrets, clock }: SigningKeyOptions): Promise<SigningKey> {
  const { exportJWK, generateKeyPair } = await loadJose();
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  const kid = randomId();
  const { x } = await exportJWK(publicKey);
  return {
    kid,
    publicJwk: { kty: "OKP", crv: "Ed25519", x: x ?? "" },
    sealedPrivateJwk: await secrets.seal(sealPurpose, JSON.stringify(await exportJWK(privateKey)), kid),
    createdAt: clock(),
  };
}

async function importKey(jwk: Record<string, unknown>): Promise<CryptoKey> {
  const { importJWK } = await loadJose();
  const key = await importJWK({ ...jwk, kty: "OKP" }, "EdDSA");
  if (key instanceof Uint8Array) throw new TypeError("An Ed25519 key cannot be a shared secret");
  return key;
}

/** Opens the keys of an installation; the first is made when it is first needed. */
export function createSigningKeys(options: SigningKeyOptions): SigningKeys {
  const { storage, secrets, clock } = options;
  const publicKeys = new Map<string, CryptoKey>();
  let signer: { readonly kid: string; readonly privateKey: CryptoKey } | null = null;

  const ensureCurrentKid = (): Promise<string> =>
    retryOnConflict(async () => {
      const current = await currentSigningKey.read(storage, "kid");
      if (current !== null) return signingKidAt(current.value, clock());
      const key = await makeSigningKey(options);
      const made = await storage.commit({
        checks: [{ key: currentSigningKey.key("kid"), version: null }],
        puts: [signingKeys.put(key.kid, key), currentSigningKey.put("kid", { kid: key.kid })],
      });
      return made ? key.kid : conflict;
    });

  return {
    async current() {
      const kid = await ensureCurrentKid();
      if (signer?.kid === kid) return signer;
      const stored = await signingKeys.read(storage, kid);
      const opened = stored === null ? null : await secrets.open(sealPurpose, stored.value.sealedPrivateJwk, kid);
      if (opened === null) {
        throw new Error("The signing key cannot be opened: the master key is not the one that sealed it");
      }
      signer = { kid, privateKey: await importKey(JSON.parse(opened)) };
      return signer;
    },
    async find(kid) {
      const stored = await signingKeys.read(storage, kid);
      if (stored === null) {
        publicKeys.delete(kid);
        return null;
      }
      const present = publicKeys.get(kid);
      if (present !== undefined) return present;
      const key = await importKey(stored.value.publicJwk);
      publicKeys.set(kid, key);
      return key;
    },
    async published() {
      await ensureCurrentKid();
      const stored = await signingKeys.list(storage, { limit: maxPublishedKeys });
      return stored.map(({ value: { kid, publicJwk } }) => ({ ...publicJwk, kid, use: "sig", alg: "EdDSA" }));
    },
  };
}
