/**
 * Settings of sign-in, tokens and clients, with their defaults and bounds. `app` reads them before the rest of oauth is
 * loaded.
 */
import {
  day,
  optional,
  parseChoice,
  parseDuration,
  parsePasswordHash,
  parseSeconds,
  parseStrongSecret,
  parseSwitch,
  parseText,
  required,
  type ValuesOf,
} from "../lib/settings.ts";
import { type CompanySettings, parseAllow, parseClientSecret, parseGroups, parseIssuer } from "./company/settings.ts";

/** The maximum lifetime of an access token; the verifier refuses longer ones. */
export const maxAccessTokenLifetimeSeconds = day;

/** Settings under the heading Sign-in, tokens and clients. */
export const authorizationServerSettings = {
  signIn: required({
    env: "SIGN_IN",
    default: "local",
    parse: parseChoice(["local", "servicenow"]),
    help: "where users sign in: here, with a passphrase, or at the ServiceNow instance",
  }),
  ownerPasswordHash: optional({
    env: "OWNER_PASSWORD_HASH",
    parse: parsePasswordHash,
    secret: true,
    help: "the owner's passphrase, hashed by `hash-password`, for unattended starts",
  }),
  ownerPassphrase: required({
    env: "OWNER_PASSPHRASE",
    default: "on",
    parse: parseSwitch,
    help: "whether the owner may sign in with the passphrase where OIDC_ISSUER is set, for when the provider is down",
  }),
  companyIssuer: optional({
    env: "OIDC_ISSUER",
    parse: parseIssuer,
    help: "the issuer of the company's identity provider (OpenID Connect), where people sign in",
  }),
  companyClientId: optional({
    env: "OIDC_CLIENT_ID",
    parse: parseText,
    help: "this server's client ID at the provider",
  }),
  companyClientSecret: optional({
    env: "OIDC_CLIENT_SECRET",
    parse: parseClientSecret,
    secret: true,
    help: "this server's client secret at the provider; or its private key, as JWK with `alg`",
  }),
  companyAllow: optional({
    env: "OIDC_ALLOW",
    parse: parseAllow,
    help: "who may sign in, separated by semicolons: group:NAME, @example.com, ada@example.com, sub:SUBJECT, or *; " +
      "without it, the owner's linked account alone",
  }),
  companyGroups: optional({
    env: "OIDC_GROUPS",
    parse: parseGroups,
    help: "what groups may do, such as mcp-users=files:read files:write; mcp-admins=administrator; without it, " +
      "groups limit nothing",
  }),
  companyGroupsClaim: required({
    env: "OIDC_GROUPS_CLAIM",
    default: "groups",
    parse: parseText,
    help: "claim that lists a person's groups; a path such as realm_access.roles for Keycloak",
  }),
  companyRecheckMs: required({
    env: "OIDC_RECHECK",
    default: "12h",
    parse: parseDuration,
    help: "how long a check with the provider counts, such as 15m or 12h",
  }),
  companyAssertions: required({
    env: "OIDC_ASSERTIONS",
    default: "off",
    parse: parseSwitch,
    help: "accept identity assertions of the provider from clients that an administrator named (ID-JAG)",
  }),
  accessTokenLifetimeSeconds: required({
    env: "ACCESS_TOKEN_LIFETIME",
    default: "3600",
    parse: parseSeconds(1, maxAccessTokenLifetimeSeconds),
    help: "lifetime of an access token, in seconds",
  }),
  registration: optional({
    env: "REGISTRATION",
    parse: parseChoice(["open", "token", "off"]),
    help: "who may register OAuth clients; by default open on a loopback SERVER_URL, otherwise token",
  }),
  registrationToken: optional({
    env: "DCR_AUTH_TOKEN",
    parse: parseStrongSecret,
    secret: true,
    help: "token that a client presents to register",
  }),
  clientMetadataDocuments: required({
    env: "CLIENT_METADATA_DOCUMENTS",
    default: "on",
    parse: parseSwitch,
    help: "accept client IDs that are https URLs of client metadata; the server then fetches public https pages",
  }),
};

/** The settings of the company's provider, where there is one; what is wrong goes to `refuse`, with its value if it has one. */
export function completeCompany(
  values: ValuesOf<typeof authorizationServerSettings>,
  refuse: (problem: { readonly field: string; readonly value?: string; readonly hint: string }) => void,
): CompanySettings | null {
  const { companyIssuer: issuer, companyClientId: clientId, companyClientSecret: clientSecret } = values;
  const { companyAllow: allow = [], companyGroups: groups = null } = values;
  if (issuer !== undefined && clientId !== undefined && clientSecret !== undefined) {
    if (values.signIn === "servicenow") {
      const hint = "cannot be set together with SIGN_IN=servicenow: people sign in at one place";
      refuse({ field: "OIDC_ISSUER", value: JSON.stringify(issuer), hint });
    }
    const { companyGroupsClaim: groupsClaim, companyRecheckMs: recheckMs, companyAssertions: assertions } = values;
    return { issuer, clientId, clientSecret, allow, groups, groupsClaim, recheckMs, assertions };
  }
  const dependents = {
    OIDC_ALLOW: allow.length > 0,
    OIDC_GROUPS: groups !== null,
    OIDC_ASSERTIONS: values.companyAssertions,
    OWNER_PASSPHRASE: !values.ownerPassphrase,
  };
  const needed = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
  const given = Object.values(needed).some((value) => value !== undefined) || Object.values(dependents).includes(true);
  for (const [field, value] of Object.entries(given ? needed : {})) {
    const hint = "must be set for sign-in at the company's provider; see docs/sign-in.md";
    if (value === undefined) refuse({ field, hint });
  }
  return null;
}
