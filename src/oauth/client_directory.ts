/** Finds clients: in storage, or by the metadata document at the URL that is their id. */
import type { Clock } from "../lib/time.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import {
  authorizationCodeLifetimeSeconds,
  authorizationRequestLifetimeSeconds,
  type Client,
  clients,
  type Stored,
  unchanged,
} from "./records.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { isClientDocumentUrl } from "../lib/client_document_url.ts";
import { type ClientDocumentProblem, parseClientDocument } from "./client_metadata.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { DocumentProblem, FetchDocument } from "../lib/document_fetcher.ts";
import { hiddenText } from "./refusal.ts";

/** Why there is no client of an id. */
type ClientProblem = "unknown_client" | ClientDocumentProblem | DocumentProblem;

/** Transient problems. A publisher who answers with something else has withdrawn the document. */
const unreachable: ReadonlySet<ClientProblem> = new Set<ClientProblem>([
  "unresolvable_host",
  "connection_failed",
  "timed_out",
  "host_unavailable",
]);
const unreachableMs = 86_400_000;
/** That a document still says the same is noted no oftener than this. */
const noteSeenMs = 3_600_000;

/** Lifetime of a document whose headers name none. */
const usualDocumentSeconds = 300;
const maxDocumentSeconds = 3_600;
const maxDocuments = 500;
/** The document stays the same while a user looks at the consent page, and while its code lives. */
const followUpSeconds = authorizationRequestLifetimeSeconds + authorizationCodeLifetimeSeconds;

interface KnownDocument {
  readonly client: Client;
  readonly fetchedAt: number;
  readonly freshUntil: number;
}

export type ClientDirectory = ReturnType<typeof createClientDirectory>;

/** `asker` is on whose behalf a document is fetched, see {@link FetchDocument}; without `fetchDocument` there are no metadata documents. */
export function createClientDirectory(
  options: Pick<AuthorizationServerOptions, "storage" | "secrets" | "clock" | "log" | "lifetimes"> & {
    /** For how long documents in memory are fresh. */
    readonly elapsed: Clock;
    readonly fetchDocument: FetchDocument | undefined;
  },
) {
  const { storage, secrets, clock, elapsed, log, fetchDocument, lifetimes } = options;
  const documents = boundedMap<string, KnownDocument>(maxDocuments);

  const fetchClient = async (id: string, asker: string): Promise<Result<Client, ClientProblem>> => {
    if (fetchDocument === undefined) return failure("unknown_client");
    const fetched = await fetchDocument(id, asker);
    const now = clock();
    const parsed = fetched.ok ? parseClientDocument(id, fetched.value.json, now) : fetched;
    if (!parsed.ok) {
      const client = hiddenText(secrets, id);
      log.write("audit", "client_document", {
        outcome: "refused",
        reason: parsed.error,
        host: new URL(id).host,
        client,
      });
      return parsed;
    }
    const maxAge = fetched.ok ? fetched.value.maxAgeSeconds : 0;
    const fetchedAt = elapsed();
    const freshUntil = fetchedAt + Math.min(maxAge ?? usualDocumentSeconds, maxDocumentSeconds) * 1_000;
    documents.set(id, { client: parsed.value, fetchedAt, freshUntil });
    return parsed;
  };
  const stored = async (id: string): Promise<Client | null> => (await clients.read(storage, id))?.value ?? null;

  const findPublished = async (id: string, asker: string): Promise<Result<Client, ClientProblem>> => {
    const known = documents.get(id);
    return known !== undefined && elapsed() < known.freshUntil ? success(known.client) : await fetchClient(id, asker);
  };
  /** So that a key that was seen withdrawn stays so while the document cannot be reached, after a restart too. */
  const keepKeys = async (approved: Stored<Client>, { authentication, jwks, jwksUri, registeredAt }: Client) => {
    const { documentSeenAt, usedAt } = approved.value;
    if (usedAt === null) return;
    const isSame = JSON.stringify([approved.value.jwks, approved.value.jwksUri]) === JSON.stringify([jwks, jwksUri]);
    if (isSame && registeredAt < (documentSeenAt ?? usedAt) + noteSeenMs) return;
    const kept = { ...approved.value, authentication, jwks, jwksUri, documentSeenAt: registeredAt };
    await storage.commit({
      checks: [unchanged(approved)],
      puts: [clients.put(kept.id, kept, usedAt + lifetimes.refreshTokenLifetimeSeconds * 1_000)],
    });
  };

  return {
    /** For a new authorization: a metadata document is as fresh as its headers demand. */
    async findForAuthorization(id: string, asker: string): Promise<Result<Client, ClientProblem>> {
      if (!isClientDocumentUrl(id)) {
        const client = id === "" ? null : await stored(id);
        return client === null ? failure("unknown_client") : success(client);
      }
      return await findPublished(id, asker);
    },
    /** For a step that follows: the client as it was when the user saw it. */
    async find(id: string, asker: string): Promise<Client | null> {
      if (!isClientDocumentUrl(id)) return await stored(id);
      const known = documents.get(id);
      const now = elapsed();
      if (known !== undefined && (now < known.freshUntil || now < known.fetchedAt + followUpSeconds * 1_000)) {
        return known.client;
      }
      // An approved client keeps working while its document cannot be reached.
      const approved = await stored(id);
      if (approved !== null) return approved;
      const fetched = await fetchClient(id, asker);
      return fetched.ok ? fetched.value : null;
    },
    /**
     * For the keys of a client with a metadata document: the document as fresh as its headers demand, so that a key that
     * was withdrawn is worth nothing; while it cannot be reached, what was last read of it, for a day.
     */
    async findForKeys(id: string, asker: string): Promise<Client | null> {
      const published = await findPublished(id, asker);
      const approved = await clients.read(storage, id);
      if (published.ok) {
        if (approved !== null) await keepKeys(approved, published.value);
        return published.value;
      }
      if (!unreachable.has(published.error) || approved === null) return null;
      const { documentSeenAt, usedAt } = approved.value;
      return clock() < (documentSeenAt ?? usedAt ?? 0) + unreachableMs ? approved.value : null;
    },
  };
}
