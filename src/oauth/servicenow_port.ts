/** The sign-in of a ServiceNow instance, as the ServiceNow part implements it. */
import type { Result } from "../lib/result.ts";

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

/** `browser` is any text that only one browser can present. */
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
