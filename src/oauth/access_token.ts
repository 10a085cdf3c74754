/**
 * Access tokens, and the verifier of both kinds: JWTs of the profile RFC 9068, signed with EdDSA, each tied to a grant;
 * and operator tokens for scripts, made on the command line, while the server runs or before set-up.
 */
import * as z from "zod";
import type { AdministrationOptions, AuthorizationServerOptions } from "./context.ts";
import { parseJson } from "../lib/json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { loadOnce } from "../lib/program.ts";
import { whenReady } from "../lib/turns.ts";
import { hashSecret, matchesHash, randomId, randomSecret } from "../lib/secrets.ts";
import { conflict, grants, operatorTokens, ownerId, retryOnConflict, revokedTokens, users } from "./records.ts";
import type { Grant, OperatorToken, Stored, User } from "./records.ts";
import { knownScopes, parseScope, scopeProblem } from "./scope.ts";
import { maxAccessTokenLifetimeSeconds } from "./mod_settings.ts";
import { type SigningKeys, signingKeys } from "./signing_keys.ts";
import { watchEntries } from "../lib/stored_entries.ts";
import type { NamedGrant, Principal } from "../lib/principal.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";
import { effectiveScopes } from "../lib/principal.ts";
import { type Holder, holderOf, type UserDirectory } from "./manage_users.ts";

// RFC 9068 §2.2, and the grant that the token hangs on. A token with other claims was not made here.
const claimsSchema = z.lazy(() =>
  z.strictObject({
    iss: z.string(),
    aud: z.string(),
    sub: z.string().min(1),
    client_id: z.string().min(1),
    scope: z.string(),
    exp: z.int().positive(),
    iat: z.int().positive(),
    jti: z.string().min(1),
    grant_id: z.string().min(1),
    directories: z.array(z.string()).optional(),
  })
);

const loadJose = loadOnce(() => import("@panva/jose"));

/** How far the clocks of two instances may be apart. */
const clockLeewaySeconds = 90;

const headerSchema = z.lazy(() =>
  z.strictObject({ alg: z.literal("EdDSA"), typ: z.literal("at+jwt"), kid: z.string() })
);

/** What a verified token says. Times are milliseconds since the epoch; `keyId` names the key that signed it. */
function toClaims(
  { sub, client_id, grant_id, jti, scope, directories, iat, exp }: z.output<typeof claimsSchema>,
  keyId: string,
) {
  return {
    subject: sub,
    clientId: client_id,
    grantId: grant_id,
    tokenId: jti,
    keyId,
    scopes: parseScope(scope),
    ...directories && { directories },
    issuedAt: iat * 1_000,
    expiresAt: exp * 1_000,
  };
}

type AccessTokenProblem =
  | "malformed_token"
  | "foreign_token_header"
  | "unknown_signing_key"
  | "bad_signature"
  | "wrong_claims"
  | "wrong_issuer"
  | "wrong_audience"
  | "expired_token";

const compactPattern = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{86})$/;

/** The parts that may be looked at before the signature is checked, or why there is nothing to check. */
function parseHeader(token: string): Result<{ kid: string }, AccessTokenProblem> {
  const [, header = "", , signature = ""] = compactPattern.exec(token) ?? [];
  // Only one spelling of a signature: the unused bits of its last character must be zero.
  if (header === "" || Buffer.from(signature, "base64url").toString("base64url") !== signature) {
    return failure("malformed_token");
  }
  const parsed = parseJson(Buffer.from(header, "base64url").toString("utf8"));
  if (parsed === undefined) return failure("malformed_token");
  // RFC 8725 §3: our tokens have these three members; `jwk`, `jku`, `x5u`, `x5c`, `crit` and others are not ours.
  const checked = headerSchema.safeParse(parsed);
  return checked.success ? success(checked.data) : failure("foreign_token_header");
}

export type AccessTokens = ReturnType<typeof createAccessTokens>;

/** Signs and verifies access tokens of one issuer for one resource. Verification does not know about revocation. */
export function createAccessTokens(
  { issuer, resource, clock, lifetimeSeconds, signingKeys }:
    & Pick<AuthorizationServerOptions, "issuer" | "resource" | "clock">
    & { readonly lifetimeSeconds: number; readonly signingKeys: SigningKeys },
) {
  return {
    async issue(grant: Grant, scopes: readonly string[]) {
      const { kid, privateKey } = await signingKeys.current();
      const issuedAt = Math.floor(clock() / 1_000);
      const expiresAt = issuedAt + lifetimeSeconds;
      const { SignJWT } = await loadJose();
      const { id, clientId, directories } = grant;
      const limit = directories && { directories };
      const token = await new SignJWT({ client_id: clientId, scope: scopes.join(" "), grant_id: id, ...limit })
        .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid })
        .setIssuer(issuer).setAudience(resource).setSubject(grant.subject)
        .setIssuedAt(issuedAt).setExpirationTime(expiresAt).setJti(randomId())
        .sign(privateKey);
      return { token, expiresAt: expiresAt * 1_000 };
    },
    async verify(token: string): Promise<Result<ReturnType<typeof toClaims>, AccessTokenProblem>> {
      const header = parseHeader(token);
      if (!header.ok) return header;
      const key = await signingKeys.find(header.value.kid);
      if (key === null) return failure("unknown_signing_key");
      const { compactVerify } = await loadJose();
      let payload: unknown;
      try {
        const verified = await compactVerify(token, key, { algorithms: ["EdDSA"] });
        payload = JSON.parse(new TextDecoder().decode(verified.payload));
      } catch {
        return failure("bad_signature");
      }
      const parsed = claimsSchema.safeParse(payload);
      if (!parsed.success) return failure("wrong_claims"); // RFC 9068 §4
      const claims = parsed.data;
      const isIssuedLater = claims.iat > clock() / 1_000 + clockLeewaySeconds;
      if (isIssuedLater || claims.exp - claims.iat > maxAccessTokenLifetimeSeconds) return failure("wrong_claims");
      if (claims.iss !== issuer) return failure("wrong_issuer");
      if (claims.aud !== resource) return failure("wrong_audience");
      return claims.exp * 1_000 <= clock() ? failure("expired_token") : success(toClaims(claims, header.value.kid));
    },
  };
}

/** Why a bearer token is refused. */
type TokenProblem =
  | AccessTokenProblem
  | "refresh_token_as_bearer"
  | "unknown_operator_token"
  | "not_an_operator_token"
  | "revoked_token"
  | NonNullable<Awaited<ReturnType<UserDirectory["whyOut"]>>>;

/** What `http`'s guard verifies tokens with. */
export type Verifier = ReturnType<typeof createVerifier>;

type VerifierOptions = Pick<AuthorizationServerOptions, "storage" | "log" | "clock" | "timers">;

/** Verifies both kinds of access token: those of grants (JWTs) and those of the operator. */
export function createVerifier(
  { storage, users, signingKeys, accessTokens, clock, log, timers }: VerifierOptions & {
    readonly signingKeys: Pick<SigningKeys, "find">;
    readonly users: UserDirectory;
    readonly accessTokens: AccessTokens;
  },
) {
  const { dueCount } = users;
  /**
   * Who holds a verified token that was not revoked, whether or not it has expired, or a grant, by whatever token of it;
   * `null` too for whom was shut out.
   */
  const holderOfUnrevoked = async (
    { clientId, keyId, grantId, tokenId }: NamedGrant & {
      readonly keyId: string | null;
      readonly tokenId: string | null;
    },
  ): Promise<Holder | null> => {
    if (clientId === operatorClientId) {
      const token = await operatorTokens.read(storage, grantId); // has the id of the token itself
      return token === null ? null : await users.holderOfToken(token.value);
    }
    // A key that was withdrawn ends the tokens that were verified before, too.
    if (keyId !== null && await signingKeys.find(keyId) === null) return null;
    const revoking = tokenId === null ? null : revokedTokens.read(storage, tokenId);
    const [grant, revoked] = await Promise.all([grants.read(storage, grantId), revoking]);
    if (grant === null || revoked !== null) return null;
    return holderOf(await users.find(grant.value.subject), grant.value);
  };
  /** The same of a token that has not expired either. */
  const holderNow = async (token: Omit<Principal, "scopes">): Promise<Holder | null> => {
    const holder = await holderOfUnrevoked(token);
    // By a clock that has jumped meanwhile, the mark that revokes it may have expired, as it then has itself.
    return token.expiresAt <= clock() ? null : holder;
  };
  const isLive = async (principal: Principal): Promise<boolean> => {
    const holder = await holderOfUnrevoked(principal);
    return holder !== null && (holder.mayGrant === null || principal.scopes.isSubsetOf(holder.mayGrant));
  };
  /** Calls `onOver` once, when one of the principal's records has changed and `isOver` then. */
  const follow = (principal: Principal, isOver: () => Promise<boolean>, onOver: () => void): () => void => {
    let isStopped = false;
    const stop = (): void => {
      isStopped = true;
      watch.stop();
    };
    const watch = watchEntries(storage, recordsOf(principal), async () => {
      if (!await isOver() || isStopped) return;
      stop();
      onOver();
    }, { log, timers });
    watch.look(); // it may be over since the request's token was verified
    return stop;
  };
  const whyEnded = async ({ subject, clientId, grantId, tokenId, issuedAt = 0 }: Principal) => {
    const family = clientId === operatorClientId ? operatorTokens : grants;
    const [held, revoked] = await Promise.all([family.read(storage, grantId), revokedTokens.read(storage, tokenId)]);
    return await users.whyOut(subject, { issuedAt, isStored: held !== null && revoked === null }) ?? "revoked_token";
  };
  const whileLive = async (principal: Principal): Promise<Result<Principal, TokenProblem>> => {
    const holder = await holderNow(principal);
    if (holder === null) return failure(await whyEnded(principal));
    const { mayGrant } = holder;
    return success(mayGrant === null ? principal : { ...principal, scopes: principal.scopes.intersection(mayGrant) });
  };
  const verifyOperatorToken = async (token: string): Promise<Result<Principal, TokenProblem>> => {
    const found = await findOperatorToken(storage, token);
    if (found === null) return failure("unknown_operator_token");
    const { id, userId, scopes, directories, createdAt: issuedAt, expiresAt } = found;
    const named = { subject: userId, clientId: operatorClientId, grantId: id, tokenId: id, keyId: null, expiresAt };
    return await whileLive({ ...named, issuedAt, ...directories && { directories }, scopes: effectiveScopes(scopes) });
  };
  return {
    async verify(token: string): Promise<Result<Principal, TokenProblem>> {
      if (token.startsWith("pct_")) return await verifyOperatorToken(token);
      if (token.startsWith("pcr_")) return failure("refresh_token_as_bearer");
      const verified = await accessTokens.verify(token);
      if (!verified.ok) return verified;
      const { scopes, ...named } = verified.value;
      return await whileLive({ ...named, scopes: effectiveScopes(scopes) });
    },
    /** For an API key or a Basic password, which may be an operator's token alone: those of OAuth are bearer tokens. */
    async verifyKey(key: string): Promise<Result<Principal, TokenProblem>> {
      return key.startsWith("pct_") ? await verifyOperatorToken(key) : failure("not_an_operator_token");
    },
    holderNow,
    /** Whether what this principal began may go on, with all of its scopes: its token may have expired meanwhile. */
    isLive,
    /** Whether a user who is not shut out is an administrator; `null` for any other. */
    isAdministrator: async (userId: string) => (await users.find(userId))?.isAdministrator ?? null,
    /** Whether a grant, or a token of the command line, has not ended: what was begun with it may be decided about. */
    isGrantLive: async (held: NamedGrant) => await holderOfUnrevoked({ ...held, keyId: null, tokenId: null }) !== null,
    whyEnded,
    /** Calls `onRevoked` once when the token is revoked, or its grant or user ends; not at its expiry. */
    watch: (principal: Principal, onRevoked: () => void) =>
      follow(principal, async () => !await isLive(principal), onRevoked),
    /**
     * For what goes on after its token has ended: calls `onOut` once when the person is disabled, gets a new passphrase,
     * or is ended by the company's provider.
     */
    watchPerson(principal: Principal, onOut: () => void) {
      const now = async () => (await users.lookUp(principal.subject))?.credentialHash ?? null;
      let before: string | null | undefined; // `null`: a client that acts for itself, or the owner before set-up
      return follow(principal, async () => (before ??= await now()) !== null && before !== await now(), onOut);
    },
    /** Moves whenever anything was stored, or the provider has to be asked: `isLive` needs asking again only then. */
    changeCount: dueCount === undefined
      ? storage.changeCount
      : () => whenReady(storage.changeCount(), (stored) => stored + dueCount()),
  };
}

/** The records that decide whether the token is alive; see `isLive` in {@link createVerifier}. */
function recordsOf({ clientId, grantId, tokenId, keyId, subject }: Principal): readonly StorageKey[] {
  if (clientId === operatorClientId) return [operatorTokens.key(tokenId), users.key(subject)];
  const signedBy = keyId === null ? [] : [signingKeys.key(keyId)];
  return [grants.key(grantId), revokedTokens.key(tokenId), users.key(subject), ...signedBy];
}

/** The `clientId` of principals that come from operator tokens. */
export const operatorClientId = "portcullis-cli";

/** The arguments of `token create`. */
export interface OperatorTokenRequest {
  /** Names separated by spaces or commas. */
  readonly scope: string;
  readonly lifetimeSeconds: number;
  readonly name?: string;
  /** Of the workspace's directories those that it may use; all by default. */
  readonly directories?: readonly string[];
  /** The user that the token acts for; the owner by default. */
  readonly userId?: string;
}

/** A refused request: the field and the remedy, for the terminal. */
interface OperatorTokenProblem {
  readonly field: "scope" | "ttl" | "name" | "user";
  readonly message: string;
}

/** An operator token as lists show it, without the token itself. */
export type OperatorTokenSummary = Omit<OperatorToken, "tokenHash" | "userEpoch">;

/** Makes a token. It is shown this once; only its hash is kept. */
export async function createOperatorToken(
  { storage, clock }: AdministrationOptions,
  request: OperatorTokenRequest,
): Promise<Result<{ readonly token: string; readonly summary: OperatorTokenSummary }, OperatorTokenProblem>> {
  return await retryOnConflict(async () => {
    const user = await users.read(storage, request.userId ?? ownerId);
    const problem = findProblem(user, request);
    if (problem !== null) return failure(problem);
    const id = randomId();
    const token = `pct_${id}_${randomSecret()}`;
    const now = clock();
    const summary: OperatorTokenSummary = {
      id,
      name: request.name ?? "",
      userId: request.userId ?? ownerId,
      scopes: knownScopes(parseScope(request.scope)),
      ...request.directories && { directories: [...request.directories] },
      createdAt: now,
      expiresAt: now + request.lifetimeSeconds * 1_000,
    };
    const epoch = user === null ? {} : { userEpoch: user.value.epoch };
    const record = { ...summary, ...epoch, tokenHash: hashSecret(token) };
    const committed = await storage.commit({
      checks: [users.check(user, summary.userId)],
      puts: [operatorTokens.put(id, record, summary.expiresAt)],
    });
    return committed ? success({ token, summary }) : conflict;
  });
}

const maxLifetimeSeconds = 31_536_000;

function findProblem(user: Stored<User> | null, request: OperatorTokenRequest): OperatorTokenProblem | null {
  const unfit = scopeProblem(request.scope);
  if (unfit !== null) return { field: "scope", message: unfit };
  const { lifetimeSeconds, name = "", userId = ownerId } = request;
  if (!Number.isInteger(lifetimeSeconds) || lifetimeSeconds < 1 || lifetimeSeconds > maxLifetimeSeconds) {
    return {
      field: "ttl",
      message: `must be a number of seconds from 1 to ${maxLifetimeSeconds}, or a time such as 12h or 30d`,
    };
  }
  if (name.length > 100 || /\p{C}/u.test(name)) {
    return { field: "name", message: "must have at most 100 characters and no control characters" };
  }
  if (user?.value.disabled) {
    return { field: "user", message: "names a disabled user; `portcullis users enable` comes first" };
  }
  // The owner may have tokens before set-up; other users must exist.
  return user === null && userId !== ownerId
    ? { field: "user", message: "names no user; `portcullis users list` shows the names" }
    : null;
}

/** The tokens that are alive, oldest first. */
export async function listOperatorTokens({ storage }: AdministrationOptions): Promise<OperatorTokenSummary[]> {
  const stored = await Array.fromAsync(operatorTokens.all(storage));
  return stored.map(({ value }) => summariseToken(value)).sort((a, b) => a.createdAt - b.createdAt);
}

export function summariseToken({ tokenHash: _hash, userEpoch: _epoch, ...summary }: OperatorToken) {
  return summary;
}

/** Ends a token at once; `false` when there is none with that id. */
export async function revokeOperatorToken({ storage }: AdministrationOptions, id: string): Promise<boolean> {
  return await storage.consume(operatorTokens.key(id)) !== null;
}

const operatorTokenPattern = /^pct_([0-9a-f]{32})_[A-Za-z0-9_-]{43}$/;

/** The record of a presented token, or `null` when it is none of ours or has ended. */
async function findOperatorToken(storage: Storage, token: string): Promise<OperatorToken | null> {
  const id = operatorTokenPattern.exec(token)?.[1];
  if (id === undefined) return null;
  const stored = await operatorTokens.read(storage, id);
  return stored !== null && matchesHash(token, stored.value.tokenHash) ? stored.value : null;
}
