/**
 * The authorization server (OAuth 2.1): clients register or publish their metadata, people sign in and consent, and
 * clients get tokens for the MCP endpoint. `app` builds it and mounts its routes, `http`'s guard gets the verifier, the
 * console the visits and the administration, the command line the functions on clients, users, tokens and keys.
 *
 * A code, a link and a refresh token work once, in all instances together. What was revoked is refused from the next request on. Secrets are stored as hashes, or sealed under the master key.
 */
export type { Administration, UserChange } from "./for_console.ts";
export {
  type AuthorizationRoute,
  type AuthorizationServer,
  createAuthorizationServer,
} from "./authorization_server.ts";
export { type Lifetimes, type Limits, refreshTokenLifetimeSeconds, type Registration } from "./context.ts";
export type { AccessList, ListedGrant, Vouching } from "./grants.ts";
export { operatorClientId } from "./operator_token.ts";
export { canVerify, hasArgon2id } from "./password_hash.ts";
export { clients, ownerId, users } from "./records.ts";
export { maxOAuthBodyBytes } from "./request_body.ts";
export {
  accountName,
  type InstanceSignIn,
  type LinkHealth,
  linkProblem,
  type VisitRefusal,
} from "./servicenow_port.ts";
export { resealSigningKeys } from "./signing_keys.ts";
export type { Verifier } from "./access_token.ts";
export type { Visitor, Visits } from "./for_console.ts";
export const loadManageClients = (): Promise<typeof import("./manage_clients.ts")> => import("./manage_clients.ts");
export const loadPasswordHash = (): Promise<typeof import("./password_hash.ts")> => import("./password_hash.ts");
export const loadSigningKeys = (): Promise<typeof import("./signing_keys.ts")> => import("./signing_keys.ts");
export const loadOperatorToken = (): Promise<typeof import("./operator_token.ts")> => import("./operator_token.ts");
export const loadManageUsers = (): Promise<typeof import("./manage_users.ts")> => import("./manage_users.ts");
export const loadSetUp = (): Promise<typeof import("./set_up.ts")> => import("./set_up.ts");
export type ManageClientsPart = typeof import("./manage_clients.ts");
export type SigningKeysPart = typeof import("./signing_keys.ts");
export type OperatorTokenPart = typeof import("./operator_token.ts");
export type SetUpPart = typeof import("./set_up.ts");
export type ManageUsersPart = typeof import("./manage_users.ts");
