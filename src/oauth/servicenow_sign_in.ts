/**
 * Signing in by an account of the ServiceNow instance: the way there, and `/servicenow/callback`, which accepts users
 * back. Only the browser that was sent may return (CVE-2026-27124), and its user still has to consent.
 */
import { dateAndTime, html, pageResponse, redirectResponse, seeOther } from "../lib/page.ts";
import { accountName, linkProblem } from "./context.ts";
import type { FinishedVisit, InstanceSignIn, LinkHealth, VisitRefusal } from "./context.ts";
import {
  accountPageIn,
  deadEnd,
  deadEndPage,
  errorPage,
  factList,
  findPending,
  type InteractionOptions,
  mono,
  pathOfPage,
  pathOfRequest,
  pathsOf,
  postForm,
  showSignIn,
  type SignInElsewhere,
  startAgain,
  wayBackProblems,
  wrongMethodPage,
} from "./interaction.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { logStep, maxQueryCharacters } from "./exchange.ts";
import { type Account, newUser, shownName } from "./manage_users.ts";
import { users } from "./records.ts";
import { type Browser, csrfToken, readOwnForm } from "./browser_sessions.ts";

/** What the endpoints need besides what all browser endpoints share. */
type InstanceOptions = InteractionOptions & { readonly instance: InstanceSignIn };

const requestPrefix = "request ";
const pagePrefix = "page ";

/** Redirects users to the instance. Their destination is sealed in the visit, not in the URL. */
export function signInAtInstance(instance: InstanceSignIn): SignInElsewhere {
  return async (purpose, cookies) => {
    const [handle, browser] = purpose.kind === "request"
      ? [requestPrefix + purpose.waiting.handle, purpose.waiting.request.browserHash]
      : [pagePrefix + purpose.next, purpose.browser.hash];
    const { url } = await instance.begin({ browser, purpose: { kind: "sign_in", handle } });
    return redirectResponse(302, url, cookies);
  };
}

export function createServicenowCallback(options: InstanceOptions): Endpoint {
  const { instance, browsers, log, issuer } = options;
  return async (request, peer) => {
    if (request.method !== "GET") return wrongMethodPage(issuer, "GET");
    const { search, searchParams } = new URL(request.url);
    if (search.length > maxQueryCharacters) return errorPage(issuer, "request_too_long");
    const signedIn = await browsers.signedIn(request);
    const finished = await instance.finish({
      parameters: searchParams,
      browsers: browsers.identify(request).hashes,
      subject: signedIn?.account.id ?? null,
      signal: request.signal,
    });
    const { servicenowLink } = pathsOf(issuer);
    if (!finished.ok) {
      const { reason, next } = finished.error;
      logStep({ log, peer }, "servicenow_callback", { outcome: "refused", reason });
      return servicenowProblemPage(reason, issuer, next);
    }
    const { purpose, subject } = finished.value;
    logStep({ log, peer }, "servicenow_callback", { outcome: purpose.kind, user: subject });
    if (purpose.kind === "sign_in") {
      return await startSession(options, { request, peer }, finished.value, purpose.handle);
    }
    return seeOther(purpose.next === undefined ? servicenowLink : pathOfRequest(issuer, purpose.next));
  };
}

async function startSession(
  options: InstanceOptions,
  { request, peer }: { readonly request: Request; readonly peer: Peer },
  { subject, account: { name } }: FinishedVisit,
  handle: string,
): Promise<Response> {
  const { browsers, issuer, storage, clock } = options;
  const next = await nextOf(options, request, handle);
  if (next === null) return errorPage(issuer, "request_gone");
  // At the first sign-in; a stored user, disabled or not, is left unchanged.
  const user = newUser(subject, clock(), { displayName: shownName(name) || subject });
  await storage.commit({ checks: [users.check(null, subject)], puts: [users.put(subject, user)] });
  const account = await options.users.find(subject);
  if (account === null) {
    await options.instance.unlink(subject); // a user who may not sign in leaves no tokens here
    peer.onStep?.({ outcome: "refused", reason: "disabled_user", user: subject });
    return servicenowProblemPage("disabled", issuer);
  }
  return seeOther(next, [await browsers.signIn(request, account)]);
}

async function nextOf(options: InstanceOptions, request: Request, handle: string): Promise<string | null> {
  if (handle.startsWith(pagePrefix)) {
    const page = accountPageIn(handle.slice(pagePrefix.length));
    return page === null ? null : pathOfPage(options.issuer, page);
  }
  const requestHandle = handle.slice(requestPrefix.length);
  const pending = await findPending(options, requestHandle, options.browsers.identify(request));
  return pending === null ? null : pathOfRequest(options.issuer, requestHandle);
}

/** `/servicenow/link`: a signed-in user links an account of the ServiceNow instance, renews the link, or ends it. */
export function createServicenowLinkEndpoint(options: InstanceOptions): Endpoint {
  const { instance, browsers, log, issuer } = options;
  const { servicenowLink } = pathsOf(issuer);
  return async (request, peer) => {
    if (request.method !== "GET" && request.method !== "POST") return wrongMethodPage(issuer, "GET", "POST");
    const browser = browsers.identify(request);
    const signedIn = await browsers.signedIn(request);
    if (signedIn === null) {
      const purpose = { kind: "account", browser, next: "servicenowLink" } as const;
      return request.method === "GET"
        ? await showSignIn(options, purpose, { cookies: browser.cookies })
        : seeOther(servicenowLink);
    }
    const { account } = signedIn;
    if (request.method === "GET") {
      return linkPage(options, account, { browser, health: (await instance.health(account.id))[0] ?? null });
    }
    const form = await readOwnForm(options, request, browser);
    if (!form.ok) return errorPage(issuer, form.error);
    if (form.value.get("action") === "unlink") {
      const unlinked = await instance.unlink(account.id);
      log.write("audit", "servicenow_unlink", { user: account.id, unlinked, address: peer.address });
      return seeOther(servicenowLink);
    }
    const purpose = { kind: "link", subject: account.id } as const;
    const { url } = await instance.begin({ browser: browser.hash, purpose });
    return goToInstancePage(url);
  };
}

/** The page about a user's ServiceNow account. */
function linkPage(
  { issuer, secrets, instance }: InstanceOptions,
  account: Account,
  { browser, health }: { readonly browser: Browser; readonly health: LinkHealth | null },
): Response {
  const paths = pathsOf(issuer);
  const isLinked = health?.state === "linked";
  const problem = health && linkProblem(health);
  const title = isLinked ? "Your ServiceNow account" : "Link your ServiceNow account";
  return pageResponse({
    title,
    cookies: browser.cookies,
    body: html`
      <h1>${title}</h1>
      <p class="quiet">Signed in here as <strong>${account
        .displayName}</strong>. Clients that you allow to use ServiceNow
        act there as you, with your own rights only.</p>
      ${factList([
        ["Instance", mono(new URL(instance.origin).host)],
        ["Account", health === null ? "Not linked" : accountName(health)],
        ["Linked", health && dateAndTime(health.linkedAt)],
        ["Last renewed", health && problem === null ? dateAndTime(health.renewedAt) : null],
        ["Problem", problem],
        ["Refused", health?.refusedAt ? dateAndTime(health.refusedAt) : null],
      ])}
      ${isLinked && html`<p class="note good">You can go back to your client.</p>`}
      ${postForm(
        paths.servicenowLink,
        [["csrf", csrfToken(secrets, browser)]],
        html`
          <div class="actions">
            <button type="submit" name="action" value="link">${health === null
              ? "Link your ServiceNow account"
              : "Sign in to ServiceNow again"}</button>
            ${health && html`<button type="submit" name="action" value="unlink" class="plain">Unlink</button>`}
          </div>
        `,
      )}
      <p class="hint">See also your <a href="${paths.grants}">Access page</a>.</p>
    `,
  });
}

/**
 * Sends the browser on to sign in elsewhere. A redirect cannot answer a form: Chromium checks every further redirect
 * against the page's form-action, and the identity provider that an instance redirects to is not known here.
 */
export function goToInstancePage(url: string, name = "ServiceNow"): Response {
  const response = pageResponse({
    title: `To ${name}`,
    body: html`
      <h1>Sign in to ${name}</h1>
      <p>You are being redirected. If nothing happens, <a href="${url}">continue at ${new URL(url).host}</a>.</p>
    `,
  });
  response.headers.set("refresh", `0; url=${url}`);
  return response;
}

const problems: Readonly<Record<VisitRefusal | "disabled", ReturnType<typeof deadEnd>>> = {
  ...wayBackProblems("ServiceNow"),
  other_person: deadEnd("Another user is signed in here now", `Nothing was linked. ${startAgain}`),
  code_refused: deadEnd("ServiceNow did not confirm the sign-in", startAgain),
};

/** Why a return from the instance is refused; `next` is the handle of a request that waits, and goes on. */
function servicenowProblemPage(reason: VisitRefusal | "disabled", issuer: string, next?: string): Response {
  if (reason === "disabled") return deadEndPage(problems.disabled);
  const more = next === undefined
    ? html`<p class="hint"><a href="${pathsOf(issuer).servicenowLink}">Your ServiceNow account</a></p>`
    : html`<p><a href="${pathOfRequest(issuer, next)}">Try again, or continue without linking</a></p>`;
  return deadEndPage(problems[reason], more);
}
