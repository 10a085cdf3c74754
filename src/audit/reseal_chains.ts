/** Change of the master key: authenticates every chain anew. One that was changed stays without a valid MAC. */
import type { SecretBox } from "../lib/secret_box.ts";
import type { Storage, StorageKey } from "../storage/port.ts";
import { chainsKey, isGenuine, macOfCheckpoint, maxChains, parseChain, sealHead } from "./chain.ts";

/** May be repeated, and interrupted at any point. */
export async function resealAuditChains(
  storage: Storage,
  keys: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<void> {
  for (const { key } of await storage.list(chainsKey, { limit: maxChains })) {
    while (!await resealChain(storage, key, keys));
  }
}

/** `false` when the chain was added to meanwhile. */
async function resealChain(
  storage: Storage,
  key: StorageKey,
  { from, to }: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<boolean> {
  const entry = await storage.get(key);
  const chain = parseChain(entry?.value);
  const name = key.at(-1) ?? "";
  if (entry === null || chain === null || !isGenuine(from, name, chain)) return true;
  const { removed } = chain;
  const value = sealHead(to, name, {
    ...chain,
    removed: removed === null ? null : { ...removed, mac: macOfCheckpoint(to, name, removed) },
  });
  return await storage.commit({ checks: [{ key, version: entry.version }], puts: [{ key, value }] });
}
