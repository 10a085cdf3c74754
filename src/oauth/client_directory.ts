/** Finds clients: in storage, or by the metadata document at the URL that is their id. */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { isClientDocumentUrl } from "../lib/network.ts";
import { holdsSecretKey, parsePublicJwks } from "./signing_keys.ts";
import { classifyRedirectUri, isUsableRedirectUri } from "./redirect_uri.ts";
import { authorizationCodeLifetimeSeconds, authorizationRequestLifetimeSeconds, clients } from "./records.ts";
import type { Client } from "./records.ts";
import { hiddenText } from "./exchange.ts";
import { knownScopes, parseScope } from "./scope.ts";
import type { Timers } from "../lib/time.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { DocumentProblem } from "../lib/document_fetcher.ts";
import { hashSecret, randomId, randomSecret } from "../lib/secrets.ts";

/** Why there is no client of an id. */
type ClientProblem = "unknown_client" | ClientDocumentProblem | DocumentProblem;

const unreachableMs = 86_400_000;
/** Our own limit: anyone can reach it, so a withdrawn key must not live on by it. */
const overloadedMs = 900_000;

/** For how long the last keys count in a transient problem. With any other answer, they were withdrawn. */
export const borneMs: ReadonlyMap<ClientProblem, number> = new Map<ClientProblem, number>([
  ["unresolvable_host", unreachableMs],
  ["connection_failed", unreachableMs],
  ["timed_out", unreachableMs],
  ["host_unavailable", unreachableMs],
  ["too_many_fetches", overloadedMs],
]);

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

/**
 * `asker` is on whose behalf a document is fetched (see `FetchDocument`); `elapsed` says for how long one in memory is
 * fresh. Without `fetchDocument`, there are no metadata documents.
 */
export function createClientDirectory(
  { storage, secrets, clock, elapsed, log, fetchDocument }:
    & Pick<AuthorizationServerOptions, "storage" | "secrets" | "clock" | "log" | "fetchDocument">
    & Pick<Timers, "elapsed">,
) {
  const documents = boundedMap<string, KnownDocument>(maxDocuments);
  const fetchClient = async (id: string, asker: string): Promise<Result<Client, ClientProblem>> => {
    if (fetchDocument === undefined) return failure("unknown_client");
    const fetched = await fetchDocument(id, asker);
    const parsed = fetched.ok ? parseClientDocument(id, fetched.value.json, clock()) : fetched;
    if (!parsed.ok) {
      if (!borneMs.has(parsed.error)) documents.delete(id);
      const named = { host: new URL(id).host, client: hiddenText(secrets, id) };
      log.write("audit", "client_document", { outcome: "refused", reason: parsed.error, ...named });
      return parsed;
    }
    const maxAge = (fetched.ok ? fetched.value.maxAgeSeconds : null) ?? usualDocumentSeconds;
    const fetchedAt = elapsed();
    const freshUntil = fetchedAt + Math.min(maxAge, maxDocumentSeconds) * 1_000;
    documents.set(id, { client: parsed.value, fetchedAt, freshUntil });
    return parsed;
  };
  const stored = async (id: string): Promise<Client | null> => (await clients.read(storage, id))?.value ?? null;
  /** A metadata document is as fresh as its headers demand. */
  const findPublished = async (id: string, asker: string): Promise<Result<Client, ClientProblem>> => {
    const known = documents.get(id);
    return known !== undefined && elapsed() < known.freshUntil ? success(known.client) : await fetchClient(id, asker);
  };
  return {
    /** For a new authorization. */
    async findForAuthorization(id: string, asker: string): Promise<Result<Client, ClientProblem>> {
      if (isClientDocumentUrl(id)) return await findPublished(id, asker);
      const client = await stored(id);
      return client === null ? failure("unknown_client") : success(client);
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
     * For the keys of a client with a metadata document, so that a key that was withdrawn is worth nothing; while the
     * document cannot be reached, what was last read of it, for a day.
     */
    async findForKeys(id: string, asker: string): Promise<Client | null> {
      const published = await findPublished(id, asker);
      if (published.ok) return published.value;
      const known = documents.get(id);
      const isBorne = known !== undefined && elapsed() < known.fetchedAt + (borneMs.get(published.error) ?? 0);
      return isBorne ? known.client : null;
    },
  };
}

/** Drops members that are `null`, "" or []: clients serialise absent values like that. Non-objects stay as they are. */
export function withoutEmptyMembers(json: unknown): unknown {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  const isEmpty = (value: unknown): boolean =>
    value === null || value === "" || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(json).filter(([, value]) => !isEmpty(value)));
}

/** The keys of a client that signs: `jwks` or `jwks_uri`, never both (RFC 7591 §2). `null` where they cannot be used. */
export function readClientKeys(
  { jwks, jwks_uri: jwksUri }: { readonly jwks?: unknown; readonly jwks_uri?: string | undefined },
  authentication: Client["authentication"],
  mayFetch: boolean,
): Pick<Client, "jwks" | "jwksUri"> | null {
  if (holdsSecretKey(jwks)) return null;
  if (authentication !== "private_key_jwt") return { jwks: null, jwksUri: null };
  if (jwksUri !== undefined) {
    return jwks === undefined && mayFetch && isClientDocumentUrl(jwksUri) ? { jwks: null, jwksUri } : null;
  }
  const usable = parsePublicJwks(jwks);
  return usable === null ? null : { jwks: usable, jwksUri: null };
}

/** A new client from what it says of itself. Its secret, where it proves itself by one, is shown this once. */
export function newClient({ name, scope = "", ...given }: NewClient): { client: Client; secret: string | null } {
  const hasSecret = given.authentication !== "none" && given.authentication !== "private_key_jwt";
  const secret = hasSecret ? `pcs_${randomSecret()}` : null;
  const secretHash = secret === null ? null : hashSecret(secret);
  const texts = { name: cleanClientName(name), scopes: knownScopes(parseScope(scope)) };
  return { client: { id: `pcc_${randomId()}`, secretExpiresAt: 0, ...given, ...texts, secretHash }, secret };
}

type NewClient =
  & Omit<Client, "id" | "name" | "scopes" | "secretHash" | "secretExpiresAt">
  & Partial<Pick<Client, "id" | "secretExpiresAt">>
  & { readonly name: string | undefined; readonly scope: string | undefined };

const maxNameCharacters = 60;

/** Without control, bidirectional and zero-width characters, on one line, cut to a length; a stand-in when empty. */
function cleanClientName(name: string | undefined): string {
  const visible = (name ?? "").normalize("NFKC")
    .replace(/[\s\p{Z}]+/gu, " ")
    .replace(/[\p{C}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu, "")
    .trim();
  const short = [...visible].slice(0, maxNameCharacters).join("").trim();
  return short === "" ? "A client without a name" : short;
}

// Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document-00): the client_id is where they are.

const documentSchema = lazyObject(() => ({
  client_id: z.string(),
  client_name: z.string().min(1),
  redirect_uris: z.array(z.string()).min(1).max(20),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  token_endpoint_auth_method: z.enum(["none", "private_key_jwt"]).optional(),
  scope: z.string().optional(),
  jwks: z.unknown().optional(),
  jwks_uri: z.string().optional(),
  // §4.1: a public document cannot hold a secret.
  client_secret: z.undefined().optional(),
  client_secret_expires_at: z.undefined().optional(),
}));

/** Why a document describes no client. */
export type ClientDocumentProblem =
  | "malformed_document"
  | "client_id_mismatch"
  | "secret_in_document"
  | "unsupported_document_authentication"
  | "unsupported_document_grant"
  | "unusable_redirect_uri"
  | "unusable_keys";

/** Members whose rule is more than their type. */
const problemByMember: Readonly<Record<string, ClientDocumentProblem>> = {
  client_secret: "secret_in_document",
  client_secret_expires_at: "secret_in_document",
  token_endpoint_auth_method: "unsupported_document_authentication",
};

/** Turns a fetched document into a client, if it is the document of that very client_id. */
function parseClientDocument(clientId: string, json: unknown, now: number): Result<Client, ClientDocumentProblem> {
  const parsed = documentSchema.safeParse(withoutEmptyMembers(json));
  if (!parsed.success) {
    const [member] = parsed.error.issues[0]?.path ?? [];
    return failure(problemByMember[String(member)] ?? "malformed_document");
  }
  const document = parsed.data;
  if (document.client_id !== clientId) return failure("client_id_mismatch"); // §4: simple string comparison
  const named = [...new Set(document.redirect_uris)];
  const redirectUris = named.filter(isUsableRedirectUri);
  if (redirectUris.length === 0 || named.some((uri) => classifyRedirectUri(uri) === "forbidden")) {
    return failure("unusable_redirect_uri");
  }
  const grantTypes = (["authorization_code", "refresh_token"] as const)
    .filter((name) => document.grant_types?.includes(name) ?? true);
  if (!grantTypes.includes("authorization_code") || !(document.response_types?.includes("code") ?? true)) {
    return failure("unsupported_document_grant");
  }
  const authentication = document.token_endpoint_auth_method ?? "none";
  const keys = readClientKeys(document, authentication, true);
  if (keys === null) return failure("unusable_keys");
  const { client_name: name, scope } = document;
  const fixed = { id: clientId, origin: "metadata_document", registeredAt: now, usedAt: null } as const;
  return success(newClient({ ...fixed, name, scope, redirectUris, grantTypes, authentication, ...keys }).client);
}
