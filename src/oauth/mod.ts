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
export { createOperatorToken, listOperatorTokens, operatorClientId, revokeOperatorToken } from "./access_token.ts";
export type { Verifier } from "./access_token.ts";
export { approveClient, createClient, listClients, removeClient } from "./manage_clients.ts";
export {
  addUser,
  disableUser,
  enableUser,
  existingUserProblem,
  listUsers,
  newUserProblem,
  resetUser,
  setAdministrator,
} from "./manage_users.ts";
export { canVerify, hasArgon2id, hashPassword, passphraseProblem } from "./password_hash.ts";
export { clients, ownerId, users } from "./records.ts";
export { maxOAuthBodyBytes } from "./exchange.ts";
export { listSigningKeys, replaceSigningKeys, resealSigningKeys, rotateSigningKeys } from "./signing_keys.ts";
export type { Visitor, Visits } from "./sign_in.ts";
/** Seals the provider's refresh tokens anew. */
export const loadCompanyPeople = (): Promise<typeof import("./company_people.ts")> => import("./company_people.ts");
/** The company's identity provider, for its examination. */
export const loadProvider = (): Promise<typeof import("./company_provider.ts")> => import("./company_provider.ts");
