/**
 * The grant type of identity assertions (RFC 7523 §2.1 with MCP's Enterprise-Managed Authorization §5): the company's
 * provider vouches for the person, and an administrator for the client. No page, and no refresh token: the client brings
 * another assertion.
 */
import { groupsIn, readPerson } from "./company/identity.ts";
import { type IdentityAssertion, verifyIdentityAssertion } from "./company/identity_assertion.ts";
import { isOutage } from "./company/provider.ts";
import { admitPerson, userIdOf } from "./company_people.ts";
import { endPerson, isRecheckDue, type RecheckOptions } from "./company_recheck.ts";
import { effectiveScopes } from "../lib/scopes.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { randomId } from "../lib/secrets.ts";
import type { Account } from "./manage_users.ts";
import { useOnce } from "./provider_token.ts";
import { type Client, clientStillThere, conflict, type Grant, putsOfGrant, retryOnConflict } from "./records.ts";
import type { RefusalReason } from "./refusal.ts";
import type { Parameters } from "./request_body.ts";
import { knownScopes, parseScope, usualScopes } from "./scope.ts";
import { grantExpiresAt, type GrantType, type GrantTypeOptions, type IssuedTokens } from "./token.ts";

type AssertionOptions = GrantTypeOptions & RecheckOptions;

export function createAssertionGrant(options: AssertionOptions): GrantType {
  const { issuer, isAcceptedResource, log } = options;
  return async (client, parameters, { address }) => {
    const assertion = parameters.get("assertion");
    if (assertion === undefined) return failure("missing_assertion");
    if (!isAcceptedResource(parameters.getAll("resource"))) return failure("resource_mismatch");
    const asked = { issuer, clientId: client.id, isAcceptedResource };
    const verified = await verifyIdentityAssertion(await options.loadProvider(), assertion, asked);
    if (!verified.ok) {
      const { error } = verified;
      const fault = typeof error === "string" ? error : error.reason;
      log.write("audit", "identity_assertion", { outcome: "refused", fault, client: client.id, address });
      return failure(
        typeof error !== "string" && isOutage(error) ? "provider_unavailable" : "invalid_identity_assertion",
      );
    }
    const { check, put } = useOnce({ issuer: options.company.issuer, kind: "assertion" }, verified.value);
    if (await options.storage.get(check.key) !== null) return failure("replayed_identity_assertion");
    const account = await personOf(options, verified.value);
    if (account === null) return failure("person_not_admitted");
    const scopes = scopesOf(options, { account, client, asserted: verified.value.scope, parameters });
    if (scopes.length === 0) return failure("scope_exceeds_client");
    return await issue(options, { account, client, scopes, address, use: { check, put } });
  };
}

/** The person, made at first sight, whom the provider and our rules let in now; `null` for others. */
async function personOf(options: AssertionOptions, assertion: IdentityAssertion): Promise<Account | null> {
  const { company, users, clock } = options;
  const { subject, claims, issuedAt } = assertion;
  const known = await users.lookUp(await userIdOf(options, subject));
  const { checkedAt = -Infinity, endedAt = -Infinity } = known?.company ?? {};
  if (issuedAt <= endedAt) return null; // the provider has ended their access since
  const saysGroups = groupsIn(claims, company.groupsClaim) !== undefined;
  // `iat` has whole seconds. What is older than the last check, or has no groups, adds nothing to it.
  if (!saysGroups || issuedAt + 999 < checkedAt) {
    const check = known?.company ?? null;
    const isGood = check?.endedAt === undefined; // otherwise it ended with a refusal
    return check !== null && isGood && !isRecheckDue(check, company.recheckMs, clock()) ? known : null;
  }
  const person = await readPerson({ company, provider: await options.loadProvider() }, claims, null);
  const admitted = person.ok ? await admitPerson(options, person.value) : null;
  if (admitted?.ok) return admitted.value;
  if (known !== null) await endPerson(options, known.id, "not_allowed");
  return null;
}

/** What the assertion, the request, the client, the person's groups and this installation all allow. */
function scopesOf(
  { scopes: offered = usualScopes }: AssertionOptions,
  { account, client, asserted, parameters }: {
    readonly account: Account;
    readonly client: Client;
    readonly asserted: string | null;
    readonly parameters: Parameters;
  },
): string[] {
  const requested = parameters.get("scope");
  const limits = [
    effectiveScopes(client.scopes),
    ...[asserted, requested].flatMap((text) => typeof text === "string" ? [effectiveScopes(parseScope(text))] : []),
    ...(account.mayGrant === null ? [] : [account.mayGrant]),
  ];
  return knownScopes(offered.filter((name) => limits.every((limit) => limit.has(name))), offered);
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
  const { storage, clock, users, lifetimes, accessTokens, resource } = options;
  return await retryOnConflict(async (): Promise<Result<IssuedTokens, RefusalReason> | typeof conflict> => {
    const current = await users.lookUp(account.id);
    if (current === null || current.credentialHash !== account.credentialHash) return failure("user_not_active");
    const clientCheck = await clientStillThere(storage, client);
    if (clientCheck === null) return failure("unknown_client");
    const now = clock();
    const grant: Grant = {
      id: randomId(),
      subject: account.id,
      kind: "user",
      credentialHash: account.credentialHash,
      clientId: client.id,
      clientName: client.name,
      redirectHost: null,
      scopes,
      resource,
      createdAt: now,
      address,
      refresh: null, // draft §4.4.3
    };
    const { token } = await accessTokens.issue(grant, scopes);
    const committed = await storage.commit({
      checks: [use.check, current.unchanged, clientCheck],
      puts: [use.put, ...putsOfGrant(grant, grantExpiresAt(null, now, lifetimes))],
    });
    if (committed) {
      return success({ grantId: grant.id, subject: grant.subject, accessToken: token, refreshToken: null, scopes });
    }
    return await storage.get(use.check.key) === null ? conflict : failure("replayed_identity_assertion");
  });
}
