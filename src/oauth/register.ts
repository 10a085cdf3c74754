/** Dynamic client registration (RFC 7591): client metadata is parsed as leniently as security allows. */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import type { AuthorizationServerOptions, Registration } from "./context.ts";
import {
  type Client,
  clients,
  conflict,
  isHeldClient,
  retryOnConflict,
  unchanged,
  unusedClientId,
  waitingListOf,
} from "./records.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { newClient, readClientKeys, withoutEmptyMembers } from "./client_directory.ts";
import { hasMoreParts } from "../lib/json.ts";
import { classifyRedirectUri, isUsableRedirectUri } from "./redirect_uri.ts";
import { equalInConstantTime, hashSecret } from "../lib/secrets.ts";
import { createKeyedMutex, type KeyedMutex } from "../lib/turns.ts";
import { jsonResponse, logStep, readJsonBody, type RefusalReason, refuseStep, wrongMethod } from "./exchange.ts";

// Keeps registered clients within bounds: unused ones expire, and make room for new ones; used ones are never touched.

/** Registered clients that no user has approved yet. */
const maxUnusedClients = 1_000;
/** Those among them that want access in their own name: more than an owner would look through. */
const maxHeldClients = 50;
const unusedClientLifetimeSeconds = 2_592_000;
/** An unused client younger than this is not evicted to make room. */
const unusedClientGraceSeconds = 3_600;

/** Stores a new client. `false` when too many unused ones are too young to be evicted. */
function storeRegisteredClient(
  { storage, limits = {}, clock }: Pick<AuthorizationServerOptions, "storage" | "limits" | "clock">,
  { client, turns }: { readonly client: Client; readonly turns: KeyedMutex },
): Promise<boolean> {
  const max = isHeldClient(client)
    ? limits.maxHeldClients ?? maxHeldClients
    : limits.maxUnusedClients ?? maxUnusedClients;
  const waiting = waitingListOf(client);
  // Only instances contend for the oldest: each look at the list is dear, and each of many at once saw the same free place.
  const attempt = async () => {
    const now = clock();
    const expiresAt = now + unusedClientLifetimeSeconds * 1_000;
    const puts = [
      clients.put(client.id, client, expiresAt),
      waiting.put(unusedClientId(client), { clientId: client.id }, expiresAt),
    ];
    const unused = await waiting.list(storage, { limit: max });
    const oldest = unused[0];
    if (unused.length < max || oldest === undefined) {
      await storage.commit({ puts });
      return true;
    }
    const victim = await clients.read(storage, oldest.value.clientId);
    // A flood of registrations must not push out a client whose user is just reading the consent page.
    if (victim !== null && now - victim.value.registeredAt < unusedClientGraceSeconds * 1_000) return false;
    const evicted = await storage.commit({
      checks: [unchanged(oldest), ...(victim === null ? [] : [unchanged(victim)])],
      deletes: [oldest.key, ...(victim === null ? [] : [victim.key])],
      puts,
    });
    return evicted ? true : conflict;
  };
  return turns.run("", () => retryOnConflict(attempt));
}

const maxRedirectUris = 20;
const authenticationMethods = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"] as const;
const supportedGrantTypes = ["authorization_code", "refresh_token"] as const;

/**
 * Whether a client wants access in its own name alone. One that lists the grant beside `authorization_code` is
 * registered without it, as most of them list whatever the metadata does (RFC 7591 §3.2.1).
 */
function isForItself({ grant_types: named = [] }: ClientMetadata): boolean {
  return named.includes("client_credentials") && !named.includes("authorization_code");
}

/** Builds `POST /oauth/register`. */
export function createRegisterEndpoint(options: AuthorizationServerOptions): Endpoint {
  const { registration, limits, log, clock } = options;
  const turns = createKeyedMutex();
  return async (request, peer) => {
    if (request.method !== "POST") return wrongMethod("POST");
    const refusedAs = (name: string | undefined) => (reason: RefusalReason) =>
      refuseStep({ log, peer }, "client_registration", reason, {}, { name });
    const unnamed = refusedAs(undefined);
    if (registration.mode === "off") return unnamed("registration_off");
    const body = await readJsonBody(request, limits);
    if (!body.ok) return unnamed(body.error);
    const metadata = parseClientMetadata(body.value);
    const name = metadata?.client_name;
    const refused = refusedAs(name);
    // The token is looked at first: a stranger learns nothing about what else is wrong.
    const isVouchedFor = holdsToken(registration, request, metadata?.token_value);
    if (registration.mode !== "open" && !isVouchedFor) return refused("wrong_registration_token");
    if (metadata === null) return refused("malformed_client_metadata");
    const forItself = isForItself(metadata);
    if (forItself && !isVouchedFor) return refused("client_credentials_need_token");
    const redirects = forItself ? success({ kept: [], dropped: [] }) : sortRedirectUris(metadata.redirect_uris ?? []);
    if (!redirects.ok) return refused(redirects.error);
    const { kept, dropped } = redirects.value;
    const mayFetchKeys = options.fetchDocument !== undefined;
    const made = makeClient(metadata, { redirectUris: kept, now: clock(), mayFetchKeys, isVouchedFor });
    if (!made.ok) return refused(made.error);
    const { client, secret } = made.value;
    if (!await storeRegisteredClient(options, { client, turns })) {
      return refused(forItself ? "too_many_held_clients" : "too_many_unused_clients");
    }
    logStep({ log, peer }, "client_registration", {
      outcome: forItself ? "held" : "registered",
      client: client.id,
      droppedRedirectUris: dropped.length,
      authentication: client.authentication,
    }, { name });
    return jsonResponse(registrationResponse(client, secret, dropped), { status: 201 });
  };
}

function holdsToken(registration: Registration, request: Request, tokenValue: string | undefined): boolean {
  if (registration.mode === "off" || registration.token === undefined) return false;
  const header = request.headers.get("authorization");
  const presented = header === null ? tokenValue : /^bearer +(\S+)$/i.exec(header)?.[1];
  return presented !== undefined && equalInConstantTime(hashSecret(presented), hashSecret(registration.token));
}

/** The addresses to keep, and well-formed ones that are not allowed: real clients list both kinds together. */
function sortRedirectUris(
  named: readonly string[],
): Result<{ readonly kept: string[]; readonly dropped: string[] }, RefusalReason> {
  if (named.length === 0) return failure("missing_redirect_uris");
  if (named.length > maxRedirectUris) return failure("too_many_redirect_uris");
  if (named.some((uri) => classifyRedirectUri(uri) === "forbidden")) return failure("forbidden_redirect_uri");
  const [kept, dropped] = [new Set<string>(), new Set<string>()];
  for (const uri of named) (isUsableRedirectUri(uri) ? kept : dropped).add(uri);
  return kept.size === 0 ? failure("forbidden_redirect_uri") : success({ kept: [...kept], dropped: [...dropped] });
}

function makeClient(
  metadata: ClientMetadata,
  { redirectUris, now, mayFetchKeys, isVouchedFor }: {
    redirectUris: string[];
    now: number;
    mayFetchKeys: boolean;
    isVouchedFor: boolean;
  },
): Result<{ client: Client; secret: string | null }, RefusalReason> {
  // Without grant_types we register both, not RFC 7591's default alone: clients that leave it out expect to refresh.
  const forItself = isForItself(metadata);
  const grantTypes: Client["grantTypes"] = forItself
    ? ["client_credentials"]
    : supportedGrantTypes.filter((name) => metadata.grant_types?.includes(name) ?? true);
  if (!forItself && !grantTypes.includes("authorization_code")) return failure("no_supported_grant_type");
  if (!forItself && !(metadata.response_types?.includes("code") ?? true)) return failure("unsupported_response_type");
  if (forItself && metadata.token_endpoint_auth_method === "none") return failure("client_credentials_need_proof");
  const { token_endpoint_auth_method: method } = metadata;
  const authentication = method === undefined
    ? "client_secret_any"
    : authenticationMethods.find((known) => known === method);
  if (authentication === undefined) return failure("unsupported_authentication_method");
  const keys = readClientKeys(metadata, authentication, mayFetchKeys);
  if (keys === null) return failure("unusable_client_keys");
  const { client_name: name, scope } = metadata;
  const fixed = {
    origin: "registered",
    registeredAt: now,
    usedAt: null,
    ...(isVouchedFor ? { isVouchedFor } : {}),
  } as const;
  return success(newClient({ ...fixed, name, scope, redirectUris, grantTypes, authentication, ...keys }));
}

/**
 * RFC 7591 §3.2.1: everything that was registered, with what the server put in the place of what was asked.
 * `dropped_redirect_uris` is our own member: the redirect URIs that were asked for and not registered.
 */
function registrationResponse(client: Client, secret: string | null, dropped: readonly string[]) {
  const { authentication } = client;
  return {
    client_id: client.id,
    client_id_issued_at: Math.floor(client.registeredAt / 1_000),
    ...(secret === null ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
    client_name: client.name,
    redirect_uris: client.redirectUris,
    ...(dropped.length === 0 ? {} : { dropped_redirect_uris: dropped }),
    grant_types: client.grantTypes,
    response_types: client.grantTypes.includes("authorization_code") ? ["code"] : [],
    token_endpoint_auth_method: authentication === "client_secret_any" ? "client_secret_basic" : authentication,
    ...(client.jwks === null ? {} : { jwks: client.jwks }),
    ...(client.jwksUri === null ? {} : { jwks_uri: client.jwksUri }),
    ...(client.scopes.length === 0 ? {} : { scope: client.scopes.join(" ") }),
  };
}

/** Values in one registration; clients send some fifty. */
const maxMetadataParts = 5_000;

/** An address that servers call: anything but https could lie inside a private network (SSRF). */
const calledAddress = z.lazy(() => z.string().refine((text) => URL.parse(text)?.protocol === "https:"));

// Unknown members are ignored (RFC 7591 §2); `token_value` is the ServiceNow guide's place for the registration token.
const metadataSchema = lazyObject(() => ({
  token_value: z.string().optional(),
  client_name: z.string().max(2_000).optional(),
  redirect_uris: z.array(z.string()).optional(),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  token_endpoint_auth_method: z.string().optional(),
  scope: z.string().max(10_000).optional(),
  jwks: z.unknown().optional(),
  jwks_uri: calledAddress.optional(),
  sector_identifier_uri: calledAddress.optional(),
  request_uris: z.array(calledAddress).optional(),
}));

/** The members that count here. */
type ClientMetadata = z.output<typeof metadataSchema>;

/** Reads the known members; `null` when one has the wrong type. */
export function parseClientMetadata(json: unknown): ClientMetadata | null {
  if (hasMoreParts(json, maxMetadataParts)) return null;
  const parsed = metadataSchema.safeParse(withoutEmptyMembers(json));
  return parsed.success ? parsed.data : null;
}
