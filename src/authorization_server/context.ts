/** What the endpoints of the authorization server are built from. */
import type { Clock } from "../lib/time/clock.ts";
import type { AgreedClock } from "../lib/time/agreed_clock.ts";
import type { Log } from "../lib/log/log.ts";
import { bodyTimeoutMs } from "../lib/request_text.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Timers } from "../lib/time/timers.ts";
import type { Storage } from "../storage/port.ts";
import type { FetchDocument } from "./documents/document_fetcher.ts";
import type { ServicenowUse } from "./people/servicenow_port.ts";

/** How long things live, in seconds. */
export interface Lifetimes {
  readonly accessTokenLifetimeSeconds: number;
  /** A grant's refresh tokens end this long after its approval, however often they rotate. */
  readonly refreshTokenLifetimeSeconds: number;
  /** And this long after their last use. */
  readonly refreshIdleLifetimeSeconds: number;
  /** How long the previous refresh token still gives the same successor. */
  readonly refreshGraceSeconds: number;
  /** RFC 6749 §4.1.2: at most 600. */
  readonly authorizationCodeLifetimeSeconds: number;
  readonly authorizationRequestLifetimeSeconds: number;
  readonly signInSessionLifetimeSeconds: number;
  readonly setUpLinkLifetimeSeconds: number;
  readonly unusedClientLifetimeSeconds: number;
  /** How long a browser counts as one in which somebody signed in before: its guesses are throttled apart. */
  readonly knownBrowserLifetimeSeconds: number;
}

/** Lifetimes that suit most installations. */
export const defaultLifetimes: Lifetimes = {
  accessTokenLifetimeSeconds: 3_600,
  refreshTokenLifetimeSeconds: 2_592_000,
  refreshIdleLifetimeSeconds: 1_209_600,
  refreshGraceSeconds: 120,
  authorizationCodeLifetimeSeconds: 300,
  authorizationRequestLifetimeSeconds: 600,
  signInSessionLifetimeSeconds: 28_800,
  setUpLinkLifetimeSeconds: 600,
  unusedClientLifetimeSeconds: 2_592_000,
  knownBrowserLifetimeSeconds: 7_776_000,
};

export interface Limits {
  readonly maxFormBytes: number;
  readonly maxJsonBytes: number;
  /** How long a whole body may take to arrive. */
  readonly bodyTimeoutMs: number;
  readonly maxQueryBytes: number;
  readonly maxRedirectUris: number;
  /** Registered clients that nobody has approved yet. */
  readonly maxUnusedClients: number;
  /** An unused client younger than this is not evicted to make room. */
  readonly unusedClientGraceSeconds: number;
  readonly maxConcurrentPasswordHashes: number;
  readonly maxWaitingPasswordHashes: number;
  /** How client metadata documents and clients' keys are kept in memory. */
  readonly clientCaches: ClientCacheLimits;
}

/** Bounds of what is kept of what clients publish of themselves. */
export interface ClientCacheLimits {
  /** A document whose headers say nothing about it is fresh for so long. */
  readonly documentSeconds: number;
  /** And never longer than this, whatever its headers say. */
  readonly maxDocumentSeconds: number;
  readonly maxDocuments: number;
  /** A set of keys at a client's jwks_uri. */
  readonly keySetSeconds: number;
  /** Keys that fit no signature are asked for anew after so long at the earliest. */
  readonly keySetRetrySeconds: number;
  readonly maxKeySets: number;
}

const maxFormBytes = 65_536;
const maxJsonBytes = 65_536;
const maxQueryBytes = 8_192;

/** Limits that suit most installations. */
export const defaultLimits: Limits = {
  maxFormBytes,
  maxJsonBytes,
  bodyTimeoutMs,
  maxQueryBytes,
  maxRedirectUris: 20,
  maxUnusedClients: 1_000,
  unusedClientGraceSeconds: 3_600,
  maxConcurrentPasswordHashes: 2,
  maxWaitingPasswordHashes: 16,
  clientCaches: {
    documentSeconds: 300,
    maxDocumentSeconds: 3_600,
    maxDocuments: 500,
    keySetSeconds: 600,
    keySetRetrySeconds: 60,
    maxKeySets: 200,
  },
};

/** Who may register clients (RFC 7591 §3): anybody, holders of the token, nobody. */
export type Registration =
  | { readonly mode: "open" }
  | { readonly mode: "token"; readonly token: string }
  | { readonly mode: "off" };

/** What the authorization server is given. */
export interface AuthorizationServerDeps {
  /** The issuer identifier, without a trailing slash; every URL in the metadata starts with it. */
  readonly issuer: string;
  /** The audience of access tokens: the canonical URL of the MCP endpoint. */
  readonly resource: string;
  /** Other spellings of `resource` that requests may use. */
  readonly resourceAliases: readonly string[];
  /** The scopes that this installation offers; without ServiceNow's when absent. */
  readonly scopes?: readonly string[];
  readonly storage: Storage;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly timers?: Timers;
  /** For attempts to sign in, which the instances count together; one of its own when absent. */
  readonly agreedClock?: AgreedClock;
  readonly log: Log;
  readonly registration: Registration;
  /** The ServiceNow instance that people link accounts of, or sign in at. */
  readonly servicenow?: ServicenowUse;
  /** A PHC string that takes the place of set-up. */
  readonly ownerPasswordHash?: string;
  /** Fetches client ID metadata documents; without it, clients have to register. */
  readonly fetchDocument?: FetchDocument;
  readonly lifetimes: Lifetimes;
  readonly limits: Limits;
}
