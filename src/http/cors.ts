/** Cross-origin resource sharing: answers to preflights, and the headers that let a page read an answer. */

/** Request headers that MCP clients in browsers send (MCP transports; the modern era adds `Mcp-*`). */
const allowHeaders =
  "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID, " +
  "If-None-Match";
const exposeHeaders = "Mcp-Session-Id, WWW-Authenticate, Retry-After, ETag";
const preflightMaxAgeSeconds = "600";

/** Answers `OPTIONS` for an endpoint that `origin` may call. Comes before authentication: browsers send no token here. */
export function preflightResponse(origin: string, methods: string, requestedHeaders: string | null): Response {
  // `Mcp-Param-*` names come from tools, so a preflight that asks for such headers gets them by name.
  const parameters = (requestedHeaders ?? "").split(",").map((name) => name.trim())
    .filter((name) => /^mcp-param-[a-z0-9_-]+$/i.test(name));
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": methods,
      "access-control-allow-headers": [allowHeaders, ...parameters].join(", "),
      "access-control-max-age": preflightMaxAgeSeconds,
      vary: "Origin, Access-Control-Request-Headers",
    },
  });
}

/** Lets `origin` (or `*`) read the response. Changes and gives back the same response. */
export function allowOrigin(response: Response, origin: string): Response {
  response.headers.set("access-control-allow-origin", origin);
  response.headers.set("access-control-expose-headers", exposeHeaders);
  if (origin !== "*") response.headers.append("vary", "Origin");
  return response;
}
