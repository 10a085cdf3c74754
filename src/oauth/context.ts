/** The options of the authorization server. */
import type { AgreedClock, Timers } from "../lib/time.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { Foundation } from "../storage/mod.ts";
import type { FetchDocument } from "../lib/document_fetcher.ts";
import type { InstanceSignIn } from "./servicenow_port.ts";
import type { CompanySettings } from "./company/settings.ts";
import type { ProviderFetch } from "./company/provider.ts";

/** What the operator's commands need. */
export type AdministrationOptions = Pick<AuthorizationServerOptions, "storage" | "clock">;

/** A grant's refresh tokens end this long after its approval, however often they rotate. */
export const refreshTokenLifetimeSeconds = 2_592_000;

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
