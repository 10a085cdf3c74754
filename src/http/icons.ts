/** The pictures of the server and its tools, as clients show them (MCP 2025-11-25, `icons`). */
import type { Endpoint } from "../lib/endpoint.ts";
import type { Icon, Tool } from "../mcp/tool.ts";

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
const pictureOfFamily: ReadonlyMap<string, string> = new Map([
  ["file", "files"],
  ["directory", "files"],
  ["llm", "model"],
  ["servicenow", "servicenow"],
]);

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
  return (request) => {
    const name = /^\/icons\/([a-z]+)\.svg$/.exec(new URL(request.url).pathname)?.[1];
    const picture = name === undefined ? undefined : pictures.get(name);
    if (picture === undefined) return Response.json({ error: "not_found" }, { status: 404 });
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    return new Response(picture, {
      headers: {
        "content-type": "image/svg+xml",
        "cache-control": "public, max-age=86400",
        "content-security-policy": "default-src 'none'", // an SVG that is opened by itself is a page
        "x-content-type-options": "nosniff",
      },
    });
  };
}
