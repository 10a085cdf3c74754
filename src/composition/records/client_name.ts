/** What a client is called, from what is stored of it; no document is fetched for it. */
import { clients } from "../../authorization_server/records/client.ts";
import type { Storage } from "../../storage/port.ts";

export async function readClientName(storage: Storage, clientId: string): Promise<string | null> {
  const stored = await clients.read(storage, clientId).catch(() => null);
  return stored?.value.name ?? URL.parse(clientId)?.host ?? null;
}
