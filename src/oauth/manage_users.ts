/** The operator's commands on users: add, list, disable, enable, reset. They work while the server runs. */
import type { AdministrationOptions, AuthorizationServerOptions } from "./context.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { hashPassword, passphraseProblem } from "./password_hash.ts";
import { hashSecret, randomId, sha256Of } from "../lib/secrets.ts";
import type { Storage, VersionCheck } from "../storage/mod.ts";
import type { CompanySettings } from "./mod_settings.ts";
import { effectiveScopes } from "../lib/principal.ts";
import {
  conflict,
  deleteGrants,
  type Grant,
  noPassphrase,
  type OperatorToken,
  operatorTokens,
  ownerId,
  retryOnConflict,
  type Stored,
  subjectGrants,
  unchanged,
  type User,
  users,
} from "./records.ts";

/** A refused command: the argument and the remedy, for the terminal. */
export interface UserProblem {
  readonly field: "name" | "passphrase";
  readonly message: string;
}

/** A user as lists show one. */
export type UserSummary = Omit<User, "passwordHash" | "epoch">;

const namePattern = /^[a-z0-9][a-z0-9.-]{0,31}$/;

/** The refusal for a name that no user has. */
function noSuchUser(name: string): UserProblem {
  const message = name === ownerId
    ? "there is no owner yet; start the server and open the set-up link that it prints"
    : `there is no user ${JSON.stringify(name)}; \`portcullis users list\` shows the names`;
  return { field: "name", message };
}

/** Why a name cannot be given to a new user, or `null`. The owner is made by the set-up alone. */
export async function newUserProblem(
  { storage }: Pick<AdministrationOptions, "storage">,
  name: string,
): Promise<UserProblem | null> {
  if (!namePattern.test(name)) {
    const message =
      "a name has 1 to 32 lower-case letters, digits, dots and hyphens, and begins with a letter or digit";
    return { field: "name", message };
  }
  // The owner may have no record: without this, an administrator could take over the server by an invitation.
  if (name === ownerId) {
    return { field: "name", message: "owner is the name of the person who set this server up; choose another name" };
  }
  return await users.read(storage, name) === null ? null : takenName(name);
}

/** Why nothing can be changed about a user, or `null`. */
export async function existingUserProblem(
  { storage }: Pick<AdministrationOptions, "storage">,
  name: string,
): Promise<UserProblem | null> {
  return await users.read(storage, name) === null ? noSuchUser(name) : null;
}

function takenName(name: string): UserProblem {
  return {
    field: "name",
    message: `there is a user ${name} already; \`portcullis users reset ${name}\` sets a new passphrase`,
  };
}

/** The record of a new user; one without a passphrase signs in elsewhere. */
export function newUser(id: string, now: number, given: Partial<User> = {}): User {
  const changes = { createdAt: now, passwordChangedAt: now };
  return { id, passwordHash: noPassphrase, epoch: randomId(), disabled: false, ...changes, ...given };
}

const maxNameCharacters = 100;

/** A person's name from elsewhere, fit to be shown. */
export function shownName(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "").trim().slice(0, maxNameCharacters);
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
  const user = newUser(name, clock(), { passwordHash: await hashPassword(passphrase) });
  const added = await storage.commit({ checks: [users.check(null, name)], puts: [users.put(name, user)] });
  return added ? success(summarise(user)) : failure(takenName(name));
}

/** All users, without their hashes. */
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
export async function setAdministrator(
  { storage }: AdministrationOptions,
  { name, administrator }: { readonly name: string; readonly administrator: boolean },
): Promise<Result<UserSummary, UserProblem>> {
  const problem = await existingUserProblem({ storage }, name);
  if (problem !== null) return failure(problem);
  if (name === ownerId) return failure({ field: "name", message: "the owner is always an administrator" });
  return await rewriteUser(storage, name, (user) => ({ ...user, administrator }));
}

/** Ends what acts for someone whom the company's provider does not vouch for any more. They may sign in there again. */
export async function endAccessByProvider(options: AdministrationOptions, name: string): Promise<void> {
  const endedAt = options.clock();
  await changeUser(
    options,
    name,
    (user) => ({ ...user, ...user.company && { company: { ...user.company, endedAt } } }),
  );
}

function rewriteUser(
  storage: Storage,
  name: string,
  change: (user: User) => User,
): Promise<Result<UserSummary, UserProblem>> {
  return retryOnConflict(async () => {
    const stored = await users.read(storage, name);
    if (stored === null) return failure(noSuchUser(name));
    const changed = change(stored.value);
    const isDone = await storage.commit({ checks: [unchanged(stored)], puts: [users.put(name, changed)] });
    return isDone ? success(summarise(changed)) : conflict;
  });
}

/** Changes a user. The new epoch cuts off grants and tokens with that one commit; removing them afterwards is tidying, but for tokens without an epoch. */
async function changeUser(
  { storage }: AdministrationOptions,
  name: string,
  change: (user: User) => User,
): Promise<Result<UserSummary, UserProblem>> {
  const changed = await rewriteUser(storage, name, (user) => ({ ...change(user), epoch: randomId() }));
  if (!changed.ok) return changed;
  const index = await Array.fromAsync(subjectGrants.all(storage, name));
  await deleteGrants(storage, index.map(({ value }) => ({ id: value.grantId, subject: name })));
  await deleteOperatorTokensOf(storage, name);
  return changed;
}

/** Ends all command-line tokens of a user. */
async function deleteOperatorTokensOf(storage: Storage, userId: string): Promise<void> {
  for await (const { key, value } of operatorTokens.all(storage)) {
    if (value.userId === userId) await storage.commit({ deletes: [key] });
  }
}

function summarise({ passwordHash: _hash, epoch: _epoch, ...summary }: User): UserSummary {
  return summary;
}

/** A person who may sign in: a stored user, or the owner whose passphrase the settings give. */
export interface Account {
  readonly id: string;
  /** Shown to users; the id if there is nothing better. */
  readonly displayName: string;
  readonly passwordHash: string;
  /** The owner, or named by the owner: for the console. */
  readonly isAdministrator: boolean;
  /** What the company's provider said last; `null` for people of this server alone. */
  readonly company: NonNullable<User["company"]> | null;
  /** The most that they may grant, with what it implies; `null` for anything. */
  readonly mayGrant: ReadonlySet<string> | null;
  /** Changes with the passphrase: sessions, codes and grants hold on to it and end with it. */
  readonly credentialHash: string;
  /** For a commit that must not overtake a change of this user. */
  readonly unchanged: VersionCheck;
}

/** Who stands behind a grant or a token, as far as its scopes are concerned. */
export type Holder = Pick<Account, "mayGrant">;

/** Who holds a stored grant that is alive: its user may sign in and has not changed the passphrase since. */
export function holderOf(account: Account | null, grant: Grant): Holder | null {
  if (grant.kind === "client") return { mayGrant: null };
  return account?.credentialHash === grant.credentialHash ? account : null;
}

const companyPrefix = "company:";

/** The id of someone who comes from the company's provider, made of who they are there. No chosen name has a colon. */
export function companyUserId(issuer: string, subject: string): string {
  return companyPrefix + sha256Of(`${issuer}\n${subject}`).toHex().slice(0, 24);
}

/** Looks up accounts. */
export type UserDirectory = ReturnType<typeof createUserDirectory>;

/** People who are looked at for one with a passphrase. */
const maxLookedAt = 100;

/** While the provider does not answer, what acts for people is looked at again this often. */
const askAgainMs = 60_000;

interface DirectoryOptions
  extends Pick<AuthorizationServerOptions, "clock" | "ownerPasswordHash" | "ownerPassphrase" | "company"> {
  /** Asks the company's provider whether someone is still there; an outage is borne. */
  readonly recheck?: ((userId: string) => Promise<boolean>) | undefined;
}

/** Users in storage. Groups limit everyone who signs in at the company's provider but the owner. */
export function createUserDirectory(storage: Storage, options: DirectoryOptions) {
  const { clock, ownerPasswordHash, ownerPassphrase = true, company, recheck } = options;
  const isGiven = (id: string): boolean => id === ownerId && ownerPasswordHash !== undefined;
  const companyOf = ({ id, company: from }: Pick<User, "id" | "company">) => {
    const linked = from?.issuer === company?.issuer ? from ?? null : null;
    const limits = linked === null || id === ownerId ? null : company?.groups ?? null;
    return { linked, rights: rightsOf(limits, linked?.groups ?? []) };
  };
  const account = (id: string, passwordHash: string, stored: Stored<User> | null): Account => {
    const { linked, rights } = companyOf(stored?.value ?? { id });
    return {
      id,
      displayName: stored?.value.displayName ?? id,
      unchanged: users.check(stored, id),
      // Who signs in at the provider has no passphrase any more: the provider decides alone. Only the owner keeps it.
      passwordHash: (id === ownerId ? ownerPassphrase : linked === null) ? passwordHash : noPassphrase,
      isAdministrator: id === ownerId || stored?.value.administrator === true || rights.administrator,
      company: linked,
      mayGrant: rights.scopes,
      // A stored passphrase changes with the epoch, and may be rehashed without it.
      credentialHash: hashSecret(`${stored?.value.epoch ?? ""}/${isGiven(id) ? passwordHash : ""}`),
    };
  };
  /** Disabled, or made at a provider that is not the one that is asked now. */
  const isShutOut = ({ id, disabled, company: from }: User): boolean =>
    disabled || (id.startsWith(companyPrefix) && from?.issuer !== company?.issuer);
  let nextDueAt = Infinity;
  let dues = 0;
  const dueAt = ({ id, company: from }: User): number => {
    const isAsked = company !== undefined && from?.issuer === company.issuer && !(id === ownerId && ownerPassphrase);
    return isAsked ? from.checkedAt + company.recheckMs : Infinity;
  };
  /** The stored user, after the provider was asked where that is due; `null` if it does not confirm them. */
  const readConfirmed = async (id: string): Promise<{ readonly stored: Stored<User> | null } | null> => {
    const stored = await users.read(storage, id);
    if (stored === null || recheck === undefined || stored.value.disabled) return { stored };
    const due = dueAt(stored.value);
    const isDue = due <= clock();
    nextDueAt = Math.min(nextDueAt, isDue ? clock() + askAgainMs : due);
    if (!isDue) return { stored };
    return await recheck(id) ? { stored: await users.read(storage, id) } : null;
  };
  const accountOf = (id: string, stored: Stored<User> | null): Account | null => {
    if (stored !== null && isShutOut(stored.value)) return null;
    if (id === ownerId && ownerPasswordHash !== undefined) return account(id, ownerPasswordHash, stored);
    return stored === null ? null : account(id, stored.value.passwordHash, stored);
  };
  return {
    /** What the company's provider makes of a stored user. */
    companyOf,
    /**
     * The account, or `null` when there is none, it is disabled, its provider is not asked any more, or does not
     * confirm it: the first look after OIDC_RECHECK asks.
     */
    async find(id: string): Promise<Account | null> {
      const confirmed = await readConfirmed(id);
      return confirmed === null ? null : accountOf(id, confirmed.stored);
    },
    /** The account as it was last known, for who has just heard from the provider. */
    lookUp: async (id: string): Promise<Account | null> => accountOf(id, await users.read(storage, id)),
    /** Grows when the provider has to be asked about someone who was looked up; absent where none ever is. */
    dueCount: recheck && (() => {
      if (clock() >= nextDueAt) [nextDueAt, dues] = [Infinity, dues + 1];
      return dues;
    }),
    /**
     * Why nothing acts for someone, or not by a token of then, where that is not about the token alone; `null` otherwise.
     * One that is not stored any more is not for the provider to confirm.
     */
    async whyOut(id: string, { issuedAt = 0, isStored = true } = {}) {
      const user = (await users.read(storage, id))?.value;
      if (user?.disabled) return "disabled_user";
      const { endedAt = -1 } = user === undefined ? {} : companyOf(user).linked ?? {};
      if (endedAt >= issuedAt) return "ended_by_provider";
      return isStored && user !== undefined && dueAt(user) <= clock() ? "not_confirmed_by_provider" : null;
    },
    /** Who holds a token made at the command line, if it may act for them; the owner may have some before set-up. */
    async holderOfToken({ userId, userEpoch }: Pick<OperatorToken, "userId" | "userEpoch">): Promise<Holder | null> {
      const confirmed = await readConfirmed(userId);
      if (confirmed === null) return null;
      const { stored } = confirmed;
      if (stored === null) return userId === ownerId ? { mayGrant: null } : null;
      if (isShutOut(stored.value) || (userEpoch !== undefined && userEpoch !== stored.value.epoch)) return null;
      return account(userId, stored.value.passwordHash, stored);
    },
    /** Keeps a better hash of the same passphrase, unless the user was changed meanwhile; what the settings give stays. */
    async keepHash({ id, passwordHash: outdated, unchanged }: Account, passwordHash: string): Promise<void> {
      const stored = await users.read(storage, id);
      if (stored === null || stored.value.passwordHash !== outdated) return;
      await storage.commit({ checks: [unchanged], puts: [users.put(id, { ...stored.value, passwordHash })] });
    },
    /** Whether anyone can sign in here with a passphrase. */
    async takesPassphrases(): Promise<boolean> {
      // before and after the people of the provider, who may be many and have none
      const [before, after, owner] = await Promise.all([
        users.list(storage, { limit: maxLookedAt }),
        users.list(storage, { limit: maxLookedAt, after: users.key("company;") }),
        users.read(storage, ownerId),
      ]);
      return [accountOf(ownerId, owner), ...[...before, ...after].map((stored) => accountOf(stored.value.id, stored))]
        .some((each) => each !== null && each.passwordHash !== noPassphrase);
    },
    hasOwner: async (): Promise<boolean> =>
      ownerPasswordHash !== undefined || await users.read(storage, ownerId) !== null,
    /** Whether users other than the owner can sign in, so that the page must ask for a name. */
    async hasNamedUsers(): Promise<boolean> {
      const stored = await users.list(storage, { limit: 2 });
      return stored.some(({ value }) => value.id !== ownerId);
    },
  };
}

/** What members of these groups may do: `scopes` with what they imply, `null` for any. */
export function rightsOf(rights: CompanySettings["groups"], held: readonly string[]) {
  if (rights === null) return { scopes: null, administrator: false };
  const given = held.flatMap((group) => rights.get(group) ?? []);
  return {
    scopes: effectiveScopes(given.flatMap(({ scopes }) => scopes)),
    administrator: given.some((each) => each.administrator),
  };
}
