/**
 * `POST /oauth/token` (RFC 6749 §3.2) finds out who asks and hands over to the grant type; `/oauth/revoke` ends tokens, and
 * `/oauth/introspect` tells clients about theirs.
 */
import { digestOf, equalInConstantTime, hashSecret, matchesHash, randomId, randomSecret } from "../lib/secrets.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { AuthorizationServerOptions, Lifetimes } from "./context.ts";
import {
  type AuthorizationCode,
  authorizationCodes,
  type Client,
  clientStillThere,
  conflict,
  type Grant,
  grants,
  isHeldClient,
  putsOfGrant,
  retryOnConflict,
  revokedTokens,
  revokeGrant,
  type Stored,
  subjectGrants,
  unchanged,
} from "./records.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { hiddenText, jsonResponse, logStep, noStore, readParameters, refuseStep, wrongMethod } from "./exchange.ts";
import type { Parameters, RefusalReason } from "./exchange.ts";
import { knownScopes, parseScope } from "./scope.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { AgreedClock } from "../lib/time.ts";
import type { AccessTokens, Verifier } from "./access_token.ts";
import type { Batch, Storage } from "../storage/mod.ts";
import { isSameRedirectUri, redirectTarget } from "./redirect_uri.ts";
import { type Account, holderOf, type UserDirectory } from "./manage_users.ts";
import type { createClientAuthenticator } from "./client_authentication.ts";
import { effectiveScopes } from "../lib/principal.ts";
import { createKeyedMutex } from "../lib/turns.ts";

/** A grant type's success response (RFC 6749 §5.1). */
export type IssuedTokens = NonNullable<Awaited<ReturnType<typeof issueGrant>>>;

/** One grant type: from an authenticated client's parameters to tokens. */
export type GrantType = (
  client: Client,
  parameters: Parameters,
  peer: Peer,
) => Promise<Result<IssuedTokens, RefusalReason>>;

/** The grant types that this server always has; each client is registered for some of them. */
export const grantTypeNames: readonly Client["grantTypes"][number][] = [
  "authorization_code",
  "refresh_token",
  "client_credentials",
];

interface TokenEndpointOptions extends GrantTypeOptions {
  /** Finds out which client sends a request from `address`. */
  readonly authenticateClient: ReturnType<typeof createClientAuthenticator>;
}

export function createTokenEndpoint(
  options: TokenEndpointOptions & { readonly moreGrantTypes: Iterable<readonly [string, GrantType]> },
): Endpoint {
  const { secrets, log, limits, lifetimes, resource, authenticateClient } = options;
  const grantTypes: ReadonlyMap<string, GrantType> = new Map([
    ...options.moreGrantTypes,
    ["authorization_code", createAuthorizationCodeGrant(options)],
    ["refresh_token", createRefreshTokenGrant(options)],
    ["client_credentials", createClientCredentialsGrant(options)],
  ]);
  return async (request, peer) => {
    if (request.method !== "POST") return wrongMethod("POST"); // RFC 6749 §3.2
    const parameters = await readParameters(request, limits);
    const to = { log, peer };
    if (!parameters.ok) return refuseStep(to, "token", parameters.error);
    const name = parameters.value.get("grant_type") ?? "";
    const grantType = grantTypes.get(name);
    const fields = { grantType: grantType === undefined ? hiddenText(secrets, name) : name };
    if (grantType === undefined) {
      return refuseStep(to, "token", name === "" ? "missing_grant_type" : "unsupported_grant_type", fields);
    }
    const client = await authenticateClient(request, parameters.value, peer.address);
    if (!client.ok) return refuseStep(to, "token", client.error, fields);
    const clientFields = { client: client.value.id, ...fields };
    if (!(client.value.grantTypes as readonly string[]).includes(name)) {
      return refuseStep(to, "token", "grant_type_not_registered", clientFields);
    }
    const issued = await grantType(client.value, parameters.value, peer);
    if (!issued.ok) {
      const remedy = issued.error === "resource_mismatch" ? `; it must be ${resource}` : "";
      return refuseStep({ ...to, remedy }, "token", issued.error, clientFields);
    }
    const { grantId, subject, accessToken, refreshToken, scopes } = issued.value;
    logStep(to, "token", { outcome: "issued", grant: grantId, user: subject, scopes, ...clientFields });
    return jsonResponse({
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: lifetimes.accessTokenLifetimeSeconds,
      ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
      scope: scopes.join(" "),
    });
  };
}

/** Whether the verifier is well formed (RFC 7636 §4.1) and hashes to the challenge (§4.6). */
export function verifyCodeVerifier(verifier: string, challenge: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) && matchesHash(verifier, challenge);
}

export interface GrantTypeOptions extends AuthorizationServerOptions {
  /** For the grace of refresh tokens, which may be sent to two instances. */
  readonly agreedClock: AgreedClock;
  readonly users: UserDirectory;
  readonly accessTokens: AccessTokens;
  readonly isAcceptedResource: (values: readonly string[]) => boolean;
}

/** Revokes a grant whose code or refresh token was used a second time: it leaked, and it is unknown to whom. */
async function revokeLeaked(
  { storage, log }: GrantTypeOptions,
  grantId: string,
  reason: "replayed_code" | "reused_refresh_token",
): Promise<Result<never, RefusalReason>> {
  const revoked = await revokeGrant(storage, grantId);
  if (revoked !== null) {
    const { subject: user, clientId: client } = revoked.value;
    log.write("audit", "grant_revoked", { reason, grant: grantId, user, client });
  }
  return failure(reason);
}

/** The authorization code grant (RFC 6749 §4.1.3 with RFC 7636): a code becomes a grant and its first tokens. */
function createAuthorizationCodeGrant(options: GrantTypeOptions): GrantType {
  const { storage, clock, users } = options;
  return (client, parameters, { address }) =>
    retryOnConflict(async (): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> => {
      const code = parameters.get("code");
      if (code === undefined) return failure("missing_code");
      const stored = await authorizationCodes.read(storage, hashSecret(code));
      if (stored === null) return failure("unknown_code");
      const { grantId, userId, credentialHash, redeemedAt, expiresAt } = stored.value;
      // The code is consumed only once it is proven to be this client's: a stranger must not burn it.
      const problem = findProblem(options, stored.value, client, parameters);
      if (problem !== null) return failure(problem);
      if (redeemedAt !== null) return await revokeLeaked(options, grantId, "replayed_code"); // RFC 6749 §4.1.2
      if (expiresAt <= clock()) return failure("expired_code");
      const account = await users.find(userId);
      if (account?.credentialHash !== credentialHash) return failure("user_not_active");
      return await redeem(options, stored, { client, account, address });
    });
}

function findProblem(
  { isAcceptedResource }: GrantTypeOptions,
  code: AuthorizationCode,
  client: Client,
  parameters: Parameters,
): RefusalReason | null {
  if (code.clientId !== client.id) return "code_of_another_client";
  const redirectUri = parameters.get("redirect_uri");
  // RFC 6749 §4.1.3; OAuth 2.1 §10.2 lets clients leave it out, since PKCE does what it was for.
  if (redirectUri !== undefined && !isSameRedirectUri(redirectUri, code.redirectUri)) return "redirect_uri_mismatch";
  if (!isAcceptedResource(parameters.getAll("resource"))) return "resource_mismatch";
  const verifier = parameters.get("code_verifier");
  if (verifier === undefined) return "missing_code_verifier";
  return verifyCodeVerifier(verifier, code.codeChallenge) ? null : "wrong_code_verifier";
}

/**
 * Stores a grant and issues its first tokens, together with what else the commit needs; `null` where that was overtaken.
 */
async function issueGrant(
  { storage, clock, lifetimes, accessTokens }: GrantTypeOptions,
  given: Omit<Grant, "clientId" | "clientName" | "createdAt"> & Partial<Pick<Grant, "createdAt">>,
  { client, checks, puts = [], refreshToken = null, scopes = given.scopes }: {
    readonly client: Client;
    readonly checks: Batch["checks"];
    readonly puts?: NonNullable<Batch["puts"]>;
    readonly refreshToken?: string | null;
    /** Of the access token. */
    readonly scopes?: readonly string[];
  },
) {
  const now = clock();
  const grant: Grant = { createdAt: now, ...given, clientId: client.id, clientName: client.name };
  const { token } = await accessTokens.issue(grant, scopes);
  const grantPuts = putsOfGrant(grant, grantExpiresAt(grant.refresh, now, lifetimes));
  const isStored = await storage.commit({ checks: checks ?? [], puts: [...puts, ...grantPuts] });
  return isStored ? { grantId: grant.id, subject: grant.subject, accessToken: token, refreshToken, scopes } : null;
}

/**
 * Issues a token to a client that gets no refresh token: all its tokens for one subject belong to one grant, so that a
 * client that asks for one before each call is one connection. A grant that was revoked, or made under another
 * passphrase, is not renewed: its tokens would be good again. `null` where that was overtaken.
 */
export async function issueOwnGrant(
  options: GrantTypeOptions,
  given: Pick<Grant, "subject" | "kind" | "credentialHash" | "scopes" | "address">,
  client: Client,
  { checks = [], puts = [] }: Batch,
) {
  const { storage, clock, resource } = options;
  // its id begins with a digest of client and credential: one look finds it among all grants of the subject
  const half = digestOf(JSON.stringify([client.id, given.credentialHash])).slice(0, 16);
  const after = subjectGrants.key(given.subject, half);
  const [next] = await subjectGrants.list(storage, { below: [given.subject], after, limit: 1 });
  const own = next?.value.grantId.startsWith(half) ? await grants.read(storage, next.value.grantId) : null;
  const { id = half + randomId().slice(16), scopes: earlier = [], createdAt = clock() } = own?.value ?? {};
  const scopes = knownScopes([...earlier, ...given.scopes]);
  const grant = { ...given, id, scopes, resource, createdAt, renewedAt: clock(), redirectHost: null, refresh: null };
  const allChecks = [...checks, grants.check(own, id)];
  return await issueGrant(options, grant, { client, checks: allChecks, puts, scopes: given.scopes });
}

/** Marks the code as used and stores the grant, together; the code's mark lives as long as the grant may. */
async function redeem(
  options: GrantTypeOptions,
  stored: Stored<AuthorizationCode>,
  { client, account, address }: { client: Client; account: Account; address: string },
): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> {
  const { storage, secrets, clock, lifetimes } = options;
  const code = stored.value;
  const { grantId: id, userId: subject, redirectUri, resource, directories } = code;
  const clientCheck = await clientStillThere(storage, client);
  // The approval stored the client, of either kind.
  if (clientCheck === null || clientCheck.version === null) return failure("unknown_client");
  const now = clock();
  const mayRefresh = client.grantTypes.includes("refresh_token");
  const [refresh, refreshToken] = mayRefresh ? startRefreshFamily(secrets, id, now) : [null, null];
  const scopes = withinLimit(code.scopes, account.mayGrant);
  if (scopes.length === 0) return failure("user_not_active");
  const markUntil = Math.max(refresh?.endsAt ?? 0, grantExpiresAt(refresh, now, lifetimes));
  const approved = { id, subject, scopes: code.scopes, resource, ...directories && { directories } };
  const issued = await issueGrant(options, {
    ...approved,
    kind: "user",
    credentialHash: account.credentialHash,
    redirectHost: redirectTarget(redirectUri),
    address,
    refresh,
  }, {
    client,
    // The user too: a passphrase change ends everything that was approved under the old one.
    checks: [unchanged(stored), account.unchanged, clientCheck],
    puts: [{ key: stored.key, value: { ...code, redeemedAt: now }, expiresAt: markUntil }],
    refreshToken,
    scopes,
  });
  return issued === null ? conflict : success(issued);
}

/** The client credentials grant (RFC 6749 §4.4), for confidential clients that the operator made or approved. */
function createClientCredentialsGrant(options: GrantTypeOptions): GrantType {
  const { storage, isAcceptedResource } = options;
  const turns = createKeyedMutex(); // a machine's parallel requests renew one grant
  return async (client, parameters) => {
    if (client.authentication === "none" || client.origin === "metadata_document") {
      return failure("grant_type_not_registered");
    }
    if (isHeldClient(client)) return failure("client_held");
    const scope = parameters.get("scope");
    const scopes = scope === undefined ? client.scopes : knownScopes(parseScope(scope));
    if (scopes.length === 0 || !isWithinScopes(parseScope(scope ?? ""), client.scopes)) {
      return failure("scope_exceeds_client");
    }
    if (!isAcceptedResource(parameters.getAll("resource"))) return failure("resource_mismatch");
    const given = { subject: client.id, kind: "client", credentialHash: null, scopes } as const; // RFC 9068 §2.2
    return await turns.run(client.id, () =>
      retryOnConflict(async () => {
        const clientCheck = await clientStillThere(storage, client);
        if (clientCheck === null) return failure("unknown_client");
        const issued = await issueOwnGrant(options, given, client, { checks: [clientCheck] });
        return issued === null ? conflict : success(issued);
      }));
  };
}

/** The refresh grant (RFC 6749 §6): rotation with an idempotent grace window and family revocation on reuse. */
function createRefreshTokenGrant(options: GrantTypeOptions): GrantType {
  const { storage, secrets, clock, agreedClock, lifetimes, users, isAcceptedResource } = options;
  return (client, parameters, { address }) =>
    retryOnConflict(async (): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> => {
      const text = parameters.get("refresh_token");
      if (text === undefined) return failure("missing_refresh_token");
      const found = await findRefreshToken(storage, text);
      if (found === null) return failure("unknown_refresh_token");
      const grant = found.stored.value;
      if (grant.clientId !== client.id) return failure("refresh_token_of_another_client");
      for (const { at } of found.family.rotations) agreedClock.catchUp(at);
      const state = judgeRefreshToken(secrets, found, { now: clock(), graceNow: agreedClock.now(), lifetimes });
      if (state === "forged") return failure("unknown_refresh_token");
      if (state === "expired") return failure("expired_refresh_token");
      if (state === "reused") return await revokeLeaked(options, grant.id, "reused_refresh_token"); // RFC 9700 §4.14.2
      // RFC 6749 §6: the same scope or a narrower one, for this access token only. Unknown names are left out, as at the
      // authorization endpoint: clients repeat the scope that they asked for there.
      const requested = knownScopes(parseScope(parameters.get("scope") ?? ""));
      if (!isWithinScopes(requested, grant.scopes)) return failure("scope_exceeds_grant");
      if (!isAcceptedResource(parameters.getAll("resource"))) return failure("resource_mismatch");
      const holder = holderOf(await users.find(grant.subject), grant);
      const scopes = withinLimit(requested.length === 0 ? grant.scopes : requested, holder?.mayGrant ?? null);
      if (holder === null || scopes.length === 0) return failure("user_not_active");
      return await renew(options, found, { client, scopes, isRepeated: state === "grace", address });
    });
}

/** Issues tokens, and rotates; a repeated request gets the successor that was given before, and changes nothing. */
async function renew(
  { storage, secrets, clock, agreedClock, lifetimes, accessTokens }: GrantTypeOptions,
  { stored, family, generation }: FoundRefreshToken,
  { client, scopes, isRepeated, address }: {
    readonly client: Client;
    readonly scopes: readonly string[];
    readonly isRepeated: boolean;
    readonly address: string;
  },
): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> {
  const grant = stored.value;
  const clientCheck = await clientStillThere(storage, client);
  if (clientCheck === null) return failure("unknown_client");
  const { token: accessToken } = await accessTokens.issue(grant, scopes);
  const refreshToken = refreshTokenOf(secrets, grant.id, family.salt, generation + 1);
  const issued = success({ grantId: grant.id, subject: grant.subject, accessToken, refreshToken, scopes });
  if (isRepeated) return issued;
  const [now, at] = [clock(), agreedClock.now()];
  const recent = family.rotations.filter((rotation) => at < rotation.at + graceMs(lifetimes));
  const rotated: RefreshFamily = {
    ...family,
    generation: generation + 1,
    currentHash: hashSecret(refreshToken),
    lastUsedAt: now,
    rotations: [...recent, { generation, at }].slice(-maxRotationsKept),
  };
  const committed = await storage.commit({
    checks: [unchanged(stored), clientCheck],
    puts: putsOfGrant({ ...grant, address, refresh: rotated }, grantExpiresAt(rotated, now, lifetimes)),
  });
  return committed ? issued : conflict;
}

// * Refresh tokens: opaque to clients, but recognisable as genuine long after they were replaced. Each is a MAC over
// its family, its number and the family's salt, so a token has exactly one successor: that makes the grace window
// idempotent across parallel requests and processes.

type RefreshFamily = NonNullable<Grant["refresh"]>;

const pattern = /^pcr_([0-9a-f]{32})_([1-9]\d{0,8})_[A-Za-z0-9_-]{43}$/;
const maxRotationsKept = 32;
/** Hosted clients refresh from several machines, up to 90 s apart. */
const refreshGraceSeconds = 120;
/** A grant's refresh tokens end this long after its approval, however often they rotate. */
export const refreshTokenLifetimeSeconds = 2_592_000;
/** A refresh token ends this long after its last use. */
export const refreshIdleLifetimeSeconds = 1_209_600;

/** A refresh token, not yet judged, and the grant that it names. */
type FoundRefreshToken = NonNullable<Awaited<ReturnType<typeof findRefreshToken>>>;

/** Looks a refresh token up; `null` where its grant is gone, or it is none. {@link judgeRefreshToken} comes next. */
export async function findRefreshToken(storage: Storage, text: string) {
  const [, grantId = "", generation] = pattern.exec(text) ?? [];
  const stored = await grants.read(storage, grantId);
  const family = stored?.value.refresh ?? null;
  return stored === null || family === null ? null : { text, generation: Number(generation), stored, family };
}

/** When a family's tokens end: by their approval, or unused. */
function refreshEndsAt({ endsAt, lastUsedAt }: RefreshFamily): number {
  return Math.min(endsAt, lastUsedAt + refreshIdleLifetimeSeconds * 1_000);
}

/** The one token of that family with that number. */
function refreshTokenOf(secrets: SecretBox, grantId: string, salt: string, generation: number): string {
  const mac = secrets.authenticate("refresh-token", `${grantId}/${generation}/${salt}`);
  return `pcr_${grantId}_${generation}_${mac}`;
}

/** Starts a family; its first token has the number 1. */
function startRefreshFamily(secrets: SecretBox, grantId: string, now: number): [RefreshFamily, string] {
  const salt = randomSecret();
  const token = refreshTokenOf(secrets, grantId, salt, 1);
  const endsAt = now + refreshTokenLifetimeSeconds * 1_000;
  return [{ generation: 1, salt, currentHash: hashSecret(token), endsAt, lastUsedAt: now, rotations: [] }, token];
}

/**
 * A presented token's state in its family. `grace`: it was replaced so shortly ago that it gets the same successor again.
 * `reused`: it was replaced before that, so it leaked; a forged one never is, since it must not end a grant.
 */
export function judgeRefreshToken(
  secrets: SecretBox,
  { text, generation, stored, family }: FoundRefreshToken,
  { now, graceNow = now, lifetimes }: {
    readonly now: number;
    /** By the agreed clock, which stamps rotations; `now` when absent. */
    readonly graceNow?: number;
    readonly lifetimes: Lifetimes;
  },
): "current" | "grace" | "reused" | "expired" | "forged" {
  // The hash alone proves the current one, which may have been made under an earlier master key.
  const isCurrent = generation === family.generation && matchesHash(text, family.currentHash);
  const genuine = refreshTokenOf(secrets, stored.value.id, family.salt, generation);
  if (!isCurrent && (generation >= family.generation || !equalInConstantTime(genuine, text))) return "forged";
  if (now >= refreshEndsAt(family)) return "expired";
  if (isCurrent) return "current";
  const rotation = family.rotations.find((each) => each.generation === generation);
  return rotation !== undefined && graceNow < rotation.at + graceMs(lifetimes) ? "grace" : "reused";
}

function graceMs(lifetimes: Lifetimes): number {
  return 1_000 * (lifetimes.refreshGraceSeconds ?? refreshGraceSeconds);
}

/** When the stored grant may be forgotten: neither a refresh nor an access token of it can be alive then. */
function grantExpiresAt(family: RefreshFamily | null, now: number, lifetimes: Lifetimes): number {
  const accessTokenEnd = now + lifetimes.accessTokenLifetimeSeconds * 1_000;
  return family === null ? accessTokenEnd : Math.max(refreshEndsAt(family), accessTokenEnd);
}

/** `foreign`: the token belongs to another client. */
type RevocationOutcome = "nothing" | "foreign" | { what: "grant" | "access_token"; grant: string; user: string };

/** The client that asks to revoke a token, or about one, and the token; or the refusal. */
async function readTokenRequest(
  { log, limits, authenticateClient }: TokenEndpointOptions,
  event: "revocation" | "introspection",
  request: Request,
  { address }: Pick<Peer, "address">,
): Promise<{ readonly client: Client; readonly token: string } | Response> {
  if (request.method !== "POST") return wrongMethod("POST");
  const refuse = (reason: RefusalReason, client?: string): Response =>
    refuseStep({ log, peer: { address } }, event, reason, { client });
  const parameters = await readParameters(request, limits);
  if (!parameters.ok) return refuse(parameters.error);
  const client = await authenticateClient(request, parameters.value, address);
  if (!client.ok) return refuse(client.error);
  const token = parameters.value.get("token");
  return token === undefined ? refuse("missing_token", client.value.id) : { client: client.value, token };
}

/** `POST /oauth/revoke` (RFC 7009). Only verified tokens count: a forged one with another token's `jti` does nothing. */
export function createRevokeEndpoint(options: TokenEndpointOptions): Endpoint {
  const { log } = options;
  return async (request, { address }) => {
    const asked = await readTokenRequest(options, "revocation", request, { address });
    if (asked instanceof Response) return asked;
    const { client, token } = asked;
    const outcome = await (token.startsWith("pcr_") ? revokeRefreshToken : revokeAccessToken)(options, client, token);
    // RFC 7009 §2.1: another client's token is refused. §2.2: an invalid token is not an error.
    if (outcome === "foreign") {
      return refuseStep({ log, peer: { address } }, "revocation", "token_of_another_client", { client: client.id });
    }
    const done = outcome === "nothing" ? { outcome: "nothing_to_revoke" } : { outcome: "revoked", ...outcome };
    log.write("audit", "revocation", { ...done, client: client.id, address });
    return new Response(null, { headers: noStore });
  };
}

/** RFC 7009 §2.1: with a refresh token the whole grant ends, its access tokens included. */
async function revokeRefreshToken(
  { storage, secrets, clock, lifetimes }: TokenEndpointOptions,
  client: Client,
  text: string,
): Promise<RevocationOutcome> {
  const found = await findRefreshToken(storage, text);
  if (found === null || judgeRefreshToken(secrets, found, { now: clock(), lifetimes }) === "forged") {
    return "nothing";
  }
  const { id, clientId, subject } = found.stored.value;
  if (clientId !== client.id) return "foreign";
  await revokeGrant(storage, id);
  return { what: "grant", grant: id, user: subject };
}

/** What was begun with a token goes on after its expiry, for less than this: a call that waits for a person, a link. */
const goesOnMs = 3_600_000;

async function revokeAccessToken(
  { storage, clock, accessTokens }: TokenEndpointOptions,
  client: Client,
  token: string,
): Promise<RevocationOutcome> {
  const verified = await accessTokens.verify(token);
  if (!verified.ok) return "nothing";
  const { clientId, tokenId, grantId, subject, expiresAt } = verified.value;
  if (clientId !== client.id) return "foreign";
  await storage.commit({ puts: [revokedTokens.put(tokenId, { revokedAt: clock() }, expiresAt + goesOnMs)] });
  return { what: "access_token", grant: grantId, user: subject };
}

type IntrospectionOptions = TokenEndpointOptions & { readonly verifier: Pick<Verifier, "holderNow"> };

/**
 * `POST /oauth/introspect` (RFC 7662): a confidential client asks whether one of its tokens is active. §2.2: a token
 * that is inactive, or that the caller may not ask about, is said to be inactive and no more.
 */
export function createIntrospectEndpoint(options: IntrospectionOptions): Endpoint {
  const { issuer, log } = options;
  return async (request, peer) => {
    const asked = await readTokenRequest(options, "introspection", request, peer);
    if (asked instanceof Response) return asked;
    const { client, token } = asked;
    // §2.1: without client authentication, attackers could test tokens here
    if (client.authentication === "none") {
      return refuseStep({ log, peer }, "introspection", "public_client_may_not_introspect", { client: client.id });
    }
    const describe = token.startsWith("pcr_") ? describeRefreshToken : describeAccessToken;
    const described = await describe(options, client, token);
    const outcome = described === null ? "inactive" : "active";
    log.write("audit", "introspection", { outcome, client: client.id, address: peer.address });
    return jsonResponse(
      described === null ? { active: false } : { active: true, client_id: client.id, iss: issuer, ...described },
    );
  };
}

async function describeAccessToken(
  { accessTokens, resource, verifier }: IntrospectionOptions,
  client: Client,
  token: string,
) {
  const verified = await accessTokens.verify(token);
  if (!verified.ok || verified.value.clientId !== client.id) return null;
  const { subject: sub, tokenId: jti, scopes, issuedAt, expiresAt } = verified.value;
  const holder = await verifier.holderNow(verified.value);
  if (holder === null) return null;
  const scope = withinLimit(scopes, holder.mayGrant).join(" ");
  return { token_type: "Bearer", scope, sub, aud: resource, jti, iat: issuedAt / 1_000, exp: expiresAt / 1_000 };
}

async function describeRefreshToken(
  { storage, secrets, clock, lifetimes, users }: IntrospectionOptions,
  client: Client,
  text: string,
) {
  const found = await findRefreshToken(storage, text);
  if (found === null || found.stored.value.clientId !== client.id) return null;
  const state = judgeRefreshToken(secrets, found, { now: clock(), lifetimes });
  if (state !== "current" && state !== "grace") return null;
  const { subject: sub, scopes } = found.stored.value;
  const holder = holderOf(await users.find(sub), found.stored.value);
  if (holder === null) return null;
  const scope = withinLimit(scopes, holder.mayGrant).join(" ");
  return { scope, sub, exp: Math.floor(refreshEndsAt(found.family) / 1_000) };
}

/** Whether everything in `requested` is covered by `granted`, what it implies included. */
export function isWithinScopes(requested: readonly string[], granted: readonly string[]): boolean {
  const effective = effectiveScopes(granted);
  return requested.every((name) => effective.has(name));
}

/** What is left of these scopes where a person may grant no more than `limit`, with what they imply; `null`: all. */
function withinLimit(scopes: readonly string[], limit: ReadonlySet<string> | null): string[] {
  return limit === null ? [...scopes] : knownScopes(effectiveScopes(scopes).intersection(limit));
}
