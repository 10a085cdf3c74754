/**
 * Refresh tokens: opaque to clients, but recognisable as genuine long after they were replaced. Each is a MAC over its
 * family, its number and the family's salt, so a token has exactly one successor: that makes the grace window idempotent
 * across parallel requests and processes.
 */
import { equalInConstantTime, hashSecret, matchesHash, randomSecret, type SecretBox } from "../lib/secrets.ts";
import type { Lifetimes } from "./context.ts";
import type { Grant } from "./records.ts";

export type RefreshFamily = NonNullable<Grant["refresh"]>;

/** The parts of a refresh token. */
interface ParsedRefreshToken {
  readonly text: string;
  readonly grantId: string;
  readonly generation: number;
}

/** A presented token's state in its family. */
type RefreshVerdict =
  /** The current one: rotate. */
  | { readonly kind: "current" }
  /** Replaced within the grace window: return this generation again and change nothing. */
  | { readonly kind: "grace"; readonly generation: number }
  /** Replaced before the grace window: the token leaked (RFC 9700 §4.14.2). */
  | { readonly kind: "reused" }
  | { readonly kind: "expired" }
  | { readonly kind: "forged" };

const pattern = /^pcr_([0-9a-f]{32})_([1-9]\d{0,8})_[A-Za-z0-9_-]{43}$/;
const maxRotationsKept = 32;
/** Hosted clients refresh from several machines, up to 90 s apart. */
const refreshGraceSeconds = 120;
/** A grant's refresh tokens end this long after its approval, however often they rotate. */
export const refreshTokenLifetimeSeconds = 2_592_000;
/** A refresh token ends this long after its last use. */
export const refreshIdleLifetimeSeconds = 1_209_600;

/** Reads the parts of a refresh token; `null` for anything else. Proves nothing about it. */
export function parseRefreshToken(text: string): ParsedRefreshToken | null {
  const match = pattern.exec(text);
  return match === null ? null : { text, grantId: match[1] ?? "", generation: Number(match[2]) };
}

/** The one token of that family with that number. */
export function refreshTokenOf(secrets: SecretBox, grantId: string, salt: string, generation: number): string {
  const mac = secrets.authenticate("refresh-token", `${grantId}/${generation}/${salt}`);
  return `pcr_${grantId}_${generation}_${mac}`;
}

/** Starts a family; its first token has the number 1. */
export function startRefreshFamily(
  secrets: SecretBox,
  grantId: string,
  options: { readonly now: number; readonly lifetimes: Lifetimes },
): { readonly family: RefreshFamily; readonly token: string } {
  const salt = randomSecret();
  const token = refreshTokenOf(secrets, grantId, salt, 1);
  const endsAt = options.now + options.lifetimes.refreshTokenLifetimeSeconds * 1_000;
  const family = {
    generation: 1,
    salt,
    currentHash: hashSecret(token),
    endsAt,
    lastUsedAt: options.now,
    rotations: [],
  };
  return { family, token };
}

/** Judges a presented token. Only a genuine one can be `reused`: a forged one must not end a grant. */
export function judgeRefreshToken(
  secrets: SecretBox,
  presented: ParsedRefreshToken,
  family: RefreshFamily,
  options: {
    readonly now: number;
    /** By the agreed clock, which stamps rotations; `now` when absent. */
    readonly graceNow?: number;
    readonly lifetimes: Lifetimes;
  },
): RefreshVerdict {
  const { now, graceNow = now, lifetimes } = options;
  // The hash alone proves the current one, which may have been made under an earlier master key.
  const isCurrent = presented.generation === family.generation && matchesHash(presented.text, family.currentHash);
  const genuine = refreshTokenOf(secrets, presented.grantId, family.salt, presented.generation);
  if (!isCurrent && (presented.generation >= family.generation || !equalInConstantTime(genuine, presented.text))) {
    return { kind: "forged" };
  }
  if (now >= family.endsAt || now >= family.lastUsedAt + refreshIdleLifetimeSeconds * 1_000) {
    return { kind: "expired" };
  }
  if (isCurrent) return { kind: "current" };
  const rotation = family.rotations.find(({ generation }) => generation === presented.generation);
  if (rotation !== undefined && graceNow < rotation.at + graceMs(lifetimes)) {
    return { kind: "grace", generation: presented.generation + 1 };
  }
  return { kind: "reused" };
}

/** The family after its current token was used, and the new current token. */
export function rotateRefreshFamily(
  secrets: SecretBox,
  grantId: string,
  family: RefreshFamily,
  options: { readonly now: number; readonly graceNow: number; readonly lifetimes: Lifetimes },
): { readonly family: RefreshFamily; readonly token: string } {
  const { now, graceNow, lifetimes } = options;
  const token = refreshTokenOf(secrets, grantId, family.salt, family.generation + 1);
  const recent = family.rotations.filter(({ at }) => graceNow < at + graceMs(lifetimes));
  return {
    token,
    family: {
      ...family,
      generation: family.generation + 1,
      currentHash: hashSecret(token),
      lastUsedAt: now,
      rotations: [...recent, { generation: family.generation, at: graceNow }].slice(-maxRotationsKept),
    },
  };
}

function graceMs(lifetimes: Lifetimes): number {
  return 1_000 * (lifetimes.refreshGraceSeconds ?? refreshGraceSeconds);
}

/** When the stored grant may be forgotten: neither a refresh nor an access token of it can be alive then. */
export function grantExpiresAt(family: RefreshFamily | null, now: number, lifetimes: Lifetimes): number {
  const accessTokenEnd = now + lifetimes.accessTokenLifetimeSeconds * 1_000;
  if (family === null) return accessTokenEnd;
  const idleEnd = family.lastUsedAt + refreshIdleLifetimeSeconds * 1_000;
  return Math.max(Math.min(family.endsAt, idleEnd), accessTokenEnd);
}
