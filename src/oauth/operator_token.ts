/** Access tokens for scripts: made, listed and revoked on the command line, while the server runs or before set-up. */
import type { AdministrationOptions } from "./context.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Storage } from "../storage/mod.ts";
import { hashSecret, matchesHash, randomId, randomSecret } from "../lib/secrets.ts";
import { conflict, operatorTokens, ownerId, retryOnConflict, users } from "./records.ts";
import type { OperatorToken, Stored, User } from "./records.ts";
import { knownScopes, parseScope, scopeProblem } from "./scope.ts";

/** The `clientId` of principals that come from operator tokens. */
export const operatorClientId = "portcullis-cli";

/** The arguments of `token create`. */
export interface OperatorTokenRequest {
  /** Names separated by spaces or commas. */
  readonly scope: string;
  readonly lifetimeSeconds: number;
  readonly name?: string;
  /** Of the workspace's directories those that it may use; all by default. */
  readonly directories?: readonly string[];
  /** The user that the token acts for; the owner by default. */
  readonly userId?: string;
}

/** A refused request: the field and the remedy, for the terminal. */
interface OperatorTokenProblem {
  readonly field: "scope" | "ttl" | "name" | "user";
  readonly message: string;
}

/** An operator token as lists show it, without the token itself. */
export type OperatorTokenSummary = Omit<OperatorToken, "tokenHash" | "userEpoch">;

const maxLifetimeSeconds = 31_536_000;
const pattern = /^pct_([0-9a-f]{32})_[A-Za-z0-9_-]{43}$/;

/** Makes a token. It is shown this once; only its hash is kept. */
export async function createOperatorToken(
  { storage, clock }: AdministrationOptions,
  request: OperatorTokenRequest,
): Promise<Result<{ readonly token: string; readonly summary: OperatorTokenSummary }, OperatorTokenProblem>> {
  return await retryOnConflict(async () => {
    const user = await users.read(storage, request.userId ?? ownerId);
    const problem = findProblem(user, request);
    if (problem !== null) return failure(problem);
    const id = randomId();
    const token = `pct_${id}_${randomSecret()}`;
    const now = clock();
    const summary: OperatorTokenSummary = {
      id,
      name: request.name ?? "",
      userId: request.userId ?? ownerId,
      scopes: knownScopes(parseScope(request.scope)),
      ...request.directories && { directories: [...request.directories] },
      createdAt: now,
      expiresAt: now + request.lifetimeSeconds * 1_000,
    };
    const epoch = user === null ? {} : { userEpoch: user.value.epoch };
    const record = { ...summary, ...epoch, tokenHash: hashSecret(token) };
    const committed = await storage.commit({
      checks: [users.check(user, summary.userId)],
      puts: [operatorTokens.put(id, record, summary.expiresAt)],
    });
    return committed ? success({ token, summary }) : conflict;
  });
}

function findProblem(user: Stored<User> | null, request: OperatorTokenRequest): OperatorTokenProblem | null {
  const unfit = scopeProblem(request.scope);
  if (unfit !== null) return { field: "scope", message: unfit };
  const { lifetimeSeconds, name = "", userId = ownerId } = request;
  if (!Number.isInteger(lifetimeSeconds) || lifetimeSeconds < 1 || lifetimeSeconds > maxLifetimeSeconds) {
    return {
      field: "ttl",
      message: `must be a number of seconds from 1 to ${maxLifetimeSeconds}, or a time such as 12h or 30d`,
    };
  }
  if (name.length > 100 || /\p{C}/u.test(name)) {
    return { field: "name", message: "must have at most 100 characters and no control characters" };
  }
  if (user?.value.disabled) {
    return { field: "user", message: "names a disabled user; `portcullis users enable` comes first" };
  }
  // The owner may have tokens before set-up; other users must exist.
  return user === null && userId !== ownerId
    ? { field: "user", message: "names no user; `portcullis users list` shows the names" }
    : null;
}

/** The tokens that are alive, oldest first. */
export async function listOperatorTokens({ storage }: AdministrationOptions): Promise<OperatorTokenSummary[]> {
  const stored = await Array.fromAsync(operatorTokens.all(storage));
  return stored.map(({ value }) => summariseToken(value)).sort((a, b) => a.createdAt - b.createdAt);
}

export function summariseToken({ tokenHash: _hash, userEpoch: _epoch, ...summary }: OperatorToken) {
  return summary;
}

/** Ends a token at once; `false` when there is none with that id. */
export async function revokeOperatorToken({ storage }: AdministrationOptions, id: string): Promise<boolean> {
  return await storage.consume(operatorTokens.key(id)) !== null;
}

/** Ends all command-line tokens of a user. */
export async function deleteOperatorTokensOf(storage: Storage, userId: string): Promise<void> {
  for await (const { key, value } of operatorTokens.all(storage)) {
    if (value.userId === userId) await storage.commit({ deletes: [key] });
  }
}

/** The record of a presented token, or `null` when it is none of ours or has ended. */
export async function findOperatorToken(storage: Storage, token: string): Promise<OperatorToken | null> {
  const id = pattern.exec(token)?.[1];
  if (id === undefined) return null;
  const stored = await operatorTokens.read(storage, id);
  return stored !== null && matchesHash(token, stored.value.tokenHash) ? stored.value : null;
}
