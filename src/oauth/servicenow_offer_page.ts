/** The page after consent: link an account at the instance now, or later. */
import { html } from "../lib/html.ts";
import { pageResponse } from "../lib/page.ts";

export function servicenowOfferPage(page: {
  readonly action: string;
  readonly handle: string;
  readonly userId: string;
  readonly proof: string;
  readonly clientName: string;
  readonly instanceOrigin: string;
}): Response {
  return pageResponse({
    title: "Link your ServiceNow account",
    formsLeave: true,
    body: html`
      <h1>Link your ServiceNow account</h1>
      <p>You allowed “${page.clientName}” to use ServiceNow. It acts there as you, with your own rights only, so it
        needs your account at <strong class="mono">${new URL(page.instanceOrigin).host}</strong>.</p>
      <p class="quiet">You sign in to ServiceNow and come back here, and then to the application. Until an account is
        linked, the application cannot use ServiceNow.</p>
      <form method="post" action="${page.action}">
        <input type="hidden" name="request" value="${page.handle}">
        <input type="hidden" name="account" value="${page.userId}">
        <input type="hidden" name="proof" value="${page.proof}">
        <div class="actions">
          <button type="submit" name="decision" value="link">Link your ServiceNow account now</button>
          <button type="submit" name="decision" value="later" class="plain">Later</button>
        </div>
      </form>
    `,
  });
}
