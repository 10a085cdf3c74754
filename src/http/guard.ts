/** What a request has to pass before it is answered: the guard of its token, rate limits, its share of the memory. */
import type { AuthOutcome, Principal } from "../lib/principal.ts";
import { counted, type Result } from "../lib/result.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { declaredLength, headerOf, requestHost } from "../lib/request_text.ts";
import { type AgreedClock, atMost, type Clock } from "../lib/time.ts";
import { type Admission, admitted, type Throttled, whenReady } from "../lib/turns.ts";
import * as z from "zod";
import { changeEntry } from "../lib/stored_entries.ts";
import type { Foundation, StorageKey } from "../storage/mod.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { addressKey } from "../lib/network.ts";

// The spellings of this resource's URL, and which of them a request was made to. Unknown hosts are never reflected.

/** Finds the spelling that fits a request's Host, or else the canonical one. */
type SpellingOf = (request: Request) => ReturnType<typeof spell>;

/** A protected resource as clients know it: its identifier (RFC 9728 §1.2), and where its metadata document is (§3.1). */
function spell(resource: string) {
  const url = new URL(resource);
  const path = url.pathname === "/" ? "" : url.pathname;
  return { resource, metadataUrl: `${url.origin}/.well-known/oauth-protected-resource${path}${url.search}` };
}

/** Builds the lookup. The first spelling is the canonical one. */
export function createSpellings(spellings: readonly [string, ...string[]]) {
  const all = spellings.map(spell);
  const canonical = spell(spellings[0]);
  const byHost = new Map(all.toReversed().map((spelling) => [new URL(spelling.resource).host, spelling]));
  const spellingOf: SpellingOf = (request) => {
    const host = requestHost(request)?.toLowerCase() ?? "";
    return byHost.get(host) ?? canonical;
  };
  return { spellingOf, all };
}

// `WWW-Authenticate` values (RFC 6750 §3, RFC 9728 §5.1), built from settings only: no request text gets into one.

/** RFC 9110 §5.6.4: scope names and URLs of ours need no escaping; whatever would is left out. */
const unquotable = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g;

function challenge(parameters: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}="${value.replace(unquotable, "")}"`);
  return `Bearer ${pairs.join(", ")}`;
}

/** The challenges of one resource; `scopes` are what a client without a token should request. */
export function createChallenges(
  { spellingOf, scopes }: { readonly spellingOf: SpellingOf; readonly scopes: readonly string[] },
) {
  const challengeFor =
    (error: Readonly<Record<string, string>>, asked: Iterable<string> = scopes) => (request: Request): string =>
      challenge({ ...error, resource_metadata: spellingOf(request).metadataUrl, scope: [...asked].join(" ") });
  const lacksScope = {
    error: "insufficient_scope",
    error_description: "The access token lacks a scope that this call needs",
  };
  return {
    /** The resource that the request was made to. */
    resourceOf: (request: Request): string => spellingOf(request).resource,
    /** 401 without a token: no `error`, since nothing was wrong (RFC 6750 §3.1). */
    missingToken: challengeFor({}),
    /** 401 for a token that does not work. */
    invalidToken: challengeFor({
      error: "invalid_token",
      error_description: "The access token is invalid, expired or revoked",
    }),
    /** 400 for a malformed Authorization header. */
    invalidRequest: challengeFor({
      error: "invalid_request",
      error_description: "Send one Authorization header with one bearer token",
    }),
    /** 403; `asked` are the scopes to ask for, so that one step-up is enough. */
    insufficientScope: (request: Request, asked: Iterable<string>): string => challengeFor(lacksScope, asked)(request),
  };
}

/** Verifies bearer tokens and says when an earlier verification has to be looked at again. */
interface TokenVerifier {
  /** The principal that a token speaks for, or a stable name for what is wrong with it. */
  verify(token: string): Promise<Result<Principal, string>>;
  /** The same for an API key or a Basic password. */
  verifyKey(key: string): Promise<Result<Principal, string>>;
  /** Whether the principal's token is still not revoked. */
  isLive(principal: Principal): Promise<boolean>;
  /** Of a principal that is not live: a stable name for the reason. */
  whyEnded(principal: Principal): Promise<string>;
  /** Differs from an earlier one whenever anything that {@link TokenVerifier.isLive} depends on may have changed. */
  changeCount(): number | Promise<number>;
}

interface CachedToken {
  readonly kind: "bearer" | "key";
  readonly outcome: Extract<AuthOutcome, { kind: "principal" }>;
  /** The change count that was read before the token was last found alive. */
  aliveAt: number;
}

const noToken: AuthOutcome = { kind: "no_token" };
const maxHeaderLength = 8_192;
/** Headers that are longer than this, and than their token needs, are not kept: one token could fill the memory. */
const maxKeyHeader = 300;
const maxVerifiedTokens = 100_000; // some 80 MB, where so many are in use

/**
 * Turns the token of a request into a principal, or into a 401 with its challenge (RFC 6750 §3). ServiceNow's and
 * Copilot Studio's clients can send an operator's token as an API key or a Basic password instead; web pages cannot. A
 * token that was verified once is answered from memory, synchronously, for as long as its expiry and the store's change
 * count allow; a revocation by any process moves that count, and the next request looks the grant up again.
 */
export function createGuard({ verifier, challenges, clock, maxCachedTokens = maxVerifiedTokens }: {
  readonly verifier: TokenVerifier;
  readonly challenges: ReturnType<typeof createChallenges>;
  readonly clock: Clock;
  readonly maxCachedTokens?: number;
}) {
  // Keyed by the whole header, so that the hot path neither parses nor copies it.
  const cache = boundedMap<string, CachedToken>(maxCachedTokens);

  const refuse = (request: Request, reason: string): AuthOutcome => ({
    kind: "refused",
    status: 401,
    reason,
    wwwAuthenticate: challenges.invalidToken(request),
  });
  const verify = async (
    request: Request,
    header: string,
    { kind, token }: Extract<Authorization, { token: string }>,
  ): Promise<AuthOutcome> => {
    // Read first: a revocation during verification then shows as a later count.
    const aliveAt = await verifier.changeCount();
    const verified = await (kind === "key" ? verifier.verifyKey(token) : verifier.verify(token));
    if (!verified.ok) return refuse(request, verified.error);
    const outcome = { kind: "principal", principal: verified.value } as const;
    const maxKept = Math.max(`Bearer ${token}`.length, maxKeyHeader);
    if (header.length <= maxKept) cache.set(header, { kind, outcome, aliveAt });
    return outcome;
  };
  const recheck = async (request: Request, header: string, entry: CachedToken, count: number): Promise<AuthOutcome> => {
    if (await verifier.isLive(entry.outcome.principal)) {
      entry.aliveAt = count;
      return entry.outcome;
    }
    cache.delete(header);
    const parsed = parseAuthorization(header); // a token with fewer scopes than before goes on with those that are left
    const again = "token" in parsed ? await verify(request, header, parsed) : null;
    if (again?.kind === "principal") return again;
    return refuse(request, await verifier.whyEnded(entry.outcome.principal));
  };

  return {
    authenticate(request: Request): AuthOutcome | Promise<AuthOutcome> {
      const header = headerOf(request, "authorization") ?? apiKeyHeader(request);
      if (header === null) return noToken;
      const found = cache.get(header) ?? parseAuthorization(header);
      switch (found.kind) {
        case "other_scheme":
          return noToken;
        case "several": {
          const wwwAuthenticate = challenges.invalidRequest(request);
          return { kind: "refused", status: 400, reason: "several_authorizations", wwwAuthenticate };
        }
        case "malformed":
          return refuse(request, "malformed_authorization");
        case "key":
          if (isFromPage(request, challenges.resourceOf(request))) return refuse(request, "key_from_a_page");
      }
      if ("token" in found) return verify(request, header, found);
      if (found.outcome.principal.expiresAt <= clock()) {
        cache.delete(header);
        return refuse(request, "expired_token");
      }
      return whenReady(
        verifier.changeCount(),
        (count) => found.aliveAt === count ? found.outcome : recheck(request, header, found, count),
      );
    },
  };
}

type Authorization =
  | { readonly kind: "bearer" | "key"; readonly token: string }
  | { readonly kind: "other_scheme" | "several" | "malformed" };

/** RFC 6750 §2.1; the scheme's case does not matter (RFC 9110 §11.1). Several header lines arrive joined by commas. */
function parseAuthorization(header: string): Authorization {
  if (header.length > maxHeaderLength) return { kind: "malformed" };
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header)?.[1];
  if (token !== undefined) return { kind: "bearer", token };
  if (header.startsWith(apiKeyMark)) return { kind: "key", token: header.slice(apiKeyMark.length).trim() };
  if (/(^|,)\s*bearer\b.*,|,\s*bearer\b/i.test(header)) return { kind: "several" };
  if (/^basic\b/i.test(header)) return { kind: "key", token: passwordOf(header) };
  return /^bearer\b/i.test(header) ? { kind: "malformed" } : { kind: "other_scheme" };
}

/** In front of an API key, so that no Authorization header reads the same. */
const apiKeyMark = "\n";

/** `Authorization` wins if both are sent: gateways on the way have their own API keys. */
function apiKeyHeader(request: Request): string | null {
  const key = headerOf(request, "x-api-key");
  return key === null ? null : apiKeyMark + key;
}

/** RFC 7617 §2: what follows the first colon; the user name does not count. Empty if it has none. */
function passwordOf(header: string): string {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1] ?? "";
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  return pair.includes(":") ? pair.slice(pair.indexOf(":") + 1) : "";
}

/** Whether a web page that is not ours made the request: a browser sends a Basic password it knows for any page. */
function isFromPage(request: Request, resource: string): boolean {
  const origin = headerOf(request, "origin");
  const site = headerOf(request, "sec-fetch-site");
  return (origin !== null && origin.toLowerCase() !== new URL(resource).origin) ||
    site === "cross-site" || site === "same-site";
}

// The protected resource's metadata document (RFC 9728 §2).

/** Builds the endpoint; it serves the root and the path-suffixed well-known location alike. */
export function createResourceMetadataEndpoint(
  options: { readonly spellingOf: SpellingOf; readonly issuer: string; readonly scopes: readonly string[] },
): (request: Request) => Response {
  const { spellingOf, issuer, scopes } = options;
  return (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return Response.json({ error: "invalid_request" }, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    const document = {
      resource: spellingOf(request).resource,
      authorization_servers: [issuer],
      scopes_supported: scopes,
      bearer_methods_supported: ["header"],
      resource_name: "Portcullis",
    };
    // The document depends on the Host of the request, so a cache keyed by path alone must not keep it.
    return Response.json(document, { headers: { "cache-control": "public, max-age=300", vary: "Host" } });
  };
}

// Rate limits by the generic cell rate algorithm: one number a key, whatever the rate.

/** Counts against keys such as a principal or an address. */
export interface RateLimiter {
  /** Takes `cost` from the key's allowance if it has that much left. Promised where others have to be asked first. */
  take(key: string, cost?: number): Admission | Promise<Admission>;
  /**
   * Takes `cost` even beyond the allowance: for what only turns out afterwards, such as a failed attempt. A negative
   * cost returns.
   */
  charge(key: string, cost: number): void;
  /** The refusal that the next `take` would get by what is known here, without taking anything; `null` for none. */
  refusal(key: string): Throttled | null;
}

/** How much is allowed. */
interface Rate {
  readonly count: number;
  readonly windowMs: number;
}

/** Never more debt than this many windows: a flood from a shared address must not shut it out for longer. */
const maxDebtWindows = 2;

/** What a key has used up. Times are in milliseconds. */
interface Account {
  readonly key: string;
  /** When its allowance is full again, as far as this instance knows. */
  fullAt: number;
  /** What of it the storage does not know yet. */
  unsettled: number;
  settling: Promise<void> | null;
}

/**
 * Allows `count` within `windowMs`, in a burst or spread out. At most `maxKeys` keys are remembered: past that, those
 * with a full allowance go first, then the oldest.
 */
function createAccounts({ count, windowMs, now, maxKeys = 100_000 }: Rate & {
  readonly now: () => number;
  readonly maxKeys?: number | undefined;
}) {
  const interval = windowMs / count;
  const mostDebt = maxDebtWindows * windowMs;
  const accounts = new Map<string, Account>();

  /** A sixteenth at once, since to look through all of them for each new key would let a flood of keys stop all. */
  const makeRoom = (): void => {
    if (accounts.size < maxKeys) return;
    const time = now();
    for (const { key, fullAt } of accounts.values()) if (fullAt <= time) accounts.delete(key);
    for (const key of accounts.keys()) {
      if (accounts.size <= maxKeys - Math.ceil(maxKeys / 16)) return;
      accounts.delete(key);
    }
  };
  return {
    interval,
    mostDebt,
    accounts,
    of: (key: string): Account =>
      accounts.getOrInsertComputed(key, () => {
        makeRoom();
        return { key, fullAt: 0, unsettled: 0, settling: null };
      }),
    /** The answer to a request that comes too soon; `null` when it does not. */
    refusal(fullAt: number, cost: number, time: number): Throttled | null {
      const waitMs = Math.max(fullAt, time) + interval * cost - time - windowMs;
      return waitMs <= 1e-6 ? null : { ok: false, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
    },
    spend(account: Account, cost: number, time: number): void {
      account.fullAt = Math.min(Math.max(account.fullAt, time) + interval * cost, time + mostDebt);
    },
  };
}

/** Counts in this process only, and so knows at once. */
export function createRateLimiter({ clock, ...rate }: Rate & {
  /** Only differences are used: `Timers.elapsed`, which no change of the wall clock disturbs. */
  readonly clock: Clock;
  readonly maxKeys?: number;
}) {
  const { accounts, of, refusal, spend } = createAccounts({ ...rate, now: clock });
  return {
    take(key: string, cost = 1): Admission {
      const time = clock();
      const account = of(key);
      const refused = refusal(account.fullAt, cost, time);
      if (refused === null) spend(account, cost, time);
      return refused ?? admitted;
    },
    charge: (key: string, cost: number): void => spend(of(key), cost, clock()),
    refusal: (key: string): Throttled | null => refusal(accounts.get(key)?.fullAt ?? 0, 1, clock()),
  };
}

interface SharedRateLimitOptions extends Rate, Foundation {
  /** Names the limit in the storage; the same in every instance. */
  readonly name: string;
  /** Turns a key into the text under which it is stored: addresses are private. */
  readonly hideKey: (key: string) => string;
  readonly agreedClock: AgreedClock;
}

const shares = 16;
const pauseAfterFailureMs = 1_000;
/** An entry outlives its debt by so much, since entries expire by the wall clock, and wall clocks differ. */
const clockToleranceMs = 120_000;
/** `at` is when it was settled; entries of earlier versions lack it. */
const stored = z.lazy(() => z.object({ fullAt: z.number(), at: z.number().optional() }));

/**
 * Rate limits that all instances on one storage share, at no cost for most requests: each instance counts by itself, and
 * settles a key with the storage when it has admitted a sixteenth of the allowance on its own, before it admits more.
 *
 * So N instances together admit at most N sixteenths (but at least one request each) more than the allowance, and write
 * nothing for what they refuse. Charges, which come after the fact, may go beyond that by the requests in flight. An
 * instance that ends forgets at most its sixteenth. What was admitted counts as if at the moment of settling, so that a
 * steady caller may find the allowance up to a sixteenth smaller. While the storage is lost, each instance counts for
 * itself. Times are of the agreed clock; what an instance had settled before another one with a later clock first settled
 * may be admitted once more. Instances whose wall clocks are over two minutes apart take the entries of the later one
 * only into account: the other counts for itself.
 */
export function createSharedRateLimiter(options: SharedRateLimitOptions): RateLimiter {
  const { name, windowMs, storage, hideKey, clock, agreedClock, log } = options;
  const { now } = agreedClock;
  const { accounts, of, interval, mostDebt, refusal, spend } = createAccounts({ ...options, now });
  const ownShare = Math.max(interval, windowMs / shares) + 1e-6;
  let lostUntil = 0;

  const take = (account: Account, cost: number): void => {
    spend(account, cost, now());
    account.unsettled = Math.min(account.unsettled + interval * cost, mostDebt);
  };
  const settleOnce = async (account: Account): Promise<void> => {
    const key: StorageKey = ["rate_limit", name, hideKey(account.key)];
    account.unsettled = Math.min(account.unsettled, Math.max(ownShare, account.fullAt - now())); // after an outage
    const debt = account.unsettled;
    const add = (value: unknown): { readonly fullAt: number; readonly at: number } => {
      const before = stored.safeParse(value).data;
      if (before?.at !== undefined) agreedClock.catchUp(before.at);
      const at = now();
      return { fullAt: Math.min(Math.max(before?.fullAt ?? 0, at) + debt, at + mostDebt), at };
    };
    const expiresAt = ({ fullAt, at }: ReturnType<typeof add>): number => clock() + fullAt - at + clockToleranceMs;
    const settled = await changeEntry(storage, key, add, { expiresAt });
    account.unsettled = Math.max(0, account.unsettled - debt);
    account.fullAt = Math.min((settled?.fullAt ?? 0) + account.unsettled, now() + mostDebt);
  };
  const settle = (account: Account): Promise<void> =>
    account.settling ??= settleOnce(account)
      .catch((error) => {
        lostUntil = now() + pauseAfterFailureMs;
        log.write("warn", "rate_limit_not_shared", { limit: name, error: String(error) });
      })
      .finally(() => account.settling = null);

  const takeNow = (account: Account, cost: number): Admission | null => {
    const refused = refusal(account.fullAt, cost, now());
    if (refused !== null) return refused;
    if (account.unsettled > 0 && account.unsettled + interval * cost > ownShare && now() >= lostUntil) return null;
    take(account, cost);
    return admitted;
  };
  const takeWhenSettled = async (account: Account, cost: number): Promise<Admission> => {
    for (;;) {
      await settle(account);
      const admission = takeNow(account, cost);
      if (admission !== null) return admission;
    }
  };
  return {
    take(key, cost = 1) {
      const account = of(key);
      return takeNow(account, cost) ?? takeWhenSettled(account, cost);
    },
    charge(key, cost) {
      const account = of(key);
      take(account, cost);
      if (account.unsettled > ownShare && now() >= lostUntil) void settle(account);
    },
    refusal: (key) => refusal(accounts.get(key)?.fullAt ?? 0, 1, now()),
  };
}

interface AttemptOptions {
  /** What a request costs that does not fail. */
  readonly cost?: number;
  /** A key for the holder of a credential that proves itself, `null` for other requests. */
  readonly credentialKey?: (request: Request) => Promise<string | null>;
  /** Called for each request that is refused. */
  readonly onRefused?: () => void;
}

/**
 * Guards an OAuth endpoint against guessing: a failed request costs ten times what a good one does, so that one
 * address shared by many users (claude.ai has two) is not shut out by its own success. Where the address has used up
 * its allowance, a valid credential has one of its own: a stranger behind the same proxy cannot shut its holder out.
 */
export function limitAttempts(
  limiter: RateLimiter,
  endpoint: Endpoint,
  { cost = 0.1, credentialKey = () => Promise.resolve(null), onRefused = () => {} }: AttemptOptions,
): Endpoint {
  return async (request, peer) => {
    let key = addressKey(peer.address);
    let admission = await limiter.take(key, cost);
    const holder = admission.ok ? null : await credentialKey(request);
    if (holder !== null) {
      key = `credential ${holder}`;
      admission = await limiter.take(key, cost);
    }
    if (!admission.ok) {
      onRefused();
      return refuseForNow(429, "Too many requests from this address", admission.retryAfterSeconds); // RFC 6585 §4
    }
    try {
      const response = await endpoint(request, peer);
      if (response.status >= 400 && response.status < 500) limiter.charge(key, 1 - cost);
      return response;
    } catch (error) {
      limiter.charge(key, -cost); // what we fail ourselves, as while the database is away, costs the caller nothing
      throw error;
    }
  };
}

/**
 * Admits requests with bodies by their declared size, or by `maxBytes` without one, and holds the share of their
 * address until they are answered.
 */
export function limitBodies(intake: BodyIntake, maxBytes: number, endpoint: Endpoint): Endpoint {
  return async (request, peer) => {
    if (request.method === "GET" || request.method === "HEAD") return await endpoint(request, peer);
    const caller = addressKey(peer.address);
    const bytes = requestBytes + Math.min(declaredLength(request) ?? maxBytes, maxBytes);
    if (intake.admit(caller, bytes) !== "admitted") return unavailable();
    try {
      const response = await endpoint(request, peer);
      // A body that our own stop cut off looks malformed.
      return intake.isAbandoned && response.status === 400 ? unavailable() : response;
    } finally {
      intake.arrived();
      intake.release(caller, bytes);
    }
  };
}

function unavailable(): Response {
  const response = refuseForNow(503, "The server is busy or stopping", intakeRetrySeconds);
  response.headers.set("connection", "close");
  return response;
}

/** The body is an OAuth error (RFC 6749 §5.2 allows further codes), since most callers parse one. */
function refuseForNow(status: number, problem: string, retryAfterSeconds: number): Response {
  const error_description = `${problem}; try again in ${counted(retryAfterSeconds, "second")}`;
  return Response.json({ error: "temporarily_unavailable", error_description }, {
    status,
    headers: { "retry-after": String(retryAfterSeconds), "cache-control": "no-store" },
  });
}

/** What any request counts for beside its body: its headers, its call, its answer. */
export const requestBytes = 16_384;
/** When a caller may try again: what is in flight is over soon, or given up by its own deadline. */
export const intakeRetrySeconds = 1;

const leastIntakeBytes = 64 * 1_048_576;
/** So many of the largest bodies or answers fit in at once. */
const largestAtOnce = 16;
/** Callers that are kept with nothing in flight: a map that loses and gains an entry for each request rehashes. */
const maxKeptCallers = 1_000;

/** The bound for a server whose largest body or answer has this size. */
export function intakeBytesFor(largestBytes: number): number {
  return Math.max(leastIntakeBytes, largestAtOnce * largestBytes);
}

/** Counts what is in flight. All sizes are bytes. */
export type BodyIntake = ReturnType<typeof createBodyIntake>;

/**
 * How much memory request bodies and large answers may take at once. The bound is shared: a caller may take no more
 * than what is still free, so that one who takes all it can gets half, the next a quarter, and the one who asks for
 * little always gets in.
 */
export function createBodyIntake(maxBytes: number) {
  const held = new Map<string, number>();
  let total = 0;
  let reading = 0;
  let stopped: PromiseWithResolvers<void> | null = null;
  let isAbandoned = false;

  const take = (caller: string, bytes: number): boolean => {
    const own = (held.get(caller) ?? 0) + bytes;
    if (!(own <= maxBytes - total)) return false; // nor what is no number: it would stay in the sums
    held.set(caller, own);
    total += bytes;
    return true;
  };
  return {
    /** Takes a share for a request, before a byte of its body is read. */
    admit(caller: string, bytes: number): "admitted" | "over_share" | "stopping" {
      if (stopped !== null) return "stopping";
      if (!take(caller, bytes)) return "over_share";
      reading += 1;
      return "admitted";
    },
    /** An admitted body was read, or given up. */
    arrived() {
      reading -= 1;
      if (reading === 0) stopped?.resolve();
    },
    /** Takes more of the caller's share; `false` if none is left. */
    take,
    /** Returns what was admitted or taken. */
    release(caller: string, bytes: number) {
      total -= bytes;
      const rest = (held.get(caller) ?? 0) - bytes;
      if (rest > 0 || held.size <= maxKeptCallers) held.set(caller, rest);
      else held.delete(caller);
    },
    /** Admits no more. Resolves when the admitted bodies have arrived, or abandons them after so many milliseconds. */
    async stop(milliseconds: number) {
      stopped = Promise.withResolvers();
      if (reading === 0) return;
      await atMost(milliseconds, stopped.promise, null);
      isAbandoned = reading > 0;
    },
    /** Whether `stop` gave bodies up before they arrived. */
    get isAbandoned() {
      return isAbandoned;
    },
  };
}
