/** Browsers: which one sent a request, who is signed in there, and who was before. */
import type { Clock } from "../lib/clock.ts";
import type { Storage } from "../storage/port.ts";
import { createCookies } from "./cookies.ts";
import { hashSecret, randomSecret } from "../lib/random_secret.ts";
import { browserSessions } from "./records/browser_session.ts";
import { knownBrowsers } from "./records/marks.ts";
import type { Account, UserDirectory } from "./user_directory.ts";

const maxSessionSeconds = 28_800;
const maxSharedSessionSeconds = 600;
/** After this long, guesses elsewhere slow a browser down again. */
const knownBrowserLifetimeSeconds = 7_776_000;
/** By then pages that were open in two tabs at once are answered, or their requests have expired. */
const tabCookieSeconds = 3_600;

/** A browser, new or seen before. */
export interface Browser {
  /** SHA-256 of its cookie: what new records are bound to. */
  readonly hash: string;
  /** And what records of its other tabs may be bound to. */
  readonly hashes: readonly string[];
  /** It sent none of our cookies. */
  readonly isNew: boolean;
  /** Cookies that the response has to set; none for a browser that has its cookie. */
  readonly cookies: readonly string[];
}

export interface SignedIn {
  readonly account: Account;
  readonly signedInAt: number;
}

/** The browsers of one installation. */
export interface Browsers {
  /**
   * On plain http, which is loopback, cookies go to every port of the host: the callback of a native client, or any
   * other local program that a page links to, receives the session cookie. So sessions are short there, and end with
   * each decision.
   */
  readonly cookiesReachOtherPorts: boolean;
  /** The browser of a request, given a cookie if it has none yet. */
  identify(request: Request): Browser;
  /** Whether this user signed in there before. */
  isKnown(browser: Browser, userId: string): Promise<boolean>;
  isKnownToAnyone(browser: Browser): Promise<boolean>;
  /** From here on the browser is known, as if this user had signed in there. */
  know(browser: Browser, userId: string): Promise<void>;
  signedIn(request: Request): Promise<SignedIn | null>;
  /** Starts a session under a new cookie, so that a cookie planted before is worth nothing (session fixation). */
  signIn(request: Request, account: Account): Promise<string>;
  /** Ends the session; returns the cookie that clears it. */
  signOut(request: Request): Promise<string>;
}

/** Sessions in storage, under hashes of their cookies. */
export function createBrowsers(options: {
  readonly issuer: string;
  readonly storage: Storage;
  readonly users: UserDirectory;
  readonly clock: Clock;
}): Browsers {
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
    return { hash, hashes: [hash], isNew: true, cookies: cookies.setBrowser(value, tabCookieSeconds) };
  };
  const putKnown = (hash: string, userId: string) => {
    const now = clock();
    return knownBrowsers.put([hash, userId], { signedInAt: now }, now + knownBrowserLifetimeSeconds * 1_000);
  };
  return {
    cookiesReachOtherPorts,
    identify,
    isKnown: async (browser, userId) => await knownBrowsers.read(storage, browser.hash, userId) !== null,
    async isKnownToAnyone({ hash, isNew }) {
      return !isNew && (await knownBrowsers.list(storage, { below: [hash], limit: 1 })).length > 0;
    },
    know: async ({ hash }, userId) => void await storage.commit({ puts: [putKnown(hash, userId)] }),
    async signedIn(request) {
      const cookie = cookies.readSession(request);
      const session = cookie === null ? null : await browserSessions.read(storage, hashSecret(cookie));
      if (session === null) return null;
      const account = await users.find(session.value.userId);
      if (account === null || account.credentialHash !== session.value.credentialHash) return null;
      return { account, signedInAt: session.value.signedInAt };
    },
    async signIn(request, account) {
      const cookie = randomSecret();
      const now = clock();
      const session = { userId: account.id, credentialHash: account.credentialHash, signedInAt: now };
      const previous = cookies.readSession(request);
      await storage.commit({
        puts: [
          browserSessions.put(hashSecret(cookie), session, now + sessionLifetimeSeconds * 1_000),
          putKnown(identify(request).hash, account.id),
        ],
        deletes: previous === null ? [] : [browserSessions.key(hashSecret(previous))],
      });
      return cookies.setSession(cookie, sessionLifetimeSeconds);
    },
    async signOut(request) {
      const cookie = cookies.readSession(request);
      if (cookie !== null) await storage.commit({ deletes: [browserSessions.key(hashSecret(cookie))] });
      return cookies.clearSession();
    },
  };
}
