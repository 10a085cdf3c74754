/** The pages about a user's ServiceNow account. */
import { type Html, html, pageResponse } from "../lib/page.ts";
import { accountName, type LinkHealth, linkProblem, type VisitRefusal } from "./servicenow_port.ts";
import { dateAndTime } from "../lib/page.ts";
import { deadEnd, messagePage } from "./error_page.ts";

interface ServicenowLinkPage {
  readonly action: string;
  readonly grantsPath: string;
  readonly csrf: string;
  readonly userName: string;
  readonly instanceOrigin: string;
  readonly health: LinkHealth | null;
  readonly cookies: readonly string[];
}

export function servicenowLinkPage(page: ServicenowLinkPage): Response {
  const { health, instanceOrigin } = page;
  const isLinked = health?.state === "linked";
  const title = isLinked ? "Your ServiceNow account" : "Link your ServiceNow account";
  return pageResponse({
    title,
    cookies: page.cookies,
    body: html`
      <h1>${title}</h1>
      <p class="quiet">Signed in here as <strong>${page
        .userName}</strong>. Applications that you allow to use ServiceNow
        act there as you, with your own rights only.</p>
      <dl class="facts">
        <div>
          <dt>Instance</dt>
          <dd class="mono">${new URL(instanceOrigin).host}</dd>
        </div>
        <div>
          <dt>Account</dt>
          <dd>${health === null ? "Not linked" : accountName(health)}</dd>
        </div>
        ${health && healthFacts(health)}
      </dl>
      ${isLinked && html`<p class="note good">You can go back to your application.</p>`}
      <form method="post" action="${page.action}">
        <input type="hidden" name="csrf" value="${page.csrf}">
        <div class="actions">
          <button type="submit" name="action" value="link">${health === null
            ? "Link your ServiceNow account"
            : "Sign in to ServiceNow again"}</button>
          ${health === null
            ? null
            : html`<button type="submit" name="action" value="unlink" class="plain">Unlink</button>`}
        </div>
      </form>
      <p class="hint">See also your <a href="${page.grantsPath}">Access page</a>.</p>
    `,
  });
}

/**
 * Sends the browser on to the instance. A redirect cannot answer a form: Chromium checks every further redirect against
 * the page's form-action, and the identity provider that an instance redirects to is not known here.
 */
export function goToInstancePage(url: string): Response {
  const response = pageResponse({
    title: "To ServiceNow",
    body: html`
      <h1>Sign in to ServiceNow</h1>
      <p>You are being redirected. If nothing happens, <a href="${url}">continue at ${new URL(url).host}</a>.</p>
    `,
  });
  response.headers.set("refresh", `0; url=${url}`);
  return response;
}

function healthFacts(health: LinkHealth): Html {
  const problem = linkProblem(health);
  const fact = (name: string, value: Html | string): Html =>
    html`
      <div>
        <dt>${name}</dt>
        <dd>${value}</dd>
      </div>
    `;
  return html`
    ${fact("Linked", dateAndTime(health.linkedAt))}
    ${problem === null ? fact("Last renewed", dateAndTime(health.renewedAt)) : fact("Problem", problem)}
    ${health.refusedAt !== null && fact("Refused", dateAndTime(health.refusedAt))}
  `;
}

const startAgain = "start again from the application, or from your ServiceNow account page.";

const problems: Readonly<Record<VisitRefusal | "disabled", ReturnType<typeof deadEnd>>> = {
  malformed: deadEnd("The response from ServiceNow cannot be read", `Please ${startAgain}`, 400),
  unknown_state: deadEnd(
    "This ServiceNow sign-in is no longer open",
    `It was already completed, or took too long. Please ${startAgain}`,
  ),
  other_browser: deadEnd(
    "This ServiceNow sign-in was started in another browser",
    `Nothing was changed. If you did not start this, close the page. If you did, ${startAgain}`,
  ),
  other_person: deadEnd("Another user is signed in here now", `Nothing was linked. Please ${startAgain}`),
  denied: deadEnd(
    "ServiceNow did not allow it",
    "You declined, or your account may not use this application there. Nothing was changed.",
  ),
  code_refused: deadEnd("ServiceNow did not confirm the sign-in", `Please ${startAgain}`),
  unavailable: deadEnd(
    "ServiceNow cannot be reached",
    "Open the instance in a browser to see whether it answers, then start again.",
    503,
  ),
  disabled: deadEnd("Your account is disabled on this server", "Ask the operator of this server."),
};

/** Why a return from the instance is refused; `nextPath` leads on to the application that waits. */
export function servicenowProblemPage(
  reason: VisitRefusal | "disabled",
  { linkPath, nextPath }: { readonly linkPath: string; readonly nextPath?: string },
): Response {
  const { status, title, advice } = problems[reason];
  const more = nextPath === undefined
    ? html`<p class="hint"><a href="${linkPath}">Your ServiceNow account</a></p>`
    : html`<p><a href="${nextPath}">Try again, or go on without linking</a></p>`;
  return messagePage({ status, title, paragraphs: [advice], ...(reason === "disabled" ? {} : { more }) });
}
