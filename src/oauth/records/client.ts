/** OAuth clients: registered by themselves (RFC 7591) or made by the operator. */
import * as z from "zod";
import type { Storage, VersionCheck } from "../../storage/port.ts";
import { defineRecordFamily, unchanged } from "./record_family.ts";

const clientSchema = z.lazy(() =>
  z.object({
    id: z.string(),
    /** Cleaned for display; what a registered client says of itself is never verified. */
    name: z.string(),
    origin: z.enum(["registered", "operator", "metadata_document"]),
    redirectUris: z.array(z.string()),
    grantTypes: z.array(z.enum(["authorization_code", "refresh_token", "client_credentials"])),
    /** `client_secret_any`: no method was registered, so basic and post both do (ServiceNow omits it). */
    authentication: z.enum([
      "none",
      "client_secret_basic",
      "client_secret_post",
      "client_secret_any",
      "private_key_jwt",
    ]),
    /** SHA-256 of the client secret, for the methods that have one. */
    secretHash: z.string().nullable(),
    /** Milliseconds since the epoch; 0 when the secret never expires. */
    secretExpiresAt: z.number(),
    /** Scopes named at registration: the default of an authorization request, the limit of client credentials. */
    scopes: z.array(z.string()),
    /** Public keys for private_key_jwt. */
    jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).nullable(),
    jwksUri: z.string().nullable(),
    registeredAt: z.number(),
    /** When a user first approved it; `null` means unused, and unused clients expire. */
    usedAt: z.number().nullable(),
    /** Registered by a holder of the registration token; earlier versions do without. */
    isVouchedFor: z.boolean().optional(),
    /** When the metadata document was last read for its keys; earlier versions do without. */
    documentSeenAt: z.number().optional(),
  })
);

/** A client of the authorization server. */
export type Client = z.output<typeof clientSchema>;

/** `["client", id]`; expires while unused. */
export const clients = defineRecordFamily("client", clientSchema);

/** `["unused_client", registration time, id]`: the unused clients, oldest first. */
export const unusedClients = defineRecordFamily("unused_client", z.lazy(() => z.object({ clientId: z.string() })));

/** Where an unused client stands in {@link unusedClients}. */
export function unusedClientId(client: Pick<Client, "id" | "registeredAt">): [string, string] {
  return [String(client.registeredAt).padStart(15, "0"), client.id];
}

/**
 * The condition for a client that was authenticated a moment ago; `null` when it was removed since. A metadata document
 * has no record before its first approval and after its last one ran out: then it has to stay without.
 */
export async function clientStillThere(storage: Storage, client: Client): Promise<VersionCheck | null> {
  const stored = await clients.read(storage, client.id);
  if (stored !== null) return unchanged(stored);
  return client.origin === "metadata_document" ? { key: clients.key(client.id), version: null } : null;
}
