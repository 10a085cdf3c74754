/** What the owner does at the command line, beside a running server or without one. */
import {
  addUser,
  disableUser,
  enableUser,
  existingNameProblem,
  listUsers,
  newNameProblem,
  resetUser,
  type UserProblem,
  type UserSummary,
} from "../authorization_server/people/manage_users.ts";
import {
  createOperatorToken,
  listOperatorTokens,
  type OperatorTokenProblem,
  type OperatorTokenRequest,
  type OperatorTokenSummary,
  revokeOperatorToken,
} from "../authorization_server/token/operator_token.ts";
import { hashPassword, passphraseProblem } from "../authorization_server/people/password_hash.ts";
import {
  type ClientProblem,
  type ClientRequest,
  type ClientSummary,
  createClient,
  listClients,
  removeClient,
} from "../authorization_server/clients/manage_clients.ts";
import {
  listSigningKeys,
  replaceSigningKeys,
  rotateSigningKeys,
  type Rotation,
  type RotationPace,
  type SigningKeyState,
} from "../authorization_server/keys/rotate_signing_keys.ts";
import { createSignInCode } from "../authorization_server/people/sign_in_link.ts";
import type { Installation } from "./installation.ts";
import type { Clock } from "../lib/time/clock.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** The owner's operations on one installation. */
export interface Administration {
  createToken(
    request: OperatorTokenRequest,
  ): Promise<Result<{ readonly token: string; readonly summary: OperatorTokenSummary }, OperatorTokenProblem>>;
  listTokens(): Promise<OperatorTokenSummary[]>;
  /** `false` when there is no such token. */
  revokeToken(id: string): Promise<boolean>;
  listUsers(): Promise<UserSummary[]>;
  addUser(name: string, passphrase: string): Promise<Result<UserSummary, UserProblem>>;
  /** What is wrong with a name, before a passphrase is asked for; `null` when it will do. */
  userProblem(name: string, kind: { readonly isNew: boolean }): Promise<UserProblem | null>;
  /** Ends the user's sessions and grants too. */
  resetUser(name: string, passphrase: string): Promise<Result<UserSummary, UserProblem>>;
  disableUser(name: string): Promise<Result<UserSummary, UserProblem>>;
  enableUser(name: string): Promise<Result<UserSummary, UserProblem>>;
  /** The code of a one-time link that lets one browser past the delays of sign-in. */
  createSignInCode(name: string): Promise<Result<string, UserProblem>>;
  createClient(
    request: ClientRequest,
  ): Promise<Result<{ readonly client: ClientSummary; readonly secret: string | null }, ClientProblem>>;
  listClients(): Promise<ClientSummary[]>;
  /** Ends what the client was granted too; `false` when there is no such client. */
  removeClient(id: string): Promise<boolean>;
  /** Publishes a new signing key that signs later. */
  rotateKeys(pace: RotationPace): Promise<Rotation>;
  /** Makes a key that signs at once and withdraws all others, which ends every access token. */
  replaceKeys(): Promise<{ readonly kid: string; readonly withdrawn: readonly string[] }>;
  listKeys(): Promise<SigningKeyState[]>;
}

/** Wires the operations on an opened installation. */
export function createAdministration({ storage, secrets }: Installation, clock: Clock): Administration {
  return {
    createToken: (request) => createOperatorToken({ storage, clock }, request),
    listTokens: () => listOperatorTokens({ storage, clock }),
    revokeToken: (id) => revokeOperatorToken({ storage, clock }, id),
    listUsers: () => listUsers({ storage, clock }),
    addUser: (name, passphrase) => addUser({ storage, clock }, { name, passphrase }),
    userProblem: (name, { isNew }) =>
      isNew ? newNameProblem({ storage }, name) : existingNameProblem({ storage }, name),
    resetUser: (name, passphrase) => resetUser({ storage, clock }, { name, passphrase }),
    disableUser: (name) => disableUser({ storage, clock }, name),
    enableUser: (name) => enableUser({ storage, clock }, name),
    createSignInCode: (name) => createSignInCode({ storage, clock }, name),
    createClient: (request) => createClient({ storage, clock }, request),
    listClients: () => listClients({ storage, clock }),
    removeClient: (id) => removeClient({ storage, clock }, id),
    rotateKeys: (pace) => rotateSigningKeys({ storage, secrets, clock }, pace),
    replaceKeys: () => replaceSigningKeys({ storage, secrets, clock }),
    listKeys: () => listSigningKeys({ storage, clock }),
  };
}

/** The hash of a passphrase for OWNER_PASSWORD_HASH, or why the passphrase cannot be used. */
export async function hashPassphrase(passphrase: string, algorithm?: "scrypt"): Promise<Result<string, string>> {
  const problem = passphraseProblem(passphrase);
  return problem === null ? success(await hashPassword(passphrase, algorithm)) : failure(problem);
}
