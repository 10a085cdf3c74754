/** One ServiceNow instance: the accounts that users have linked there, and what is done in their names. */
import * as z from "zod";
import type { Admission } from "../lib/turns.ts";
import { type Clock, pause, systemTimers } from "../lib/time.ts";
import { hashSecret, matchesHash, randomSecret, type SecretBox } from "../lib/secrets.ts";
import { parseInstanceUrl } from "../lib/settings.ts";
import type { Batch, Foundation, Storage, StorageKey } from "../storage/mod.ts";
import { createDeskParts, createTableAccess, type DeskParts } from "./table_api.ts";
import { defaultTables } from "./tables.ts";
import { attempt, describeFailure, unavailableCauses } from "./failure.ts";
import type { Answer, Outcome, ServicenowFailure, UnavailableCause } from "./failure.ts";
import {
  type Caller,
  checkStatus,
  createCallAs,
  createFetchOnce,
  createTransport,
  type Fetch,
  instanceUrl,
  parseJsonBytes,
  parseResult,
  type ServicenowInstance,
  type Transport,
  type UpstreamReply,
  type UpstreamRequest,
} from "./transport.ts";
import { createLinkStore, linkKey, noRefreshToken } from "./link_store.ts";
import type { InstanceAccount, LinkedAccess, LinkSecrets } from "./link_store.ts";
import type { InstanceSignIn, VisitRefusal } from "../oauth/mod.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { parseStored } from "../lib/system_fault.ts";
import type { Log } from "../lib/log.ts";
import { watchEntries } from "../lib/stored_entries.ts";

/** What an instance is used with. */
export interface ServicenowOptions extends Foundation {
  /** The instance's address, as the setting takes it. */
  readonly instance: string;
  readonly client: InstanceClient;
  /** The tables that the operator opened, each a name, or the start of names and `*`. */
  readonly tables?: readonly string[];
  /** Where a user links an account: told to agents whose user has to go there. */
  readonly linkUrl: string;
  readonly secrets: SecretBox;
  readonly fetch: Fetch;
  /** For how long a user's calls pause; the machine's own when absent. */
  readonly elapsed?: Clock;
  /** Between 0 and 1, as `Math.random`. */
  readonly random: () => number;
  /** Other times than the usual ones, for tests. */
  readonly times?: Partial<
    Readonly<Record<"requestMs" | "callMs" | "retryDelayMs" | "lockMs" | "jobMs" | "linkMs", number>>
  >;
  /** Takes one call from a user's share. */
  readonly admit: (subject: string) => Admission | Promise<Admission>;
}

/** One instance, as {@link createServicenow} builds it. */
export type Servicenow = ReturnType<typeof createServicenow>;

/** What tools and resources may do with an instance: every call in the caller's own name, under their rights. */
export type ServicenowRecords = Pick<Servicenow, "run" | "tables" | "linking" | "describe">;

/** Puts it together. Throws `TypeError` for an address that configuration should have refused. */
export function createServicenow(options: ServicenowOptions) {
  const { client, linkUrl, storage, secrets, clock, elapsed = systemTimers.elapsed, random, log, times, admit } =
    options;
  const origin = parseInstanceUrl(options.instance);
  if (!origin.ok) throw new TypeError(`The address of the ServiceNow instance ${origin.error}`);
  const instance = { origin: origin.value };
  const fetchOnce = createFetchOnce(options.fetch);
  const transport = createTransport({ instance, fetch: options.fetch, fetchOnce: fetchOnce.fetch, ...times });
  const tokenEndpoint = createInstanceTokenEndpoint({ transport, client });
  const store = createLinkStore({ instance, storage, secrets, log });
  const links = createServicenowLinks({ store, storage, tokenEndpoint, clock, log, ...times });
  const callAs = createCallAs({ links, transport, admit, clock, elapsed, random, ...times });
  const access = createTableAccess(options.tables ?? defaultTables);
  const signIn: InstanceSignIn = {
    origin: instance.origin,
    status: links.status,
    health: links.health,
    unlink: links.unlink,
    ...createLinkFlow({ instance, client, storage, secrets, links, tokenEndpoint, transport, clock }),
  };
  const run = createJobs({ callAs, instance, links, access, clock, elapsed, ...times });
  return {
    links,
    signIn,
    run,
    /** Tables that callers may be told of. */
    tables: access.names,
    linking: createLinking({ links, storage, log, linkUrl, ...times }),
    describe: (failure: ServicenowFailure) => describeFailure(failure, linkUrl),
    /** Closes what it holds open; it is not used afterwards. */
    close: () => fetchOnce.close(),
  };
}

/** A job of a service desk, done in one person's name. What refuses it is thrown as a `Refusal`. */
export type Job<Request, T> = (parts: DeskParts, request: Request) => Promise<T>;

/** ServiceNow's agents give up after 30 s. */
const jobMs = 24_000;

/** Does jobs. Each ends in time for ServiceNow's own agents; what refused it is its failure. */
function createJobs(
  { links, jobMs: limitMs = jobMs, ...place }: Parameters<typeof createDeskParts>[0] & {
    readonly links: ServicenowLinks;
    readonly jobMs?: number;
  },
) {
  const partsFor = createDeskParts(place);
  const { elapsed } = place;
  return async <Request, T>(
    job: Job<Request, T>,
    request: Request,
    { subject, signal }: Pick<Caller, "subject" | "signal">,
  ): Answer<T> => {
    const access = await links.access(subject, { signal });
    if (!access.ok) return access;
    // By the instance's own account: what is remembered for one is never answered to another.
    const { account } = access.value;
    const person = { subject, signal, deadline: elapsed() + limitMs, account, held: { current: access.value } };
    return await attempt(job(partsFor(person), request));
  };
}

// The instance's token endpoint: forms only, the client's secret in the body, nothing ever sent twice.

/** This server as the instance knows it. */
interface InstanceClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Exactly as registered at the instance. */
  readonly redirectUri: string;
}

/** `refused`: the code or token is no good. Anything else says nothing about it. */
type TokenFailure =
  | { readonly reason: "refused"; readonly said: string | null }
  | { readonly reason: "unavailable"; readonly because: UnavailableCause };

type TokenEndpoint = ReturnType<typeof createInstanceTokenEndpoint>;

const maxReplyBytes = 65_536;
const defaultLifetimeSeconds = 1_799; // an instance's own default

const tokenReply = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).nullish(),
  expires_in: z.coerce.number().positive().max(315_360_000).catch(defaultLifetimeSeconds),
}).transform(({ access_token, refresh_token, expires_in }) => ({
  accessToken: access_token,
  /** `null` when none came; after a refresh that means that the old one stays good. */
  refreshToken: refresh_token ?? null,
  expiresInSeconds: expires_in,
}));

type InstanceTokens = z.output<typeof tokenReply>;

const errorReply = z.object({ error: z.string(), error_description: z.string().nullish() });
/** Errors of RFC 6749 §5.2 about this server or its request: the user's token may be good. */
const clientErrors = ["invalid_client", "unauthorized_client"];
const requestErrors = ["invalid_request", "invalid_scope", "temporarily_unavailable", "unsupported_grant_type"];
/** Words of an error that are shown; nothing that could hold a token. */
const plainError = /^[A-Za-z][A-Za-z_ ]{0,59}$/;

/** The instance's token endpoint: exchanges codes, renews and revokes tokens (RFC 6749 §4.1.3 and §6, RFC 7009). */
export function createInstanceTokenEndpoint(
  { transport, client }: { readonly transport: Transport; readonly client: InstanceClient },
) {
  const post = (path: string, form: Record<string, string>) =>
    transport({
      method: "POST",
      path,
      accept: "json",
      maxBytes: maxReplyBytes,
      body: { type: "application/x-www-form-urlencoded", content: new URLSearchParams(form).toString() },
    }, { accessToken: null, signal: new AbortController().signal });

  const request = async (form: Record<string, string>): Promise<Result<InstanceTokens, TokenFailure>> => {
    const { clientId: client_id, clientSecret: client_secret } = client;
    const answer = await post("/oauth_token.do", { ...form, client_id, client_secret });
    if (answer.ok) return toTokens(answer.value);
    return unavailable(answer.error.reason === "unavailable" ? answer.error.because : "bad_reply");
  };
  return {
    redeemCode: (code: string, code_verifier: string) =>
      request({ grant_type: "authorization_code", code, code_verifier, redirect_uri: client.redirectUri }),
    refresh: (refresh_token: string) => request({ grant_type: "refresh_token", refresh_token }),
    /** Revokes tokens at the instance, best effort: an unreachable instance is not a failure. */
    async revoke({ accessToken, refreshToken }: Pick<InstanceTokens, "accessToken" | "refreshToken">): Promise<void> {
      const tokens = refreshToken === null ? [accessToken] : [refreshToken, accessToken];
      // The instance documents the token in the query; in a form it reaches no proxy's log.
      await Promise.all(tokens.map((token) => post("/oauth_revoke_token.do", { token })));
    },
  };
}

/** No instance issues such a token: its refusal shows whether it accepts the client. */
const noToken = "portcullis-doctor";

/** For `doctor`: why an instance takes no requests of this server's client, with the remedy; `null` where it does. */
export async function whyClientFails(origin: string, client: InstanceClient, fetchOnce: Fetch) {
  const transport = createTransport({ instance: { origin }, fetch: fetchOnce, fetchOnce });
  const answer = await createInstanceTokenEndpoint({ transport, client }).refresh(noToken);
  return answer.ok || answer.error.reason === "refused" ? null : unavailableCauses[answer.error.because];
}

function toTokens({ status, bytes }: UpstreamReply): Result<InstanceTokens, TokenFailure> {
  const body = parseJsonBytes(bytes);
  if (status === 400 || status === 401) {
    const { error, error_description } = errorReply.safeParse(body).data ?? {};
    if (error === undefined) return unavailable("bad_reply"); // a gateway's
    if (clientErrors.includes(error)) return unavailable("client_refused");
    if (requestErrors.includes(error)) return unavailable("server_error");
    return failure({ reason: "refused", said: said(error, error_description) });
  }
  if (status !== 200) return unavailable("server_error");
  const parsed = tokenReply.safeParse(body);
  return parsed.success ? success(parsed.data) : unavailable("bad_reply");
}

function said(...words: readonly (string | null | undefined)[]): string | null {
  return words.filter((word) => word && plainError.test(word)).join(": ") || null;
}

function unavailable(because: UnavailableCause): Result<never, TokenFailure> {
  return failure({ reason: "unavailable", because });
}

// Renews the access token of a link: one request upstream, however many callers and instances ask for it.

// * A lock across server instances: an entry that only one of them can create, and that expires if its holder dies.
// After a refresh that could not reach the instance it stays for a while, so that the others do not try either.

const causes = Object.keys(unavailableCauses) as UnavailableCause[];
const lockSchema = z.object({ holder: z.string(), failed: z.enum(causes).nullable().catch("unreachable") });

/** After a refresh that could not reach the instance, no server tries again for this long. */
const failurePauseMs = 5_000;

/** Where the lock of a user's link is. */
function refreshLockKey(subject: string): StorageKey {
  return ["servicenow_refresh", subject];
}

/** Tries to take the lock, once; why not, if another caller has it. */
async function takeRefreshLock(
  storage: Storage,
  subject: string,
  { clock, lockMs }: { readonly clock: Clock; readonly lockMs: number },
) {
  const key = refreshLockKey(subject);
  const present = await storage.get(key);
  if (present !== null) {
    const { failed } = parseStored(lockSchema, present.value, "servicenow_refresh_lock");
    return failed === null ? "busy" as const : { pausedBecause: failed };
  }
  const holder = crypto.randomUUID();
  const taken = await storage.commit({
    checks: [{ key, version: null }],
    puts: [{ key, value: { holder, failed: null }, expiresAt: clock() + lockMs }],
  });
  const entry = taken ? await storage.get(key) : null;
  if (entry === null || parseStored(lockSchema, entry.value, "servicenow_refresh_lock").holder !== holder) {
    return "busy" as const;
  }
  const check = { key, version: entry.version };
  const end = async (batch: Batch): Promise<void> => void await storage.commit({ checks: [check], ...batch });
  return {
    /** Where that fails, the lock expires. After `releaseToPause` it does nothing. */
    release: () => end({ deletes: [key] }).catch(() => {}),
    /** Stops all refreshes for a while. */
    releaseToPause: (because: UnavailableCause) =>
      end({ puts: [{ key, value: { holder, failed: because }, expiresAt: clock() + failurePauseMs }] }),
  };
}

/** A lock that this caller holds. */
type HeldLock = Extract<Awaited<ReturnType<typeof takeRefreshLock>>, { readonly release: unknown }>;

type LinkStore = ReturnType<typeof createLinkStore>;

interface RefreshOptions extends Foundation {
  readonly store: LinkStore;
  readonly tokenEndpoint: TokenEndpoint;
  readonly lockMs?: number;
}

type Step = Outcome<LinkSecrets> | "again";

/** After this long another server may take over a refresh. Longer than a request to the token endpoint takes. */
const refreshLockMs = 30_000;
/** An access token is renewed this long before it ends. */
const refreshEarlySeconds = 60;
const pollMs = 50;
/** How soon new tokens that could not be stored are stored again: at first, at most, and for how long in all. */
const firstStoreRetryMs = 100;
const maxStoreRetryMs = 2_000;
const storeTimeoutMs = 60_000;

/** Gives a link whose access token is good, and not the `refused` one. Not bound to any caller's signal. */
function createRefreshLink(options: RefreshOptions) {
  const { store, storage, tokenEndpoint, clock, log, lockMs = refreshLockMs } = options;

  const toStep = (current: Awaited<ReturnType<LinkStore["read"]>>, refused: string | undefined): Step => {
    if (!current.ok) return current;
    const { link } = current.value;
    return link.accessToken !== refused && clock() < link.refreshAt ? success(link) : "again";
  };

  /** The instance may have voided the old tokens for these: a database that is away for a moment must not lose them. */
  const storeTokens = async (batch: Batch): Promise<boolean> => {
    let wait = firstStoreRetryMs;
    for (let waited = 0;; waited += wait, wait = Math.min(2 * wait, maxStoreRetryMs)) {
      try {
        return await storage.commit(batch);
      } catch (error) {
        if (waited >= storeTimeoutMs) throw error;
        log.write("warn", "servicenow_tokens_not_stored", { error: String(error), retryInMs: wait });
      }
      await pause(wait);
    }
  };

  const refreshLocked = async (subject: string, refused: string | undefined, lock: HeldLock): Promise<Step> => {
    const current = await store.read(subject);
    const found = toStep(current, refused); // another call may have renewed it between the read and the lock
    if (!current.ok || found !== "again") return found;
    const { link, linkedAt, unchanged } = current.value;
    const answer = link.refreshToken === null
      ? failure({ reason: "refused", said: noRefreshToken } as const)
      : await tokenEndpoint.refresh(link.refreshToken);
    if (!answer.ok && answer.error.reason === "unavailable") {
      const { because } = answer.error;
      log.write("warn", "servicenow_refresh_failed", { subject, because });
      await lock.releaseToPause(because);
      return failure({ reason: "unavailable", because });
    }
    const next = answer.ok ? toLinkSecrets(answer.value, link.account, { clock, previous: link }) : null;
    const times = { linkedAt, at: clock() };
    const said = answer.ok || answer.error.reason !== "refused" ? null : answer.error.said;
    const put = next === null
      ? await store.putRefused(subject, link, { ...times, said })
      : await store.put(subject, next, times);
    const stored = await storeTokens({ checks: [unchanged], puts: [put] });
    log.write("audit", "servicenow_refresh", { subject, outcome: answer.ok ? "refreshed" : "refused", stored });
    if (stored) return next === null ? failure({ reason: "link_expired" }) : success(next);
    // Unlinked or linked again in the meantime, which takes precedence.
    if (next !== null && !(await store.read(subject)).ok) await tokenEndpoint.revoke(next);
    return "again";
  };

  return async (subject: string, refused: string | undefined): Answer<LinkSecrets> => {
    for (let waited = 0; waited < lockMs; waited += pollMs) {
      const lock = await takeRefreshLock(storage, subject, { clock, lockMs });
      if (lock === "busy") await pause(pollMs);
      else if ("pausedBecause" in lock) return failure({ reason: "unavailable", because: lock.pausedBecause });
      const step = lock === "busy"
        ? toStep(await store.read(subject), refused)
        : await refreshLocked(subject, refused, lock).finally(lock.release);
      if (step !== "again") return step;
    }
    return failure({ reason: "unavailable", because: "timed_out" });
  };
}

/** Tokens as a link holds them. When no refresh token came with them, the previous one stays. */
function toLinkSecrets(
  { accessToken, refreshToken, expiresInSeconds }: InstanceTokens,
  account: InstanceAccount,
  { clock, previous }: { readonly clock: Clock; readonly previous?: LinkSecrets },
): LinkSecrets {
  const expiresAt = clock() + expiresInSeconds * 1_000;
  // A token that lives shorter than the early time would be renewed at every call.
  const earlySeconds = Math.min(refreshEarlySeconds, expiresInSeconds / 2);
  return {
    accessToken,
    refreshToken: refreshToken ?? previous?.refreshToken ?? null,
    expiresAt,
    refreshAt: expiresAt - earlySeconds * 1_000,
    account,
  };
}

/** Links of users to accounts; `subject` is the `sub` of a user's tokens here. */
type ServicenowLinks = ReturnType<typeof createServicenowLinks>;

/** Makes {@link ServicenowLinks}. Callers of one link share one refresh, in this process and across instances. */
function createServicenowLinks(options: RefreshOptions) {
  const { store, storage, tokenEndpoint, clock } = options;
  const refreshLink = createRefreshLink(options);
  const running = new Map<string, ReturnType<typeof refreshLink>>();

  /** All callers of this process share one refresh. It goes on when a caller gives up: the others still wait. */
  const sharedRefresh = (subject: string, refused: string | undefined): ReturnType<typeof refreshLink> => {
    const key = JSON.stringify([subject, refused ?? null]);
    return running.getOrInsertComputed(key, () => refreshLink(subject, refused).finally(() => running.delete(key)));
  };

  return {
    /** Resolves once the renewals that run are stored: the instance may have voided the tokens that are there. */
    settled: () => Promise.allSettled(running.values()),
    /** Links a user to an account, in place of what was linked before. */
    async save(subject: string, tokens: InstanceTokens, account: InstanceAccount): Promise<void> {
      const link = toLinkSecrets(tokens, account, { clock });
      const at = clock();
      const put = await store.put(subject, link, { linkedAt: at, at });
      await storage.commit({ puts: [put], deletes: [refreshLockKey(subject)] });
    },
    health: store.health,
    async status(subject: string): ReturnType<InstanceSignIn["status"]> {
      const current = await store.read(subject);
      if (current.ok) return { state: "linked", account: current.value.link.account };
      return { state: current.error.reason === "link_expired" ? "expired" : "none" };
    },
    /** A token to use now; never the one that the instance has just refused. */
    async access(
      subject: string,
      { signal, refused }: { signal: AbortSignal; refused?: string },
    ): Answer<LinkedAccess> {
      const current = await store.read(subject);
      if (!current.ok) return current;
      const { link } = current.value;
      const isGoodUntil = (end: number): boolean => link.accessToken !== refused && clock() < end;
      if (isGoodUntil(link.refreshAt)) return success(toAccess(link));
      const renewed = await untilAborted(sharedRefresh(subject, refused), signal);
      if (renewed.ok) return success(toAccess(renewed.value));
      const mayUseOld = renewed.error.reason === "unavailable" && isGoodUntil(link.expiresAt);
      return mayUseOld ? success(toAccess(link)) : renewed;
    },
    /** Deletes the link and revokes its tokens at the instance; whether there was one. */
    async unlink(subject: string): Promise<boolean> {
      const taken = await store.take(subject);
      if (taken.ok) await tokenEndpoint.revoke(taken.value.link);
      return taken.ok || taken.error.reason === "link_expired";
    },
  };
}

const toAccess = ({ accessToken, account }: LinkSecrets): LinkedAccess => ({ accessToken, account });

/** Stops waiting when the caller is gone. */
function untilAborted<T>(work: Answer<T>, signal: AbortSignal): Answer<T> {
  const { promise: aborted, resolve } = Promise.withResolvers<Outcome<T>>();
  const stop = (): void => resolve(failure({ reason: "cancelled" }));
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", stop));
}

const sysId = z.string().regex(/^[0-9a-f]{32}$/);
const currentUser = z.object({
  user_sys_id: sysId,
  user_name: z.string(),
  user_display_name: z.string().nullish(),
}).transform(({ user_sys_id, user_name, user_display_name: name }) => toAccount(user_sys_id, user_name, name));
const userRecord = z.object({ sys_id: sysId, user_name: z.string(), name: z.string().nullish() });
const ownRecord = z.tuple([userRecord], z.unknown()).transform(([{ sys_id, user_name, name }]) =>
  toAccount(sys_id, user_name, name)
);

function toAccount(sysId: string, userName: string, name: string | null | undefined): InstanceAccount {
  return { sysId, userName, name: name ?? userName };
}

const readJson = { method: "GET", accept: "json", maxBytes: maxReplyBytes } as const;
const currentUserRequest: UpstreamRequest = { ...readJson, path: "/api/now/ui/user/current_user" };
const ownRecordRequest: UpstreamRequest = {
  ...readJson,
  path: "/api/now/table/sys_user",
  query: {
    sysparm_query: "sys_id=javascript:gs.getUserID()",
    sysparm_fields: "sys_id,user_name,name",
    sysparm_limit: "1",
  },
};

/** Asks for the current user, and where an instance does not offer that, for the user's own record. */
async function askWhoAmI(
  { transport, clock }: { readonly transport: Transport; readonly clock: Clock },
  accessToken: string,
  signal: AbortSignal,
): Answer<InstanceAccount> {
  const ask = async (request: UpstreamRequest, schema: z.ZodType<InstanceAccount>): Answer<InstanceAccount> => {
    const answer = await transport(request, { accessToken, signal });
    if (!answer.ok) return answer;
    const checked = checkStatus(answer.value, request, clock);
    if (checked.ok) return parseResult(checked.value, schema);
    return failure(checked.error.reason === "unauthorized" ? { reason: "link_expired" } : checked.error);
  };
  const current = await ask(currentUserRequest, currentUser);
  const isAnswer = current.ok || current.error.reason === "cancelled" || current.error.reason === "link_expired";
  return isAnswer ? current : await ask(ownRecordRequest, ownRecord);
}

// * A user's visit to the instance's sign-in, and the way back. Its state is stored and tied to the browser that started:
// a callback in any other browser is refused (CVE-2026-27124), so that no attacker can make a victim finish a visit.

/** How long a user may take to sign in at the instance. */
const linkStateLifetimeMs = 600_000;

const pendingSchema = z.object({ browserHash: z.string(), sealed: z.string() });
const waitingSchema = z.object({
  verifier: z.string(),
  purpose: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("link"), subject: z.string(), next: z.string().optional() }),
    z.object({ kind: z.literal("sign_in"), handle: z.string() }),
  ]),
});
const sealPurpose = "servicenow-link-state";

function createLinkFlow(
  { instance, client, storage, secrets, links, tokenEndpoint, transport, clock }: {
    readonly instance: ServicenowInstance;
    readonly client: InstanceClient;
    readonly storage: Storage;
    readonly secrets: SecretBox;
    readonly links: ServicenowLinks;
    readonly tokenEndpoint: TokenEndpoint;
    readonly transport: Transport;
    readonly clock: Clock;
  },
): Pick<InstanceSignIn, "begin" | "finish"> {
  return {
    async begin({ browser, purpose }) {
      const state = randomSecret();
      const verifier = randomSecret(); // RFC 7636 §4.1
      const sealed = await secrets.seal(sealPurpose, JSON.stringify({ verifier, purpose }), hashSecret(state));
      const value = { browserHash: hashSecret(browser), sealed };
      await storage.commit({ puts: [{ key: pendingKey(state), value, expiresAt: clock() + linkStateLifetimeMs }] });
      const url = instanceUrl(instance, "/oauth_auth.do", {
        response_type: "code",
        client_id: client.clientId,
        redirect_uri: client.redirectUri,
        state,
        code_challenge: hashSecret(verifier), // RFC 7636 §4.2, S256
        code_challenge_method: "S256",
      });
      return { url };
    },
    async finish({ parameters, browsers, subject, signal }) {
      const state = onlyValue(parameters, "state");
      if (state === null || !/^[A-Za-z0-9_-]{43}$/.test(state)) return failure({ reason: "malformed" });
      const entry = await storage.consume(pendingKey(state)); // once, whatever comes of it
      if (entry === null) return failure({ reason: "unknown_state" });
      const { browserHash, sealed } = parseStored(pendingSchema, entry.value, "servicenow_link_state");
      if (!browsers.some((browser) => matchesHash(browser, browserHash))) return failure({ reason: "other_browser" });
      const opened = await secrets.open(sealPurpose, sealed, hashSecret(state));
      if (opened === null) return failure({ reason: "unknown_state" }); // the key was changed in between
      const { verifier, purpose } = waitingSchema.parse(JSON.parse(opened));
      const next = purpose.kind === "link" && purpose.next !== undefined ? { next: purpose.next } : {};
      const refuse = (reason: VisitRefusal) => failure({ reason, ...next });
      if (purpose.kind === "link" && purpose.subject !== subject) return refuse("other_person");
      // RFC 9207 §2.4: an answer that names another issuer is not this instance's.
      const issuers = parameters.getAll("iss");
      if (issuers.some((each) => each !== instance.origin)) return refuse("malformed");
      if (parameters.has("error")) return refuse("denied"); // RFC 6749 §4.1.2.1
      const code = onlyValue(parameters, "code");
      if (code === null) return refuse("malformed");
      const tokens = await tokenEndpoint.redeemCode(code, verifier);
      if (!tokens.ok) return refuse(tokens.error.reason === "refused" ? "code_refused" : "unavailable");
      const account = await askWhoAmI({ transport, clock }, tokens.value.accessToken, signal);
      if (!account.ok) return refuse(refusalOf(account.error));
      // An instance never reuses a sys_id.
      const owner = purpose.kind === "link" ? purpose.subject : `servicenow:${account.value.sysId}`;
      try {
        await links.save(owner, tokens.value, account.value);
      } catch (error) {
        await tokenEndpoint.revoke(tokens.value); // no record of it is left
        throw error;
      }
      return success({ purpose, subject: owner, account: account.value });
    },
  };
}

/** Why the account behind a fresh token is not known: ended already, without rights to the API, or no answer. */
function refusalOf({ reason }: ServicenowFailure): VisitRefusal {
  if (reason === "link_expired") return "code_refused";
  return reason === "forbidden" || reason === "not_found" ? "denied" : "unavailable";
}

function pendingKey(state: string): StorageKey {
  return ["servicenow_link_state", hashSecret(state)];
}

/** RFC 6749 §3.1: a parameter that is repeated has no value. */
function onlyValue(parameters: URLSearchParams, name: string): string | null {
  const [value, ...more] = parameters.getAll(name);
  return value === undefined || value === "" || more.length > 0 ? null : value;
}

/** Less than the 60 seconds after which most clients give up. */
const linkPatienceMs = 45_000;

/** A call that waits until its person has linked an account, on whatever instance of the server they do that. */
function createLinking(
  { links, storage, log, linkUrl: url, linkMs = linkPatienceMs }: {
    readonly links: ServicenowLinks;
    readonly storage: Storage;
    readonly log: Log;
    readonly linkUrl: string;
    readonly linkMs?: number;
  },
) {
  const isLinked = async (subject: string): Promise<boolean> => (await links.status(subject)).state === "linked";
  return {
    /** The page where a person does it. */
    url,
    isLinked,
    /** Resolves when the person has linked an account, when `signal` aborts, or when waiting has taken too long. */
    async whenLinked(subject: string, signal: AbortSignal): Promise<void> {
      const done = new AbortController();
      const watch = watchEntries(storage, [linkKey(subject)], async () => {
        if (await isLinked(subject)) done.abort();
      }, { log });
      watch.look();
      await pause(linkMs, AbortSignal.any([signal, done.signal]));
      watch.stop();
    },
  };
}
