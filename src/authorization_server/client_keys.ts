/** Public keys of clients that authenticate by private_key_jwt: stored ones, or those at the client's jwks_uri. */
import type { Clock } from "../lib/clock.ts";
import type { ClientDirectory } from "./client_directory.ts";
import type { ClientCacheLimits } from "./context.ts";
import { parsePublicJwks, type PublicJwks } from "./jwks.ts";
import type { FetchDocument } from "./public_document.ts";
import type { Client } from "./records/client.ts";

/** Looks the keys of a client up. `anew` asks for them again, because the known ones did not fit. */
export type KeysOfClient = (client: Client, options: { readonly anew: boolean }) => Promise<PublicJwks | null>;

/** Builds the lookup. */
export function createClientKeys(options: {
  readonly clock: Clock;
  readonly fetchDocument: FetchDocument | undefined;
  readonly directory: ClientDirectory;
  readonly limits: Pick<ClientCacheLimits, "keySetSeconds" | "keySetRetrySeconds" | "maxKeySets">;
}): KeysOfClient {
  const { clock, fetchDocument, directory, limits } = options;
  const sets = new Map<string, { readonly jwks: PublicJwks | null; readonly fetchedAt: number }>();

  const fetchKeys = async (uri: string, anew: boolean): Promise<PublicJwks | null> => {
    const known = sets.get(uri);
    const age = known === undefined ? Infinity : clock() - known.fetchedAt;
    // A client that signs with nonsense must not make us fetch for every request.
    const keptSeconds = anew ? limits.keySetRetrySeconds : limits.keySetSeconds;
    if (known !== undefined && age < keptSeconds * 1_000) return known.jwks;
    const fetched = await fetchDocument?.(uri);
    const jwks = fetched?.ok ? parsePublicJwks(fetched.value.json) : known?.jwks ?? null;
    sets.delete(uri);
    const oldest = sets.keys().next();
    if (sets.size >= limits.maxKeySets && !oldest.done) sets.delete(oldest.value);
    sets.set(uri, { jwks, fetchedAt: clock() });
    return jwks;
  };
  return async (client, { anew }) => {
    if (client.jwksUri !== null) return await fetchKeys(client.jwksUri, anew);
    if (!anew || client.origin !== "metadata_document") return client.jwks;
    // Keys inside a metadata document rotate with the document.
    const found = await directory.findForAuthorization(client.id);
    return found.ok ? found.value.jwks : null;
  };
}
