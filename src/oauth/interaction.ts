/** What the browser endpoints share: waiting requests, where pages are, their parts, the sign-in page, and dead ends. */
import { type Browser, type Browsers, csrfToken } from "./browser_sessions.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import { basePathOf, type Html, html, pageResponse } from "../lib/page.ts";
import type { Peer } from "../lib/endpoint.ts";
import { present } from "../lib/json.ts";
import { hashSecret } from "../lib/secrets.ts";
import { type AuthorizationRequest, authorizationRequests, type Client, type Stored } from "./records.ts";
import type { Account, UserDirectory } from "./manage_users.ts";

/** Shared by the browser endpoints. */
export interface InteractionOptions extends AuthorizationServerOptions {
  readonly users: UserDirectory;
  readonly browsers: Browsers;
  readonly findClient: (id: string) => Promise<Client | null>;
  /** Sends users to sign in somewhere else than here. */
  readonly signInElsewhere?: SignInElsewhere;
}

/** A request that waits for a user, and its client. */
export interface Waiting {
  readonly handle: string;
  readonly request: AuthorizationRequest;
  readonly client: Client;
}

/** A waiting request that was read back, for a commit that uses it up. */
export interface Pending extends Waiting {
  readonly stored: Stored<AuthorizationRequest>;
}

/** Where the pages live, relative to whatever host the browser used. */
export function pathsOf(issuer: string) {
  const base = basePathOf(issuer);
  return {
    home: `${base}/`,
    signIn: `${base}/oauth/sign-in`,
    signOut: `${base}/oauth/sign-out`,
    consent: `${base}/oauth/consent`,
    grants: `${base}/oauth/grants`,
    setUp: `${base}/setup`,
    servicenowLink: `${base}/servicenow/link`,
    company: `${base}/oauth/company`,
    companyLink: `${base}/oauth/company/link`,
  };
}

/** The waiting request of a handle; `null` when it is answered, gone or belongs to another browser (CSRF, session swapping). */
export async function findPending(
  options: InteractionOptions,
  handle: string,
  browser: Browser,
): Promise<Pending | null> {
  const stored = await authorizationRequests.read(options.storage, hashSecret(handle));
  if (stored === null || stored.value.answered !== undefined) return null;
  if (!browser.hashes.includes(stored.value.browserHash)) return null;
  const client = await options.findClient(stored.value.clientId);
  return client === null ? null : { handle, request: stored.value, client, stored };
}

const ownPages = ["grants", "servicenowLink", "companyLink"] as const;

type OwnPage = (typeof ownPages)[number];

/** `console`, or one of the pages below it, with what a link to it names. */
export type ConsolePage = `console${string}`;

/** A page that a user signs in for: of their account, or of the console. */
export type AccountPage = OwnPage | ConsolePage;

function isOwnPage(page: string): page is OwnPage {
  return ownPages.some((own) => own === page);
}

/** The page that a text names; the texts come back from forms and visits. */
export function accountPageIn(text: string | null): AccountPage | null {
  if (text === null || isOwnPage(text)) return text;
  return /^console(\/[a-z]{1,20})?(\?[\w.=&%~+-]{1,400})?$/.test(text) ? text as ConsolePage : null;
}

/** Where a page is. */
export function pathOfPage(issuer: string, page: AccountPage): string {
  const paths = pathsOf(issuer);
  return isOwnPage(page) ? paths[page] : `${paths.home}${page}`;
}

/** Where a waiting request goes on. */
export function pathOfRequest(issuer: string, handle: string): string {
  return `${pathsOf(issuer).consent}?${new URLSearchParams({ request: handle })}`;
}

/** Where a browser sets out for the company's provider. */
export function companyPath(issuer: string, query: Readonly<Record<string, string>>): string {
  return `${pathsOf(issuer).company}?${new URLSearchParams(query)}`;
}

/** A form of a page, with the fields that it carries unseen. */
export function postForm(action: string, hidden: Iterable<readonly [name: string, value: string]>, shown: Html): Html {
  return html`
    <form method="post" action="${action}">
      ${[...hidden].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
      ${shown}
    </form>
  `;
}

type Fact = readonly [name: string, ...values: (Html | string | null | undefined)[]];

/** Names, and what stands under each; a name whose first value is missing is left out. */
export function factList(facts: readonly Fact[]): Html {
  return html`
    <dl class="facts">
      ${facts.filter(([, first]) => first).map(([name, ...values]) =>
        html`<div><dt>${name}</dt>${values.map((value) => html`<dd>${value}</dd>`)}</div>`
      )}
    </dl>
  `;
}

/** A name of the machines' kind: an address, a scope. */
export function mono(text: string): Html {
  return html`<span class="mono">${text}</span>`;
}

/** Sends a browser whose passphrase was right to the company's provider, to link an account there. */
export type LinkCompany = (browser: Browser, account: Account, peer: Peer) => Promise<Response>;

/** Why a user signs in: a waiting request, or a page about their account. */
export type SignInPurpose =
  | { readonly kind: "request"; readonly waiting: Waiting }
  | { readonly kind: "account"; readonly browser: Browser; readonly next: AccountPage };

/** The response that sends a browser to sign in elsewhere. Only the browser of the purpose may come back. */
export type SignInElsewhere = (purpose: SignInPurpose, cookies: readonly string[]) => Promise<Response>;

/** What a sign-in page shows after an attempt that failed. */
interface SignInAttempt {
  readonly userName?: string;
  readonly problem?: string;
  readonly status?: number;
  readonly retryAfterSeconds?: number;
  readonly cookies?: readonly string[];
  /** Ask for a user name even where the owner is the only user. */
  readonly asOther?: boolean;
}

/** The page where a person signs in for this purpose, or the redirect to where they do. */
export async function showSignIn(
  options: InteractionOptions,
  purpose: SignInPurpose,
  { userName = "", problem, status, retryAfterSeconds, cookies, asOther = false }: SignInAttempt = {},
): Promise<Response> {
  const { company, issuer, users, secrets, signInElsewhere } = options;
  if (signInElsewhere !== undefined) return await signInElsewhere(purpose, cookies ?? []);
  if (company === undefined && !await users.hasOwner()) return errorPage(issuer, "not_set_up");
  const { signIn } = pathsOf(issuer);
  const isAct = purpose.kind === "account" && purpose.next.includes("?act="); // needs more than single sign-on
  const { title, words, action, hidden, asked } = purpose.kind === "request"
    ? {
      title: "Sign in",
      words: html`“${purpose.waiting.client.name}” wants access. Sign in to decide what it may do.`,
      action: signIn,
      // Binds the form to this browser.
      hidden: ["request", purpose.waiting.handle] as const,
      asked: { request: purpose.waiting.handle },
    }
    : {
      ...signInWords[isOwnPage(purpose.next) ? purpose.next : isAct ? "act" : "console"],
      action: `${signIn}?${new URLSearchParams({ next: purpose.next })}`,
      hidden: ["csrf", csrfToken(secrets, purpose.browser)] as const,
      asked: { next: purpose.next, ...isAct && { again: "1" } },
    };
  const path = companyPath(issuer, { ...asked, ...asOther ? { choose: "1" } : {} });
  const isByCompany = company !== undefined && !("next" in asked && asked.next === "companyLink");
  const asksUserName = asOther || await users.hasNamedUsers();
  const focus = isByCompany ? null : html`autofocus`;
  const focusName = asksUserName && userName === "" ? focus : null;
  const form = postForm(
    action,
    [hidden],
    html`
      ${asksUserName
        ? html`
          <label class="field" for="username">User name</label>
          <input type="text" id="username" name="username" value="${userName}" autocomplete="username"
            autocapitalize="none" spellcheck="false" required maxlength="64" aria-describedby="who" ${focusName}>
          <p class="hint" id="who">The person who set up this server is <code>owner</code>.</p>
        `
        // Hidden: password managers store the passphrase under it.
        : html`<input type="text" name="username" value="owner" autocomplete="username" readonly hidden>`}
      <label class="field" for="passphrase">Passphrase</label>
      <input type="password" id="passphrase" name="passphrase" autocomplete="current-password" required
        maxlength="1024" ${focusName === null ? focus : null}
        ${problem !== undefined && html`aria-invalid="true" aria-describedby="problem"`}>
      <div class="actions"><button type="submit">Sign in</button></div>
    `,
  );
  const host = company === undefined ? "" : new URL(company.issuer).host;
  return pageResponse({
    title,
    ...present({ status, retryAfterSeconds, cookies }),
    body: html`
      <h1>${title}</h1>
      <p class="quiet">${words}</p>
      ${problem !== undefined && html`<p class="note bad" id="problem" role="alert">${problem}</p>`}
      ${isByCompany
        ? byCompany({ host, path }, await users.takesPassphrases() ? form : null, problem !== undefined)
        : form}
      ${problem !== undefined && html`<p class="hint">Forgotten it? The operator of this server can set a new one
        with the command <code>users reset NAME</code>.</p>`}
    `,
  });
}

const signInWords: Readonly<Record<OwnPage | "console" | "act", { readonly title: string; readonly words: string }>> = {
  grants: { title: "Sign in", words: "Sign in to see which clients have access, and to revoke it." },
  console: { title: "Sign in", words: "Sign in to see what your clients do, and to decide what they may do." },
  act: { title: "Sign in", words: "You were signed out. Sign in, and what you asked for is done." },
  companyLink: {
    title: "Link your company account",
    words:
      "First sign in with the passphrase that you have here, then to your company account. From then on you sign " +
      "in there, and no longer with your passphrase. The owner's remains for when your company's sign-in cannot be " +
      "reached; an account that the owner linked before is unlinked.",
  },
  servicenowLink: {
    title: "Link your ServiceNow account",
    words:
      "First sign in to this server, so that it knows whose account it links. You sign in to ServiceNow after that.",
  },
};

/** The way to the provider first, and the passphrase for those who have one. A link: a form could not leave this site. */
function byCompany(
  { host, path }: { readonly host: string; readonly path: string },
  form: Html | null,
  isTried: boolean,
): Html {
  return html`
    <p><a class="button" href="${path}" ${isTried ? null : html`autofocus`}>Sign in with your company account</a></p>
    <p class="hint">You are sent to <span class="mono">${host}</span>, and come back here.</p>
    ${form && html`
      <details ${isTried && html`open`}>
        <summary>Use a passphrase</summary>
        ${form}
      </details>
    `}
  `;
}

// The page for a redirect that must not happen, and for every other dead end.

/** The texts and status of an error page. */
export function deadEnd(title: string, advice: string, status = 403) {
  return { status, title, advice };
}

/** A page with a message and no form; `more` is such as a link. */
export function deadEndPage({ status, title, advice }: ReturnType<typeof deadEnd>, more?: Html): Response {
  const body = html`
    <h1>${title}</h1>
    <p>${advice}</p>
    ${more}
  `;
  return pageResponse({ title, status, body });
}

export const startAgain = "Start again from the client.";

/** Why someone who was sent to sign in elsewhere does not come back in; `place` begins sentences. */
export function wayBackProblems(place: string) {
  return {
    malformed: deadEnd(`${place} sent a response that cannot be read`, startAgain, 400),
    unknown_state: deadEnd(
      "This sign-in is no longer open",
      `It was already completed, or took too long. ${startAgain}`,
    ),
    other_browser: deadEnd(
      "This sign-in was started in another browser",
      `Nothing was changed. If you did not start this, close the page. If you did: ${startAgain}`,
    ),
    denied: deadEnd(
      `${place} did not let you in`,
      "You declined, or your account may not use this server there. Nothing was changed.",
    ),
    unavailable: deadEnd(
      `${place} cannot be reached`,
      "Try again in a minute. Tell the operator of this server if it persists: the log gives the reason.",
      503,
    ),
    disabled: deadEnd("Your account is disabled on this server", "Ask the operator of this server."),
  };
}

const dead = {
  malformed_request: deadEnd(
    "This request cannot be read",
    "The client sent an incomplete or malformed request. Start again from the client.",
    400,
  ),
  nothing_asked: deadEnd(
    "Your client opens this page",
    "It opens this address with its request when you connect it. To connect one, enter the address of this server in it.",
    400,
  ),
  request_too_long: deadEnd(
    "This request is too long",
    "The client sent more than this server accepts. Start again from the client.",
    414,
  ),
  unknown_client: deadEnd(
    "This client is not registered here",
    "It was removed, or it was connected to a different server at this address. Remove the connection in the client and add it again.",
    400,
  ),
  redirect_uri_not_registered: deadEnd(
    "The return address does not match",
    "The client asked to return you to an address that is not registered for it, so you were not redirected. Remove the connection in the client and add it again.",
    400,
  ),
  not_set_up: deadEnd(
    "This server has not been set up",
    "No one can sign in yet. Open the set-up link that the server printed when it started, choose a passphrase, then come back. A restart prints a new link.",
    503,
  ),
  request_gone: deadEnd(
    "This request is no longer open",
    "It was already answered, has expired, or was started in another browser. Start again from the client.",
  ),
  cookie_missing: deadEnd(
    "This page needs a cookie",
    "Your browser did not send the cookie that this server set: it blocks cookies, or the request was started in another browser. Allow cookies for this site, then start again from the client.",
  ),
  foreign_form: deadEnd(
    "This form came from somewhere else",
    "Nothing was changed. Open the page of the console again; to connect a client, start again from the client.",
  ),
  sign_in_elsewhere: deadEnd(
    "Sign-in happens elsewhere",
    "You sign in at your organisation, and have no passphrase here. Start again from the client.",
  ),
  set_up_link_invalid: deadEnd(
    "This set-up link does not work",
    "It is invalid, has expired, or was already used. Open the last link in the server's terminal. A restart prints a new one, good for ten minutes.",
  ),
  set_up_link_expired: deadEnd(
    "This set-up link has expired",
    "The server has printed a new one in its terminal, good for ten minutes.",
  ),
  invitation_invalid: deadEnd(
    "This invitation does not work",
    "It is invalid, has expired, or was already used. Ask the person who invited you for a new one.",
  ),
  account_disabled: deadEnd(
    "Your account is disabled on this server",
    "Your passphrase is set, but you cannot sign in. Ask the operator of this server.",
  ),
  already_set_up: deadEnd(
    "This server is already set up",
    "Connect a client and sign in with the passphrase chosen at set-up. The user name is owner.",
  ),
  method_not_allowed: deadEnd("This page cannot be used that way", "Start again from the client.", 405),
};

/** Why a user sees an error page. */
export type DeadEnd = keyof typeof dead;

export function errorPage(issuer: string, reason: DeadEnd): Response {
  const { home, grants } = pathsOf(issuer);
  const more = html`
    <p
      class="hint"><a href="${home}">How to connect a client</a> · <a href="${grants}">Your Access page</a></p>
  `;
  return deadEndPage(dead[reason], more);
}

/** The error page of a wrong verb (RFC 9110 §15.5.6). */
export function wrongMethodPage(issuer: string, ...allowed: readonly string[]): Response {
  const response = errorPage(issuer, "method_not_allowed");
  response.headers.set("allow", allowed.join(", "));
  return response;
}
