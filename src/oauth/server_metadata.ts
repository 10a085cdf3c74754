/** The authorization server's metadata (RFC 8414 §2): exactly what exists, and no more. */
import { assertionAlgorithms } from "./client_authentication.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { wrongMethod } from "./refusal.ts";
import { usualScopes } from "./scope.ts";
import type { SigningKeys } from "./signing_keys.ts";
import type { GrantTypeName } from "./token.ts";

const cacheControl = "public, max-age=300";

/** Sent by MCP client libraries, which cannot hold a registration token, and not by ServiceNow, which can. */
const mcpClientHeader = "mcp-protocol-version";

function publicJson(body: unknown, vary?: string): Response {
  return Response.json(body, { headers: { "cache-control": cacheControl, ...(vary === undefined ? {} : { vary }) } });
}

/** Builds the metadata endpoint; it serves every well-known path of the issuer alike. */
export function createMetadataEndpoint(
  { issuer, registration, fetchDocument, scopes = usualScopes }: Pick<
    AuthorizationServerOptions,
    "issuer" | "registration" | "fetchDocument" | "scopes"
  >,
  grantTypes: readonly GrantTypeName[],
): Endpoint {
  const provingMethods = ["client_secret_basic", "client_secret_post", "private_key_jwt"];
  const clientAuthentication = ["none", ...provingMethods];
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: provingMethods,
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: scopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: grantTypes,
    token_endpoint_auth_methods_supported: clientAuthentication,
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    revocation_endpoint_auth_methods_supported: clientAuthentication,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    code_challenge_methods_supported: ["S256"],
    ...(fetchDocument === undefined ? {} : { client_id_metadata_document_supported: true }),
    authorization_response_iss_parameter_supported: true, // RFC 9207 §3
  };
  const withRegistration = { ...document, registration_endpoint: `${issuer}/oauth/register` };
  const documentFor = (request: Request): Response => {
    switch (registration.mode) {
      case "open":
        return publicJson(withRegistration);
      case "token":
        return publicJson(request.headers.has(mcpClientHeader) ? document : withRegistration, mcpClientHeader);
      case "off":
        return publicJson(document);
    }
  };
  return (request) =>
    Promise.resolve(
      request.method === "GET" || request.method === "HEAD" ? documentFor(request) : wrongMethod("GET", "HEAD"),
    );
}

/** Builds the JWK set endpoint (RFC 7517 §5): public keys only, with a life in caches shorter than the overlap. */
export function createJwksEndpoint(signingKeys: SigningKeys): Endpoint {
  return async (request) =>
    request.method === "GET" || request.method === "HEAD"
      ? publicJson({ keys: await signingKeys.published() })
      : wrongMethod("GET", "HEAD");
}
