/** `GET /`: for a person who opens the server's address in a browser. */
import { html, styleElement } from "../lib/html.ts";
import type { Endpoint } from "./endpoint.ts";

const style =
  `:root{color-scheme:light dark}body{font:1.05rem/1.6 system-ui,sans-serif;max-width:38rem;margin:12vh auto;padding:0 1.25rem}` +
  `pre{padding:.9rem 1rem;border-radius:.6rem;background:color-mix(in srgb,currentColor 8%,transparent);white-space:pre-wrap;overflow-wrap:anywhere}`;

/** Says what this is and how to connect to it. */
export function createHomeEndpoint(resource: string): Endpoint {
  const page = html`
    <!doctype html>
    <html lang="en">
      <head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Portcullis</title>${styleElement(
        style,
      )}</head>
      <body>
        <main>
          <h1>Portcullis</h1>
          <p>This is an MCP server. Point your agent at this address; it will open a browser for you to sign in and approve it:</p>
          <pre>${resource}</pre>
          <p>In Claude Code, for example:</p>
          <pre>claude mcp add --transport http portcullis ${resource}</pre>
        </main>
      </body>
    </html>
  `;
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy":
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  };
  return (request) =>
    request.method === "GET" || request.method === "HEAD"
      ? new Response(page.markup, { headers })
      : new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
}
