/**
 * People who come by the company's provider: known by issuer and subject, never by an address or a name. Who leaves the
 * company is out: the first use after OIDC_RECHECK of whatever acts for a person asks the provider again, with the
 * refresh token of their last sign-in there. One instance asks at a time, since most providers accept a refresh token
 * once.
 */
import * as z from "zod";
import { boundedMap } from "../lib/bounded_map.ts";
import { createPause, type Timers } from "../lib/time.ts";
import { faultWords, Overload } from "../lib/system_fault.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { hashSecret, randomId, type SecretBox } from "../lib/secrets.ts";
import type { Storage } from "../storage/mod.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import { readPerson, reasonOf, verifyIdToken, whatIsUnsaid } from "./company_provider.ts";
import type { CompanyPerson, Provider, ProviderFault } from "./company_provider.ts";
import { companyUserId, endAccessByProvider, newUser, shownName } from "./manage_users.ts";
import type { Account, UserDirectory } from "./manage_users.ts";
import type { CompanySettings } from "./mod_settings.ts";
import { conflict, defineRecordFamily, ownerId, retryOnConflict, unchanged, type User, users } from "./records.ts";

/** `["company_person", SHA-256 of issuer and subject]`: whose account here an account at the provider is. */
const companyPeople = defineRecordFamily("company_person", () => ({ userId: z.string() }));

/** `["provider_token", user id]`: the refresh token of a person's last sign-in at the company's provider, sealed. */
const providerTokens = defineRecordFamily("provider_token", () => ({ sealed: z.string() }));

/** `["provider_session", SHA-256 of issuer and sid]`, expiring: who signed in by a session at the provider. */
export const providerSessions = defineRecordFamily("provider_session", () => ({ userId: z.string() }));

/** `["recheck", user id]`, expiring: an instance is asking the provider about the person. */
const rechecks = defineRecordFamily("recheck", () => ({ since: z.number() }));

const sealPurpose = "provider-refresh-token";
/** As long as a grant may live: no logout of an older session ends anything. */
const sessionLifetimeMs = 2_592_000_000;
/** Longer than a request to the provider takes. */
const lockMs = 30_000;
const pollMs = 100;
/** After the provider did not answer, and before it is asked about the same person again. */
const retryMs = 60_000;
const maxFailures = 10_000;
/** An outage is borne so long after the check was due. */
const outageMs = 86_400_000;

/** The id, among our keys, of a subject or a session at the provider. */
export function idAtProvider(issuer: string, subjectOrSid: string): string {
  return hashSecret(`${issuer}\n${subjectOrSid}`);
}

/** What asking the provider needs. */
export interface RecheckOptions extends AuthorizationServerOptions {
  readonly company: NonNullable<AuthorizationServerOptions["company"]>;
  readonly timers: Timers;
  readonly provider: Provider;
}

/** What taking a person in needs. */
type PeopleOptions = Pick<RecheckOptions, "storage" | "clock" | "company"> & { readonly users: UserDirectory };

type Seen = Pick<CompanyPerson, "subject" | "email" | "domain" | "groups" | "name">;

/** Whose account here an account at the provider is: one that was linked, or one of their own. */
export async function userIdOf(
  { storage, company: { issuer } }: Pick<PeopleOptions, "storage" | "company">,
  subject: string,
): Promise<string> {
  const linked = await companyPeople.read(storage, idAtProvider(issuer, subject));
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
  const { storage, clock, company } = options;
  return retryOnConflict(async () => {
    const id = await userIdOf(options, person.subject);
    const stored = await users.read(storage, id);
    const isAdmitted = id === ownerId || isAllowed(company.allow, person);
    if (stored === null && !isAdmitted) return failure("not_allowed");
    const now = clock();
    const made = stored?.value ?? newUser(id, now);
    const isLinked = id !== companyUserId(company.issuer, person.subject);
    const user: User = {
      ...made,
      ...isLinked ? {} : { displayName: shownName(person.name) || made.displayName || id },
      ...isAdmitted ? {} : { epoch: randomId() },
      company: { ...checkOf(company, person, now), ...isAdmitted ? {} : { endedAt: now } },
    };
    if (!await storage.commit({ checks: [users.check(stored, id)], puts: [users.put(id, user)] })) {
      return conflict;
    }
    if (!isAdmitted) return failure("not_allowed");
    const account = await options.users.lookUp(id); // the provider has just been heard
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
  const key = idAtProvider(issuer, person.subject);
  const ownId = companyUserId(issuer, person.subject);
  return retryOnConflict(async () => {
    if (userId !== ownerId && !isAllowed(company.allow, person)) return failure("not_allowed");
    const stored = await users.read(storage, userId);
    const isTaken = await companyPeople.read(storage, key) !== null || await users.read(storage, ownId) !== null;
    if (isTaken || stored?.value.company?.issuer === issuer) return failure("linked_elsewhere");
    const now = clock();
    // The owner has no record where the settings give the passphrase; without an epoch, what they allowed goes on.
    const user = { ...stored?.value ?? newUser(userId, now, { epoch: "" }), company: checkOf(company, person, now) };
    const isLinked = await storage.commit({
      checks: [users.check(stored, userId), companyPeople.check(null, key), users.check(null, ownId)],
      puts: [users.put(userId, user), companyPeople.put(key, { userId })],
    });
    return isLinked ? success(null) : conflict;
  });
}

/** Ends the owner's link; `false` when there is none. Others cannot end theirs: their passphrase would come back. */
export function unlinkOwner({ storage }: Pick<PeopleOptions, "storage">): Promise<boolean> {
  return retryOnConflict(async () => {
    const stored = await users.read(storage, ownerId);
    if (stored?.value.company === undefined) return false;
    const { company: { issuer, subject }, ...user } = stored.value;
    const isEnded = await storage.commit({
      checks: [unchanged(stored)],
      puts: [users.put(ownerId, user)],
      deletes: [companyPeople.key(idAtProvider(issuer, subject))],
    });
    return isEnded || conflict;
  });
}

/** Whether one of the rules fits a person. */
export function isAllowed(rules: CompanySettings["allow"], person: Omit<Seen, "name">): boolean {
  return rules.some((rule) => {
    if (rule.kind === "everyone") return true;
    return rule.kind === "group" ? person.groups.includes(rule.name) : person[rule.kind] === rule.name;
  });
}

/** Those of a person's groups that the settings name: no other is stored. */
export function namedGroups(
  { allow, groups }: Pick<CompanySettings, "allow" | "groups">,
  held: readonly string[],
): string[] {
  const named = new Set([
    ...groups?.keys() ?? [],
    ...allow.flatMap((rule) => rule.kind === "group" ? [rule.name] : []),
  ]);
  return [...new Set(held)].filter((group) => named.has(group));
}

function checkOf(company: CompanySettings, { subject, groups }: Seen, now: number): NonNullable<User["company"]> {
  return { issuer: company.issuer, subject, groups: namedGroups(company, groups), checkedAt: now };
}

/** Keeps what a sign-in at the provider leaves for later: the refresh token, and the session that a logout may name. */
export async function rememberSignIn(
  { storage, secrets, clock, company }: Pick<RecheckOptions, "storage" | "secrets" | "clock" | "company">,
  userId: string,
  { refreshToken, sid }: Pick<CompanyPerson, "refreshToken" | "sid">,
): Promise<void> {
  const sealed = refreshToken === null ? null : await secrets.seal(sealPurpose, refreshToken, userId);
  await storage.commit({
    puts: [
      ...(sealed === null ? [] : [providerTokens.put(userId, { sealed })]),
      ...(sid === null
        ? []
        : [providerSessions.put(idAtProvider(company.issuer, sid), { userId }, clock() + sessionLifetimeMs)]),
    ],
    deletes: sealed === null ? [providerTokens.key(userId)] : [],
  });
}

/** Seals what is kept of sign-ins under another master key. It can be interrupted and repeated. */
export async function resealProviderTokens(
  storage: Storage,
  { from, to }: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<void> {
  for await (const stored of providerTokens.all(storage)) {
    const [, userId = ""] = stored.key;
    const opened = await from.open(sealPurpose, stored.value.sealed, userId);
    if (opened === null) continue; // done already
    const sealed = await to.seal(sealPurpose, opened, userId);
    await storage.commit({ checks: [unchanged(stored)], puts: [providerTokens.put(userId, { sealed })] });
  }
}

/** Whether the provider has to be asked about a person. */
export function isRecheckDue({ checkedAt }: NonNullable<User["company"]>, recheckMs: number, now: number): boolean {
  return now >= checkedAt + recheckMs;
}

/**
 * Asks the provider about a person, and tells whether they are still in; shared by all who wait for the same one.
 * `settled` resolves once the answers that are awaited are stored: the provider may have voided what was stored before.
 */
export function createRecheck(options: RecheckOptions) {
  const { storage, secrets, clock, company, timers, log } = options;
  const pause = createPause(timers);
  const running = new Map<string, Promise<boolean>>();
  /** When the provider last did not answer about a person, by timers. */
  const failedAt = boundedMap<string, number>(maxFailures);

  /** While the provider says nothing, what it said last counts for a day more. */
  const isBorne = async (userId: string): Promise<boolean> => {
    const checkedAt = (await users.read(storage, userId))?.value.company?.checkedAt ?? -Infinity;
    return clock() < checkedAt + company.recheckMs + outageMs;
  };
  const askNow = async (userId: string, { subject }: NonNullable<User["company"]>): Promise<boolean> => {
    const kept = await providerTokens.read(storage, userId);
    const refreshToken = kept === null ? null : await secrets.open(sealPurpose, kept.value.sealed, userId);
    if (kept === null || refreshToken === null) return false; // they have to sign in there again
    const { refreshToken: next, person } = await askAgain(options, { subject, refreshToken });
    // A sign-in meanwhile brought another token, and may have voided this one.
    if ((await providerTokens.read(storage, userId))?.version !== kept.version) return true;
    if (next !== refreshToken) {
      const sealed = await secrets.seal(sealPurpose, next, userId);
      await storage.commit({ checks: [unchanged(kept)], puts: [providerTokens.put(userId, { sealed })] });
    }
    if (!person.ok && !isAboutPerson(person.error)) {
      log.write("warn", "provider_recheck", { outcome: "failed", user: userId, ...reasonOf(person.error) });
      failedAt.set(userId, timers.elapsed());
      return await isBorne(userId);
    }
    failedAt.delete(userId);
    const isIn = person.ok && (person.value === null || isAllowed(company.allow, person.value));
    if (!isIn) {
      await endPerson(options, userId, person.ok ? "not_allowed" : person.error);
      return false;
    }
    await noteChecked(options, userId, person.value);
    log.write("audit", "provider_recheck", { outcome: "confirmed", user: userId });
    return true;
  };
  const askLocked = async (userId: string): Promise<boolean> => {
    const key = rechecks.key(userId);
    for (const endsAt = timers.elapsed() + 2 * lockMs; timers.elapsed() < endsAt; await pause(pollMs)) {
      const user = await users.read(storage, userId);
      if (user?.value.company === undefined) return false;
      if (!isRecheckDue(user.value.company, company.recheckMs, clock())) return true; // confirmed by another instance
      const put = rechecks.put(userId, { since: clock() }, clock() + lockMs);
      if (!await storage.commit({ checks: [{ key, version: null }], puts: [put] })) continue;
      try {
        return await askNow(userId, user.value.company);
      } finally {
        await storage.commit({ deletes: [key] });
      }
    }
    return await isBorne(userId);
  };
  const ask = async (userId: string): Promise<boolean> => {
    try {
      return await askLocked(userId);
    } catch (error) {
      log.write("error", "provider_recheck", { outcome: "failed", user: userId, error: faultWords(error) });
      if (error instanceof Overload && await isBorne(userId)) return true;
      throw error;
    } finally {
      running.delete(userId);
    }
  };
  const askOnce = (userId: string): Promise<boolean> => running.getOrInsertComputed(userId, () => ask(userId));
  const recheck = async (userId: string): Promise<boolean> => {
    const failed = failedAt.get(userId);
    if (failed === undefined) return await askOnce(userId);
    const asked = timers.elapsed() >= failed + retryMs ? askOnce(userId) : null;
    asked?.catch(() => {}); // is in the log: only the first use waits for a provider that does not answer
    return await isBorne(userId) || (asked !== null && await asked);
  };
  return Object.assign(recheck, { settled: async () => void await Promise.allSettled(running.values()) });
}

/** What the provider says of a person now; `null`: only that they are there. */
async function noteChecked(
  { storage, clock, company }: Pick<RecheckOptions, "storage" | "clock" | "company">,
  userId: string,
  person: Pick<CompanyPerson, "groups"> | null,
): Promise<void> {
  await retryOnConflict(async () => {
    const stored = await users.read(storage, userId);
    if (stored?.value.company === undefined) return null;
    const groups = person === null ? stored.value.company.groups : namedGroups(company, person.groups);
    const changed = { ...stored.value, company: { ...stored.value.company, groups, checkedAt: clock() } };
    return await storage.commit({ checks: [unchanged(stored)], puts: [users.put(userId, changed)] }) ? null : conflict;
  });
}

/** Ends what acts for a person, at once: grants, tokens, sessions. They may sign in at the provider again. */
export async function endPerson(
  options: Pick<RecheckOptions, "storage" | "clock" | "log">,
  userId: string,
  why: ProviderFault | "not_allowed" | "signed_out_there",
): Promise<void> {
  const { storage, log } = options;
  await storage.commit({ deletes: [providerTokens.key(userId)] });
  await endAccessByProvider(options, userId);
  log.write("audit", "access_ended_by_provider", { outcome: "ended", user: userId, ...reasonOf(why) });
}

/** Error codes that are about this server as a client or the provider's state, and not about the person. */
const notAboutThePerson = new Set([
  ...["invalid_client", "unauthorized_client", "unsupported_grant_type", "unauthorized", "invalid_request"],
  ...["server_error", "temporarily_unavailable", "slow_down"],
]);

/** Whether the provider refused the person. Everything else is a fault of it or of this server, to be borne for a while. */
function isAboutPerson(problem: ProviderFault): boolean {
  if (typeof problem === "string") return problem === "other_subject";
  return problem.reason === "refused" && !notAboutThePerson.has(problem.said ?? "");
}

/**
 * Redeems the refresh token (OpenID Connect Core §12). `person`: `null` where the provider confirmed them without saying
 * anything about them. `refreshToken`: the one from now on, whatever the answer.
 */
async function askAgain(
  options: RecheckOptions,
  { subject, refreshToken }: { readonly subject: string; readonly refreshToken: string },
): Promise<{ readonly refreshToken: string; readonly person: Result<CompanyPerson | null, ProviderFault> }> {
  const answer = await options.provider.requestToken({ grant_type: "refresh_token", refresh_token: refreshToken });
  if (!answer.ok) return { refreshToken, person: answer };
  const { id_token: idToken, access_token: accessToken = null, refresh_token: next = refreshToken } = answer.value;
  return { refreshToken: next, person: await personIn(options, subject, { idToken, accessToken }) };
}

async function personIn(
  options: RecheckOptions,
  subject: string,
  { idToken, accessToken }: { readonly idToken: string | undefined; readonly accessToken: string | null },
): Promise<Result<CompanyPerson | null, ProviderFault>> {
  if (idToken === undefined) { // §12.2: it may be left out
    const info = accessToken === null ? success(null) : await options.provider.userInfo(accessToken);
    if (!info.ok || info.value === null) return info.ok ? success(null) : info;
    if (info.value["sub"] !== subject) return failure("other_subject");
    const { isWithoutGroups, isWithoutEmail } = whatIsUnsaid(options.company, info.value);
    return isWithoutGroups || isWithoutEmail ? success(null) : await readPerson(options, info.value, null);
  }
  const verified = await verifyIdToken(options, idToken, { accessToken });
  if (!verified.ok) return verified;
  if (verified.value.subject !== subject) return failure("other_subject"); // §12.2: the same person
  return await readPerson(options, verified.value.claims, accessToken);
}
