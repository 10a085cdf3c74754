/** The pages for a person who opens an address of the server in a browser: `/`, `/mcp`, and any that does not exist. */
import { type Html, html, pageResponse } from "../lib/page.ts";
import { type Endpoint, onGet } from "../lib/endpoint.ts";
import { type Icon, type ServerInfo, supportedVersions, type Tool } from "../mcp/mod.ts";
import { loadOnce } from "../lib/program.ts";
import { sha256Of } from "../lib/secrets.ts";

interface HomeOptions {
  /** The address that agents are given, by the name that the page was opened by. */
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

function links(base: string): Html {
  return html`
    <p
      class="hint"><a href="${base}/">How to connect an agent</a> · <a href="${base}/oauth/grants">Your Access page</a></p>
  `;
}

const loadCard = loadOnce(() => import("../lib/connect_card.ts")); // a start does not wait for it

function ownPage({ base, hasConsole }: Pick<HomeOptions, "base" | "hasConsole">): Html {
  return hasConsole
    ? html`The <a href="${base}/console">console</a> shows what your agents do, and lets you stop them.`
    : html`Your <a href="${base}/oauth/grants">Access page</a> lists what you have allowed, and revokes it.`;
}

async function setUpNote(isSetUp: HomeOptions["isSetUp"]): Promise<Html | null> {
  return await isSetUp() ? null : html`
    <p class="note warn">This server has not been set up. Open the set-up link that it printed when it started, and
      choose a passphrase. Agents can connect after that.</p>
  `;
}

/** Says what this is and how to connect to it. */
export function createHomeEndpoint(options: HomeOptions): Endpoint {
  const { resourceOf, base, isSetUp, hasServicenow } = options;
  const title = "Connect an agent";
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
      ${await setUpNote(isSetUp)}
      ${card.connectCard(resource)}
      ${hasServicenow &&
        html`<p>For ServiceNow, <a href="${base}/servicenow/link">link your ServiceNow account</a> once.</p>`}
    `;
    return pageResponse({ title, body, script: card.connectScript });
  };
}

/** Answers a person who opens the address that is meant for agents. */
export function createMcpPage({ resourceOf, base, isSetUp }: HomeOptions): Endpoint {
  const title = "This address is for agents";
  return async (request) => {
    const card = await loadCard();
    const body = html`
      <h1>${title}</h1>
      <p>Agents call this address using the Model Context Protocol. It has nothing to show in a browser.</p>
      ${await setUpNote(isSetUp)}
      ${card.connectCard(resourceOf(request))}
      ${links(base)}
    `;
    return pageResponse({ title, body, script: card.connectScript });
  };
}

/** The page of an address that does not exist. */
export function notFoundPage(base: string): Response {
  const title = "Page not found";
  const body = html`
    <h1>${title}</h1>
    <p>Check the address.</p>
    ${links(base)}
  `;
  return pageResponse({ title, status: 404, body });
}

// The pictures of the server and its tools, as clients show them (MCP 2025-11-25, `icons`).

const frame = (shape: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#4f6bd8" stroke-width="1.8" ` +
  `stroke-linecap="round" stroke-linejoin="round">${shape}</svg>`;

const pictures: ReadonlyMap<string, string> = new Map([
  ["portcullis", frame(`<path d="M4 21V10a8 8 0 0 1 16 0v11M9 4v17M15 4v17M4 11h16M4 16h16"/>`)],
  ["files", frame(`<path d="M6 3h8l5 5v13H6zM14 3v5h5"/>`)],
  ["model", frame(`<path d="M12 3l2 6 6 3-6 3-2 6-2-6-6-3 6-3z"/>`)],
  ["servicenow", frame(`<path d="M4 8h16v3a2 2 0 0 0 0 4v3H4v-3a2 2 0 0 0 0-4z"/>`)],
]);

/** By the first word of a tool's name. */
const pictureOfFamily: ReadonlyMap<string, string> = new Map(
  Object.entries({ file: "files", directory: "files", llm: "model", servicenow: "servicenow" }),
);

function icon(origin: string, name: string): Icon {
  return { src: `${origin}/icons/${name}.svg`, mimeType: "image/svg+xml", sizes: ["any"] };
}

/** The server's own icons. */
export function serverIcons(origin: string): readonly Icon[] {
  return [icon(origin, "portcullis")];
}

/** The tool with the icon of its family. */
export function withIcons(tool: Tool, origin: string): Tool {
  const name = pictureOfFamily.get(tool.name.split("_", 1)[0] ?? "");
  return name === undefined ? tool : { ...tool, icons: [icon(origin, name)] };
}

/** `GET /icons/NAME.svg`. */
export function createIconsEndpoint(): Endpoint {
  return (request, peer) => {
    const name = /^\/icons\/([a-z]+)\.svg$/.exec(new URL(request.url).pathname)?.[1];
    const picture = name === undefined ? undefined : pictures.get(name);
    if (picture === undefined) return Response.json({ error: "not_found" }, { status: 404 });
    const headers = {
      "content-type": "image/svg+xml",
      "cache-control": "public, max-age=86400",
      "content-security-policy": "default-src 'none'", // an SVG that is opened by itself is a page
      "x-content-type-options": "nosniff",
    };
    return onGet(() => new Response(picture, { headers }))(request, peer);
  };
}

// * How clients that know only the domain find the server: an AI Catalog, and the Server Card that it names (SEP-2127).
// Both say only what a client can see without a token once it connects.

interface ServerCardOptions {
  /** The URL of the MCP endpoint. */
  readonly resource: string;
  readonly serverInfo: ServerInfo;
}

const cardType = "application/mcp-server-card+json";
const cardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
const description = "Files of one directory that agents cannot leave, and local models, behind OAuth.";

/** Builds `GET /mcp/server-card` and `GET /.well-known/ai-catalog.json`. */
export function createServerCardEndpoints(
  { resource, serverInfo }: ServerCardOptions,
): { readonly card: Endpoint; readonly catalog: Endpoint } {
  const { name, title, version, icons } = serverInfo;
  const { hostname } = new URL(resource);
  const card = {
    $schema: cardSchema,
    name: `${reverseDomain(hostname)}/${name}`,
    version,
    description,
    title,
    icons, // not written where there are none
    remotes: [{ type: "streamable-http", url: resource, supportedProtocolVersions: supportedVersions }],
  };
  const identifier = `urn:air:${hostname.replace(/[[\]]/g, "")}:mcp:${name}`;
  const catalog = {
    specVersion: "1.0",
    entries: [{ identifier, type: cardType, url: `${resource}/server-card` }],
  };
  return { card: serve(cardType, card), catalog: serve("application/ai-catalog+json", catalog) };
}

/** The namespace of a host; an address, which has no labels, is kept without what a name may not contain. */
function reverseDomain(hostname: string): string {
  if (/^[\d.]+$/.test(hostname) || hostname.startsWith("[")) return hostname.replace(/[^\da-f.]+/g, "-");
  return hostname.split(".").reverse().join(".");
}

function serve(type: string, document: unknown): Endpoint {
  const text = JSON.stringify(document);
  return onGet((request) => {
    const etag = `"${sha256Of(text).toHex().slice(0, 32)}"`;
    const headers = { "content-type": type, "cache-control": "public, max-age=3600", etag };
    const known = request.headers.get("if-none-match")?.split(",").map((each) => each.trim().replace(/^W\//, ""));
    return known?.some((each) => each === etag || each === "*") // RFC 9110 §13.1.2
      ? new Response(null, { status: 304, headers })
      : new Response(text, { headers });
  });
}
