/** What the authorization server needs of the ServiceNow adapter. The composition root passes it in. */
import type { Result } from "../../lib/result.ts";

/** What a way through the instance's sign-in is for. */
type InstanceVisit =
  | { readonly kind: "link"; readonly subject: string }
  | { readonly kind: "sign_in"; readonly handle: string };

/** An account of the instance, as far as people are shown it. */
interface LinkedAccount {
  readonly userName: string;
  readonly name: string;
}

/** Somebody who came back. The link between person and account is stored. */
export interface FinishedVisit {
  readonly purpose: InstanceVisit;
  /** Who it is here: the `sub` of their tokens. */
  readonly subject: string;
  readonly account: LinkedAccount;
}

/** Why somebody's return leads nowhere. */
export type VisitRefusal =
  | "malformed"
  | "unknown_state"
  | "other_browser"
  | "other_person"
  | "denied"
  | "code_refused"
  | "unavailable";

/** The instance's sign-in. `browser` is any text that only one browser can bring along. */
export interface InstanceSignIn {
  /** Of the instance. */
  readonly origin: string;
  begin(options: { readonly browser: string; readonly purpose: InstanceVisit }): Promise<{ readonly url: string }>;
  finish(callback: {
    readonly parameters: URLSearchParams;
    /** Everything that the browser brings along. */
    readonly browsers: readonly string[];
    readonly subject: string | null;
    readonly signal: AbortSignal;
  }): Promise<Result<FinishedVisit, { readonly reason: VisitRefusal }>>;
  status(subject: string): Promise<
    | { readonly state: "none" }
    | { readonly state: "expired" }
    | { readonly state: "linked"; readonly account: LinkedAccount }
  >;
  unlink(subject: string): Promise<boolean>;
}

/** How an installation uses its instance. */
export interface ServicenowUse {
  readonly instance: InstanceSignIn;
  /** People sign in at the instance, and not here. */
  readonly signsPeopleIn: boolean;
}
