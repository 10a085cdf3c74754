/** The operator's commands on users: add, list, disable, enable, reset. They work while the server runs. */
import type { AdministrationOptions } from "./context.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { deleteOperatorTokensOf } from "./operator_token.ts";
import { hashPassword, passphraseProblem } from "./password_hash.ts";
import { randomId } from "../lib/random_secret.ts";
import { conflict, retryOnConflict, type Stored, unchanged } from "./records/record_family.ts";
import { deleteGrants, subjectGrants } from "./records/grant.ts";
import { ownerId, type User, users } from "./records/user.ts";

/** A command that cannot be carried out: which argument, and what to do, for the terminal. */
export interface UserProblem {
  readonly field: "name" | "passphrase";
  readonly message: string;
}

/** A user as lists show one. */
export type UserSummary = Omit<User, "passwordHash" | "epoch">;

const namePattern = /^[a-z0-9][a-z0-9.-]{0,31}$/;

export function noSuchUser(name: string): UserProblem {
  const message = name === ownerId
    ? "there is no owner yet; start the server and open the set-up link that it prints"
    : `there is no user ${JSON.stringify(name)}; \`users list\` shows the names`;
  return { field: "name", message };
}

/** Why a name cannot be given to a new user, or `null`. */
export async function newUserProblem(
  { storage }: Pick<AdministrationOptions, "storage">,
  name: string,
): Promise<UserProblem | null> {
  if (!namePattern.test(name)) {
    const message =
      "a name has 1 to 32 lower-case letters, digits, dots and hyphens, and begins with a letter or digit";
    return { field: "name", message };
  }
  return await users.read(storage, name) === null ? null : takenName(name);
}

/** Why nothing can be changed about a user, or `null`. */
export async function existingUserProblem(
  { storage }: Pick<AdministrationOptions, "storage">,
  name: string,
): Promise<UserProblem | null> {
  return name === "" || await users.read(storage, name) === null ? noSuchUser(name) : null;
}

function takenName(name: string): UserProblem {
  return { field: "name", message: `there is a user ${name} already; \`users reset ${name}\` sets a new passphrase` };
}

/** Adds a user. Names are lower-case and never reused. */
export async function addUser(
  { storage, clock }: AdministrationOptions,
  { name, passphrase }: { readonly name: string; readonly passphrase: string },
): Promise<Result<UserSummary, UserProblem>> {
  const unfit = await newUserProblem({ storage }, name);
  if (unfit !== null) return failure(unfit);
  const problem = passphraseProblem(passphrase);
  if (problem !== null) return failure({ field: "passphrase", message: problem });
  const now = clock();
  const summary: UserSummary = { id: name, disabled: false, createdAt: now, passwordChangedAt: now };
  const added = await storage.commit({
    checks: [{ key: users.key(name), version: null }],
    puts: [users.put(name, { ...summary, epoch: randomId(), passwordHash: await hashPassword(passphrase) })],
  });
  return added ? success(summary) : failure(takenName(name));
}

export async function listUsers({ storage }: AdministrationOptions): Promise<UserSummary[]> {
  const stored = await Array.fromAsync(users.all(storage));
  return stored.map(({ value }) => summarise(value));
}

/** Locks a user out: sessions, grants and tokens end at once. */
export function disableUser(options: AdministrationOptions, name: string): Promise<Result<UserSummary, UserProblem>> {
  return changeUser(options, name, (user) => ({ ...user, disabled: true }));
}

/** Lets a user sign in again; earlier grants are not restored. */
export function enableUser(options: AdministrationOptions, name: string): Promise<Result<UserSummary, UserProblem>> {
  return changeUser(options, name, (user) => ({ ...user, disabled: false }));
}

/** Sets a new passphrase: sessions end, and so does every grant that was approved under the old one. */
export async function resetUser(
  options: AdministrationOptions,
  { name, passphrase }: { readonly name: string; readonly passphrase: string },
): Promise<Result<UserSummary, UserProblem>> {
  const problem = passphraseProblem(passphrase);
  if (problem !== null) return failure({ field: "passphrase", message: problem });
  const passwordHash = await hashPassword(passphrase);
  const passwordChangedAt = options.clock();
  return await changeUser(options, name, (user) => ({ ...user, passwordHash, passwordChangedAt }));
}

/** Lets a user see and steer everything in the console, or no longer. Their sessions and tokens stay. */
export function setAdministrator(
  { storage }: AdministrationOptions,
  { name, administrator }: { readonly name: string; readonly administrator: boolean },
): Promise<Result<UserSummary, UserProblem>> {
  return retryOnConflict(async () => {
    const stored = name === "" ? null : await users.read(storage, name);
    if (stored === null) return failure(noSuchUser(name));
    if (name === ownerId) return failure({ field: "name", message: "the owner is always an administrator" });
    const changed = { ...stored.value, administrator };
    const isStored = await storage.commit({ checks: [unchanged(stored)], puts: [users.put(name, changed)] });
    return isStored ? success(summarise(changed)) : conflict;
  });
}

/** Changes a user. The new epoch cuts off grants and tokens with that one commit; removing them afterwards is tidying, but for tokens without an epoch. */
function changeUser(
  { storage }: AdministrationOptions,
  name: string,
  change: (user: User) => User,
): Promise<Result<UserSummary, UserProblem>> {
  return retryOnConflict(async (): Promise<Result<UserSummary, UserProblem> | typeof conflict> => {
    const stored: Stored<User> | null = name === "" ? null : await users.read(storage, name);
    if (stored === null) return failure(noSuchUser(name));
    const changed = { ...change(stored.value), epoch: randomId() };
    if (!await storage.commit({ checks: [unchanged(stored)], puts: [users.put(name, changed)] })) return conflict;
    const index = await Array.fromAsync(subjectGrants.all(storage, name));
    await deleteGrants(storage, index.map(({ value }) => ({ id: value.grantId, subject: name })));
    await deleteOperatorTokensOf(storage, name);
    return success(summarise(changed));
  });
}

function summarise({ passwordHash: _hash, epoch: _epoch, ...summary }: User): UserSummary {
  return summary;
}
