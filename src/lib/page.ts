/** The frame of every page, and the headers that protect it. */
import { createDigest } from "./secrets.ts";

// HTML that cannot be injected into: a template tag that escapes every interpolated value unless it is HTML already.

class Markup {
  constructor(readonly markup: string) {}
}

/** Markup that is safe to send. Only the {@link html} tag makes it: what merely has the same shape is escaped. */
export type Html = Markup;

/** What may stand in a `${}` of the {@link html} tag; `null`, `undefined` and `false` print nothing. */
type HtmlValue = string | number | Html | readonly HtmlValue[] | null | undefined | false;

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

/** Text is made safe for element content and quoted attribute values. */
function markupOf(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Markup) return value.markup;
  if (Array.isArray(value)) return value.map(markupOf).join("");
  return String(value).replace(/[&<>"'`]/g, (character) => entities[character] ?? "");
}

/** The template tag. Attribute values must stand in quotes. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Markup(strings.reduce((page, part, index) => page + markupOf(values[index - 1]) + part));
}

/**
 * Stands first in a form that decides something. Enter in a field presses the first submit button (HTML, "Implicit
 * submission"): this one closes the dialog that the form is in, and it is in none.
 */
export const noDefaultButton = html`<button type="submit" formmethod="dialog" hidden></button>`;

/** A `<script>` element around a script of our own; `code` must be a constant of this program. */
export function scriptElement(code: string): Html {
  return new Markup(`<script>${code}</script>`);
}

/** A `<style>` element around a stylesheet of our own; `css` must be a constant of this program. */
export function styleElement(css: string): Html {
  return new Markup(`<style>${css}</style>`);
}

/** Light and dark by the system's setting; contrast at least 4.5:1 in both (WCAG 2.2 §1.4.3). */
const stylesheet = `
:root {
  color-scheme: light dark;
  --ground: #f3f4f6; --card: #ffffff; --ink: #1a1d23; --quiet: #565d6b; --line: #d9dce2; --field: #878e9b;
  --accent: #2450b2; --accent-ink: #ffffff; --accent-over: #1b3f90; --soft: #f5f7fb;
  --warn: #fff6e0; --warn-line: #d9a520; --warn-ink: #5a4100; --bad: #fdeceb; --bad-line: #c9413a; --bad-ink: #7c1d18;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #111318; --card: #1b1e25; --ink: #eceef2; --quiet: #a8afbd; --line: #343945; --field: #7d8595;
    --accent: #9bb8ff; --accent-ink: #101a33; --accent-over: #bccfff; --soft: #232731;
    --warn: #322a14; --warn-line: #b98f24; --warn-ink: #f5dd9c; --bad: #381c1b; --bad-line: #d9655e; --bad-ink: #ffc9c5;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
.frame { max-width: 38rem; margin: 0 auto; padding: clamp(1rem, 4vh, 4.5rem) 1rem 2.5rem; }
.brand { display: flex; align-items: center; gap: .55rem; margin: 0 .25rem 1.1rem; color: var(--quiet); font-weight: 600; }
.brand svg { width: 1.5rem; height: 1.5rem; color: var(--accent); flex: none; }
main {
  background: var(--card); border: 1px solid var(--line); border-radius: .9rem; padding: clamp(1.4rem, 5vw, 2.25rem);
  box-shadow: 0 1px 2px rgb(0 0 0 / .05), 0 10px 30px rgb(0 0 0 / .06);
}
h1 { margin: 0 0 .6rem; font-size: 1.45rem; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { margin: 1.6rem 0 .5rem; font-size: 1rem; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); font-size: .925rem; }
label.field { display: block; margin: 1.1rem 0 .35rem; font-weight: 600; }
input[type="text"], input[type="password"] {
  width: 100%; padding: .7rem .8rem; font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--field); border-radius: .5rem;
}
input[type="file"] { width: 100%; font: inherit; color: inherit; }
.hint { margin: .35rem 0 0; color: var(--quiet); font-size: .875rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
fieldset { margin: 1.25rem 0 0; padding: 0; border: 0; min-width: 0; }
legend { padding: 0; margin-bottom: .5rem; font-weight: 600; }
.scope {
  display: grid; grid-template-columns: auto 1fr; gap: .15rem .75rem; align-items: start; padding: .5rem .8rem;
  border: 1px solid var(--line); border-radius: .6rem; margin-bottom: .4rem; cursor: pointer;
}
.scope:hover { background: var(--soft); }
.scope input { width: 1.2rem; height: 1.2rem; margin: .18rem 0 0; accent-color: var(--accent); }
.scope small { grid-column: 2; color: var(--quiet); font-size: .85rem; }
code, .mono { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre {
  margin: .5rem 0 1rem; padding: .85rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--soft);
  white-space: pre-wrap; overflow-wrap: anywhere; font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
dl.facts { margin: 1.1rem 0 0; padding: .9rem 1rem; background: var(--soft); border-radius: .6rem; font-size: .925rem; }
dl.facts div { display: grid; grid-template-columns: 7rem 1fr; gap: 0 .75rem; align-items: baseline; padding: .2rem 0; }
dl.facts dt { color: var(--quiet); }
dl.facts dd { grid-column: 2; margin: 0; overflow-wrap: anywhere; font-weight: 500; }
dl.facts dd.quiet { font-weight: 400; }
.note { margin: 1.1rem 0; padding: .75rem .9rem; border-left: 4px solid; border-radius: .35rem; font-size: .925rem; }
.note.plain { background: var(--soft); border-color: var(--field); }
.note.warn { background: var(--warn); border-color: var(--warn-line); color: var(--warn-ink); }
.note.good { background: var(--soft); border-color: var(--accent); color: var(--ink); }
.note.bad { background: var(--bad); border-color: var(--bad-line); color: var(--bad-ink); }
.actions { display: flex; flex-wrap: wrap; gap: .7rem; margin-top: 1.5rem; }
button {
  flex: 1 1 8rem; padding: .72rem 1.1rem; font: inherit; font-weight: 600; border-radius: .5rem; cursor: pointer;
  border: 1px solid var(--accent); background: var(--accent); color: var(--accent-ink);
}
button:hover { background: var(--accent-over); }
button.plain { background: transparent; color: var(--ink); border-color: var(--field); }
button.plain:hover { background: var(--soft); }
button.show { margin-top: .5rem; }
button.small { flex: none; padding: .45rem .9rem; font-size: .925rem; }
.clients { display: flex; flex-wrap: wrap; gap: .4rem; margin: 1.25rem 0; }
.clients label { position: relative; padding: .3rem .8rem; border: 1px solid var(--field); border-radius: 1rem; font-size: .925rem; cursor: pointer; }
.clients label:hover { background: var(--soft); }
.clients label input { position: absolute; opacity: 0; inset: 0; margin: 0; cursor: pointer; }
.clients label:has(:checked) { background: var(--accent); border-color: var(--accent); color: var(--accent-ink); }
.clients label:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
.clients .panel { display: none; order: 1; flex: 1 0 100%; min-width: 0; padding-top: .6rem; }
.clients label:has(:checked) + .panel { display: block; }
.panel pre { margin: .35rem 0 .6rem; }
a.button {
  display: inline-block; margin: 0 .4rem .7rem 0; padding: .45rem .9rem; border: 1px solid var(--accent); border-radius: .5rem;
  background: var(--accent); color: var(--accent-ink); font-weight: 600; font-size: .925rem; text-decoration: none;
}
a.button:hover { background: var(--accent-over); }
a.button ~ a.button { background: transparent; color: var(--ink); border-color: var(--field); }
[data-connection]::before { content: ""; display: inline-block; margin-right: .5rem; width: .55rem; height: .55rem; border-radius: 50%; background: var(--warn-line); }
[data-connection]:has(strong)::before { background: #2e8b57; }
ul.plain { margin: 0 0 1rem; padding: 0; list-style: none; }
.grant { border-top: 1px solid var(--line); padding: .25rem 0 1.1rem; }
.grant ul { margin: 0 0 .35rem; }
a { color: var(--accent); }
summary { cursor: pointer; padding: .3rem 0; }
details > dl.facts { margin-top: .4rem; }
main > :last-child { margin-bottom: 0; }
@media (max-width: 26rem) {
  dl.facts div { grid-template-columns: 1fr; gap: 0; }
  dl.facts dd { grid-column: 1; }
  pre { padding: .7rem .6rem; font-size: .8125rem; }
  .actions { flex-direction: column; }
  button { flex-basis: auto; }
}
`;

/** The source that admits one inline style or script and nothing else (CSP 3 §2.3.1). */
export function inlineSource(text: string): string {
  return `'sha256-${createDigest().update(text, "utf8").digest("base64")}'`;
}

interface PageOptions {
  readonly title: string;
  readonly body: Html;
  /** What the console's pages have beside the frame that all pages share; the last two are constants of this program. */
  readonly wide?: { readonly navigation: Html; readonly css: string; readonly script: string };
  /** Of a page that is not wide; a constant of this program. */
  readonly script?: string;
  readonly status?: number;
  /** The script reads a stream of the server. */
  readonly isLive?: boolean;
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

function render({ title, body, wide, script = wide?.script }: PageOptions): string {
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
        ${script !== undefined && scriptElement(script)}
      </body>
    </html>
  `;
  return `<!DOCTYPE html>${page.markup.trimStart()}`;
}

/** Sends a page: no script but its own, no framing, no caching, no referrer. */
export function pageResponse(options: PageOptions): Response {
  const {
    status = 200,
    isLive = options.wide !== undefined,
    formsLeave = false,
    cookies = [],
    retryAfterSeconds,
    wide,
    script = wide?.script,
  } = options;
  const headers = new Headers({
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": [
      "default-src 'none'",
      `style-src ${inlineSource(stylesheet)}${wide === undefined ? "" : ` ${inlineSource(wide.css)}`}`,
      ...(script === undefined ? [] : [`script-src ${inlineSource(script)}`]),
      ...(isLive ? ["connect-src 'self'"] : []),
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

/** The path below which the server's pages are, without a trailing slash: "" where it has its host for itself. */
export function basePathOf(serverUrl: string): string {
  return new URL(serverUrl).pathname.replace(/\/$/, "");
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

/** Tells a person's browser from a client: what a browser opens by an address has to be a page. */
export function wantsPage(request: Request): boolean {
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/html") && !accept.includes("text/event-stream");
}

/** A date and a time of day for people, in UTC. */
export function dateAndTime(time: number): Html {
  const date = new Date(time);
  const words = date.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
  return html`<time datetime="${date.toISOString()}">${words} UTC</time>`;
}
