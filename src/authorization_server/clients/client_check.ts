/** The condition that a client is still there: for commits that must not overtake its removal. */
import type { Storage, VersionCheck } from "../../storage/port.ts";
import { unchanged } from "../records/record_family.ts";
import { type Client, clients } from "../records/client.ts";

/**
 * The condition for a client that was authenticated a moment ago; `null` when it was removed since. A metadata document
 * has no record before its first approval and after its last one ran out: then it has to stay without.
 */
export async function clientStillThere(storage: Storage, client: Client): Promise<VersionCheck | null> {
  const stored = await clients.read(storage, client.id);
  if (stored !== null) return unchanged(stored);
  return client.origin === "metadata_document" ? { key: clients.key(client.id), version: null } : null;
}
