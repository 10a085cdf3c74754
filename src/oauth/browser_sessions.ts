/** Browsers: which one sent a request, who is signed in there, and who was before. */
import * as z from "zod";
import { equalInConstantTime, hashSecret, randomSecret, type SecretBox } from "../lib/secrets.ts";
import { defineRecordFamily, type RecordOf, unchanged } from "./records.ts";
import type { Account, UserDirectory } from "./manage_users.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { AuthorizationServerOptions, Limits } from "./context.ts";
import { readForm } from "./exchange.ts";
import { basePathOf } from "../lib/page.ts";

// Signed-in browsers. A session may spare the passphrase, never the consent.

/** `["browser_session", SHA-256 of the cookie]`, expiring. */
const browserSessions = defineRecordFamily("browser_session", () => ({
  userId: z.string(),
  /** The account's credential hash at sign-in: a changed passphrase ends the session. */
  credentialHash: z.string(),
  signedInAt: z.number(),
  /** They signed in at the company's provider; `sid` is their session there, where it names one. */
  company: z.object({
    sid: z.string().nullable(),
    /** When the provider last had them sign in again at our request; 0: never. Single sign-on does not count. */
    confirmedAt: z.number().default(0),
  }).optional(),
}));

/** `["known_browser", SHA-256 of the browser cookie, user id]`, expiring. */
const knownBrowsers = defineRecordFamily("known_browser", () => ({ signedInAt: z.number() }));

const browserMaxAgeSeconds = 31_536_000;
const maxBrowserCookies = 8;

/**
 * `__Host-` and Secure where the issuer is https (RFC 6265bis §4.1.3.2); plain http happens on loopback only. Below a
 * path, which `__Host-` forbids, they go to that path alone.
 */
function createCookies(issuer: string) {
  const secure = issuer.startsWith("https:");
  const path = basePathOf(issuer);
  const prefix = !secure ? "" : path === "" ? "__Host-" : "__Secure-";
  const browserName = `${prefix}portcullis-browser`;
  const sessionName = `${prefix}portcullis-session`;
  const attributes = `Path=${path || "/"}; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  const cookie = (name: string, value: string, maxAgeSeconds: number): string =>
    `${name}=${value}; Max-Age=${maxAgeSeconds}; ${attributes}`;
  return {
    /** Hashes of the browser's cookies, the lasting one first. */
    readBrowsers(request: Request): readonly string[] {
      const tabs = readCookies(request, (name) => name.startsWith(`${browserName}-`));
      const values = [...readCookies(request, (name) => name === browserName), ...tabs];
      return [...new Set(values)].slice(0, maxBrowserCookies);
    },
    readSession: (request: Request): string => readCookies(request, (name) => name === sessionName)[0] ?? "",
    /** The lasting cookie, and one beside it for a while: two tabs that open at once each replace the lasting one. */
    setBrowser: (value: string): readonly string[] => [
      cookie(browserName, value, browserMaxAgeSeconds),
      // under a name that two tabs do not share; it is no part of the secret
      cookie(`${browserName}-${hashSecret(value).slice(0, 8)}`, value, tabCookieSeconds),
    ],
    setSession: (value: string, maxAgeSeconds: number) => cookie(sessionName, value, maxAgeSeconds),
  };
}

/** The values of the cookies with such a name that have the shape of our secrets. */
function readCookies(request: Request, isNamed: (name: string) => boolean): string[] {
  return (request.headers.get("cookie") ?? "").split(";").flatMap((pair) => {
    const separator = pair.indexOf("=");
    if (separator < 0 || !isNamed(pair.slice(0, separator).trim())) return [];
    const value = pair.slice(separator + 1).trim();
    return /^[A-Za-z0-9_-]{43}$/.test(value) ? [value] : [];
  });
}

const maxSessionSeconds = 28_800;
const maxSharedSessionSeconds = 600;
/** After this long, guesses elsewhere slow a browser down again. */
const knownBrowserLifetimeSeconds = 7_776_000;
/** By then pages that were open in two tabs at once are answered, or their requests have expired. */
const tabCookieSeconds = 3_600;

/** A browser, new or seen before. */
export interface Browser {
  /** SHA-256 of its cookie: new records are bound to it. */
  readonly hash: string;
  /** Hashes that records of its other tabs may be bound to. */
  readonly hashes: readonly string[];
  /** It sent none of our cookies. */
  readonly isNew: boolean;
  /** Cookies that the response has to set; none for a browser that has its cookie. */
  readonly cookies: readonly string[];
}

export interface SignedIn {
  readonly account: Account;
  /** When their session began, by whatever way. */
  readonly signedInAt: number;
  /** When they last proved who they are; 0 where they came by single sign-on alone. */
  readonly confirmedAt: number;
  /** They signed in at the company's provider. */
  readonly byCompany: boolean;
}

export type Browsers = ReturnType<typeof createBrowsers>;

/** The browsers of one installation: sessions in storage, under hashes of their cookies. */
export function createBrowsers(
  options: Pick<AuthorizationServerOptions, "issuer" | "storage" | "clock"> & { readonly users: UserDirectory },
) {
  const { storage, users, clock } = options;
  const cookiesReachOtherPorts = !options.issuer.startsWith("https:");
  const sessionLifetimeSeconds = cookiesReachOtherPorts ? maxSharedSessionSeconds : maxSessionSeconds;
  const cookies = createCookies(options.issuer);
  const identify = (request: Request): Browser => {
    const hashes = cookies.readBrowsers(request).map(hashSecret);
    const [present] = hashes;
    if (present !== undefined) return { hash: present, hashes, isNew: false, cookies: [] };
    const value = randomSecret();
    const hash = hashSecret(value);
    return { hash, hashes: [hash], isNew: true, cookies: cookies.setBrowser(value) };
  };
  const putKnown = (hash: string, userId: string) => {
    const now = clock();
    return knownBrowsers.put([hash, userId], { signedInAt: now }, now + knownBrowserLifetimeSeconds * 1_000);
  };
  return {
    /**
     * On plain http, which is loopback, cookies go to every port of the host: the callback of a native client, or any
     * other local program that a page links to, receives the session cookie. So sessions are short there, and end with
     * each decision.
     */
    cookiesReachOtherPorts,
    /** The browser of a request, given a cookie if it has none yet. */
    identify,
    /** Whether this user signed in there before. */
    isKnown: async (browser: Browser, userId: string): Promise<boolean> =>
      await knownBrowsers.read(storage, browser.hash, userId) !== null,
    async isKnownToAnyone({ hash, isNew }: Browser): Promise<boolean> {
      return !isNew && (await knownBrowsers.list(storage, { below: [hash], limit: 1 })).length > 0;
    },
    async signedIn(request: Request): Promise<SignedIn | null> {
      const session = await browserSessions.read(storage, hashSecret(cookies.readSession(request)));
      if (session === null) return null;
      const account = await users.find(session.value.userId);
      if (account === null || account.credentialHash !== session.value.credentialHash) return null;
      const { company, signedInAt } = session.value;
      const byCompany = company !== undefined;
      if (byCompany && account.company === null) return null; // unlinked since, or another provider is asked
      return { account, signedInAt, confirmedAt: company?.confirmedAt ?? signedInAt, byCompany };
    },
    /** Starts a session under a new cookie, so that a cookie planted before is worth nothing (session fixation). */
    async signIn(
      request: Request,
      account: Account,
      { browser = identify(request), company }: {
        readonly browser?: Browser;
        readonly company?: RecordOf<typeof browserSessions>["company"];
      } = {},
    ): Promise<string> {
      const cookie = randomSecret();
      const now = clock();
      const session = {
        userId: account.id,
        credentialHash: account.credentialHash,
        signedInAt: now,
        ...company === undefined ? {} : { company },
      };
      await storage.commit({
        puts: [
          browserSessions.put(hashSecret(cookie), session, now + sessionLifetimeSeconds * 1_000),
          putKnown(browser.hash, account.id),
        ],
        deletes: [browserSessions.key(hashSecret(cookies.readSession(request)))],
      });
      return cookies.setSession(cookie, sessionLifetimeSeconds);
    },
    /** Lets the session last as long again, but no longer than sessions may in all; `null` when there is none. */
    async renew(request: Request): Promise<string | null> {
      const cookie = cookies.readSession(request);
      const session = await browserSessions.read(storage, hashSecret(cookie));
      if (session === null) return null;
      const left = session.value.signedInAt + maxSessionSeconds * 1_000 - clock();
      const lastsMs = Math.min(sessionLifetimeSeconds * 1_000, left);
      const renewed = browserSessions.put(hashSecret(cookie), session.value, clock() + lastsMs);
      // the check: a session that was ended meanwhile stays ended
      return lastsMs > 0 && await storage.commit({ checks: [unchanged(session)], puts: [renewed] })
        ? cookies.setSession(cookie, Math.floor(lastsMs / 1_000))
        : null;
    },
    /** Ends the session; returns the cookie that clears it. */
    async signOut(request: Request): Promise<string> {
      await storage.commit({ deletes: [browserSessions.key(hashSecret(cookies.readSession(request)))] });
      return cookies.setSession("", 0);
    },
  };
}

// Forms of our own pages: another site can neither post one nor make one.

type FormProblem = ReturnType<typeof foreignForm> | "malformed_request";

/** Reads a posted form. A form from another site (`Sec-Fetch-Site`) is refused unread. */
export async function readBrowserForm(
  request: Request,
  limits?: Limits,
): Promise<Result<URLSearchParams, FormProblem>> {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") {
    await request.body?.cancel();
    return failure("foreign_form");
  }
  const form = await readForm(request, limits);
  return form.ok ? success(form.value) : failure("malformed_request");
}

/** The same, if it comes from a page that was made for this browser. */
export async function readOwnForm(
  { secrets, limits }: Pick<AuthorizationServerOptions, "secrets" | "limits">,
  request: Request,
  browser: Browser,
): Promise<Result<URLSearchParams, FormProblem>> {
  const form = await readBrowserForm(request, limits);
  if (!form.ok || isCsrfToken(secrets, browser, form.value.get("csrf") ?? "")) return form;
  return failure(foreignForm(browser));
}

/** The token that a page for this browser carries. */
export function csrfToken(secrets: SecretBox, { hash }: Pick<Browser, "hash">): string {
  return secrets.authenticate("form", hash);
}

export function isCsrfToken(secrets: SecretBox, browser: Browser, token: string): boolean {
  return browser.hashes.some((hash) => equalInConstantTime(token, csrfToken(secrets, { hash })));
}

/** Why a form without the right token is refused: without any cookie, no token can be right. */
export function foreignForm(browser: Browser): "cookie_missing" | "foreign_form" {
  return browser.isNew ? "cookie_missing" : "foreign_form";
}
