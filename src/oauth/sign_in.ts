/** `/oauth/sign-in` checks the passphrase and starts a browser session. The console knows its visitors by theirs. */
import * as z from "zod";
import { counted, failure, type Result, success } from "../lib/result.ts";
import { type Admission, createKeyedMutex } from "../lib/turns.ts";
import type { AgreedClock } from "../lib/time.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import { conflict, defineRecordFamily, noPassphrase, ownerId, type RecordOf, retryOnConflict } from "./records.ts";
import { addressKey } from "../lib/network.ts";
import { type Browser, csrfToken, isCsrfToken, readBrowserForm, readOwnForm } from "./browser_sessions.ts";
import { hiddenText, logStep } from "./exchange.ts";
import { canVerify, hashPassword, isOutdatedHash, type PasswordHasher } from "./password_hash.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import {
  type AccountPage,
  accountPageIn,
  companyPath,
  type ConsolePage,
  errorPage,
  findPending,
  type InteractionOptions,
  type LinkCompany,
  pathOfPage,
  pathOfRequest,
  showSignIn,
  type SignInPurpose,
  wrongMethodPage,
} from "./interaction.ts";
import { seeOther } from "../lib/page.ts";
import { goToInstancePage } from "./servicenow_sign_in.ts";
import { equalInConstantTime } from "../lib/secrets.ts";

/** What checking a passphrase needs besides what all browser endpoints share. */
interface SignInOptions extends InteractionOptions {
  readonly passwords: PasswordHasher;
  readonly throttle: ReturnType<typeof createPasswordThrottle>;
  /** Where people of a company sign in. */
  readonly linkCompany?: LinkCompany;
}

export function createSignInEndpoint(options: SignInOptions): Endpoint {
  const { log, limits, browsers } = options;
  return async (request, peer) => {
    const browser = browsers.identify(request);
    const { searchParams } = new URL(request.url);
    if (request.method === "GET") {
      const handle = searchParams.get("request") ?? "";
      const pending = await findPending(options, handle, browser);
      return pending === null
        ? errorPage(options.issuer, browser.isNew ? "cookie_missing" : "request_gone")
        : await showSignIn(options, { kind: "request", waiting: pending }, { asOther: true });
    }
    if (request.method !== "POST") return wrongMethodPage(options.issuer, "GET", "POST");
    if (options.signInElsewhere !== undefined) return errorPage(options.issuer, "sign_in_elsewhere");
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(options.issuer, form.error);
    const page = accountPageIn(searchParams.get("next")) ?? "grants";
    const purpose = await purposeOf(options, { form: form.value, browser, page });
    if (purpose === null) {
      const reason = browser.isNew ? "cookie_missing" : "request_gone";
      logStep({ log, peer }, "sign_in", { outcome: "refused", reason });
      return errorPage(options.issuer, reason);
    }
    return await checkPassphrase(options, { request, peer, browser, purpose }, form.value);
  };
}

/** `null` for a form that this browser was not sent (login CSRF). */
async function purposeOf(
  options: SignInOptions,
  { form, browser, page }: { form: URLSearchParams; browser: Browser; page: AccountPage },
): Promise<SignInPurpose | null> {
  const csrf = form.get("csrf");
  if (csrf !== null) {
    return isCsrfToken(options.secrets, browser, csrf) ? { kind: "account", browser, next: page } : null;
  }
  const pending = await findPending(options, form.get("request") ?? "", browser);
  return pending === null ? null : { kind: "request", waiting: pending };
}

async function checkPassphrase(
  options: SignInOptions,
  { request, peer, browser, purpose }: { request: Request; peer: Peer; browser: Browser; purpose: SignInPurpose },
  form: URLSearchParams,
): Promise<Response> {
  const { log, browsers, users, issuer } = options;
  const userName = (form.get("username") ?? "").trim().toLowerCase() || ownerId;
  const client = purpose.kind === "request" ? purpose.waiting.client.id : undefined;
  const passphrase = form.get("passphrase") ?? "";
  const outcome = await verifyPassphrase(options, { browser, userName, passphrase, address: peer.address });
  const fields = { user: outcome.user, client };
  if (!outcome.ok) {
    logStep({ log, peer }, "sign_in", { outcome: "refused", reason: outcome.reason, ...fields });
    const { retryAfterSeconds } = outcome;
    if (retryAfterSeconds !== null) {
      const isBusy = outcome.reason === "busy";
      const problem = isBusy ? "The server is busy. Try again in a moment." : tooManyAttempts(retryAfterSeconds);
      return await showSignIn(options, purpose, { userName, status: 429, retryAfterSeconds, problem });
    }
    const what = await users.hasNamedUsers() ? "user name or the passphrase" : "passphrase";
    const problem = `The ${what} is wrong. Try again.`;
    return await showSignIn(options, purpose, { userName, status: 403, problem });
  }
  const cookie = await browsers.signIn(request, outcome.account);
  logStep({ log, peer }, "sign_in", { outcome: "signed_in", ...fields });
  if (options.linkCompany !== undefined && purpose.kind === "account" && purpose.next === "companyLink") {
    const response = await options.linkCompany(browser, outcome.account, peer);
    response.headers.append("set-cookie", cookie);
    return response;
  }
  const next = purpose.kind === "request"
    ? pathOfRequest(issuer, purpose.waiting.handle)
    : pathOfPage(issuer, purpose.next);
  return seeOther(next, [cookie]);
}

/** A signed-in person, on a page. */
export interface Visitor {
  readonly userId: string;
  /** The name to show. */
  readonly name: string;
  readonly isAdministrator: boolean;
  /** The most that they may allow, with what it implies; `null` for anything. */
  readonly mayGrant: ReadonlySet<string> | null;
  /** When their session began. */
  readonly signedInAt: number;
  /** When they last proved who they are, in milliseconds since the epoch; 0 where single sign-on alone let them in. */
  readonly confirmedAt: number;
  /** They signed in at the company's provider, and confirm there what asks for it. */
  readonly byCompany: boolean;
  /** The value of each form's `csrf` field. */
  readonly csrf: string;
  /** Sees what others do, and there are others. */
  readonly seesOthers: boolean;
}

/** The console's sign-in: who a request's visitor is, and whether they may still be there. */
export type Visits = ReturnType<typeof createVisits>;

/** How long a sign-in may take that carries an act. */
const carriedMs = 600_000;

export function createVisits(options: SignInOptions) {
  const { browsers, secrets, log, users } = options;
  /** The page that asks someone to sign in, and then leads to `next`. */
  const askSignIn = async (request: Request, next: AccountPage): Promise<Response> => {
    const browser = browsers.identify(request);
    const asked = await showSignIn(options, { kind: "account", browser, next }, { cookies: browser.cookies });
    const away = request.method === "POST" ? asked.headers.get("location") : null; // no redirect may answer a form
    return away === null ? asked : goToInstancePage(away);
  };
  /** The person, or the page that asks them to sign in and then leads to `page`. */
  const enter = async (request: Request, page: ConsolePage): Promise<Result<Visitor, Response>> => {
    const browser = browsers.identify(request);
    const signedIn = await browsers.signedIn(request);
    if (signedIn === null) {
      const linked = request.method === "GET" ? accountPageIn(`${page}${new URL(request.url).search}`) : null;
      return failure(await askSignIn(request, linked ?? page));
    }
    const { account, signedInAt, confirmedAt, byCompany } = signedIn;
    return success({
      userId: account.id,
      name: account.displayName,
      isAdministrator: account.isAdministrator,
      mayGrant: account.mayGrant,
      signedInAt,
      confirmedAt,
      byCompany,
      csrf: csrfToken(secrets, browser),
      seesOthers: account.isAdministrator && await users.hasNamedUsers(),
    });
  };
  const proofOf = (hash: string, page: ConsolePage, act: string, until: string): string =>
    secrets.authenticate("carried-act", [hash, page, act, until].join(" "));
  /** Where the act of a form of this browser is done after a sign-in: see `carriedAct`. */
  const carry = (request: Request, page: ConsolePage, act: string): ConsolePage => {
    const until = String(options.clock() + carriedMs);
    const proof = proofOf(browsers.identify(request).hash, page, act, until);
    return `${page}?${new URLSearchParams({ act, until, proof })}`;
  };
  return {
    enter,
    askSignIn,
    carry,
    /** The act that a visit carries through the sign-in, asked for by a form of this very browser; `null` otherwise. */
    carriedAct(request: Request, page: ConsolePage): string | null {
      const query = new URL(request.url).searchParams;
      const [act = "", until = "", proof = ""] = ["act", "until", "proof"].map((name) => query.get(name) ?? "");
      const isAsked = browsers.identify(request).hashes
        .some((hash) => equalInConstantTime(proof, proofOf(hash, page, act, until)));
      return isAsked && options.clock() < Number(until) ? act : null;
    },
    /** The form of a signed-in person; others sign in, and then post it again, unless its act `isCarried`. */
    async readForm(
      request: Request,
      page: ConsolePage,
      isCarried: (act: string) => boolean,
    ): Promise<Result<{ readonly visitor: Visitor; readonly form: URLSearchParams }, Response>> {
      const form = await readOwnForm(options, request, browsers.identify(request));
      if (!form.ok) return failure(errorPage(options.issuer, form.error));
      const act = form.value.get("act") ?? "";
      const entered = await enter(request, isCarried(act) ? carry(request, page, act) : page);
      return entered.ok ? success({ visitor: entered.value, form: form.value }) : entered;
    },
    /** While a page is open, its session goes on; the cookie for it, `null` where it has ended. */
    renew: (request: Request) => browsers.renew(request),
    /** Judges the passphrase once more: the cookie of the renewed session, or what to tell the person. */
    async confirm(
      request: Request,
      { userId }: Visitor,
      passphrase: string,
      { address }: Peer,
    ): Promise<Result<{ readonly cookie: string }, { readonly words: string; readonly status: 403 | 429 }>> {
      const browser = browsers.identify(request);
      const outcome = await verifyPassphrase(options, { browser, userName: userId, passphrase, address });
      const fields = { user: outcome.user, address };
      if (outcome.ok) {
        log.write("audit", "confirmation", { outcome: "confirmed", ...fields });
        return success({ cookie: await browsers.signIn(request, outcome.account) });
      }
      log.write("audit", "confirmation", { outcome: "refused", reason: outcome.reason, ...fields });
      return failure(
        outcome.retryAfterSeconds === null
          ? { words: "The passphrase is wrong. Try again.", status: 403 }
          : { words: tooManyAttempts(outcome.retryAfterSeconds), status: 429 },
      );
    },
    /** Where someone signs in at the company's provider once more, and then comes back to the page. */
    confirmPath: (page: ConsolePage): string => companyPath(options.issuer, { next: page, again: "1" }),
    /** Whether people sign in at another system, where no passphrase can be asked for. */
    signInIsElsewhere: options.signInElsewhere !== undefined,
  };
}

/** What a throttled user is told. */
function tooManyAttempts(retryAfterSeconds: number): string {
  return `Too many attempts. Wait ${counted(retryAfterSeconds, "second")}, then try again.`;
}

const busySeconds = 2;

/**
 * Checks a passphrase: behind the throttle, and without telling which names exist. `user` is fit for the log: an unknown
 * name is hidden in it. `retryAfterSeconds`: it was not judged, and the caller has to wait; `null` for a wrong name or
 * passphrase.
 */
export async function verifyPassphrase(
  options: SignInOptions,
  { browser, userName, passphrase, address }: {
    readonly browser: Browser;
    readonly userName: string;
    readonly passphrase: string;
    readonly address: string;
  },
) {
  const { users, browsers, secrets, passwords, throttle } = options;
  const account = await users.find(userName);
  const user = account === null ? hiddenText(secrets, userName) : account.id;
  const refuse = (reason: string, retryAfterSeconds: number | null = null) =>
    ({ ok: false, user, reason, retryAfterSeconds }) as const;
  const known = await browsers.isKnown(browser, userName);
  const throttleKey = known ? `browser ${browser.hash}` : addressKey(address);
  const admission = await throttle.begin(throttleKey, known);
  if (!admission.ok) return refuse("too_many_attempts", admission.retryAfterSeconds);
  // An unknown name, and a hash of another runtime, cost as much time as a wrong passphrase, so that names cannot be
  // told apart.
  const hash = account?.passwordHash ?? noPassphrase;
  const isVerifiable = hash !== noPassphrase && await canVerify(hash);
  const verified = await passwords.verify(passphrase, isVerifiable ? hash : await decoyHash());
  if (verified === "busy") {
    await throttle.uncount(throttleKey, known);
    return refuse("busy", busySeconds);
  }
  if (account === null || !isVerifiable || !verified) {
    const isDisabled = await users.whyOut(userName) === "disabled_user"; // for every refusal, so that none takes longer
    if (account === null) return refuse(isDisabled ? "disabled_user" : "unknown_user");
    return refuse(isVerifiable || hash === noPassphrase ? "wrong_passphrase" : "no_argon2id");
  }
  await throttle.uncount(throttleKey, known);
  if (await isOutdatedHash(account.passwordHash)) {
    const renewed = await passwords.hash(passphrase);
    if (renewed !== "busy") await users.keepHash(account, renewed);
  }
  return { ok: true, user, account } as const;
}

let decoy: Promise<string> | undefined;

function decoyHash(): Promise<string> {
  decoy ??= hashPassword(crypto.randomUUID());
  return decoy;
}

/**
 * Attempts that count together: `["sign_in_attempts", HMAC of an address or a browser]`, and
 * `["sign_in_attempts", "everyone"]`, expiring. Times are milliseconds of the agreed clock; the next attempt may begin at
 * `notBefore`.
 */
const signInAttempts = defineRecordFamily(
  "sign_in_attempts",
  () => ({ failures: z.number(), notBefore: z.number(), lastAt: z.number() }),
);

type SignInAttempts = RecordOf<typeof signInAttempts>;

const forgetAfterMs = 3_600_000;
/** Records expire by the wall clock, which may jump: well after their counts end by the agreed clock. */
const keptMs = 24 * forgetAfterMs;
const everyone = { id: "everyone", freeFailures: 50, maxDelaySeconds: 5 };

type Bucket = Readonly<typeof everyone>;

const noAttempts: SignInAttempts = { failures: 0, notBefore: 0, lastAt: 0 };

/**
 * Slows down guessing of passphrases: a delay that grows with each failure, by address and over all addresses together.
 * The delay is an answer (429 and Retry-After), never a held connection, and it always ends. The counts are in the
 * storage: attempts that are spread over instances gain nothing, nor does waiting for a restart.
 *
 * `known` attempts come from a browser in which the same user signed in before: they skip the common delay, so that a
 * distributed attack cannot keep the owner out, and count by browser instead of by address.
 */
export function createPasswordThrottle(
  { storage, secrets, clock, agreedClock }: Pick<AuthorizationServerOptions, "storage" | "secrets" | "clock"> & {
    readonly agreedClock: AgreedClock;
  },
) {
  const bucketsOf = (address: string, known: boolean): readonly Bucket[] => {
    const id = secrets.authenticate("sign-in-attempts", address);
    const own: Bucket = { id, freeFailures: 5, maxDelaySeconds: 300 };
    return known ? [own] : [own, everyone];
  };
  /** The counts that an attempt is part of. */
  const countsOf = async (address: string, known: boolean) => {
    const counts = await Promise.all(
      bucketsOf(address, known).map(async (bucket) => ({
        bucket,
        stored: await signInAttempts.read(storage, bucket.id),
      })),
    );
    for (const { stored } of counts) if (stored !== null) agreedClock.catchUp(stored.value.lastAt);
    const now = agreedClock.now();
    return counts.map(({ bucket, stored }) => {
      const isFresh = stored !== null && now - stored.value.lastAt < forgetAfterMs;
      const attempts = isFresh ? stored.value : noAttempts;
      const waitSeconds = Math.min(Math.ceil((attempts.notBefore - now) / 1_000), bucket.maxDelaySeconds);
      return { bucket, stored, attempts, waitSeconds };
    });
  };
  type Counts = Awaited<ReturnType<typeof countsOf>>;
  const waitOf = (counts: Counts): number => Math.max(...counts.map(({ waitSeconds }) => waitSeconds));
  const commit = (counts: Counts, change: (attempts: SignInAttempts, bucket: Bucket) => SignInAttempts) =>
    storage.commit({
      checks: counts.map(({ bucket, stored }) => signInAttempts.check(stored, bucket.id)),
      puts: counts.map(({ bucket, attempts }) =>
        signInAttempts.put(bucket.id, change(attempts, bucket), clock() + keptMs)
      ),
    });
  const turns = createKeyedMutex(); // only instances contend for the counts, not the requests of each
  return {
    /** An attempt counts as failed from its beginning, so that parallel ones gain nothing. */
    async begin(address: string, known: boolean): Promise<Admission> {
      // Before the queue: throttled callers are refused at once, and a flood of them writes nothing.
      const wait = waitOf(await countsOf(address, known));
      if (wait > 0) return { ok: false, retryAfterSeconds: wait };
      return await turns.run("", () =>
        retryOnConflict<Admission>(async () => {
          const counts = await countsOf(address, known);
          const retryAfterSeconds = waitOf(counts);
          if (retryAfterSeconds > 0) return { ok: false, retryAfterSeconds };
          const now = agreedClock.now();
          const done = await commit(counts, (attempts, bucket) => countFailure(attempts, bucket, now));
          return done ? { ok: true } : conflict;
        }));
    },
    /**
     * Uncounts the one attempt that succeeded, or was not judged. Earlier failures stay: attackers must not wipe them by signing in as
     * themselves.
     */
    async uncount(address: string, known: boolean): Promise<void> {
      const oneLess = (attempts: SignInAttempts) => ({
        ...attempts,
        failures: Math.max(0, attempts.failures - 1),
        notBefore: 0,
      });
      await turns.run(
        "",
        () => retryOnConflict(async () => await commit(await countsOf(address, known), oneLess) ? null : conflict),
      );
    },
  };
}

function countFailure({ failures, notBefore }: SignInAttempts, bucket: Bucket, now: number): SignInAttempts {
  const excess = failures + 1 - bucket.freeFailures;
  const delaySeconds = Math.min(2 ** Math.min(excess - 1, 20), bucket.maxDelaySeconds);
  return { failures: failures + 1, notBefore: excess > 0 ? now + 1_000 * delaySeconds : notBefore, lastAt: now };
}
