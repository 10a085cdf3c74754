/** Shows the page that a waiting authorization request needs next: sign-in or consent. */
import { type Browser, type Browsers, csrfToken, type SignedIn } from "./browser_sessions.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import { type ConsentPage, consentPage } from "./consent_page.ts";
import { errorPage } from "./error_page.ts";
import { type SignInPage, signInPage } from "./sign_in_page.ts";
import { equalInConstantTime, hashSecret } from "../lib/random_secret.ts";
import { type AuthorizationRequest, authorizationRequests, type Client, type Stored } from "./records.ts";
import { usesServicenow } from "../lib/scopes.ts";
import { refreshIdleLifetimeSeconds } from "./refresh_token.ts";
import type { Account, UserDirectory } from "./manage_users.ts";

/** Shared by the browser endpoints. */
export interface InteractionOptions extends
  Pick<
    AuthorizationServerOptions,
    | "issuer"
    | "storage"
    | "secrets"
    | "clock"
    | "log"
    | "lifetimes"
    | "limits"
    | "hasConsole"
    | "servicenow"
    | "workspaceOf"
  > {
  readonly users: UserDirectory;
  readonly browsers: Browsers;
  readonly findClient: (id: string) => Promise<Client | null>;
  /** Sends users to sign in somewhere else than here. */
  readonly signInElsewhere?: SignInElsewhere;
}

/** A request that waits for a user, and its client. */
interface Waiting {
  readonly handle: string;
  readonly request: AuthorizationRequest;
  readonly client: Client;
}

/** A waiting request that was read back, for a commit that uses it up. */
export interface Pending extends Waiting {
  readonly stored: Stored<AuthorizationRequest>;
}

/** Where the pages live, relative to whatever host the browser used. */
export function pathsOf(
  issuer: string,
): Readonly<Record<"home" | "signIn" | "signOut" | "consent" | "setUp" | "grants" | "servicenowLink", string>> {
  const base = new URL(issuer).pathname.replace(/\/$/, "");
  return {
    home: `${base}/`,
    signIn: `${base}/oauth/sign-in`,
    signOut: `${base}/oauth/sign-out`,
    consent: `${base}/oauth/consent`,
    grants: `${base}/oauth/grants`,
    setUp: `${base}/setup`,
    servicenowLink: `${base}/servicenow/link`,
  };
}

/** The waiting request of a handle; `null` when it is gone or belongs to another browser (CSRF, session swapping). */
export async function findPending(
  options: InteractionOptions,
  handle: string,
  browser: Browser,
): Promise<Pending | null> {
  if (handle === "") return null;
  const stored = await authorizationRequests.read(options.storage, hashSecret(handle));
  if (stored === null || !browser.hashes.includes(stored.value.browserHash)) return null;
  const client = await options.findClient(stored.value.clientId);
  return client === null ? null : { handle, request: stored.value, client, stored };
}

/** The user signed in for this request; `prompt=login` requires a sign-in after the request began. */
export async function signedInFor(
  options: InteractionOptions,
  waiting: Waiting,
  request: Request,
): Promise<SignedIn | null> {
  const signedIn = await options.browsers.signedIn(request);
  return signedIn !== null && signedIn.signedInAt >= waiting.request.signInAfter ? signedIn : null;
}

/** Proof, in the consent page, that it was shown to this user for this request. */
export function proofOf({ secrets }: InteractionOptions, { handle, request }: Waiting, account: Account): string {
  const parts = [handle, request.browserHash, account.id, account.credentialHash];
  return secrets.authenticate("consent-page", parts.join(" "));
}

/** The user that a posted consent page was shown to: a substitute for the session where each decision ends it. */
export async function signedInByPage(
  options: InteractionOptions,
  waiting: Waiting,
  form: URLSearchParams,
): Promise<SignedIn | null> {
  const account = await options.users.find(form.get("account") ?? "");
  if (account === null || !equalInConstantTime(form.get("proof") ?? "", proofOf(options, waiting, account))) {
    return null;
  }
  return { account, signedInAt: waiting.request.signInAfter };
}

/** A page that a user signs in for: of their account, or of the console. */
export type AccountPage = "grants" | "servicenowLink" | ConsolePage;

/** `console`, or one of the pages below it. */
export type ConsolePage = `console${string}`;

/** The page that a text names; the texts come back from forms and visits. */
export function accountPageIn(text: string | null): AccountPage | null {
  if (text === "grants" || text === "servicenowLink") return text;
  return text !== null && /^console(\/[a-z]{1,20})?$/.test(text) ? text as ConsolePage : null;
}

/** Where a page is. */
export function pathOfPage(issuer: string, page: AccountPage): string {
  const paths = pathsOf(issuer);
  return page === "grants" || page === "servicenowLink" ? paths[page] : `${paths.home}${page}`;
}

/** Where a waiting request goes on. */
export function pathOfRequest(issuer: string, handle: string): string {
  return `${pathsOf(issuer).consent}?${new URLSearchParams({ request: handle })}`;
}

/** Why a user signs in: a waiting request, or a page about their account. */
export type SignInPurpose =
  | { readonly kind: "request"; readonly waiting: Waiting }
  | { readonly kind: "account"; readonly browser: Browser; readonly next: AccountPage };

/** The response that sends a browser to sign in elsewhere; `browserHash` is the only browser that may come back. */
export type SignInElsewhere = (
  next: { readonly requestHandle: string } | { readonly page: AccountPage },
  options: { readonly browserHash: string; readonly cookies: readonly string[] },
) => Promise<Response>;

export async function showSignIn(
  options: InteractionOptions,
  purpose: SignInPurpose,
  extra: Pick<SignInPage, "userName" | "problem" | "status" | "retryAfterSeconds" | "cookies"> & {
    /** Ask for a user name even where the owner is the only user. */
    readonly asOther?: boolean;
  } = {},
): Promise<Response> {
  const { signIn } = pathsOf(options.issuer);
  const { asOther = false, ...shown } = extra;
  if (options.signInElsewhere !== undefined) {
    const cookies = extra.cookies ?? [];
    return purpose.kind === "request"
      ? await options.signInElsewhere({ requestHandle: purpose.waiting.handle }, {
        browserHash: purpose.waiting.request.browserHash,
        cookies,
      })
      : await options.signInElsewhere({ page: purpose.next }, { browserHash: purpose.browser.hash, cookies });
  }
  if (!await options.users.hasOwner()) return errorPage("not_set_up");
  return signInPage({
    action: purpose.kind === "account" ? `${signIn}?${new URLSearchParams({ next: purpose.next })}` : signIn,
    hidden: [
      purpose.kind === "request"
        ? ["request", purpose.waiting.handle]
        : ["csrf", csrfToken(options.secrets, purpose.browser)],
    ],
    purpose: purpose.kind === "request"
      ? { kind: "request", clientName: purpose.waiting.client.name }
      : { kind: purpose.next === "grants" || purpose.next === "servicenowLink" ? purpose.next : "console" },
    askUserName: asOther || await options.users.hasNamedUsers(),
    ...shown,
  });
}

/** The consent page of a waiting request. */
export async function showConsent(
  options: InteractionOptions,
  waiting: Waiting,
  signedIn: SignedIn,
  extra: Pick<ConsentPage, "problem" | "cookies" | "ticked"> = {},
): Promise<Response> {
  const { client, request, handle } = waiting;
  const { lifetimes, servicenow } = options;
  const paths = pathsOf(options.issuer);
  return consentPage({
    action: paths.consent,
    grantsPath: paths.grants,
    otherAccountPath: `${paths.signIn}?${new URLSearchParams({ request: handle })}`,
    lifetime: client.grantTypes.includes("refresh_token")
      ? { seconds: lifetimes.refreshTokenLifetimeSeconds, idleSeconds: refreshIdleLifetimeSeconds }
      : { seconds: lifetimes.accessTokenLifetimeSeconds, idleSeconds: null },
    handle,
    proof: proofOf(options, waiting, signedIn.account),
    clientName: client.name,
    identity: identityOf(client),
    redirectUri: request.redirectUri,
    resource: request.resource,
    workspace: request.scopes.some((name) => name.startsWith("files:"))
      ? options.workspaceOf?.(signedIn.account.id) ?? null
      : null,
    userId: signedIn.account.id,
    userName: signedIn.account.displayName,
    scopes: request.scopes,
    servicenowAccount: servicenow === undefined || !usesServicenow(request.scopes)
      ? null
      : await servicenow.instance.status(signedIn.account.id),
    ...extra,
  });
}

function identityOf(client: Client): ConsentPage["identity"] {
  switch (client.origin) {
    case "registered":
      return { kind: "unverified" };
    case "operator":
      return { kind: "operator" };
    case "metadata_document":
      return { kind: "domain", domain: new URL(client.id).host };
  }
}
