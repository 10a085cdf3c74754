/** The protected resource's metadata document (RFC 9728 §2). */
import type { SpellingOf } from "./resource_spelling.ts";

/** Builds the endpoint; it serves the root and the path-suffixed well-known location alike. */
export function createResourceMetadataEndpoint(
  options: { readonly spellingOf: SpellingOf; readonly issuer: string; readonly scopes: readonly string[] },
): (request: Request) => Response {
  const { spellingOf, issuer, scopes } = options;
  return (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return Response.json({ error: "invalid_request" }, { status: 405, headers: { allow: "GET, HEAD" } });
    }
    const document = {
      resource: spellingOf(request).resource,
      authorization_servers: [issuer],
      scopes_supported: scopes,
      bearer_methods_supported: ["header"],
      resource_name: "Portcullis",
    };
    // The document depends on the Host of the request, so a cache keyed by path alone must not keep it.
    return Response.json(document, { headers: { "cache-control": "public, max-age=300", vary: "Host" } });
  };
}
