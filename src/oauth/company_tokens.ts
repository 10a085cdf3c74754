/**
 * Tokens that the company's provider signed and that are good once.
 *
 * - Identity assertions (ID-JAG), which a client brings instead of sending the person to a page (RFC 7523 §2.1 with MCP's
 *   Enterprise-Managed Authorization §5, and draft-ietf-oauth-identity-assertion-authz-grant): the provider vouches for
 *   the person, and an administrator for the client. No refresh token: the client brings another assertion.
 * - Logout tokens (OpenID Connect Back-Channel Logout 1.0): the provider says who signed out there.
 */
import * as z from "zod";
import { clockToleranceSeconds, groupsIn, isOutage, readPerson, reasonOf, whatIsUnsaid } from "./company_provider.ts";
import type { Provider, ProviderFault } from "./company_provider.ts";
import { admitPerson, endPerson, idAtProvider, isRecheckDue, providerSessions, userIdOf } from "./company_people.ts";
import type { RecheckOptions } from "./company_people.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { isObject } from "../lib/json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { effectiveScopes } from "../lib/principal.ts";
import { hashSecret } from "../lib/secrets.ts";
import type { Account } from "./manage_users.ts";
import { type Client, clientStillThere, conflict, defineRecordFamily, retryOnConflict, users } from "./records.ts";
import { jsonResponse, logStep, readForm, type RefusalReason, refuseStep, wrongMethod } from "./exchange.ts";
import { knownScopes, parseScope, usualScopes } from "./scope.ts";
import { type GrantType, type GrantTypeOptions, type IssuedTokens, issueOwnGrant } from "./token.ts";

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

type Claims = z.output<typeof claimsSchema>;

/** The claims of a token of one of these types, signed by the provider. It is still to be used up. */
async function verifyToken(
  provider: Provider,
  token: string,
  types: Parameters<Provider["verify"]>[1],
): Promise<Result<Claims, ProviderFault>> {
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
): Promise<Result<Claims & { readonly sub: string }, ProviderFault>> {
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
export function createAssertionGrant(options: AssertionOptions): GrantType {
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
    const account = await storage.get(use.check.key) === null ? await personOf(options, verified.value) : "replayed";
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
    return await issue(options, { account, client, scopes, address, use });
  };
}

/** The person, made at first sight, whom the provider and our rules let in now; `null` for others. */
async function personOf(options: AssertionOptions, claims: Claims & { readonly sub: string }): Promise<Account | null> {
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
async function issue(
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
): Promise<Result<Claims, ProviderFault>> {
  const verified = await verifyToken(provider, token, ["logout+jwt", "jwt", null]); // §2.4: the type is recommended only
  if (!verified.ok) return verified;
  const { aud, sub, sid, events, nonce } = verified.value;
  if (nonce !== undefined) return failure("nonce_in_logout_token"); // §2.4: so that no ID token passes for one
  if (!(Array.isArray(aud) ? aud : [aud]).includes(clientId)) return failure("wrong_audience");
  if (!isObject(events) || !isObject(events[logoutEvent])) return failure("no_logout_event");
  return (sub ?? sid) === undefined ? failure("missing_claim") : verified;
}

/** `POST /oauth/backchannel-logout` (§2.5): ends what acts for the person whom a logout token names. */
export function createBackchannelLogout(options: RecheckOptions): Endpoint {
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
async function signedOutPerson(options: RecheckOptions, { sub, sid = "" }: Claims): Promise<string | null> {
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
function useOnce(kind: "assertion" | "logout", { iss, jti, exp }: Claims) {
  const id = hashSecret(`${iss}\n${kind}\n${jti}`);
  const until = (exp + clockToleranceSeconds + 1) * 1_000;
  return { check: usedProviderTokens.check(null, id), put: usedProviderTokens.put(id, {}, until) };
}
