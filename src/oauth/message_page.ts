/** A page that says something and asks nothing. */
import { type Html, html } from "../lib/html.ts";
import { pageResponse } from "../lib/page.ts";

interface MessagePage {
  readonly status: number;
  readonly title: string;
  readonly paragraphs: readonly string[];
  /** What follows, a link for example. */
  readonly more?: Html;
}

export function messagePage({ status, title, paragraphs, more }: MessagePage): Response {
  const body = html`
    <h1>${title}</h1>
    ${paragraphs.map((text) => html`<p>${text}</p>`)}
    ${more}
  `;
  return pageResponse({ title, status, body });
}

/** What a page says where a request ends, and its status. */
export function deadEnd(
  title: string,
  advice: string,
  status = 403,
): { readonly status: number; readonly title: string; readonly advice: string } {
  return { status, title, advice };
}
