/** People who come by the company's provider: known by issuer and subject, never by an address or a name. */
import { failure, type Result, success } from "../lib/result.ts";
import { hashSecret, randomId } from "../lib/secrets.ts";
import type { Clock } from "../lib/time.ts";
import type { Storage } from "../storage/mod.ts";
import type { CompanyPerson } from "./company/identity.ts";
import { type CompanySettings, isAllowed, namedGroups } from "./company/settings.ts";
import { type Account, companyUserId, type UserDirectory } from "./manage_users.ts";
import {
  companyPeople,
  conflict,
  noPassphrase,
  ownerId,
  retryOnConflict,
  unchanged,
  type User,
  users as userRecords,
} from "./records.ts";

interface PeopleOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly users: UserDirectory;
  readonly company: CompanySettings;
}

type Seen = Pick<CompanyPerson, "subject" | "email" | "domain" | "groups" | "name">;

const maxNameCharacters = 100;

/** Whose account here an account at the provider is: one that was linked, or one of their own. */
export async function userIdOf(
  { storage, company: { issuer } }: Pick<PeopleOptions, "storage" | "company">,
  subject: string,
): Promise<string> {
  const linked = await companyPeople.read(storage, identityKey(issuer, subject));
  return linked?.value.userId ?? companyUserId(issuer, subject);
}

/**
 * Takes in what the provider says of a person now, who is made at the first sign-in. Someone who may not be here any
 * more loses at once what they had: sessions, grants and tokens.
 */
export function admitPerson(
  options: PeopleOptions,
  person: Seen,
): Promise<Result<Account, "not_allowed" | "disabled">> {
  const { storage, clock, users, company } = options;
  return retryOnConflict(async () => {
    const id = await userIdOf(options, person.subject);
    const stored = await userRecords.read(storage, id);
    const isAdmitted = id === ownerId || isAllowed(company.allow, person);
    if (stored === null && !isAdmitted) return failure("not_allowed");
    const now = clock();
    const made = stored?.value ?? newUser(id, { epoch: randomId(), now });
    const isLinked = id !== companyUserId(company.issuer, person.subject);
    const user: User = {
      ...made,
      ...isLinked ? {} : { displayName: shownName(person.name) || made.displayName || id },
      ...isAdmitted ? {} : { epoch: randomId() },
      company: { ...checkOf(company, person, now), ...isAdmitted ? {} : { endedAt: now } },
    };
    if (!await storage.commit({ checks: [userRecords.check(stored, id)], puts: [userRecords.put(id, user)] })) {
      return conflict;
    }
    if (!isAdmitted) return failure("not_allowed");
    const account = await users.lookUp(id); // the provider has just been heard
    return account === null ? failure("disabled") : success(account);
  });
}

/** Links an account at the provider to a person of this server, once; both have signed in. */
export function linkPerson(
  { storage, clock, company }: PeopleOptions,
  userId: string,
  person: Seen,
): Promise<Result<null, "not_allowed" | "linked_elsewhere">> {
  const { issuer } = company;
  const key = identityKey(issuer, person.subject);
  const ownId = companyUserId(issuer, person.subject);
  return retryOnConflict(async () => {
    if (userId !== ownerId && !isAllowed(company.allow, person)) return failure("not_allowed");
    const stored = await userRecords.read(storage, userId);
    const isTaken = await companyPeople.read(storage, key) !== null || await userRecords.read(storage, ownId) !== null;
    if (isTaken || stored?.value.company?.issuer === issuer) return failure("linked_elsewhere");
    const now = clock();
    // The owner has no record where the settings give the passphrase; without an epoch, what they allowed goes on.
    const user = { ...stored?.value ?? newUser(userId, { epoch: "", now }), company: checkOf(company, person, now) };
    const isLinked = await storage.commit({
      checks: [
        userRecords.check(stored, userId),
        companyPeople.check(null, key),
        userRecords.check(null, ownId),
      ],
      puts: [userRecords.put(userId, user), companyPeople.put(key, { userId })],
    });
    return isLinked ? success(null) : conflict;
  });
}

/** Ends the owner's link; `false` when there is none. Others cannot end theirs: their passphrase would come back. */
export function unlinkOwner({ storage }: Pick<PeopleOptions, "storage">): Promise<boolean> {
  return retryOnConflict(async () => {
    const stored = await userRecords.read(storage, ownerId);
    if (stored?.value.company === undefined) return false;
    const { company: { issuer, subject }, ...user } = stored.value;
    const isEnded = await storage.commit({
      checks: [unchanged(stored)],
      puts: [userRecords.put(ownerId, user)],
      deletes: [companyPeople.key(identityKey(issuer, subject))],
    });
    return isEnded || conflict;
  });
}

function identityKey(issuer: string, subject: string): string {
  return hashSecret(`${issuer}\n${subject}`);
}

function newUser(id: string, { epoch, now }: { readonly epoch: string; readonly now: number }): User {
  return { id, passwordHash: noPassphrase, epoch, disabled: false, createdAt: now, passwordChangedAt: now };
}

function checkOf(company: CompanySettings, { subject, groups }: Seen, now: number): NonNullable<User["company"]> {
  return { issuer: company.issuer, subject, groups: namedGroups(company, groups), checkedAt: now };
}

function shownName(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "").trim().slice(0, maxNameCharacters);
}
