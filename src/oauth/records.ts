/**
 * Stored records: each family has one key prefix, and one schema that everything read is parsed with. Families with one
 * user stand beside it; these are shared by several.
 */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import { pagesBelow } from "../lib/stored_entries.ts";
import { parseStored } from "../lib/system_fault.ts";
import type { Batch, Put, Storage, StorageKey, StoredEntry, VersionCheck } from "../storage/mod.ts";

/** A record as it was read, with the version that a later commit may insist on. */
export type Stored<T> = Omit<StoredEntry, "value"> & { readonly value: T };

type RecordId = readonly [string, ...string[]];

/** What the records of a family hold. */
export type RecordOf<Family extends { readonly put: (id: string, value: never) => Put }> = Parameters<Family["put"]>[1];

/** Typed access to the entries below one prefix. Reading throws when an entry does not fit its shape. */
export function defineRecordFamily<Shape extends z.ZodRawShape>(name: string, shape: () => Shape) {
  type Value = z.output<z.ZodObject<Shape>>;
  const schema = lazyObject(shape);
  const parse = (entry: StoredEntry): Stored<Value> => ({ ...entry, value: parseStored(schema, entry.value, name) });
  return {
    key: (...id: RecordId): StorageKey => [name, ...id],
    async read(storage: Storage, ...id: RecordId): Promise<Stored<Value> | null> {
      const entry = await storage.get([name, ...id]);
      return entry === null ? null : parse(entry);
    },
    /** The records below `id`, or of the whole family, in key order; those `after` a key. */
    async list(
      storage: Storage,
      { below = [], ...range }: {
        readonly limit: number;
        readonly below?: readonly string[];
        readonly after?: StorageKey;
      },
    ): Promise<Stored<Value>[]> {
      return (await storage.list([name, ...below], range)).map(parse);
    },
    /** All records below `id`, or of the whole family, page by page. */
    async *all(storage: Storage, ...below: string[]): AsyncGenerator<Stored<Value>> {
      for await (const page of pagesBelow(storage, [name, ...below])) yield* page.map(parse);
    },
    put(id: string | RecordId, value: Value, expiresAt?: number): Put {
      const key: StorageKey = typeof id === "string" ? [name, id] : [name, ...id];
      return expiresAt === undefined ? { key, value } : { key, value, expiresAt };
    },
    /** The condition that a record is still as it was read: there, or (`null`) not there. */
    check: (stored: Stored<Value> | null, ...id: RecordId): VersionCheck => ({
      key: [name, ...id],
      version: stored?.version ?? null,
    }),
  };
}

/** The condition that a record is still as it was read. */
export function unchanged(stored: Stored<unknown>): VersionCheck {
  return { key: stored.key, version: stored.version };
}

/** What an attempt returns when its commit lost the race. */
export const conflict: unique symbol = Symbol("conflict");

const maxAttempts = 50;

/** Repeats `attempt` until it returns anything but {@link conflict}; throws after too many tries. */
export async function retryOnConflict<T>(attempt: () => Promise<T | typeof conflict>): Promise<T> {
  for (let count = 0; count < maxAttempts; count++) {
    const outcome = await attempt();
    if (outcome !== conflict) return outcome as T;
  }
  throw new Error(`Storage contention: ${maxAttempts} attempts of one change were overtaken`);
}

// Authorization codes. A redeemed one stays as a mark until its grant ends, so that a replay is noticed.

/** `["authorization_code", SHA-256 of the code]`, expiring. */
export const authorizationCodes = defineRecordFamily("authorization_code", () => ({
  grantId: z.string(),
  clientId: z.string(),
  userId: z.string(),
  /** The account's credential hash at the time of consent: a passphrase changed since then voids the code. */
  credentialHash: z.string(),
  redirectUri: z.string(),
  codeChallenge: z.string(),
  scopes: z.array(z.string()),
  directories: z.array(z.string()).optional(),
  resource: z.string(),
  createdAt: z.number(),
  expiresAt: z.number(),
  redeemedAt: z.number().nullable(),
}));

export type AuthorizationCode = RecordOf<typeof authorizationCodes>;

/** People paste codes by hand where the browser runs on another machine. At most 600 (RFC 6749 §4.1.2). */
export const authorizationCodeLifetimeSeconds = 300;

// Authorization requests that wait for a user. Kept here, so that nothing in a page's form can change them.

/** `["authorization_request", SHA-256 of the handle]`, expiring. */
export const authorizationRequests = defineRecordFamily("authorization_request", () => ({
  clientId: z.string(),
  redirectUri: z.string(),
  state: z.string().nullable(),
  codeChallenge: z.string(),
  scopes: z.array(z.string()),
  resource: z.string(),
  /** SHA-256 of the cookie of the browser that started it. */
  browserHash: z.string(),
  /** `prompt=login`: a session from before this time does not count. */
  signInAfter: z.number(),
  createdAt: z.number(),
  /** What was decided, by SHA-256 of the form as it was posted; the request is over then. */
  answered: z.object({ decisionHash: z.string(), isAllowed: z.boolean() }).optional(),
}));

export type AuthorizationRequest = RecordOf<typeof authorizationRequests>;

/** From the first page to the decision. */
export const authorizationRequestLifetimeSeconds = 600;

// OAuth clients: registered by themselves (RFC 7591) or made by the operator.

/** The grant type of identity assertions (RFC 7523 §2.1). */
export const assertionGrantType = "urn:ietf:params:oauth:grant-type:jwt-bearer" as const;

/** `["client", id]`; expires while unused. */
export const clients = defineRecordFamily("client", () => ({
  id: z.string(),
  /** Cleaned for display; what a registered client says of itself is never verified. */
  name: z.string(),
  origin: z.enum(["registered", "operator", "metadata_document"]),
  redirectUris: z.array(z.string()),
  grantTypes: z.array(z.enum(["authorization_code", "refresh_token", "client_credentials", assertionGrantType])),
  /** `client_secret_any`: no method was registered, so basic and post both do (ServiceNow omits it). */
  authentication: z.enum(["none", "client_secret_basic", "client_secret_post", "client_secret_any", "private_key_jwt"]),
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
  /** Registered by a holder of the registration token. */
  isVouchedFor: z.boolean().optional(),
}));

/** A client of the authorization server. */
export type Client = RecordOf<typeof clients>;

/** `["unused_client", registration time, id]`: the unused clients, oldest first. */
const unusedClients = defineRecordFamily("unused_client", () => ({ clientId: z.string() }));

/** `["held_client", registration time, id]`: clients that ask for access in their own name, oldest first. */
export const heldClients = defineRecordFamily("held_client", () => ({ clientId: z.string() }));

/** Whether a client asked for access in its own name (RFC 6749 §4.4) and no one has named its scopes yet. */
export function isHeldClient({ origin, grantTypes, usedAt }: Client): boolean {
  return origin === "registered" && usedAt === null && grantTypes.includes("client_credentials");
}

/** The waiting list of an unapproved client. */
export function waitingListOf(client: Client): typeof unusedClients {
  return isHeldClient(client) ? heldClients : unusedClients;
}

/** An unapproved client's key in its {@link waitingListOf}. */
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

// Grants: what a user allowed a client. Every token belongs to one; deleting it ends them all.

/** `["grant", id]`, expiring. */
export const grants = defineRecordFamily("grant", () => ({
  id: z.string(),
  /** The `sub` of its tokens: a user, or the client itself for client credentials (RFC 9068 §2.2). */
  subject: z.string(),
  kind: z.enum(["user", "client"]),
  /** The approving account's {@link credentialHash} at the time; `null` for a client's own grant. */
  credentialHash: z.string().nullable(),
  clientId: z.string(),
  clientName: z.string(),
  /** Host of the redirect URI, to recognise the client by; `null` without one. */
  redirectHost: z.string().nullable(),
  scopes: z.array(z.string()),
  /** Of the workspace's directories those that its tokens may use; all when absent. */
  directories: z.array(z.string()).optional(),
  resource: z.string(),
  createdAt: z.number(),
  /** When a client without refresh tokens last got a token. */
  renewedAt: z.number().optional(),
  /** Where the client was when it last asked for tokens; not known of grants from before it was noted. */
  address: z.string().optional(),
  /** The refresh token family, or `null` when the client gets none. */
  refresh: z.object({
    /** Number of the current refresh token. */
    generation: z.number().int().positive(),
    /** Part of what each refresh token's MAC covers. */
    salt: z.string(),
    /** SHA-256 of the current refresh token. */
    currentHash: z.string(),
    /** No refresh after this, whatever happens. */
    endsAt: z.number(),
    lastUsedAt: z.number(),
    /** Rotations young enough for the grace window, oldest first. */
    rotations: z.array(z.object({ generation: z.number(), at: z.number() })),
  }).nullable(),
}));

export type Grant = RecordOf<typeof grants>;

/** `["subject_grant", subject, grant id]`: the grants of each user. */
export const subjectGrants = defineRecordFamily("subject_grant", () => ({ grantId: z.string() }));

/** The writes that store a grant together with its index entry. */
export function putsOfGrant(grant: Grant, expiresAt: number): NonNullable<Batch["puts"]> {
  return [
    grants.put(grant.id, grant, expiresAt),
    subjectGrants.put([grant.subject, grant.id], { grantId: grant.id }, expiresAt),
  ];
}

/** Revokes a grant and all its tokens. Returns the grant, or `null` if there was none. */
export async function revokeGrant(storage: Storage, grantId: string): Promise<Stored<Grant> | null> {
  const stored = await grants.read(storage, grantId);
  if (stored === null) return null;
  await storage.commit({ deletes: [grants.key(grantId), subjectGrants.key(stored.value.subject, grantId)] });
  return stored;
}

const grantsPerCommit = 40; // two deletes each, within the storage port's limit of writes

/** Revokes many grants in batches, not atomically. */
export async function deleteGrants(storage: Storage, doomed: readonly Pick<Grant, "id" | "subject">[]): Promise<void> {
  for (let start = 0; start < doomed.length; start += grantsPerCommit) {
    const batch = doomed.slice(start, start + grantsPerCommit);
    await storage.commit({
      deletes: batch.flatMap(({ id, subject }) => [grants.key(id), subjectGrants.key(subject, id)]),
    });
  }
}

/** `["revoked_token", jti]`, expiring. */
export const revokedTokens = defineRecordFamily("revoked_token", () => ({ revokedAt: z.number() }));

/** `["operator_token", id]`, expiring. */
export const operatorTokens = defineRecordFamily("operator_token", () => ({
  id: z.string(),
  name: z.string(),
  userId: z.string(),
  scopes: z.array(z.string()),
  /** Of the workspace's directories those that it may use; all when absent. */
  directories: z.array(z.string()).optional(),
  createdAt: z.number(),
  expiresAt: z.number(),
  /** The user's epoch when it was made; absent before set-up. */
  userEpoch: z.string().optional(),
  /** SHA-256 of the whole token. */
  tokenHash: z.string(),
}));

export type OperatorToken = RecordOf<typeof operatorTokens>;

// * The one-time code of the set-up link; there is one at a time. It is derived from the seed under the master key, so
// that another instance can print the same link: the seed alone does not reveal the code.

/** `["set_up_code", "current"]`, expiring. */
export const setUpCodes = defineRecordFamily("set_up_code", () => ({ codeHash: z.string(), seed: z.string() }));

/** `["user", id]` */
export const users = defineRecordFamily("user", () => ({
  /** The name they sign in with, which is also the `sub` of their tokens; never reused. */
  id: z.string(),
  /** Shown in place of an id that means nothing to users. */
  displayName: z.string().optional(),
  /** Argon2id or scrypt, as a PHC string; or {@link noPassphrase}. */
  passwordHash: z.string(),
  /** Random, new with every change that ends what was allowed before: a new passphrase, disabling. */
  epoch: z.string(),
  disabled: z.boolean(),
  /** Named by the owner: sees and steers everything in the console. */
  administrator: z.boolean().optional(),
  createdAt: z.number(),
  passwordChangedAt: z.number(),
  /** Who they are at the company's provider, and what it said last. */
  company: z.object({
    issuer: z.string(),
    subject: z.string(),
    /** Those of their groups that the settings name. */
    groups: z.array(z.string()),
    checkedAt: z.number(),
    /** When it last ended their access; a sign-in there begins anew. */
    endedAt: z.number().optional(),
  }).optional(),
}));

export type User = RecordOf<typeof users>;

/** The id of the user who set this server up. */
export const ownerId = "owner";

/** The `passwordHash` of users who sign in elsewhere: no passphrase has this hash. */
export const noPassphrase = "";
