/** The page for a redirect that must not happen, and for every other dead end. */
import { basePathOf, type Html, html, pageResponse } from "../lib/page.ts";

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
  const base = basePathOf(issuer);
  const more = html`
    <p
      class="hint"><a href="${base}/">How to connect a client</a> · <a href="${base}/oauth/grants">Your Access page</a></p>
  `;
  return deadEndPage(dead[reason], more);
}

/** The error page of a wrong verb (RFC 9110 §15.5.6). */
export function methodNotAllowedPage(issuer: string, ...allowed: readonly string[]): Response {
  const response = errorPage(issuer, "method_not_allowed");
  response.headers.set("allow", allowed.join(", "));
  return response;
}

// The page for an invalid request by a client that no user has approved here: the user decides whether to go
// back.
