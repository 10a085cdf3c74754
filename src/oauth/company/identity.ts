/**
 * What the provider says of a person: the code that a browser brings back, the rules of ID tokens (OpenID Connect Core
 * §3.1.3.7), and the claims that count here.
 */
import { isObject } from "../../lib/json.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { equalInConstantTime, toBase64Url } from "../../lib/secrets.ts";
import { clockToleranceSeconds, google, isOutage } from "./provider.ts";
import type { Provider, ProviderFault, VerifiedToken } from "./provider.ts";
import { type Claims, type CompanySettings } from "./settings.ts";

/** A person as the provider knows them. */
export interface CompanyPerson extends Claims {
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
