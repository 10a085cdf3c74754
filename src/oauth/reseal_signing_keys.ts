/** A change of the master key, for signing keys: their private halves sealed anew. */
import type { Clock } from "../lib/clock.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Storage } from "../storage/port.ts";
import { unchanged } from "./records/record_family.ts";
import { currentSigningKey, signingKeys } from "./records/signing_key.ts";
import { sealPurpose } from "./signing_keys.ts";

/** The longest life of an access token, and so of a key that signs no more. */
const longestOverlapMs = 86_400_000;

/** Seals what opens with `from` under `to`, and says how many. May be repeated, and interrupted at any point. */
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
