/** Keys that sign access tokens. The private half is sealed under the installation's master key. */
import * as z from "zod";
import { defineRecordFamily } from "./record_family.ts";

const signingKeySchema = z.lazy(() =>
  z.object({
    kid: z.string(),
    /** RFC 8037 §2: an Ed25519 public key as a JWK, without `d`. */
    publicJwk: z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string() }),
    sealedPrivateJwk: z.string(),
    createdAt: z.number(),
  })
);

export type SigningKey = z.output<typeof signingKeySchema>;

/** `["signing_key", kid]`; a retired one expires when the last token that it signed has ended. */
export const signingKeys = defineRecordFamily("signing_key", signingKeySchema);

const currentSigningKeySchema = z.lazy(() =>
  z.object({
    kid: z.string(),
    /** A key that is published already, and from when on it signs instead. */
    next: z.object({ kid: z.string(), signsFrom: z.number() }).optional(),
  })
);

/** Which key signs, and from when on another does. */
type CurrentSigningKey = z.output<typeof currentSigningKeySchema>;

/** `["current_signing_key", "kid"]`: which key signs. */
export const currentSigningKey = defineRecordFamily("current_signing_key", currentSigningKeySchema);

/** The key that signs at a moment. Every instance comes to the same by its clock, and nothing has to be written then. */
export function signingKidAt({ kid, next }: CurrentSigningKey, now: number): string {
  return next !== undefined && next.signsFrom <= now ? next.kid : kid;
}
