/** Keeps registered clients within bounds: unused ones expire, and make room for new ones; used ones are never touched. */
import type { AuthorizationServerOptions } from "./context.ts";
import { type Client, clients, unusedClientId, unusedClients } from "./records/client.ts";
import { conflict, retryOnConflict, unchanged } from "./records/record_family.ts";

/** Registered clients that no user has approved yet. */
const maxUnusedClients = 1_000;
const unusedClientLifetimeSeconds = 2_592_000;
/** An unused client younger than this is not evicted to make room. */
const unusedClientGraceSeconds = 3_600;

/** Stores a new client. `false` when too many unused ones are too young to be evicted. */
export function storeRegisteredClient(
  { storage, limits = {}, clock }: Pick<AuthorizationServerOptions, "storage" | "limits" | "clock">,
  client: Client,
): Promise<boolean> {
  const { maxUnusedClients: max = maxUnusedClients } = limits;
  return retryOnConflict(async () => {
    const now = clock();
    const expiresAt = now + unusedClientLifetimeSeconds * 1_000;
    const puts = [
      clients.put(client.id, client, expiresAt),
      unusedClients.put(unusedClientId(client), { clientId: client.id }, expiresAt),
    ];
    const unused = await unusedClients.list(storage, { limit: max });
    const oldest = unused[0];
    if (unused.length < max || oldest === undefined) {
      await storage.commit({ puts });
      return true;
    }
    const victim = await clients.read(storage, oldest.value.clientId);
    // A flood of registrations must not push out a client whose user is just reading the consent page.
    if (victim !== null && now - victim.value.registeredAt < unusedClientGraceSeconds * 1_000) return false;
    const evicted = await storage.commit({
      checks: [unchanged(oldest), ...(victim === null ? [] : [unchanged(victim)])],
      deletes: [oldest.key, ...(victim === null ? [] : [victim.key])],
      puts,
    });
    return evicted ? true : conflict;
  });
}
