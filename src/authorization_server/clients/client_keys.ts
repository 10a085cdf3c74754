/** Public keys of clients that authenticate by private_key_jwt: stored ones, or those at the client's jwks_uri. */
import type { Clock } from "../../lib/time/clock.ts";
import type { ClientDirectory } from "./client_directory.ts";
import type { ClientCacheLimits } from "../context.ts";
import { parsePublicJwks, type PublicJwks } from "../keys/jwks.ts";
import type { FetchDocument } from "../documents/document_fetcher.ts";
import type { Client } from "../records/client.ts";

/** Looks the keys of a client up. `anew` asks for them again, because the known ones did not fit. */
export type KeysOfClient = (
  client: Client,
  options: { readonly anew: boolean; readonly asker: string },
) => Promise<PublicJwks | null>;

/** While a jwks_uri cannot be read, what was last read there counts for so long. */
const unreadableMilliseconds = 86_400_000;

interface KeySet {
  readonly jwks: PublicJwks | null;
  readonly fetchedAt: number;
  /** When these very keys were there. */
  readonly seenAt: number;
}

export function createClientKeys(options: {
  /** Only differences are used. */
  readonly clock: Clock;
  readonly fetchDocument: FetchDocument | undefined;
  readonly directory: ClientDirectory;
  readonly limits: Pick<ClientCacheLimits, "keySetSeconds" | "keySetRetrySeconds" | "maxKeySets">;
}): KeysOfClient {
  const { clock, fetchDocument, directory, limits } = options;
  const sets = new Map<string, KeySet>();

  const fetchKeys = async (uri: string, anew: boolean, asker: string): Promise<PublicJwks | null> => {
    const known = sets.get(uri);
    const age = known === undefined ? Infinity : clock() - known.fetchedAt;
    // A client that signs with nonsense must not make us fetch for every request.
    const keptSeconds = anew ? limits.keySetRetrySeconds : limits.keySetSeconds;
    if (known !== undefined && age < keptSeconds * 1_000) return known.jwks;
    const fetched = await fetchDocument?.(uri, asker);
    const now = clock();
    const isStillGood = known !== undefined && now < known.seenAt + unreadableMilliseconds;
    const jwks = fetched?.ok ? parsePublicJwks(fetched.value.json) : isStillGood ? known.jwks : null;
    sets.delete(uri);
    const oldest = sets.keys().next();
    if (sets.size >= limits.maxKeySets && !oldest.done) sets.delete(oldest.value);
    sets.set(uri, { jwks, fetchedAt: now, seenAt: fetched?.ok ? now : known?.seenAt ?? -Infinity });
    return jwks;
  };
  return async (client, { anew, asker }) => {
    // Keys of a metadata document rotate with the document.
    const current = client.origin === "metadata_document" ? await directory.findForKeys(client.id, asker) : client;
    if (current === null) return null;
    return current.jwksUri === null ? current.jwks : await fetchKeys(current.jwksUri, anew, asker);
  };
}
