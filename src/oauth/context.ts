/** What the authorization server is built with: its options, and the sign-in of a ServiceNow instance as a port. */
import type { AgreedClock, Timers } from "../lib/time.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { Foundation } from "../storage/mod.ts";
import type { FetchDocument } from "../lib/document_fetcher.ts";
import type { CompanySettings } from "./mod_settings.ts";
import type { ProviderFetch } from "./company_provider.ts";
import type { Result } from "../lib/result.ts";

/** What the operator's commands need. */
export type AdministrationOptions = Pick<AuthorizationServerOptions, "storage" | "clock">;

/** How long tokens live. */
export interface Lifetimes {
  readonly accessTokenLifetimeSeconds: number;
  /** For tests; otherwise the constant in token.ts. */
  readonly refreshGraceSeconds?: number;
}

/** Bounds that tests change; a number that is left out is the constant beside its use. */
export interface Limits {
  readonly bodyTimeoutMs?: number;
  readonly maxUnusedClients?: number;
  readonly maxHeldClients?: number;
}

/**
 * Who may register clients (RFC 7591 §3): everyone, holders of the token, no one. Those that want access in their own
 * name need the token in either mode.
 */
export type Registration =
  | { readonly mode: "open"; readonly token?: string }
  | { readonly mode: "token"; readonly token: string }
  | { readonly mode: "off" };

export interface AuthorizationServerOptions extends Foundation {
  /** The issuer identifier, without a trailing slash; every URL in the metadata starts with it. */
  readonly issuer: string;
  /** The audience of access tokens: the canonical URL of the MCP endpoint. */
  readonly resource: string;
  /** Other spellings of `resource` that requests may use. */
  readonly resourceAliases: readonly string[];
  /** The scopes that this installation offers; without ServiceNow's when absent. */
  readonly scopes?: readonly string[];
  readonly secrets: SecretBox;
  readonly timers?: Timers;
  /** For attempts to sign in, counted across instances; made here when absent. */
  readonly agreedClock?: AgreedClock;
  readonly registration: Registration;
  /** Whether there are pages at /console, for these pages to lead there. */
  readonly hasConsole?: boolean;
  /** Where a user's files are, as the consent page says it. */
  readonly workspaceOf?: (userId: string) => string;
  /** The workspace's directories, where it has several: a person may allow a client some of them. */
  readonly directories?: readonly string[];
  /** The ServiceNow instance where users link accounts, or sign in. */
  readonly servicenow?: {
    readonly instance: InstanceSignIn;
    /** Whether users sign in at the instance, and not here. */
    readonly signsPeopleIn: boolean;
  };
  /** The company's identity provider, where people sign in, and how it is reached. */
  readonly company?: CompanySettings & { readonly fetch: ProviderFetch };
  /** Whether the owner's passphrase is good for signing in; it is unless this is `false`. */
  readonly ownerPassphrase?: boolean;
  /** Prints the set-up link that replaces one which someone opened too late. */
  readonly onNewSetUpLink?: ((url: string) => void) | undefined;
  /** A PHC string that replaces set-up. */
  readonly ownerPasswordHash?: string;
  /** Fetches client ID metadata documents; without it, clients have to register. */
  readonly fetchDocument?: FetchDocument;
  readonly lifetimes: Lifetimes;
  readonly limits?: Limits;
}

/** Why a user visits the instance's sign-in. */
type InstanceVisit =
  /** `next`: the handle of the authorization request that goes on afterwards. */
  | { readonly kind: "link"; readonly subject: string; readonly next?: string | undefined }
  | { readonly kind: "sign_in"; readonly handle: string };

/** An account of the instance, as pages show it. */
interface LinkedAccount {
  readonly userName: string;
  readonly name: string;
}

/** A user who returned from the instance; the link is stored. */
export interface FinishedVisit {
  readonly purpose: InstanceVisit;
  /** The `sub` of their tokens here. */
  readonly subject: string;
  readonly account: LinkedAccount;
}

/** Why a return from the instance is refused. */
export type VisitRefusal =
  | "malformed"
  | "unknown_state"
  | "other_browser"
  | "other_person"
  | "denied"
  | "code_refused"
  | "unavailable";

/** How a person's account is linked. */
export type ServicenowStatus =
  | { readonly state: "none" }
  | { readonly state: "expired" }
  | { readonly state: "linked"; readonly account: LinkedAccount };

/** A link as its person and the owner see it. Times are milliseconds since the epoch. */
export interface LinkHealth {
  readonly subject: string;
  /** `refused`: by the instance; `no_refresh_token`: it gave none; `unreadable`: sealed under a key that is gone. */
  readonly state: "linked" | "refused" | "no_refresh_token" | "unreadable";
  /** `null` where it cannot be told any more. */
  readonly account: LinkedAccount | null;
  readonly linkedAt: number;
  /** When it was last renewed, as a link in use is once in the life of an access token. */
  readonly renewedAt: number;
  readonly refusedAt: number | null;
  /** The instance's own word for its refusal. */
  readonly said: string | null;
}

/** The sign-in of a ServiceNow instance, as the ServiceNow part implements it. `browser`: any text that only one can present. */
export interface InstanceSignIn {
  readonly origin: string;
  begin(options: { readonly browser: string; readonly purpose: InstanceVisit }): Promise<{ readonly url: string }>;
  finish(callback: {
    readonly parameters: URLSearchParams;
    /** All that the browser presents. */
    readonly browsers: readonly string[];
    readonly subject: string | null;
    readonly signal: AbortSignal;
  }): Promise<Result<FinishedVisit, { readonly reason: VisitRefusal; readonly next?: string }>>;
  /** The links of one person, or of everyone, up to a page. */
  health(subject: string | null): Promise<readonly LinkHealth[]>;
  status(subject: string): Promise<ServicenowStatus>;
  unlink(subject: string): Promise<boolean>;
}

/** The linked account as pages name it. */
export function accountName({ account }: LinkHealth): string {
  return account === null ? "Unknown" : `${account.name} (${account.userName})`;
}

/** Why a link does not work; `null` while it does. */
export function linkProblem({ state, said }: LinkHealth): string | null {
  switch (state) {
    case "linked":
      return null;
    case "refused": {
      const words = said === null ? "" : ` (“${said}”)`;
      return `ServiceNow refused to renew the sign-in${words}: it is too old, the password changed, or the account is locked.`;
    }
    case "no_refresh_token":
      return "The sign-in has ended, and ServiceNow gave no token to renew it with.";
    case "unreadable":
      return "The link cannot be read: it was sealed under a key that this server does not have.";
  }
}
