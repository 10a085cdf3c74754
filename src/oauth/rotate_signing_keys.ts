/**
 * The life of signing keys: published, so that verifiers learn it; active; retired, until the last token that it signed
 * has ended; gone. A key that may have leaked is withdrawn at once instead.
 */
import { conflict, retryOnConflict, unchanged } from "./records/record_family.ts";
import { currentSigningKey, signingKeys, signingKidAt } from "./records/signing_key.ts";
import { makeSigningKey, type SigningKeyOptions } from "./signing_keys.ts";

/** How long a new key is published before it signs: longer than verifiers keep the JWK set (RFC 7517 §5). */
const newKeyLeadSeconds = 900;

export interface RotationPace {
  /** How long a key verifies after the next one signs: the life of an access token. */
  readonly overlapSeconds: number;
  readonly leadSeconds?: number;
}

/** What became of a rotation. */
export type Rotation =
  /** The new key is in the JWK set, and signs from then on. */
  | {
    readonly kind: "published";
    readonly kid: string;
    readonly signsFrom: number;
    /** When the key before it verifies no more; `null` when there was none. */
    readonly previousUntil: number | null;
  }
  /** Nothing was changed: another new key waits for its time already. */
  | { readonly kind: "under_way"; readonly kid: string; readonly signsFrom: number };

/** One key as lists show it. */
export interface SigningKeyState {
  readonly kid: string;
  readonly state: "published" | "active" | "retired";
  readonly createdAt: number;
  /** When a published key begins to sign, and the active one ends; `null` while nothing is planned. */
  readonly changesAt: number | null;
}

/** Another instance's clock may be this far behind, and sign with the old key for so much longer. */
const clockToleranceMs = 300_000;
const maxWithdrawnKeys = 90; // one batch

/** Publishes a new key, which signs when `leadSeconds` are over; a first key signs at once. One commit says it all. */
export function rotateSigningKeys(
  options: SigningKeyOptions,
  { overlapSeconds, leadSeconds = newKeyLeadSeconds }: RotationPace,
): Promise<Rotation> {
  const { storage, clock } = options;
  return retryOnConflict(async (): Promise<Rotation | typeof conflict> => {
    const current = await currentSigningKey.read(storage, "kid");
    const now = clock();
    const next = current?.value.next;
    if (next !== undefined && next.signsFrom > now) return { kind: "under_way", ...next };
    const key = await makeSigningKey(options);
    const kid = current === null ? key.kid : signingKidAt(current.value, now);
    const signsFrom = current === null ? now : now + leadSeconds * 1_000;
    const previousUntil = signsFrom + overlapSeconds * 1_000 + clockToleranceMs;
    const previous = current === null ? null : await signingKeys.read(storage, kid);
    const rotated = await storage.commit({
      checks: [current === null ? { key: currentSigningKey.key("kid"), version: null } : unchanged(current)],
      puts: [
        ...(previous === null ? [] : [signingKeys.put(kid, previous.value, previousUntil)]),
        signingKeys.put(key.kid, key),
        currentSigningKey.put("kid", current === null ? { kid } : { kid, next: { kid: key.kid, signsFrom } }),
      ],
    });
    return rotated
      ? { kind: "published", kid: key.kid, signsFrom, previousUntil: previous === null ? null : previousUntil }
      : conflict;
  });
}

/**
 * Makes a key that signs at once and withdraws all others, for when one may be in other hands: every access token ends
 * now, since none can be told from a forged one. Clients get new ones for their refresh tokens.
 */
export function replaceSigningKeys(
  options: SigningKeyOptions,
): Promise<{ readonly kid: string; readonly withdrawn: readonly string[] }> {
  const { storage } = options;
  return retryOnConflict(async () => {
    const current = await currentSigningKey.read(storage, "kid");
    const present = await signingKeys.list(storage, { limit: maxWithdrawnKeys });
    const key = await makeSigningKey(options);
    const replaced = await storage.commit({
      checks: [current === null ? { key: currentSigningKey.key("kid"), version: null } : unchanged(current)],
      puts: [signingKeys.put(key.kid, key), currentSigningKey.put("kid", { kid: key.kid })],
      deletes: present.map((stored) => stored.key),
    });
    return replaced ? { kid: key.kid, withdrawn: present.map(({ value }) => value.kid) } : conflict;
  });
}

/** The keys that there are, and in which part of their life each is. */
export async function listSigningKeys(
  { storage, clock }: Pick<SigningKeyOptions, "storage" | "clock">,
): Promise<SigningKeyState[]> {
  const current = await currentSigningKey.read(storage, "kid");
  if (current === null) return [];
  const active = signingKidAt(current.value, clock());
  const { next } = current.value;
  const waiting = next === undefined || next.kid === active ? null : next;
  const present = await signingKeys.list(storage, { limit: maxWithdrawnKeys });
  return present.map(({ value: { kid, createdAt } }) => ({
    kid,
    createdAt,
    state: kid === active ? "active" : kid === waiting?.kid ? "published" : "retired",
    changesAt: kid === active || kid === waiting?.kid ? waiting?.signsFrom ?? null : null,
  }));
}
