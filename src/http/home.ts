/** The pages for a person who opens an address of the server in a browser: `/`, `/mcp`, and any that does not exist. */
import { type Html, html, pageResponse } from "../lib/page.ts";
import { type Endpoint, onGet } from "../lib/endpoint.ts";
import type { Icon } from "../mcp/mod.ts";
import { loadOnce } from "../lib/program.ts";

interface HomeOptions {
  /** The address that clients are given, by the name that the page was opened by. */
  readonly resourceOf: (request: Request) => string;
  /** The path below which the pages are, as `basePathOf` gives it. */
  readonly base: string;
  /** Whether anyone can sign in yet. */
  readonly isSetUp: () => Promise<boolean>;
  /** Whether there are pages at /console. */
  readonly hasConsole: boolean;
  /** Whether people link accounts of a ServiceNow instance. */
  readonly hasServicenow: boolean;
}

const loadCard = loadOnce(() => import("../lib/connect_card.ts")); // a start does not wait for it

function ownPage({ base, hasConsole }: Pick<HomeOptions, "base" | "hasConsole">): Html {
  return hasConsole
    ? html`The <a href="${base}/console">console</a> shows what your clients do, and lets you stop them.`
    : html`Your <a href="${base}/oauth/grants">Access page</a> lists what you have allowed, and revokes it.`;
}

const setUpNote = html`
  <p class="note warn">This server has not been set up. Open the set-up link that it printed when it started, and
    choose a passphrase. Clients can connect after that.</p>
`;

/** Says what this is and how to connect to it: at `/`, and to a person who opens `/mcp`. */
export function createHomeEndpoint(options: HomeOptions): Endpoint {
  const { resourceOf, base, isSetUp, hasServicenow } = options;
  const title = "Connect a client";
  return async (request) => {
    const resource = resourceOf(request);
    if (request.method !== "GET" && request.method !== "HEAD") {
      const error_description = `The MCP endpoint of this server is ${resource}`;
      return Response.json({ error: "method_not_allowed", error_description }, {
        status: 405,
        headers: { allow: "GET, HEAD" },
      });
    }
    const card = await loadCard();
    const body = html`
      <h1>${title}</h1>
      <p>Your client opens a browser here: sign in, and allow what it asks for. ${ownPage(options)}</p>
      ${!await isSetUp() && setUpNote}
      ${card.connectCard(resource)}
      ${hasServicenow &&
        html`<p>For ServiceNow, <a href="${base}/servicenow/link">link your ServiceNow account</a> once.</p>`}
    `;
    return pageResponse({ title, body, script: card.connectScript });
  };
}

// The picture of the server, as clients show it (MCP 2025-11-25, `icons`).

const picture =
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#4f6bd8" stroke-width="1.8" ` +
  `stroke-linecap="round"><path d="M4 21V10a8 8 0 0 1 16 0v11M9 4v17M15 4v17M4 11h16M4 16h16"/></svg>`;
/** Where the server's picture is. */
export const iconPath = "/icons/portcullis.svg";

/** The server's own icons. */
export function serverIcons(origin: string): readonly Icon[] {
  return [{ src: `${origin}${iconPath}`, mimeType: "image/svg+xml", sizes: ["any"] }];
}

/** Serves {@link iconPath}. */
export function createIconEndpoint(): Endpoint {
  const headers = {
    "content-type": "image/svg+xml",
    "cache-control": "public, max-age=86400",
    "content-security-policy": "default-src 'none'", // an SVG that is opened by itself is a page
    "x-content-type-options": "nosniff",
  };
  return onGet(() => new Response(picture, { headers }));
}
