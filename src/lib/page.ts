/** The frame of every page, and the headers that protect it. */
import { type Html, html, scriptElement, styleElement } from "./html.ts";
import { inlineSource, stylesheet } from "./stylesheet.ts";

/** What the console's pages have beside the frame that all pages share. */
interface WideLayout {
  readonly navigation: Html;
  /** Constants of this program. */
  readonly css: string;
  readonly script: string;
}

interface PageOptions {
  readonly title: string;
  readonly body: Html;
  readonly wide?: WideLayout;
  readonly status?: number;
  /** A form of this page is answered with a redirect to an application, which may redirect on to anywhere. */
  readonly formsLeave?: boolean;
  readonly cookies?: readonly string[];
  readonly retryAfterSeconds?: number;
}

const gate = html`
  <svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.8"
    stroke-linecap="round">
    <path d="M4 21V10a8 8 0 0 1 16 0v11M9 4v17M15 4v17M4 11h16M4 16h16" />
  </svg>
`;

/** The gate again, in a colour that shows on light and dark tabs. */
const icon = `data:image/svg+xml,${
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#5b82e0" stroke-width="2.2" stroke-linecap="round"><path d="M4 21V10a8 8 0 0 1 16 0v11M9 4v17M15 4v17M4 11h16M4 16h16"/></svg>',
  )
}`;

function render({ title, body, wide }: PageOptions): string {
  const page = html`
    <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="robots" content="noindex">
      <link rel="icon" href='${icon}'>
      <title>${title} · Portcullis</title>
      ${styleElement(stylesheet)}
      ${wide && styleElement(wide.css)}
      </head>
      <body>
        <div class="${wide ? "frame wide" : "frame"}">
          <header class="brand">${gate}<span>Portcullis</span></header>
          ${wide?.navigation}
          <main id="main">${body}</main>
        </div>
        ${wide && scriptElement(wide.script)}
      </body>
    </html>
  `;
  return `<!DOCTYPE html>${page.markup.trimStart()}`;
}

/** Sends a page: no script but the console's own, no framing, no caching, no referrer. */
export function pageResponse(options: PageOptions): Response {
  const { status = 200, formsLeave = false, cookies = [], retryAfterSeconds, wide } = options;
  const headers = new Headers({
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": [
      "default-src 'none'",
      `style-src ${inlineSource(stylesheet)}${wide === undefined ? "" : ` ${inlineSource(wide.css)}`}`,
      ...(wide === undefined ? [] : [`script-src ${inlineSource(wide.script)}`, "connect-src 'self'"]),
      // Chromium holds every redirect that follows a form to this list, those of the application's own sites too.
      ...(formsLeave ? [] : ["form-action 'self'"]),
      "img-src data:",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join("; "),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    // Web clients sign people in in a pop-up: a stricter policy cuts it off from the page that waits for it.
    "cross-origin-opener-policy": "unsafe-none",
    "cache-control": "no-store",
    pragma: "no-cache",
  });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  if (retryAfterSeconds !== undefined) headers.set("retry-after", String(retryAfterSeconds));
  return new Response(render(options), { status, headers });
}

/** A 303: the browser follows with GET, so nothing that was posted is posted on (RFC 9700 §4.12). */
export function seeOther(location: string, cookies: readonly string[] = []): Response {
  return redirectResponse(303, location, cookies);
}

/** A redirect without a body, without a trace in caches and referrers. */
export function redirectResponse(status: 302 | 303, location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({
    location,
    "cache-control": "no-store",
    pragma: "no-cache",
    "referrer-policy": "no-referrer",
  });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status, headers });
}
