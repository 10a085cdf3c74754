/**
 * The authorization server (OAuth 2.1): clients register or publish their metadata, people sign in and consent, and
 * clients get tokens for the MCP endpoint. `app` builds it and mounts its routes. `http`'s guard uses the verifier, the
 * console the visits and the administration, and the command line the functions on clients, users, tokens and keys.
 *
 * Codes, links and refresh tokens work once across all instances; revocation takes effect on the next request. Secrets
 * are stored as hashes, or sealed under the master key.
 */
export type { Administration, Doer, UserChange, Vouching } from "./administration.ts";
export type { AuthorizationRoute, AuthorizationServer } from "./authorization_server.ts";
export { createAuthorizationServer } from "./authorization_server.ts";
export type { CompanySettings } from "./mod_settings.ts";
export type { ProviderFetch } from "./company_provider.ts";
export { accountName, linkProblem } from "./context.ts";
export type { InstanceSignIn, Lifetimes, Limits, LinkHealth, Registration, VisitRefusal } from "./context.ts";
export type { AccessList, ListedGrant } from "./grants.ts";
export { operatorClientId, type Verifier } from "./access_token.ts";
export { canVerify, hasArgon2id } from "./password_hash.ts";
export { clients, ownerId, users } from "./records.ts";
export { maxOAuthBodyBytes } from "./exchange.ts";
export { resealSigningKeys } from "./signing_keys.ts";
export type { Visitor, Visits } from "./sign_in.ts";
/** Makes, lists and removes clients: loaded for the command line and the console. */
export const loadManageClients = (): Promise<typeof import("./manage_clients.ts")> => import("./manage_clients.ts");
/** Hashes and verifies passphrases. */
export const loadPasswordHash = (): Promise<typeof import("./password_hash.ts")> => import("./password_hash.ts");
/** Makes, rotates and withdraws signing keys. */
export const loadSigningKeys = (): Promise<typeof import("./signing_keys.ts")> => import("./signing_keys.ts");
/** Makes, lists and revokes command-line tokens. */
export const loadOperatorToken = (): Promise<typeof import("./access_token.ts")> => import("./access_token.ts");
/** Adds, disables and resets users. */
export const loadManageUsers = (): Promise<typeof import("./manage_users.ts")> => import("./manage_users.ts");
/** Seals the provider's refresh tokens anew. */
export const loadCompanyPeople = (): Promise<typeof import("./company_people.ts")> => import("./company_people.ts");
/** The company's identity provider, for its examination. */
export const loadProvider = (): Promise<typeof import("./company_provider.ts")> => import("./company_provider.ts");
