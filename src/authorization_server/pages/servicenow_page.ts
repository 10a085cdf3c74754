/** The pages around a person's account of the ServiceNow instance. */
import { type Html, html } from "../../lib/page/html.ts";
import type { InstanceSignIn, VisitRefusal } from "../people/servicenow_port.ts";
import { pageResponse } from "../../lib/page/page.ts";
import { messagePage } from "./message_page.ts";

interface ServicenowLinkPage {
  readonly action: string;
  readonly grantsPath: string;
  readonly csrf: string;
  readonly userName: string;
  readonly instanceOrigin: string;
  readonly status: Awaited<ReturnType<InstanceSignIn["status"]>>;
  readonly cookies: readonly string[];
}

export function servicenowLinkPage(page: ServicenowLinkPage): Response {
  const { status, instanceOrigin } = page;
  return pageResponse({
    title: "ServiceNow account",
    cookies: page.cookies,
    body: html`
      <h1>Your ServiceNow account</h1>
      <p class="quiet">Signed in here as <strong>${page
        .userName}</strong>. Applications that you allow to use ServiceNow
        act there as you, with your own rights and no more.</p>
      <dl class="facts">
        <div>
          <dt>Instance</dt>
          <dd class="mono">${new URL(instanceOrigin).host}</dd>
        </div>
        <div>
          <dt>Account</dt>
          <dd>${accountWords(status)}</dd>
        </div>
      </dl>
      <form method="post" action="${page.action}">
        <input type="hidden" name="csrf" value="${page.csrf}">
        <div class="actions">
          <button type="submit" name="action" value="link">${status.state === "none"
            ? "Link"
            : "Sign in again"}</button>
          ${status.state === "none"
            ? null
            : html`<button type="submit" name="action" value="unlink" class="plain">Unlink</button>`}
        </div>
      </form>
      <p class="hint">See also your <a href="${page.grantsPath}">Access page</a>.</p>
    `,
  });
}

/**
 * Sends the browser on to the instance. A redirect would do for the answer to a link, not for the answer to a form:
 * Chromium holds every further redirect of that to the page's form-action, and whose sign-in an instance hands people on
 * to is not known here.
 */
export function goToInstancePage(url: string): Response {
  const response = pageResponse({
    title: "To ServiceNow",
    body: html`
      <h1>Sign in at ServiceNow</h1>
      <p>You are sent there now. If nothing happens: <a href="${url}">continue at ${new URL(url).host}</a>.</p>
    `,
  });
  response.headers.set("refresh", `0; url=${url}`);
  return response;
}

function accountWords(status: ServicenowLinkPage["status"]): Html {
  switch (status.state) {
    case "none":
      return html`none linked`;
    case "expired":
      return html`ServiceNow no longer accepts the sign-in; sign in again`;
    case "linked":
      return html`${status.account.name} (${status.account.userName})`;
  }
}

const startAgain = "start again from the application, or from the page of your ServiceNow account.";

const problems: Readonly<
  Record<VisitRefusal | "disabled", { readonly status: number; readonly title: string; readonly advice: string }>
> = {
  malformed: { status: 400, title: "This return from ServiceNow cannot be read", advice: `Please ${startAgain}` },
  unknown_state: {
    status: 403,
    title: "This return from ServiceNow is no longer open",
    advice: `It was used already, or took too long. Please ${startAgain}`,
  },
  other_browser: {
    status: 403,
    title: "This return from ServiceNow belongs to another browser",
    advice: `Nothing was changed. If you did not start this, close the page. If you did, ${startAgain}`,
  },
  other_person: {
    status: 403,
    title: "Another person is signed in here now",
    advice: `Nothing was linked. Please ${startAgain}`,
  },
  denied: {
    status: 403,
    title: "ServiceNow did not allow it",
    advice: "You said no there, or your account may not use this server. Nothing was changed.",
  },
  code_refused: { status: 403, title: "ServiceNow did not confirm the sign-in", advice: `Please ${startAgain}` },
  unavailable: {
    status: 503,
    title: "ServiceNow cannot be reached",
    advice: "Open the instance in a browser to see whether it answers, then start again.",
  },
  disabled: {
    status: 403,
    title: "Your account is disabled on this server",
    advice: "Ask the operator of this server.",
  },
};

/** The page that says why a return from the instance leads nowhere. */
export function servicenowProblemPage(reason: VisitRefusal | "disabled", linkPath: string): Response {
  const { status, title, advice } = problems[reason];
  const more = html`<p class="hint"><a href="${linkPath}">Your ServiceNow account</a></p>`;
  return messagePage({ status, title, paragraphs: [advice], ...(reason === "disabled" ? {} : { more }) });
}
