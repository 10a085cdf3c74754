/**
 * The company's identity provider: its metadata and keys, requests to its endpoints, the signatures of its tokens, and
 * what it says of a person: the rules of ID tokens (OpenID Connect Core §3.1.3.7), and the claims that count here. What
 * it said last counts for a day while it is down. Redirects are not followed, and every answer is bounded.
 */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import type { JWK } from "@panva/jose";
import { isObject, parseJson } from "../lib/json.ts";
import { loadOnce } from "../lib/program.ts";
import { readBounded } from "../lib/request_text.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { equalInConstantTime, randomId, toBase64Url } from "../lib/secrets.ts";
import { isSafeUrl } from "../lib/settings.ts";
import { Overload } from "../lib/system_fault.ts";
import { type Clock, createPause, type Timers, within } from "../lib/time.ts";
import { createParallelShare } from "../lib/turns.ts";
import type { CompanySettings } from "./mod_settings.ts";

const loadJose = loadOnce(() => import("@panva/jose"));

/** Why the provider gave no answer that can be used. `said`: its own error code, or the issuer that it names. */
export interface ProviderProblem {
  readonly reason:
    | (typeof outages)[number]
    /** Its metadata is of another issuer (OpenID Connect Discovery §4.3). */
    | "other_issuer"
    /** It answered, and refused (RFC 6749 §5.2). */
    | "refused";
  readonly said?: string;
}

/** `server_error`: 5xx and 429; `unexpected_status`: a redirect, or a status that means nothing here. */
export const outages = [
  "unreachable",
  "timed_out",
  "server_error",
  "unexpected_status",
  "not_json",
  "too_large",
  "malformed_answer",
] as const;

/** Whether the provider is away, and not of another opinion. */
export function isOutage(reason: string): boolean {
  return outages.some((outage) => outage === reason);
}

/** Requests to the provider: `fetch` of the platform, or the main thread's where this one may not connect anywhere. */
export type ProviderFetch = (url: string, init: ProviderRequest) => Promise<Response>;

interface ProviderRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly redirect: "manual";
  readonly signal: AbortSignal;
}

const endpoint = z.string().refine((text) => isSafeUrl(URL.parse(text)));

const metadataSchema = lazyObject(() => ({
  issuer: z.string(),
  authorization_endpoint: endpoint,
  token_endpoint: endpoint,
  jwks_uri: endpoint,
  userinfo_endpoint: endpoint.optional(),
  scopes_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  prompt_values_supported: z.array(z.string()).optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  backchannel_logout_supported: z.boolean().optional(),
}));

/** What the provider publishes about itself (OpenID Connect Discovery §3). */
type ProviderMetadata = z.output<typeof metadataSchema>;

const tokenAnswerSchema = lazyObject(() => ({
  access_token: z.string().optional(),
  id_token: z.string().optional(),
  refresh_token: z.string().optional(),
}));

/** Why a token of the provider is refused, or what comes with it. */
export type TokenFault =
  | "malformed_token"
  | "symmetric_or_unsigned"
  | "wrong_type"
  | "bad_signature"
  | "wrong_issuer"
  | "expired"
  /** From the future: a clock is wrong, here or there. */
  | "not_yet_valid"
  | "no_id_token"
  | "missing_claim"
  | "wrong_audience"
  | "wrong_nonce"
  | "wrong_at_hash"
  /** UserInfo of another person (OpenID Connect Core §5.3.2). */
  | "other_subject"
  /** Asked for a new sign-in, the provider did not say when it was. */
  | "no_auth_time"
  | "not_signed_in_anew"
  /** It has more groups than it puts into a token. */
  | "groups_left_out"
  | "other_client"
  | "other_resource"
  | "lives_too_long"
  /** It is bound to a key that this server cannot ask for, or limited in a way that it cannot keep. */
  | "unsupported_limit"
  | "no_logout_event"
  | "nonce_in_logout_token";

/** A fault of a token, or of the provider itself. */
export type ProviderFault = TokenFault | ProviderProblem;

/** The fault as the log has it. */
export function reasonOf<Fault extends string>(fault: Fault | ProviderProblem) {
  return typeof fault === "string" ? { reason: fault } : fault;
}

/** Where an answer gives the provider's tokens. */
type Provided<T> = Promise<Result<T, ProviderProblem>>;

/** A token whose signature and issuer are right and whose time is now. Audience and the rest are the caller's to judge. */
interface VerifiedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Signatures that count: asymmetric ones, so that neither our secret nor a public key can make one (RFC 8725 §3.2). */
const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** Google has habits of its own. */
const google = "https://accounts.google.com";

/** One answer of the provider; 2,000 groups take a tenth of it. */
const maxAnswerBytes = 1_048_576;
const maxTokenCharacters = 524_288;
const maxKeys = 100;
const requestMs = 10_000;
const maxAtOnce = 20;
/** Those beyond wait so long for their turn. */
const turnMs = 5_000;
const freshMs = 3_600_000;
/** An outage is borne so long. */
const staleMs = 86_400_000;
/** After a failure, and before keys are fetched for a signature that fits none, so that no flood of them is passed on. */
const retryMs = 10_000;
/** How far clocks may be apart. */
export const clockToleranceSeconds = 60;

export type Provider = ReturnType<typeof createProvider>;

export function createProvider(
  { company, fetch, clock, timers }: {
    readonly company: Pick<CompanySettings, "issuer" | "clientId" | "clientSecret">;
    readonly fetch: ProviderFetch;
    readonly clock: Clock;
    readonly timers: Timers;
  },
) {
  const { issuer, clientId } = company;
  const { elapsed } = timers;
  const pause = createPause(timers);
  const inTurn = createParallelShare(maxAtOnce);
  const request = async (
    url: string,
    { body, headers = {} }: { readonly body?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Provided<unknown> =>
    await within(requestMs, pause, async (signal): Provided<unknown> => {
      try {
        const response = await fetch(url, {
          method: body === undefined ? "GET" : "POST",
          headers: { accept: "application/json", ...headers },
          redirect: "manual",
          signal,
          ...(body === undefined ? {} : { body }),
        });
        return await readAnswer(response);
      } catch {
        return failure({ reason: signal.aborted ? "timed_out" : "unreachable" });
      }
    });

  /** The answer; throws {@link Overload} where its turn does not come, of which the provider knows nothing. */
  const ask: typeof request = (...asked) =>
    within(turnMs, pause, async (late) => {
      try {
        return await inTurn("", () => request(...asked), () => late);
      } catch (error) {
        if (!late.aborted) throw error;
        throw new Overload("too many requests to the company's identity provider are waiting");
      }
    });

  const metadata = keepFresh(elapsed, async (): Provided<ProviderMetadata> => {
    const answer = await ask(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
    if (!answer.ok) return answer;
    const parsed = metadataSchema.safeParse(answer.value);
    if (!parsed.success) return failure({ reason: "malformed_answer" });
    const named = parsed.data.issuer;
    return named === issuer ? success(parsed.data) : failure({ reason: "other_issuer", said: shortened(named) });
  });

  const keys = keepFresh(elapsed, async (): Provided<readonly JWK[]> => {
    const found = await metadata.get();
    const answer = found.ok ? await ask(found.value.jwks_uri) : found;
    if (!answer.ok) return answer;
    const listed = isObject(answer.value) ? answer.value["keys"] : null;
    if (!Array.isArray(listed)) return failure({ reason: "malformed_answer" });
    const isKey = (key: unknown): key is JWK => isObject(key) && typeof key["kty"] === "string";
    return success(listed.slice(0, maxKeys).filter(isKey));
  });

  /** Posts a form as this client: with its secret, or a signed assertion where that is a JWK (RFC 7523 §2.2). */
  const post = async (
    { token_endpoint: url, token_endpoint_auth_methods_supported: methods = [] }: ProviderMetadata,
    parameters: Readonly<Record<string, string>>,
  ): Provided<unknown> => {
    const form = new URLSearchParams(parameters);
    const headers: Record<string, string> = { "content-type": "application/x-www-form-urlencoded" };
    const secret = company.clientSecret;
    if (secret.startsWith("{")) {
      form.set("client_id", clientId);
      form.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
      form.set("client_assertion", await signAssertion(secret, { clientId, audience: url, now: clock() }));
    } else if (methods.includes("client_secret_post")) {
      form.set("client_id", clientId);
      form.set("client_secret", secret);
    } else { // RFC 6749 §2.3.1: both halves are form-urlencoded
      const [id, password] = [clientId, secret].map((text) => new URLSearchParams({ "": text }).toString().slice(1));
      headers["authorization"] = `Basic ${btoa(`${id}:${password}`)}`;
    }
    return await ask(url, { body: form.toString(), headers });
  };

  return {
    issuer,
    /** The provider's metadata; `fresh` asks it now, for an examination. */
    metadata: (options?: { readonly fresh: boolean }) => metadata.get(options?.fresh ? 0 : freshMs),
    /** Its public keys. */
    keys: (options?: { readonly fresh: boolean }) => keys.get(options?.fresh ? 0 : freshMs),

    /** Where a browser signs in (OpenID Connect Core §3.1.2). `ask`: for the password again, or for another account. */
    async authorizationUrl(
      { state, nonce, redirectUri, codeChallenge, ask }:
        & { readonly [Name in "state" | "nonce" | "redirectUri" | "codeChallenge"]: string }
        & { readonly ask: "again" | "who" | null },
    ): Provided<string> {
      const found = await metadata.get();
      if (!found.ok) return found;
      const { authorization_endpoint: endpoint, scopes_supported: supported = [] } = found.value;
      // many know no account selection, and refuse what they do not know; Google has nothing else
      const { prompt_values_supported: prompts = issuer === google ? ["select_account"] : [] } = found.value;
      const prompt = ask === "who" && prompts.includes("select_account") ? "select_account" : "login";
      const scopes = ["groups", "offline_access"].filter((name) => supported.includes(name));
      const url = new URL(endpoint);
      const parameters = {
        response_type: "code",
        client_id: clientId,
        redirect_uri: redirectUri,
        scope: ["openid", "profile", "email", ...scopes].join(" "),
        ...{ state, nonce, code_challenge: codeChallenge, code_challenge_method: "S256" },
        ...(ask === null ? {} : { prompt }),
        ...(ask === "again" ? { max_age: "0" } : {}),
        // Google's way to a refresh token; others ignore it (RFC 6749 §3.1)
        ...(supported.includes("offline_access") ? {} : { access_type: "offline" }),
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return success(url.href);
    },

    /** A token request (RFC 6749 §4.1.3, §6). What the provider refuses is `refused`, with its error code. */
    async requestToken(parameters: Readonly<Record<string, string>>): Provided<z.output<typeof tokenAnswerSchema>> {
      const found = await metadata.get();
      if (!found.ok) return found;
      const answer = await post(found.value, parameters);
      if (!answer.ok) return answer;
      const parsed = tokenAnswerSchema.safeParse(answer.value);
      return parsed.success ? success(parsed.data) : failure({ reason: "malformed_answer" });
    },

    /** The UserInfo claims (OpenID Connect Core §5.3); the caller compares `sub`. `null` where there is no endpoint. */
    async userInfo(accessToken: string): Provided<Readonly<Record<string, unknown>> | null> {
      const found = await metadata.get();
      if (!found.ok) return found;
      const { userinfo_endpoint: url } = found.value;
      if (url === undefined) return success(null);
      const answer = await ask(url, { headers: { authorization: `Bearer ${accessToken}` } });
      if (!answer.ok) return answer;
      return isObject(answer.value) ? success(answer.value) : failure({ reason: "malformed_answer" });
    },

    /**
     * Verifies a JWT of the provider: algorithm, type, signature, issuer and time. Keys are fetched anew where none fits.
     * `types`: what `typ` may be, in lower case; `null` stands for none.
     */
    async verify(token: string, types: readonly (string | null)[]): Promise<Result<VerifiedToken, ProviderFault>> {
      if (token.length > maxTokenCharacters) return failure("malformed_token");
      const { compactVerify, createLocalJWKSet, decodeProtectedHeader } = await loadJose();
      let header: Readonly<Record<string, unknown>>;
      try {
        header = decodeProtectedHeader(token);
      } catch {
        return failure("malformed_token");
      }
      if (typeof header["alg"] !== "string" || !algorithms.includes(header["alg"])) {
        return failure("symmetric_or_unsigned");
      }
      const { typ } = header; // RFC 8725 §3.11: a token of another kind is none of this one
      if (!types.includes(typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : null)) {
        return failure("wrong_type");
      }
      const signedBy = async (known: readonly JWK[]): Promise<Uint8Array | null> => {
        const set = createLocalJWKSet({ keys: [...known] });
        try {
          return (await compactVerify(token, set, { algorithms })).payload;
        } catch {
          return null; // also where several keys fit: then the header has to name one (OpenID Connect Core §10.1)
        }
      };
      const known = await keys.get();
      if (!known.ok) return known;
      let payload = await signedBy(known.value);
      if (payload === null) {
        const renewed = await keys.get(retryMs);
        if (!renewed.ok) return renewed;
        if (renewed.value !== known.value) payload = await signedBy(renewed.value);
      }
      if (payload === null) return failure("bad_signature");
      const claims = parseJson(new TextDecoder().decode(payload));
      if (!isObject(claims)) return failure("malformed_token");
      if (claims["iss"] !== issuer) return failure("wrong_issuer");
      const fault = timeFault(claims, clock() / 1_000);
      return fault === null ? success({ header, claims }) : failure(fault);
    },
  };
}

/** RFC 7519 §4.1.4 to §4.1.6; `exp` has to be there. */
function timeFault({ exp, nbf, iat }: Readonly<Record<string, unknown>>, now: number): TokenFault | null {
  if (typeof exp !== "number") return "malformed_token";
  const starts = [nbf, iat].filter((value) => value !== undefined);
  if (!starts.every((value) => typeof value === "number")) return "malformed_token";
  if (starts.some((value) => value > now + clockToleranceSeconds)) return "not_yet_valid";
  return exp <= now - clockToleranceSeconds ? "expired" : null;
}

async function readAnswer(response: Response): Provided<unknown> {
  const { status } = response;
  if (status >= 500 || status === 429 || (status >= 300 && status < 400)) {
    await response.body?.cancel();
    return failure({ reason: status >= 300 && status < 400 ? "unexpected_status" : "server_error" });
  }
  const bytes = await readBounded(response, maxAnswerBytes);
  if (bytes === null) return failure({ reason: "too_large" });
  const json = parseJson(new TextDecoder().decode(bytes));
  if (status === 200) return json === undefined ? failure({ reason: "not_json" }) : success(json);
  const code = isObject(json) ? json["error"] : null;
  if (status === 400 && bytes.length === 0) return failure({ reason: "refused", said: "no_reason" }); // as glewlwyd does
  if (status === 401 || typeof code === "string") {
    return failure({ reason: "refused", said: shortened(typeof code === "string" ? code : "unauthorized") });
  }
  return failure({ reason: "unexpected_status" });
}

const maxSaidCharacters = 100;

/** A text of the provider's, fit for a line of the log. */
function shortened(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, "").slice(0, maxSaidCharacters);
}

/**
 * Keeps what `load` gave: young enough it is given again, and for a day where nothing better can be had. One load runs at
 * a time, and a failure is remembered for a while.
 */
function keepFresh<T>(elapsed: () => number, load: () => Provided<T>) {
  let good: { readonly result: Result<T, ProviderProblem>; readonly at: number } | null = null;
  let bad: { readonly problem: ProviderProblem; readonly at: number } | null = null;
  let loading: Provided<T> | null = null;
  /** What is given after a failure: another issuer is an answer, and no outage. */
  const kept = (problem?: ProviderProblem): Result<T, ProviderProblem> | null =>
    (problem === undefined || isOutage(problem.reason)) && good !== null && elapsed() < good.at + staleMs
      ? good.result
      : null;
  const afterFailure = (problem: ProviderProblem): Result<T, ProviderProblem> => kept(problem) ?? failure(problem);
  /** Where its turn did not come, nothing was answered. */
  const afterOverload = (error: unknown): Result<T, ProviderProblem> => {
    const held = error instanceof Overload ? kept(bad?.problem) : null;
    if (held === null) throw error;
    return held;
  };
  const loadNow = async (): Provided<T> => {
    const result = await load();
    if (!result.ok) {
      bad = { problem: result.error, at: elapsed() };
      return afterFailure(result.error);
    }
    [good, bad] = [{ result, at: elapsed() }, null];
    return result;
  };
  return {
    /** What is younger than `maxAgeMs`; 0 asks now. */
    async get(maxAgeMs = freshMs): Provided<T> {
      const now = elapsed();
      if (good !== null && now < good.at + maxAgeMs) return good.result;
      if (bad !== null && now < bad.at + Math.min(retryMs, maxAgeMs)) return afterFailure(bad.problem);
      loading ??= loadNow().catch(afterOverload).finally(() => loading = null);
      return await loading;
    },
  };
}

const assertionLifetimeSeconds = 60;

/** `private_key_jwt` (OpenID Connect Core §9). */
async function signAssertion(
  key: string,
  { clientId, audience, now }: { readonly clientId: string; readonly audience: string; readonly now: number },
): Promise<string> {
  const { importJWK, SignJWT } = await loadJose();
  const jwk: JWK = JSON.parse(key);
  const { alg = "RS256", kid } = jwk;
  const seconds = Math.floor(now / 1_000);
  return await new SignJWT({}).setProtectedHeader({ alg, typ: "JWT", ...kid === undefined ? {} : { kid } })
    .setIssuer(clientId).setSubject(clientId).setAudience(audience).setJti(randomId())
    .setIssuedAt(seconds).setExpirationTime(seconds + assertionLifetimeSeconds).sign(await importJWK(jwk, alg));
}

/** A person as the provider knows them. */
export interface CompanyPerson {
  readonly subject: string;
  /** Lower case, and verified by the provider; `null` otherwise. */
  readonly email: string | null;
  /** The domain whose owner the provider vouches for; by the verified address where it says nothing else. */
  readonly domain: string | null;
  readonly groups: readonly string[];
  /** To show; empty where the provider gave none. */
  readonly name: string;
  /** The session at the provider (Back-Channel Logout §2.1), where it names one. */
  readonly sid: string | null;
  readonly refreshToken: string | null;
}

interface IdentityOptions {
  readonly provider: Provider;
  readonly company: CompanySettings;
}

/** Exchanges a code, and verifies who signed in. `signedInSince`: in seconds, where a new sign-in was asked for. */
export async function redeemCode(
  { provider, company }: IdentityOptions,
  code: string,
  { redirectUri, nonce, codeVerifier, signedInSince }:
    & { readonly [Name in "redirectUri" | "nonce" | "codeVerifier"]: string }
    & { readonly signedInSince: number | null },
): Promise<Result<CompanyPerson, ProviderFault>> {
  const answer = await provider.requestToken({
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: codeVerifier,
  });
  if (!answer.ok) return answer;
  const { id_token: idToken, access_token: accessToken = null, refresh_token: refreshToken = null } = answer.value;
  if (idToken === undefined) return failure("no_id_token");
  const verified = await verifyIdToken({ provider, company }, idToken, { accessToken });
  if (!verified.ok) return verified;
  const { claims } = verified.value;
  if (typeof claims["nonce"] !== "string" || !equalInConstantTime(claims["nonce"], nonce)) {
    return failure("wrong_nonce");
  }
  if (signedInSince !== null) {
    const { auth_time: signedInAt } = claims; // §3.1.2.1: required where max_age was sent
    if (typeof signedInAt !== "number") return failure("no_auth_time");
    if (signedInAt < signedInSince - clockToleranceSeconds) return failure("not_signed_in_anew");
  }
  const person = await readPerson({ provider, company }, claims, accessToken);
  return person.ok ? success({ ...person.value, refreshToken }) : person;
}

/** An ID token of this client (§3.1.3.7), whatever it was asked for: the caller looks at `nonce` and `auth_time`. */
export async function verifyIdToken(
  { provider, company: { clientId } }: IdentityOptions,
  token: string,
  { accessToken }: { readonly accessToken: string | null },
): Promise<Result<VerifiedToken & { readonly subject: string }, ProviderFault>> {
  const verified = await provider.verify(token, [null, "jwt"]);
  if (!verified.ok) return verified;
  const { header, claims } = verified.value;
  const { aud, azp, sub, at_hash: hash } = claims;
  const audiences = Array.isArray(aud) ? aud : [aud];
  // Rules 3 to 5; one of several audiences has to be the party that asked
  const isOurs = audiences.includes(clientId) && (azp === undefined ? audiences.length === 1 : azp === clientId);
  if (!isOurs) return failure("wrong_audience");
  if (typeof sub !== "string" || sub === "" || sub.length > maxSubjectCharacters) return failure("malformed_token");
  if (hash !== undefined && accessToken !== null && hash !== await halfHash(accessToken, String(header["alg"]))) {
    return failure("wrong_at_hash"); // §3.1.3.8
  }
  return success({ header, claims, subject: sub });
}

/** §2: a subject has at most 255 characters. */
const maxSubjectCharacters = 255;
const maxGroups = 20_000;

/** The left half of the token's hash, by the algorithm of the signature (§3.1.3.6). */
async function halfHash(token: string, algorithm: string): Promise<string> {
  const bits = algorithm.startsWith("Ed") ? 512 : Number(algorithm.slice(2));
  const digest = new Uint8Array(await crypto.subtle.digest(`SHA-${bits}`, new TextEncoder().encode(token)));
  return toBase64Url(digest.subarray(0, digest.length / 2));
}

type RawClaims = Readonly<Record<string, unknown>>;

/** The claims that count, of a verified ID token and of UserInfo where the ID token lacks some. */
export async function readPerson(
  { provider, company }: IdentityOptions,
  idClaims: RawClaims,
  accessToken: string | null,
): Promise<Result<CompanyPerson, ProviderFault>> {
  const subject = String(idClaims["sub"]);
  const { isWithoutGroups, isWithoutEmail } = whatIsUnsaid(company, idClaims);
  const isLeftOut = isWithoutGroups && isObject(idClaims["_claim_names"]); // §5.6.2: of another address, never asked
  if (isLeftOut || (isWithoutGroups && idClaims["hasgroups"] === true)) return failure("groups_left_out");
  const isAsked = isWithoutGroups || isWithoutEmail || idClaims["name"] === undefined;
  const answer = isAsked && accessToken !== null ? await provider.userInfo(accessToken) : success(null);
  // a name that is missing is no reason to refuse
  if (!answer.ok && isOutage(answer.error.reason) && (isWithoutGroups || isWithoutEmail)) return answer;
  const info = answer.ok ? answer.value ?? {} : {};
  if (info["sub"] !== undefined && info["sub"] !== subject) return failure("other_subject");
  const trusted: RawClaims = info["sub"] === subject ? info : {};
  // an address counts with what the same answer says of it
  const email = emailIn(idClaims["email"] === undefined ? trusted : idClaims);
  const all = { ...trusted, ...idClaims };
  const names = ["name", "preferred_username", "email"].map((claim) => all[claim]);
  const { sid } = idClaims;
  return success({
    subject,
    email,
    domain: domainIn(provider.issuer, email, all),
    groups: groupsIn(idClaims, company.groupsClaim) ?? groupsIn(trusted, company.groupsClaim) ?? [],
    name: String(names.find((name) => typeof name === "string" && name.trim() !== "") ?? ""),
    sid: typeof sid === "string" ? sid : null,
    refreshToken: null,
  });
}

/** Which claims that the settings go by are missing: a provider that leaves them out says nothing of them. */
export function whatIsUnsaid({ allow, groups, groupsClaim }: IdentityOptions["company"], claims: RawClaims) {
  const needsGroups = groups !== null || allow.some(({ kind }) => kind === "group");
  const needsEmail = allow.some(({ kind }) => kind === "email" || kind === "domain");
  const isWithoutGroups = needsGroups && groupsIn(claims, groupsClaim) === undefined;
  return { isWithoutGroups, isWithoutEmail: needsEmail && claims["email"] === undefined };
}

/** The groups at a claim's name, or at a path of names; `undefined` where there is none. */
export function groupsIn(claims: RawClaims, path: string): string[] | undefined {
  let value: unknown = Object.hasOwn(claims, path) ? claims[path] : claims;
  if (value === claims) {
    for (const name of path.split(".")) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return undefined;
  return value.slice(0, maxGroups).filter((group) => typeof group === "string");
}

/** The address, if the provider has verified it; or, as Entra says it, its domain's owner has. */
function emailIn({ email, email_verified: verified, xms_edov: byDomain }: RawClaims): string | null {
  const isVerified = [true, "true"].includes(verified as never) || [true, "true", 1, "1"].includes(byDomain as never);
  return isVerified && typeof email === "string" && /^[^@\s]+@[^@\s]+$/.test(email) ? email.toLowerCase() : null;
}

/** At Google anyone can have a verified address of any domain: there, `hd` alone says who belongs to it. */
function domainIn(issuer: string, email: string | null, { hd }: RawClaims): string | null {
  if (issuer !== google) return email?.split("@")[1] ?? null;
  return typeof hd === "string" ? hd.toLowerCase() : null;
}
