/** `GET /`: for a person who opens the server's address in a browser. */
import { html } from "../lib/html.ts";
import { pageResponse } from "../lib/page.ts";
import type { Endpoint } from "../lib/endpoint.ts";

/** Says what this is and how to connect to it. */
export function createHomeEndpoint(resource: string): Endpoint {
  const title = "Connect an agent";
  const body = html`
    <h1>${title}</h1>
    <p>This is an MCP server: it gives AI agents tools of its owner, and lets none in that nobody approved.</p>
    <p>Give your agent this address:</p>
    <pre>${resource}</pre>
    <p>In Claude Code, for example, with this command:</p>
    <pre>claude mcp add --transport http portcullis ${resource}</pre>
    <p>Your agent then opens a browser here: sign in, look at what it asks for, and allow it or not.</p>
    <p class="quiet">Whoever runs this server gets the configuration for other agents from <code>portcullis connect</code>.
    What you have allowed so far is on the <a href="/oauth/grants">page of your grants</a>, where you can end it.</p>
  `;
  return (request) =>
    request.method === "GET" || request.method === "HEAD"
      ? pageResponse({ title, body })
      : new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
}
