/** Moves stored records from one master key to another. */
import { resealAuditChains } from "../audit/mod.ts";
import { loadPublicCertificate } from "../http/mod.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { Clock } from "../lib/time.ts";
import { loadCompanyPeople, resealSigningKeys } from "../oauth/mod.ts";
import { loadLinkStore } from "../servicenow/mod.ts";
import { boundMark, masterKeyMark, rebindMasterKey, type Storage } from "../storage/mod.ts";

/**
 * Moves a database from one master key to another; nothing where it is not bound to `from`. Each record moves by itself
 * and the binding last, so that an interrupted change is taken up by doing it again.
 *
 * What is derived and not sealed needs nothing: refresh tokens in use are known by their hashes. MCP sessions, list
 * cursors, open forms and visits to the ServiceNow instance begin anew.
 */
export async function moveToMasterKey(
  { storage, clock }: { readonly storage: Storage; readonly clock: Clock },
  keys: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<void> {
  if (await boundMark(storage) !== masterKeyMark(keys.from)) return;
  await resealSigningKeys({ storage, clock }, keys);
  await resealAuditChains(storage, keys);
  await (await loadPublicCertificate()).resealCertificates(storage, keys);
  await (await loadLinkStore()).resealLinks(storage, keys);
  await (await loadCompanyPeople()).resealProviderTokens(storage, keys);
  await rebindMasterKey(storage, masterKeyMark(keys.to));
}
