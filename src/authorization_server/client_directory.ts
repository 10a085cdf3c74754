/** Looks clients up, wherever they come from: storage, or a metadata document at the URL that is their id. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Storage } from "../storage/port.ts";
import { type ClientDocumentProblem, isClientDocumentUrl, parseClientDocument } from "./client_metadata_document.ts";
import type { Lifetimes, Limits } from "./context.ts";
import type { DocumentProblem, FetchDocument } from "./public_document.ts";
import { type Client, clients } from "./records/client.ts";

/** Why there is no client of an id. */
export type ClientProblem = "unknown_client" | ClientDocumentProblem | DocumentProblem;

/** Finds clients. */
export interface ClientDirectory {
  /** For a new authorization: a metadata document is as fresh as its headers demand. */
  findForAuthorization(id: string): Promise<Result<Client, ClientProblem>>;
  /** For a step that follows: the client as it was when the person saw it. */
  find(id: string): Promise<Client | null>;
}

interface KnownDocument {
  readonly client: Client;
  readonly fetchedAt: number;
  readonly freshUntil: number;
}

/** Builds the directory; without `fetchDocument` there are no metadata documents. */
export function createClientDirectory(options: {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetchDocument: FetchDocument | undefined;
  readonly limits: Pick<Limits, "clientCaches">;
  readonly lifetimes: Pick<Lifetimes, "authorizationRequestLifetimeSeconds" | "authorizationCodeLifetimeSeconds">;
}): ClientDirectory {
  const { storage, clock, log, fetchDocument, lifetimes } = options;
  const { documentSeconds, maxDocumentSeconds, maxDocuments } = options.limits.clientCaches;
  // As long as a person may think about the consent page, and its code lives, the document that it shows stays the same.
  const followUpSeconds = lifetimes.authorizationRequestLifetimeSeconds + lifetimes.authorizationCodeLifetimeSeconds;
  const documents = new Map<string, KnownDocument>();

  const remember = (document: KnownDocument): void => {
    documents.delete(document.client.id);
    const oldest = documents.keys().next();
    if (documents.size >= maxDocuments && !oldest.done) documents.delete(oldest.value);
    documents.set(document.client.id, document);
  };
  const fetchClient = async (id: string): Promise<Result<Client, ClientProblem>> => {
    if (fetchDocument === undefined) return failure("unknown_client");
    const fetched = await fetchDocument(id);
    const now = clock();
    const parsed = fetched.ok ? parseClientDocument(id, fetched.value.json, now) : fetched;
    if (!parsed.ok) {
      // A failure is not remembered: the next attempt asks again.
      log.write("audit", "client_document", { outcome: "refused", reason: parsed.error, client: id });
      return parsed;
    }
    const maxAge = fetched.ok ? fetched.value.maxAgeSeconds : 0;
    const freshUntil = now + Math.min(maxAge ?? documentSeconds, maxDocumentSeconds) * 1_000;
    remember({ client: parsed.value, fetchedAt: now, freshUntil });
    return parsed;
  };
  const stored = async (id: string): Promise<Client | null> => (await clients.read(storage, id))?.value ?? null;

  return {
    async findForAuthorization(id) {
      if (!isClientDocumentUrl(id)) {
        const client = id === "" ? null : await stored(id);
        return client === null ? failure("unknown_client") : success(client);
      }
      const known = documents.get(id);
      return known !== undefined && clock() < known.freshUntil ? success(known.client) : await fetchClient(id);
    },
    async find(id) {
      if (!isClientDocumentUrl(id)) return await stored(id);
      const known = documents.get(id);
      const now = clock();
      if (known !== undefined && (now < known.freshUntil || now < known.fetchedAt + followUpSeconds * 1_000)) {
        return known.client;
      }
      // A client that somebody approved keeps working while its document cannot be reached.
      const approved = await stored(id);
      if (approved !== null) return approved;
      const fetched = await fetchClient(id);
      return fetched.ok ? fetched.value : null;
    },
  };
}
