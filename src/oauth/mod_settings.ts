/**
 * Settings of sign-in, tokens and clients, with their defaults and bounds. `app` reads them before the rest of oauth is
 * loaded.
 */
import {
  day,
  isSafeUrl,
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
import { failure, type Result, success } from "../lib/result.ts";
import { didYouMean } from "../lib/suggestible.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { scopeCatalogue } from "../lib/principal.ts";

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

/** What the settings say about the company's provider. */
export interface CompanySettings {
  readonly issuer: string;
  /** This server as a client of the provider. */
  readonly clientId: string;
  /** The client secret, or a private key as JWK. */
  readonly clientSecret: string;
  /** Empty: only the owner, once linked. */
  readonly allow: readonly AllowRule[];
  /** `null`: groups limit nothing. */
  readonly groups: GroupRights | null;
  readonly groupsClaim: string;
  readonly recheckMs: number;
  /** Whether clients may present identity assertions (ID-JAG). */
  readonly assertions: boolean;
}

/** People who may sign in. Domains and addresses count only where the provider has verified the address. */
type AllowRule =
  | { readonly kind: "everyone" }
  | { readonly kind: "group" | "domain" | "email" | "subject"; readonly name: string };

/** What a group gives, by its name. */
type GroupRights = ReadonlyMap<string, { readonly scopes: readonly string[]; readonly administrator: boolean }>;

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

/** Rules and groups in one setting. */
const maxRules = 200;
const administrator = "administrator";

/** An issuer, kept as it is: it is compared byte for byte (OpenID Connect Discovery §4.3). */
function parseIssuer(text: string): Result<string, string> {
  const url = URL.parse(text);
  return url !== null && isSafeUrl(url) && url.username === "" && url.password === "" && !/[?#\s]/.test(text)
    ? success(text)
    : failure("must be an https URL such as https://login.example.com, exactly as the provider writes it");
}

/** A client secret, or a private key as JWK. */
function parseClientSecret(text: string): Result<string, string> {
  const secret = text.trim();
  const jwk = parseJson(secret);
  if (/^(\{|-----BEGIN)/.test(secret) && !(isObject(jwk) && typeof jwk["d"] === "string")) {
    return failure("must be the client secret, or a private key as JWK");
  }
  return secret === "" ? failure("must not be empty") : success(secret);
}

/** Rules such as `group:mcp-users; @example.com; ada@example.com; sub:00u1a2b3; *`. */
export function parseAllow(text: string): Result<readonly AllowRule[], string> {
  const rules: AllowRule[] = [];
  for (const item of itemsOf(text)) {
    const [, kind, name = ""] = /^(group|sub):\s*(.+)$/.exec(item) ?? [];
    if (item === "*") rules.push({ kind: "everyone" });
    else if (kind !== undefined) rules.push({ kind: kind === "sub" ? "subject" : "group", name });
    else if (/^@[^@\s]+\.[^@\s]+$/.test(item)) rules.push({ kind: "domain", name: item.slice(1).toLowerCase() });
    else if (/^[^@\s]+@[^@\s]+$/.test(item)) rules.push({ kind: "email", name: item.toLowerCase() });
    else {
      return failure(
        `has ${
          JSON.stringify(item)
        }; separate with semicolons: group:NAME, @example.com, ada@example.com, sub:SUBJECT, *`,
      );
    }
  }
  return rules.length > 0 && rules.length <= maxRules
    ? success(rules)
    : failure(`must have 1 to ${maxRules} rules, separated by semicolons`);
}

/** A map such as `mcp-users=files:read files:write; mcp-admins=administrator`. A group's name may hold `=` and commas. */
export function parseGroups(text: string): Result<GroupRights, string> {
  const known = [...scopeCatalogue.map(({ name }) => name), administrator];
  const rights = new Map<string, { scopes: readonly string[]; administrator: boolean }>();
  for (const item of itemsOf(text)) {
    const end = item.lastIndexOf("=");
    const [group, words] = [item.slice(0, Math.max(end, 0)).trim(), item.slice(end + 1).split(/[\s,]+/)];
    const names = words.filter((word) => word !== "");
    if (group === "" || names.length === 0) {
      return failure("must be GROUP=SCOPE SCOPE, or GROUP=administrator, separated by semicolons");
    }
    const unknown = names.find((name) => !known.includes(name));
    if (unknown !== undefined) {
      return failure(
        `gives ${JSON.stringify(unknown)}; use one or more of: ${known.join(" ")}${didYouMean(unknown, known)}`,
      );
    }
    if (rights.has(group)) return failure(`names the group ${JSON.stringify(group)} twice`);
    const scopes = names.filter((name) => name !== administrator);
    rights.set(group, { scopes, administrator: names.includes(administrator) });
  }
  return rights.size > 0 && rights.size <= maxRules
    ? success(rights)
    : failure(`must map 1 to ${maxRules} groups, separated by semicolons`);
}

function itemsOf(text: string): string[] {
  return text.split(/[;\n]/).map((item) => item.trim()).filter((item) => item !== "");
}
