/** Public keys of clients that authenticate by private_key_jwt: stored ones, or those at the client's jwks_uri. */
import { boundedMap } from "../lib/bounded_map.ts";
import type { Clock } from "../lib/clock.ts";
import type { ClientDirectory } from "./client_directory.ts";
import { parsePublicJwks, type PublicJwks } from "./jwks.ts";
import type { FetchDocument } from "./document_fetcher.ts";
import type { Client } from "./records/client.ts";

/** Looks the keys of a client up. `anew` asks for them again, because the known ones did not fit. */
export type KeysOfClient = (
  client: Client,
  options: { readonly anew: boolean; readonly asker: string },
) => Promise<PublicJwks | null>;

const keySetFreshMs = 600_000;
/** Keys that fit no signature are fetched again after this long at the earliest. */
const keySetRetryMs = 60_000;
const maxKeySets = 200;
/** While a jwks_uri cannot be read, what was last read there counts for so long. */
const unreadableMs = 86_400_000;

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
}): KeysOfClient {
  const { clock, fetchDocument, directory } = options;
  const sets = boundedMap<string, KeySet>(maxKeySets);

  const fetchKeys = async (uri: string, anew: boolean, asker: string): Promise<PublicJwks | null> => {
    const known = sets.get(uri);
    const age = known === undefined ? Infinity : clock() - known.fetchedAt;
    // A client that signs with nonsense must not make us fetch for every request.
    if (known !== undefined && age < (anew ? keySetRetryMs : keySetFreshMs)) return known.jwks;
    const fetched = await fetchDocument?.(uri, asker);
    const now = clock();
    const isStillGood = known !== undefined && now < known.seenAt + unreadableMs;
    const jwks = fetched?.ok ? parsePublicJwks(fetched.value.json) : isStillGood ? known.jwks : null;
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
