/** The pages for a person who opens an address of the server in a browser: `/`, `/mcp`, and any that does not exist. */
import { type Html, html } from "../lib/html.ts";
import { pageResponse } from "../lib/page.ts";
import type { Endpoint } from "../lib/endpoint.ts";

interface HomeOptions {
  /** The address that agents are given. */
  readonly resource: string;
  /** Whether anyone can sign in yet. */
  readonly isSetUp: () => Promise<boolean>;
  /** Whether there are pages at /console. */
  readonly hasConsole: boolean;
  /** Whether people link accounts of a ServiceNow instance. */
  readonly hasServicenow: boolean;
}

const links = html`
  <p class="hint"><a href="/">How to connect an agent</a> · <a href="/oauth/grants">Your Access page</a></p>
`;

function howToConnect(resource: string): Html {
  return html`
    <p>Give your agent this address:</p>
    <pre>${resource}</pre>
    <p>In Claude Code, for example, with this command:</p>
    <pre>claude mcp add --transport http portcullis ${resource}</pre>
    <p>Your agent then opens a browser here: sign in, look at what it asks for, and allow it or not.</p>
  `;
}

function ownPage(hasConsole: boolean): Html {
  return hasConsole
    ? html`The <a href="/console">console</a> shows what your agents do, and lets you stop them.`
    : html`Your <a href="/oauth/grants">Access page</a> lists what you have allowed, and revokes it.`;
}

async function setUpNote(isSetUp: HomeOptions["isSetUp"]): Promise<Html | null> {
  return await isSetUp() ? null : html`
    <p class="note warn">This server has not been set up. Open the set-up link that it printed when it started, and
      choose a passphrase. Agents can connect after that.</p>
  `;
}

/** Says what this is and how to connect to it. */
export function createHomeEndpoint({ resource, isSetUp, hasConsole, hasServicenow }: HomeOptions): Endpoint {
  const title = "Connect an agent";
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      const error_description = `The MCP endpoint of this server is ${resource}`;
      return Response.json({ error: "method_not_allowed", error_description }, {
        status: 405,
        headers: { allow: "GET, HEAD" },
      });
    }
    const body = html`
      <h1>${title}</h1>
      <p>This is an MCP server. It offers tools to AI agents, once you have approved them.</p>
      ${await setUpNote(isSetUp)}
      ${howToConnect(resource)}
      <p class="quiet">The operator of this server gets the configuration for other agents from
        <code>portcullis connect</code>. ${ownPage(hasConsole)}</p>
      ${hasServicenow &&
        html`<p>For ServiceNow, <a href="/servicenow/link">link your ServiceNow account</a> once.</p>`}
    `;
    return pageResponse({ title, body });
  };
}

/** Answers a person who opens the address that is meant for agents. */
export function createMcpPage({ resource, isSetUp }: HomeOptions): Endpoint {
  const title = "This address is for agents";
  return async () => {
    const body = html`
      <h1>${title}</h1>
      <p>Agents call this address using the Model Context Protocol. It has nothing to show in a browser.</p>
      ${await setUpNote(isSetUp)}
      ${howToConnect(resource)}
      ${links}
    `;
    return pageResponse({ title, body });
  };
}

/** The page of an address that does not exist. */
export function notFoundPage(): Response {
  const title = "There is no such page";
  const body = html`
    <h1>${title}</h1>
    <p>Check the address for a typing mistake.</p>
    ${links}
  `;
  return pageResponse({ title, status: 404, body });
}
