/** The page for an invalid request by an application that no user has approved here: the user decides whether to go back. */
import { html } from "../lib/html.ts";
import { pageResponse } from "../lib/page.ts";

interface RefusedRequestPage {
  readonly clientName: string;
  /** Where its metadata is published; `null` for one that registered itself. */
  readonly domain: string | null;
  /** What is wrong with its request. */
  readonly problem: string;
  /** The redirect that tells the application. */
  readonly location: string;
}

/** Shows where the redirect leads without following it: otherwise this server would be an open redirector. */
export function refusedRequestPage({ clientName, domain, problem, location }: RefusedRequestPage): Response {
  const title = "This request cannot be granted";
  const origin = domain === null
    ? html`, which registered itself under that name,`
    : html`, published by <strong>${domain}</strong>,`;
  return pageResponse({
    title,
    status: 400,
    body: html`
      <h1>${title}</h1>
      <p><strong>${clientName}</strong>${origin} sent a request that this server refuses: ${problem}.</p>
      <p>No user has approved this application here. If you did not just come from it, close this page.</p>
      <p><a href="${location}">Go back to ${new URL(location).host || (domain ?? clientName)}</a></p>
    `,
  });
}
