/** The Ed25519 keys that sign access tokens: made on first use, rotated with overlap, published as a JWK set. */
import * as z from "zod";
import type { AuthorizationServerOptions } from "./context.ts";
import { maxAccessTokenLifetimeSeconds } from "./mod_settings.ts";
import { loadOnce } from "../lib/program.ts";
import { randomId, type SecretBox } from "../lib/secrets.ts";
import { conflict, defineRecordFamily, type RecordOf, retryOnConflict, unchanged } from "./records.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { Clock } from "../lib/time.ts";
import type { Storage } from "../storage/mod.ts";

/** `["signing_key", kid]`; a retired one expires when the last token that it signed has ended. */
export const signingKeys = defineRecordFamily("signing_key", () => ({
  kid: z.string(),
  /** RFC 8037 §2: an Ed25519 public key as a JWK, without `d`. */
  publicJwk: z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string() }),
  sealedPrivateJwk: z.string(),
  createdAt: z.number(),
}));

/** `["current_signing_key", "kid"]`: which key signs. */
export const currentSigningKey = defineRecordFamily("current_signing_key", () => ({
  kid: z.string(),
  /** A key that is published already, and from when on it signs instead. */
  next: z.object({ kid: z.string(), signsFrom: z.number() }).optional(),
}));

/** Which key signs, and from when on another does. */
type CurrentSigningKey = RecordOf<typeof currentSigningKey>;

/** The key that signs at a moment. Every instance comes to the same by its clock, and nothing has to be written then. */
function signingKidAt({ kid, next }: CurrentSigningKey, now: number): string {
  return next !== undefined && next.signsFrom <= now ? next.kid : kid;
}

type SigningKeyOptions = Pick<AuthorizationServerOptions, "storage" | "secrets" | "clock">;

/** The purpose under which private keys are sealed. */
const sealPurpose = "signing-key";
const maxPublishedKeys = 100;
const loadJose = loadOnce(() => import("@panva/jose"));

/** Makes a key and keeps it nowhere. */
async function makeSigningKey({ secrets, clock }: SigningKeyOptions): Promise<RecordOf<typeof signingKeys>> {
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

/** Signs access tokens, and publishes the keys that verify them. */
export type SigningKeys = ReturnType<typeof createSigningKeys>;

/** Opens the keys of an installation; the first is made when it is first needed. */
export function createSigningKeys(options: SigningKeyOptions) {
  const { storage, secrets, clock } = options;
  const publicKeys = new Map<string, CryptoKey>();
  let signer: { readonly kid: string; readonly privateKey: CryptoKey } | null = null;

  const ensureCurrentKid = (): Promise<string> =>
    retryOnConflict(async () => {
      const current = await currentSigningKey.read(storage, "kid");
      if (current !== null) return signingKidAt(current.value, clock());
      const key = await makeSigningKey(options);
      const made = await storage.commit({
        checks: [currentSigningKey.check(null, "kid")],
        puts: [signingKeys.put(key.kid, key), currentSigningKey.put("kid", { kid: key.kid })],
      });
      return made ? key.kid : conflict;
    });

  return {
    async current(): Promise<{ readonly kid: string; readonly privateKey: CryptoKey }> {
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
    /** A published key, or `null` for one that is unknown or retired. */
    async find(kid: string): Promise<CryptoKey | null> {
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
    /** The public halves, as RFC 7517 publishes them. */
    async published() {
      await ensureCurrentKid();
      const stored = await signingKeys.list(storage, { limit: maxPublishedKeys });
      return stored.map(({ value: { kid, publicJwk } }) => ({ ...publicJwk, kid, use: "sig", alg: "EdDSA" }));
    },
  };
}

// JWK sets that clients give us (RFC 7517): public signature keys and nothing else.

// Private members are not listed, so that they are dropped or refused below, never stored.
const keySchema = z.lazy(() => {
  const text = z.string().min(1).max(2_000);
  const common = {
    kid: z.string().max(200).optional(),
    alg: z.string().max(20).optional(),
    use: z.literal("sig").optional(),
  };
  return z.discriminatedUnion("kty", [
    z.object({ kty: z.literal("RSA"), n: text.min(342), e: text, ...common }), // 2048 bits at least
    z.object({ kty: z.literal("EC"), crv: z.enum(["P-256", "P-384", "P-521"]), x: text, y: text, ...common }),
    z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: text, ...common }),
  ]);
});

const jwksSchema = z.lazy(() => z.object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1).max(20) }));
const secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/** Whether a JWK set, given as JSON text or as a value, holds a private or symmetric key: no public place for one. */
export function holdsSecretKey(source: unknown): boolean {
  const set = typeof source === "string" ? parseJson(source) : source;
  const keys = isObject(set) && Array.isArray(set["keys"]) ? set["keys"] : [];
  return keys.some((key) =>
    isObject(key) && (key["kty"] === "oct" || secretMembers.some((name) => Object.hasOwn(key, name)))
  );
}

/** A set of public keys as it is stored. */
export interface PublicJwks {
  keys: Record<string, unknown>[];
}

/**
 * The usable keys of a JWK set, given as JSON text or as a value; `null` when it is no set, holds none that can be
 * used, or holds a secret key, which its owner then has to replace.
 */
export function parsePublicJwks(source: unknown): PublicJwks | null {
  const parsed = jwksSchema.safeParse(typeof source === "string" ? parseJson(source) : source);
  if (!parsed.success) return null;
  if (holdsSecretKey(parsed.data)) return null;
  const keys = parsed.data.keys.flatMap((key) => {
    const known = keySchema.safeParse(key);
    return known.success ? [known.data] : [];
  });
  return keys.length === 0 ? null : { keys };
}

/** The longest life of an access token, and so of a key that signs no more. */
const longestOverlapMs = maxAccessTokenLifetimeSeconds * 1_000;

/** Reseals keys from `from` to `to`, and returns how many. It can be interrupted and repeated. */
export async function resealSigningKeys(
  { storage, clock }: { readonly storage: Storage; readonly clock: Clock },
  { from, to }: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<number> {
  const current = (await currentSigningKey.read(storage, "kid"))?.value;
  const { kid: active, next } = current ?? {};
  let resealed = 0;
  for await (const stored of signingKeys.all(storage)) {
    const { kid, sealedPrivateJwk } = stored.value;
    if (await to.open(sealPurpose, sealedPrivateJwk, kid) !== null) continue;
    const opened = await from.open(sealPurpose, sealedPrivateJwk, kid);
    if (opened === null) continue; // sealed under a lost key: it still verifies, and no longer signs
    // What ends keeps an end; nothing tells which it had, and a later one only keeps a public key for longer.
    const endsAfter = kid === next?.kid || (kid === active && next === undefined)
      ? undefined
      : Math.max(clock(), next?.signsFrom ?? 0) + longestOverlapMs;
    const value = { ...stored.value, sealedPrivateJwk: await to.seal(sealPurpose, opened, kid) };
    const committed = await storage.commit({
      checks: [unchanged(stored)],
      puts: [signingKeys.put(kid, value, endsAfter)],
    });
    if (committed) resealed++;
  }
  return resealed;
}

// * The life of signing keys: published, so that verifiers learn it; active; retired, until the last token that it
// signed has ended; gone. A key that may have leaked is withdrawn at once instead.

/** How long a new key is published before it signs: longer than verifiers keep the JWK set (RFC 7517 §5). */
const newKeyLeadSeconds = 900;

/** Another instance's clock may be this far behind, and sign with the old key for so much longer. */
const clockToleranceMs = 300_000;
const maxWithdrawnKeys = 90; // one batch

/**
 * Publishes a new key, which signs when `leadSeconds` are over; a first key signs at once. One commit says it all. Keys
 * before it verify for `overlapSeconds` more: the life of an access token. `under_way`: nothing was changed, since
 * another new key waits for its time already.
 */
export function rotateSigningKeys(
  options: SigningKeyOptions,
  { overlapSeconds, leadSeconds = newKeyLeadSeconds }: {
    readonly overlapSeconds: number;
    readonly leadSeconds?: number;
  },
) {
  const { storage, clock } = options;
  return retryOnConflict(async () => {
    const current = await currentSigningKey.read(storage, "kid");
    const now = clock();
    const next = current?.value.next;
    if (next !== undefined && next.signsFrom > now) return { kind: "under_way" as const, ...next };
    const key = await makeSigningKey(options);
    const kid = current === null ? key.kid : signingKidAt(current.value, now);
    const signsFrom = current === null ? now : now + leadSeconds * 1_000;
    const endsAt = signsFrom + overlapSeconds * 1_000 + clockToleranceMs;
    const previous = current === null ? null : await signingKeys.read(storage, kid);
    const rotated = await storage.commit({
      checks: [currentSigningKey.check(current, "kid")],
      puts: [
        ...(previous === null ? [] : [signingKeys.put(kid, previous.value, endsAt)]),
        signingKeys.put(key.kid, key),
        currentSigningKey.put("kid", current === null ? { kid } : { kid, next: { kid: key.kid, signsFrom } }),
      ],
    });
    const previousUntil = previous === null ? null : endsAt;
    return rotated ? { kind: "published" as const, kid: key.kid, signsFrom, previousUntil } : conflict;
  });
}

/**
 * Makes a key that signs at once and withdraws all others, for when one may be in other hands: every access token ends
 * now, since none can be told from a forged one. Clients get new ones for their refresh tokens.
 */
export function replaceSigningKeys(options: SigningKeyOptions) {
  const { storage } = options;
  return retryOnConflict(async () => {
    const current = await currentSigningKey.read(storage, "kid");
    const present = await signingKeys.list(storage, { limit: maxWithdrawnKeys });
    const key = await makeSigningKey(options);
    const replaced = await storage.commit({
      checks: [currentSigningKey.check(current, "kid")],
      puts: [signingKeys.put(key.kid, key), currentSigningKey.put("kid", { kid: key.kid })],
      deletes: present.map((stored) => stored.key),
    });
    return replaced ? { kid: key.kid, withdrawn: present.map(({ value }) => value.kid) } : conflict;
  });
}

/** The keys that there are, in which part of their life each is, and when that changes, where something is planned. */
export async function listSigningKeys({ storage, clock }: Pick<SigningKeyOptions, "storage" | "clock">) {
  const current = await currentSigningKey.read(storage, "kid");
  if (current === null) return [];
  const active = signingKidAt(current.value, clock());
  const { next } = current.value;
  const waiting = next === undefined || next.kid === active ? null : next;
  const present = await signingKeys.list(storage, { limit: maxWithdrawnKeys });
  return present.map(({ value: { kid, createdAt } }) => {
    const state = kid === active ? "active" : kid === waiting?.kid ? "published" : "retired";
    return { kid, createdAt, state, changesAt: state === "retired" ? null : waiting?.signsFrom ?? null };
  });
}
