/** JWK sets that clients give us (RFC 7517): public signature keys and nothing else. */
import * as z from "zod";
import { isObject, parseJson } from "../lib/json.ts";

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
const looseSetSchema = z.lazy(() => z.object({ keys: z.array(z.unknown()) }));

/** Whether a JWK set, given as JSON text or as a value, holds a private or symmetric key: no public place for one. */
export function holdsSecretKey(source: unknown): boolean {
  const parsed = looseSetSchema.safeParse(typeof source === "string" ? parseJson(source) : source);
  return parsed.success &&
    parsed.data.keys.some((key) =>
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
