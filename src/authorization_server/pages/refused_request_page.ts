/** The page for a bad request of an application that nobody approved here yet: the person decides whether to go back. */
import { html } from "../../lib/page/html.ts";
import { pageResponse } from "../../lib/page/page.ts";

interface RefusedRequestPage {
  readonly clientName: string;
  /** Where its description is published; `null` for one that registered itself. */
  readonly domain: string | null;
  /** What is wrong with its request. */
  readonly problem: string;
  /** Where the application hears of it. */
  readonly location: string;
}

/** Shows where the way back leads and takes nobody there: else any link to this server could lead anywhere. */
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
      <p><strong>${clientName}</strong>${origin} asks for something that it may not: ${problem}.</p>
      <p>Nobody has approved this application here. If you did not just come from it, close this page.</p>
      <p><a href="${location}">Go back to ${new URL(location).host || (domain ?? clientName)}</a></p>
    `,
  });
}
