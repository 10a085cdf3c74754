/** Keys that sign access tokens. The private half is sealed under the installation's master key. */
import { z } from "zod";
import { defineRecordFamily, type RecordFamily } from "../record_family.ts";

const signingKeySchema = z.object({
  kid: z.string(),
  /** RFC 8037 §2: an Ed25519 public key as a JWK, without `d`. */
  publicJwk: z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string() }),
  sealedPrivateJwk: z.string(),
  createdAt: z.number(),
});

/** A stored signing key. */
export type SigningKey = z.output<typeof signingKeySchema>;

/** `["signing_key", kid]`; a retired one expires when the last token that it signed has ended. */
export const signingKeys: RecordFamily<SigningKey> = defineRecordFamily("signing_key", signingKeySchema);

/** `["current_signing_key", "kid"]`: which key signs. */
export const currentSigningKey: RecordFamily<{ kid: string }> = defineRecordFamily(
  "current_signing_key",
  z.object({ kid: z.string() }),
);
