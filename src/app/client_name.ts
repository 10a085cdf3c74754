/** What a client is called, from what is stored of it; no document is fetched for it. */
import { clients } from "../oauth/records/client.ts";
import { operatorClientId } from "../oauth/operator_token.ts";
import type { Storage } from "../storage/port.ts";

const operatorName = "a token of the command line";

/** What the tokens of the command line are called; `undefined` for other clients. */
export function nameOfOperator(clientId: string): string | undefined {
  return clientId === operatorClientId ? operatorName : undefined;
}

export async function readClientName(storage: Storage, clientId: string): Promise<string | null> {
  const operator = nameOfOperator(clientId);
  if (operator !== undefined) return operator;
  const stored = await clients.read(storage, clientId).catch(() => null);
  return stored?.value.name ?? URL.parse(clientId)?.host ?? null;
}
