/** The page for a redirect that must not happen, and for every other dead end. */
import { html } from "../../lib/page/html.ts";
import { messagePage } from "./message_page.ts";

const dead = {
  malformed_request: {
    status: 400,
    title: "This request cannot be read",
    advice: "The application sent an incomplete or malformed request. Start again from the application.",
  },
  request_too_long: {
    status: 414,
    title: "This request is too long",
    advice: "The application sent more than this server accepts. Start again from the application.",
  },
  unknown_client: {
    status: 400,
    title: "This application is not registered here",
    advice:
      "It was removed, or it was connected to a different server at this address. Remove the connection in the application and add it again.",
  },
  redirect_uri_not_registered: {
    status: 400,
    title: "The return address does not match",
    advice:
      "The application asked to return you to an address that is not registered for it, so you were not redirected. Remove the connection in the application and add it again.",
  },
  not_set_up: {
    status: 503,
    title: "This server has not been set up",
    advice:
      "No one can sign in yet. Open the set-up link that the server printed when it started, choose a passphrase, then come back. A restart prints a new link.",
  },
  request_gone: {
    status: 403,
    title: "This request is no longer open",
    advice:
      "It was already answered, has expired, or was started in another browser. Start again from the application.",
  },
  cookie_missing: {
    status: 403,
    title: "This page needs a cookie",
    advice:
      "Your browser did not send the cookie that this server set: it blocks cookies, or the request was started in another browser. Allow cookies for this site, then start again from the application.",
  },
  foreign_form: {
    status: 403,
    title: "This form came from somewhere else",
    advice: "Nothing was changed. Start again from the application.",
  },
  sign_in_elsewhere: {
    status: 403,
    title: "Sign-in happens elsewhere",
    advice: "This server leaves sign-in to your organisation's ServiceNow instance. Start again from the application.",
  },
  sign_in_link_invalid: {
    status: 403,
    title: "This sign-in link does not work",
    advice: "It is invalid, has expired, or was already used. Ask the operator of this server for a new one.",
  },
  set_up_link_invalid: {
    status: 403,
    title: "This set-up link does not work",
    advice: "It is invalid, has expired, or was already used. Restart the server: it prints a new one.",
  },
  invitation_invalid: {
    status: 403,
    title: "This invitation does not work",
    advice: "It is invalid, has expired, or was already used. Ask the owner of this server for a new one.",
  },
  already_set_up: {
    status: 403,
    title: "This server is already set up",
    advice: "Connect an application and sign in with the passphrase chosen at set-up. The user name is owner.",
  },
  method_not_allowed: {
    status: 405,
    title: "This page cannot be used that way",
    advice: "Start again from the application.",
  },
} as const;

/** Why a user sees an error page. */
export type DeadEnd = keyof typeof dead;

const waysOn = html`
  <p class="hint"><a href="/">How to connect an application</a> · <a href="/oauth/grants">Your Access page</a></p>
`;

export function errorPage(reason: DeadEnd): Response {
  const { status, title, advice } = dead[reason];
  return messagePage({ status, title, paragraphs: [advice], more: waysOn });
}

/** The error page of a wrong verb (RFC 9110 §15.5.6). */
export function methodNotAllowedPage(...allowed: readonly string[]): Response {
  const response = errorPage("method_not_allowed");
  response.headers.set("allow", allowed.join(", "));
  return response;
}
