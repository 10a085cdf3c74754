/**
 * How clients that know only the domain find the server: an AI Catalog, and the Server Card that it names (SEP-2127).
 * Both say only what a client can see without a token once it connects.
 */
import type { Endpoint } from "../lib/endpoint.ts";
import { sha256Of } from "../lib/sha256.ts";
import type { ServerInfo } from "../mcp/revision.ts";
import { supportedVersions } from "../mcp/classify.ts";

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
    ...(icons === undefined ? {} : { icons }),
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
  return (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    const etag = `"${sha256Of(text).toHex().slice(0, 32)}"`;
    const headers = { "content-type": type, "cache-control": "public, max-age=3600", etag };
    const known = request.headers.get("if-none-match")?.split(",").map((each) => each.trim().replace(/^W\//, ""));
    return known?.some((each) => each === etag || each === "*") // RFC 9110 §13.1.2
      ? new Response(null, { status: 304, headers })
      : new Response(text, { headers });
  };
}
