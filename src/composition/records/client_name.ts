/** What a client is called, from what is stored of it; no document is fetched for it. */
import { clients } from "../../authorization_server/records/client.ts";
import { operatorClientId } from "../../authorization_server/token/operator_token.ts";
import type { Storage } from "../../storage/port.ts";

export async function readClientName(storage: Storage, clientId: string): Promise<string | null> {
  if (clientId === operatorClientId) return "a token of the command line";
  const stored = await clients.read(storage, clientId).catch(() => null);
  return stored?.value.name ?? URL.parse(clientId)?.host ?? null;
}
