/**
 * The endpoints that the company's provider has a part in.
 *
 * - Sign-in: `/oauth/company` sends a browser there, `/oauth/callback` accepts it back. Only the browser that was sent
 *   may return (CVE-2026-27124), once, and its user still has to consent.
 * - Identity assertions (ID-JAG), which a client brings instead of sending the person to a page (RFC 7523 §2.1 with MCP's
 *   Enterprise-Managed Authorization §5, and draft-ietf-oauth-identity-assertion-authz-grant): the provider vouches for
 *   the person, and an administrator for the client. No refresh token: the client brings another assertion.
 * - Logout tokens (OpenID Connect Back-Channel Logout 1.0): the provider says who signed out there.
 */
import * as z from "zod";
import { lazyObject } from "../lib/lazy_object.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { html, redirectResponse, seeOther } from "../lib/page.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { hashSecret, randomSecret } from "../lib/secrets.ts";
import type { Browser } from "./browser_sessions.ts";
import {
  clockToleranceSeconds,
  type CompanyPerson,
  groupsIn,
  isOutage,
  outages,
  type Provider,
  type ProviderFault,
  type ProviderProblem,
  readPerson,
  reasonOf,
  redeemCode,
  type TokenFault,
  whatIsUnsaid,
} from "./company_provider.ts";
import {
  admitPerson,
  endPerson,
  idAtProvider,
  isRecheckDue,
  linkPerson,
  providerSessions,
  type RecheckOptions,
  rememberSignIn,
  unlinkOwner,
  userIdOf,
} from "./company_people.ts";
import {
  accountPageIn,
  deadEnd,
  deadEndPage,
  errorPage,
  findPending,
  type InteractionOptions,
  type LinkCompany,
  pathOfPage,
  pathOfRequest,
  pathsOf,
  showSignIn,
  startAgain,
  wayBackProblems,
  wrongMethodPage,
} from "./interaction.ts";
import type { Account } from "./manage_users.ts";
import { type Client, clientStillThere, conflict, defineRecordFamily, retryOnConflict, users } from "./records.ts";
import {
  jsonResponse,
  logStep,
  maxQueryCharacters,
  readForm,
  type RefusalReason,
  refuseStep,
  toParameters,
  wrongMethod,
} from "./exchange.ts";
import { knownScopes, parseScope, usualScopes } from "./scope.ts";
import { goToInstancePage } from "./servicenow_sign_in.ts";
import { type GrantType, type GrantTypeOptions, type IssuedTokens, issueOwnGrant } from "./token.ts";
import { effectiveScopes } from "../lib/principal.ts";

/** What the endpoints need besides what all browser endpoints share. */
type CompanyOptions = InteractionOptions & RecheckOptions;

const purposeSchema = lazyObject(() => ({
  /** The handle of the authorization request that goes on afterwards, or the page. */
  request: z.string().optional(),
  page: z.string().optional(),
  /** A new sign-in is asked for, whatever session there is at the provider. */
  fresh: z.boolean(),
  /** Who links an account. */
  linkTo: z.string().optional(),
  /** Who confirms something: no other person may come back. */
  mustBe: z.string().optional(),
}));

type Purpose = z.output<typeof purposeSchema>;

/** `["company_visit", SHA-256 of the state]`, expiring. */
const companyVisits = defineRecordFamily("company_visit", () => ({
  /** SHA-256 of the cookie of the browser that was sent. */
  browserHash: z.string(),
  /** Sealed: it may hold the handle of a waiting request. */
  purpose: z.string(),
  startedAt: z.number(),
}));

const visitLifetimeMs = 600_000;
const sealPurpose = "company-visit";

/** Why someone does not come in. */
type CompanyRefusal =
  | TokenFault
  | ProviderProblem["reason"]
  | keyof typeof ways
  | "other_issuer_answered"
  | "not_allowed"
  | "other_person"
  | "linked_elsewhere";

interface Refused {
  readonly reason: CompanyRefusal;
  /** The provider's own word. */
  readonly said?: string | undefined;
  /** Where the person goes on. */
  readonly next?: string | undefined;
}

export function createCompanyEndpoints(options: CompanyOptions & GrantTypeOptions) {
  return {
    visit: createVisitEndpoint(options),
    callback: createCallback(options),
    link: createLinkEndpoint(options),
    linking: createLinking(options),
    logout: createBackchannelLogout(options),
    assertionGrant: createAssertionGrant(options),
  };
}

/** The nonce and the PKCE verifier, derived from the state under our key: neither is stored. */
function secretsOf({ secrets }: CompanyOptions, state: string) {
  return {
    nonce: secrets.authenticate("company-nonce", state),
    codeVerifier: secrets.authenticate("company-code-verifier", state),
  };
}

/** This server's redirect address at the provider. */
function callbackUrl(issuer: string): string {
  return `${issuer}/oauth/callback`;
}

async function beginVisit(
  options: CompanyOptions,
  browser: Browser,
  purpose: Purpose,
  ask: "who" | null,
): Promise<Result<string, ProviderProblem>> {
  const { storage, clock, secrets, provider, issuer } = options;
  const state = randomSecret();
  const stateHash = hashSecret(state);
  const { nonce, codeVerifier } = secretsOf(options, state);
  const [redirectUri, codeChallenge] = [callbackUrl(issuer), hashSecret(codeVerifier)];
  const again = purpose.fresh ? "again" : ask;
  const url = await provider.authorizationUrl({ state, nonce, redirectUri, codeChallenge, ask: again });
  if (!url.ok) return url;
  const sealed = await secrets.seal(sealPurpose, JSON.stringify(purpose), stateHash);
  const visit = { browserHash: browser.hash, purpose: sealed, startedAt: clock() };
  await storage.commit({ puts: [companyVisits.put(stateHash, visit, clock() + visitLifetimeMs)] });
  return url;
}

/** Sends a browser to the provider, on behalf of a request that waits, or of a page. */
function createVisitEndpoint(options: CompanyOptions): Endpoint {
  const { browsers, issuer } = options;
  return async (request, peer) => {
    if (request.method !== "GET") return wrongMethodPage(issuer, "GET");
    const browser = browsers.identify(request);
    const { search, searchParams } = new URL(request.url);
    if (search.length > maxQueryCharacters) return errorPage(issuer, "request_too_long");
    if (browser.isNew) return errorPage(issuer, "cookie_missing");
    const purpose = await purposeOf(options, request, { browser, asked: searchParams });
    if (purpose === null) return errorPage(issuer, "request_gone");
    const url = await beginVisit(options, browser, purpose, searchParams.has("choose") ? "who" : null);
    return url.ok
      ? redirectResponse(302, url.value)
      : refuse(options, peer, { ...url.error, next: pathOfPurpose(issuer, purpose) });
  };
}

async function purposeOf(
  options: CompanyOptions,
  request: Request,
  { browser, asked }: { readonly browser: Browser; readonly asked: URLSearchParams },
): Promise<Purpose | null> {
  const handle = asked.get("request");
  if (handle !== null) {
    const pending = await findPending(options, handle, browser);
    return pending === null ? null : { request: handle, fresh: pending.request.signInAfter > 0 };
  }
  const page = accountPageIn(asked.get("next")) ?? "grants";
  const fresh = asked.has("again");
  const signedIn = fresh ? await options.browsers.signedIn(request) : null;
  return signedIn?.account.company ? { page, fresh, mustBe: signedIn.account.id } : { page, fresh };
}

function pathOfPurpose(issuer: string, { request, page }: Purpose): string {
  return request === undefined
    ? pathOfPage(issuer, accountPageIn(page ?? null) ?? "grants")
    : pathOfRequest(issuer, request);
}

function createCallback(options: CompanyOptions): Endpoint {
  const { browsers, issuer, log, clock } = options;
  return async (request, peer) => {
    if (request.method !== "GET") return wrongMethodPage(issuer, "GET");
    const { search, searchParams } = new URL(request.url);
    if (search.length > maxQueryCharacters) return errorPage(issuer, "request_too_long");
    const browser = browsers.identify(request);
    const visit = await takeVisit(options, searchParams, browser);
    if (!visit.ok) return refuse(options, peer, { reason: visit.error });
    const { purpose } = visit.value;
    const next = pathOfPurpose(issuer, purpose);
    const person = await personOf(options, searchParams, visit.value);
    if (!person.ok) return refuse(options, peer, { ...person.error, next });
    const account = await accountOf(options, request, purpose, person.value);
    if (!account.ok) return refuse(options, peer, { reason: account.error, next });
    const { id } = account.value;
    await rememberSignIn(options, id, person.value);
    if (purpose.linkTo !== undefined) {
      log.write("audit", "company_link", { outcome: "linked", user: id, address: peer.address });
    }
    const company = { sid: person.value.sid, confirmedAt: purpose.fresh ? clock() : 0 };
    const cookie = await browsers.signIn(request, account.value, { browser, company });
    logStep({ log, peer }, "company_sign_in", { outcome: "signed_in", user: id });
    return seeOther(next, [cookie]);
  };
}

interface TakenVisit {
  readonly state: string;
  readonly purpose: Purpose;
  readonly startedAt: number;
}

/** The visit that a response belongs to, used up; of two responses, the first wins. */
async function takeVisit(
  { storage, secrets }: CompanyOptions,
  parameters: URLSearchParams,
  browser: Browser,
): Promise<Result<TakenVisit, CompanyRefusal>> {
  const state = parameters.get("state");
  if (state === null || !toParameters(parameters).ok) return failure("malformed");
  const stateHash = hashSecret(state);
  const visit = await companyVisits.read(storage, stateHash);
  if (visit === null) return failure("unknown_state");
  if (!browser.hashes.includes(visit.value.browserHash)) return failure("other_browser"); // login CSRF
  if (await storage.consume(visit.key) === null) return failure("unknown_state");
  const opened = await secrets.open(sealPurpose, visit.value.purpose, stateHash);
  const purpose = purposeSchema.safeParse(parseJson(opened ?? ""));
  if (!purpose.success) return failure("unknown_state"); // sealed under a key that is gone
  return success({ state, purpose: purpose.data, startedAt: visit.value.startedAt });
}

/** Who comes back. */
async function personOf(
  options: CompanyOptions,
  parameters: URLSearchParams,
  { state, purpose, startedAt }: TakenVisit,
): Promise<Result<CompanyPerson, Refused>> {
  const { company, provider, issuer } = options;
  const metadata = await provider.metadata();
  if (!metadata.ok) return metadata;
  const named = parameters.get("iss"); // RFC 9207 §2.4: the answer of another server is for no one (mix-up)
  const isNamed = named !== null || metadata.value.authorization_response_iss_parameter_supported === true;
  if (isNamed && named !== company.issuer) return failure({ reason: "other_issuer_answered" });
  const error = parameters.get("error");
  if (error !== null) return failure({ reason: "denied", said: error.replace(/[^a-z_]/g, "").slice(0, 40) });
  const code = parameters.get("code");
  if (code === null) return failure({ reason: "malformed" });
  const person = await redeemCode(options, code, {
    ...secretsOf(options, state),
    redirectUri: callbackUrl(issuer),
    signedInSince: purpose.fresh ? Math.floor(startedAt / 1_000) : null,
  });
  return person.ok ? person : failure(reasonOf(person.error));
}

/** Whose account that is here. */
async function accountOf(
  options: CompanyOptions,
  request: Request,
  { linkTo, mustBe }: Purpose,
  person: CompanyPerson,
): Promise<Result<Account, CompanyRefusal>> {
  if (linkTo !== undefined) {
    const signedIn = await options.browsers.signedIn(request);
    if (signedIn?.account.id !== linkTo) return failure("other_person");
    const linked = await linkPerson(options, linkTo, person);
    return linked.ok ? success(signedIn.account) : linked;
  }
  const admitted = await admitPerson(options, person);
  return admitted.ok && mustBe !== undefined && admitted.value.id !== mustBe ? failure("other_person") : admitted;
}

/** `/oauth/company/link`: asks for the passphrase, even of people who are signed in; its form leads on to the provider. */
function createLinkEndpoint(options: CompanyOptions): Endpoint {
  const { browsers, issuer } = options;
  return async (request) => {
    if (request.method !== "GET") return wrongMethodPage(issuer, "GET");
    const browser = browsers.identify(request);
    const purpose = { kind: "account", browser, next: "companyLink" } as const;
    return await showSignIn(options, purpose, { cookies: browser.cookies });
  };
}

/** Sends a browser whose passphrase was right to the provider, to link an account; the owner's former link ends now. */
function createLinking(options: CompanyOptions): LinkCompany {
  return async (browser, { id, company }, peer) => {
    if (company !== null && await unlinkOwner(options)) {
      options.log.write("audit", "company_link", { outcome: "unlinked", user: id, address: peer.address });
    }
    const url = await beginVisit(options, browser, { page: "grants", fresh: false, linkTo: id }, "who");
    return url.ok
      ? goToInstancePage(url.value, "your company account")
      : refuse(options, peer, { ...url.error, next: pathsOf(options.issuer).companyLink });
  };
}

const tellOperator = "Tell the operator of this server if it persists: the log gives the reason.";
const ways = wayBackProblems("Your company's sign-in");
const clocks = deadEnd(
  "Two clocks disagree",
  "This server's clock and that of your company's sign-in are more than a minute apart. Tell the operator of this server.",
);
const notAnew = deadEnd(
  "Your company's sign-in did not ask you again",
  "This needs a new sign-in, and your company did not confirm that there was one. Nothing was changed.",
);
/** For every other fault of a token. */
const untrusted = deadEnd(
  "Your company's sign-in sent a response that cannot be trusted",
  `Nothing was changed. ${startAgain} ${tellOperator}`,
);

const problems: Readonly<Partial<Record<CompanyRefusal, ReturnType<typeof deadEnd>>>> = {
  ...ways,
  ...Object.fromEntries([...outages, "other_issuer"].map((reason) => [reason, ways.unavailable])),
  refused: deadEnd("Your company did not confirm the sign-in", `${startAgain} ${tellOperator}`),
  expired: clocks,
  not_yet_valid: clocks,
  no_auth_time: notAnew,
  not_signed_in_anew: notAnew,
  groups_left_out: deadEnd(
    "You are in too many groups",
    "Your company's sign-in left your groups out, so what you may do is not known. Ask the operator of this server to have it send the groups of this application only.",
  ),
  not_allowed: deadEnd(
    "Your company account may not use this server",
    "Ask the operator of this server to let you in.",
  ),
  other_person: deadEnd("You signed in as someone else", "Sign in with the account that you use here."),
  linked_elsewhere: deadEnd(
    "This company account belongs to someone here already",
    "An account here has one company account. Nothing was changed.",
  ),
};

/** Logs why someone does not come in, and says it; the log gets the provider's word, and neither gets a code or a token. */
function refuse({ log, company, issuer }: CompanyOptions, peer: Peer, { reason, said, next }: Refused): Response {
  const provider = new URL(company.issuer).host;
  const fields = { outcome: "refused", reason, provider, ...(said === undefined ? {} : { said }) };
  logStep({ log, peer }, "company_sign_in", fields);
  return deadEndPage(
    problems[reason] ?? untrusted,
    html`<p class="hint"><a href="${next ?? pathsOf(issuer).grants}">Back to sign-in</a></p>`,
  );
}

// Tokens that the provider signed and that are good once.

/** An assertion's id is remembered for so long; providers give five minutes. */
const maxLifetimeSeconds = 3_600;

const idSchema = z.lazy(() => z.string().min(1).max(255));

/** The claims that both kinds have; others are judged as they come. */
const claimsSchema = z.lazy(() =>
  z.looseObject({
    iss: z.string(),
    jti: idSchema,
    iat: z.number(),
    exp: z.number(),
    sub: idSchema.optional(),
    sid: idSchema.optional(),
    scope: z.string().optional(),
  })
);

type TokenClaims = z.output<typeof claimsSchema>;

/** The claims of a token of one of these types, signed by the provider. It is still to be used up. */
async function verifyToken(
  provider: Provider,
  token: string,
  types: Parameters<Provider["verify"]>[1],
): Promise<Result<TokenClaims, ProviderFault>> {
  const verified = await provider.verify(token, types); // RFC 8725 §3.11
  if (!verified.ok) return verified;
  const parsed = claimsSchema.safeParse(verified.value.claims);
  return parsed.success ? success(parsed.data) : failure("missing_claim");
}

/** Verifies an assertion that `clientId`, authenticated, presents here (MCP's §5.1, draft §4.4.1). */
async function verifyAssertion(
  { provider, issuer, isAcceptedResource }: AssertionOptions,
  assertion: string,
  clientId: string,
): Promise<Result<TokenClaims & { readonly sub: string }, ProviderFault>> {
  const verified = await verifyToken(provider, assertion, ["oauth-id-jag+jwt"]);
  if (!verified.ok) return verified;
  const { sub, aud, client_id: namedClient, resource, iat, exp } = verified.value;
  if (sub === undefined) return failure("missing_claim");
  // One audience, so that no other server was meant too.
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (audiences.length !== 1 || audiences[0] !== issuer) return failure("wrong_audience");
  if (namedClient !== clientId) return failure("other_client");
  const resources = Array.isArray(resource) ? resource : [resource];
  if (!resources.some((value) => typeof value === "string" && isAcceptedResource([value]))) {
    return failure("other_resource");
  }
  // Draft §8.7.2: without a proof of the key, a bound assertion is not good. RFC 9396 §5: limits of unknown kinds count.
  const { cnf, authorization_details: details } = verified.value;
  if (cnf !== undefined || details !== undefined) return failure("unsupported_limit");
  return exp - iat > maxLifetimeSeconds ? failure("lives_too_long") : success({ ...verified.value, sub });
}

type AssertionOptions = GrantTypeOptions & RecheckOptions;

/** The grant type of identity assertions. */
function createAssertionGrant(options: AssertionOptions): GrantType {
  const { storage, log } = options;
  return async (client, parameters, { address }) => {
    const assertion = parameters.get("assertion");
    if (assertion === undefined) return failure("missing_assertion");
    if (!options.isAcceptedResource(parameters.getAll("resource"))) return failure("resource_mismatch");
    const verified = await verifyAssertion(options, assertion, client.id);
    if (!verified.ok) {
      const { reason } = reasonOf(verified.error);
      log.write("audit", "identity_assertion", { outcome: "refused", fault: reason, client: client.id, address });
      return failure(isOutage(reason) ? "provider_unavailable" : "invalid_identity_assertion");
    }
    const use = useOnce("assertion", verified.value);
    const account = await storage.get(use.check.key) === null
      ? await assertedPerson(options, verified.value)
      : "replayed";
    if (account === "replayed") return failure("replayed_identity_assertion");
    if (account === null) return failure("person_not_admitted");
    // What the assertion, the request, the client, the person's groups and this installation all allow.
    const limits = [
      effectiveScopes(client.scopes),
      ...[verified.value.scope, parameters.get("scope")]
        .flatMap((text) => text === undefined ? [] : [effectiveScopes(parseScope(text))]),
      ...(account.mayGrant === null ? [] : [account.mayGrant]),
    ];
    const { scopes: offered = usualScopes } = options;
    const scopes = knownScopes(offered.filter((name) => limits.every((limit) => limit.has(name))), offered);
    if (scopes.length === 0) return failure("scope_exceeds_client");
    return await issueForAssertion(options, { account, client, scopes, address, use });
  };
}

/** The person, made at first sight, whom the provider and our rules let in now; `null` for others. */
async function assertedPerson(
  options: AssertionOptions,
  claims: TokenClaims & { readonly sub: string },
): Promise<Account | null> {
  const { company, users, clock } = options;
  const known = await users.lookUp(await userIdOf(options, claims.sub));
  const issuedAt = claims.iat * 1_000;
  const { checkedAt = -Infinity, endedAt = -Infinity } = known?.company ?? {};
  if (issuedAt <= endedAt) return null; // the provider has ended their access since
  const saysGroups = groupsIn(claims, company.groupsClaim) !== undefined;
  const { isWithoutEmail } = whatIsUnsaid(company, claims); // an assertion may have none
  // `iat` has whole seconds. What is older than the last check, or leaves out what counts, adds nothing to it.
  if (!saysGroups || isWithoutEmail || issuedAt + 999 < checkedAt) {
    const check = known?.company ?? null;
    const isGood = check?.endedAt === undefined; // otherwise it ended with a refusal
    return check !== null && isGood && !isRecheckDue(check, company.recheckMs, clock()) ? known : null;
  }
  const person = await readPerson(options, claims, null);
  const admitted = person.ok ? await admitPerson(options, person.value) : null;
  if (admitted?.ok) return admitted.value;
  if (known !== null) await endPerson(options, known.id, "not_allowed");
  return null;
}

/** Stores the grant and uses the assertion up, in one commit. */
async function issueForAssertion(
  options: AssertionOptions,
  { account, client, scopes, address, use }: {
    readonly account: Account;
    readonly client: Client;
    readonly scopes: string[];
    readonly address: string;
    readonly use: ReturnType<typeof useOnce>;
  },
): Promise<Result<IssuedTokens, RefusalReason>> {
  const { storage, users } = options;
  return await retryOnConflict(async (): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> => {
    const current = await users.lookUp(account.id);
    if (current === null || current.credentialHash !== account.credentialHash) return failure("user_not_active");
    const clientCheck = await clientStillThere(storage, client);
    if (clientCheck === null) return failure("unknown_client");
    const { id: subject, credentialHash } = account;
    const given = { subject, kind: "user", credentialHash, scopes, address } as const;
    const issued = await issueOwnGrant(options, given, client, {
      checks: [use.check, current.unchanged, clientCheck],
      puts: [use.put],
    }); // draft §4.4.3: no refresh token
    if (issued !== null) return success(issued);
    return await storage.get(use.check.key) === null ? conflict : failure("replayed_identity_assertion");
  });
}

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";

/** Verifies a logout token for this client of the provider: about a person, a session of theirs there, or both. */
async function verifyLogoutToken(
  provider: Provider,
  token: string,
  clientId: string,
): Promise<Result<TokenClaims, ProviderFault>> {
  const verified = await verifyToken(provider, token, ["logout+jwt", "jwt", null]); // §2.4: the type is recommended only
  if (!verified.ok) return verified;
  const { aud, sub, sid, events, nonce } = verified.value;
  if (nonce !== undefined) return failure("nonce_in_logout_token"); // §2.4: so that no ID token passes for one
  if (!(Array.isArray(aud) ? aud : [aud]).includes(clientId)) return failure("wrong_audience");
  if (!isObject(events) || !isObject(events[logoutEvent])) return failure("no_logout_event");
  return (sub ?? sid) === undefined ? failure("missing_claim") : verified;
}

/** `POST /oauth/backchannel-logout` (§2.5): ends what acts for the person whom a logout token names. */
function createBackchannelLogout(options: RecheckOptions): Endpoint {
  const { storage, company, log, limits } = options;
  const event = "backchannel_logout";
  return async (request, peer) => {
    if (request.method !== "POST") return wrongMethod("POST");
    const to = { log, peer };
    const form = await readForm(request, limits);
    if (!form.ok) return refuseStep(to, event, form.error);
    const token = form.value.get("logout_token") ?? "";
    const verified = await verifyLogoutToken(options.provider, token, company.clientId);
    if (!verified.ok) {
      const { reason } = reasonOf(verified.error);
      // §2.8: 400 too where the logout fails for another reason than the token
      return refuseStep(to, event, "invalid_logout_token", { fault: reason });
    }
    const { check, put } = useOnce("logout", verified.value);
    if (!await storage.commit({ checks: [check], puts: [put] })) return refuseStep(to, event, "replayed_logout_token");
    const userId = await signedOutPerson(options, verified.value);
    if (userId !== null) {
      try {
        await endPerson(options, userId, "signed_out_there");
      } catch (error) { // the provider may say it again
        await storage.commit({ deletes: [put.key] });
        throw error;
      }
    }
    logStep(to, event, { outcome: userId === null ? "unknown_person" : "ended", user: userId ?? undefined });
    return jsonResponse({});
  };
}

/** §2.6: by the subject, or by the session at the provider; `null` for one that is over here, which is no fault (§2.8). */
async function signedOutPerson(options: RecheckOptions, { sub, sid = "" }: TokenClaims): Promise<string | null> {
  if (sub !== undefined) {
    const userId = await userIdOf(options, sub);
    return await users.read(options.storage, userId) === null ? null : userId;
  }
  const id = idAtProvider(options.company.issuer, sid);
  return (await providerSessions.read(options.storage, id))?.value.userId ?? null;
}

/** `["used_provider_token", SHA-256 of issuer, kind and jti]`, expiring. */
const usedProviderTokens = defineRecordFamily("used_provider_token", () => ({}));

/** What a commit has to hold so that a token is used up by it, and by no other; of parallel ones the first wins. */
function useOnce(kind: "assertion" | "logout", { iss, jti, exp }: TokenClaims) {
  const id = hashSecret(`${iss}\n${kind}\n${jti}`);
  const until = (exp + clockToleranceSeconds + 1) * 1_000;
  return { check: usedProviderTokens.check(null, id), put: usedProviderTokens.put(id, {}, until) };
}
