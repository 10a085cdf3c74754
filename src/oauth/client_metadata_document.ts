/** Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document-00): the client_id is where they are. */
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import { isClientDocumentUrl } from "./client_document_url.ts";
import { cleanClientName, withoutEmptyMembers } from "./client_metadata.ts";
import { holdsSecretKey, parsePublicJwks } from "./jwks.ts";
import { classifyRedirectUri, isUsableRedirectUri } from "./redirect_uri.ts";
import type { Client } from "./records/client.ts";
import { knownScopes, parseScope } from "./scope.ts";

const documentSchema = z.lazy(() =>
  z.object({
    client_id: z.string(),
    client_name: z.string().min(1),
    redirect_uris: z.array(z.string()).min(1).max(20),
    grant_types: z.array(z.string()).optional(),
    response_types: z.array(z.string()).optional(),
    token_endpoint_auth_method: z.enum(["none", "private_key_jwt"]).optional(),
    scope: z.string().optional(),
    jwks: z.unknown().optional(),
    jwks_uri: z.string().optional(),
    // §4.1: a public document cannot hold a secret.
    client_secret: z.undefined().optional(),
    client_secret_expires_at: z.undefined().optional(),
  })
);

/** Why a document describes no client. */
export type ClientDocumentProblem =
  | "malformed_document"
  | "client_id_mismatch"
  | "secret_in_document"
  | "unsupported_document_authentication"
  | "unsupported_document_grant"
  | "unusable_redirect_uri"
  | "unusable_keys";

/** Members whose rule is more than their type. */
const problemByMember: Readonly<Record<string, ClientDocumentProblem>> = {
  client_secret: "secret_in_document",
  client_secret_expires_at: "secret_in_document",
  token_endpoint_auth_method: "unsupported_document_authentication",
};

/** Turns a fetched document into a client, if it is the document of that very client_id. */
export function parseClientDocument(
  clientId: string,
  json: unknown,
  now: number,
): Result<Client, ClientDocumentProblem> {
  const parsed = documentSchema.safeParse(withoutEmptyMembers(json));
  if (!parsed.success) {
    const [member] = parsed.error.issues[0]?.path ?? [];
    return failure(problemByMember[String(member)] ?? "malformed_document");
  }
  const document = parsed.data;
  if (document.client_id !== clientId) return failure("client_id_mismatch"); // §4: simple string comparison
  const named = [...new Set(document.redirect_uris)];
  const redirectUris = named.filter(isUsableRedirectUri);
  if (redirectUris.length === 0 || named.some((uri) => classifyRedirectUri(uri) === "forbidden")) {
    return failure("unusable_redirect_uri");
  }
  const grantTypes = (["authorization_code", "refresh_token"] as const)
    .filter((name) => document.grant_types?.includes(name) ?? true);
  if (!grantTypes.includes("authorization_code") || !(document.response_types?.includes("code") ?? true)) {
    return failure("unsupported_document_grant");
  }
  const authentication = document.token_endpoint_auth_method ?? "none";
  if (holdsSecretKey(document.jwks)) return failure("unusable_keys");
  const jwks = document.jwks === undefined ? null : parsePublicJwks(document.jwks);
  const jwksUri = document.jwks_uri ?? null;
  if (authentication === "private_key_jwt") {
    const usesUri = jwksUri !== null && document.jwks === undefined && isClientDocumentUrl(jwksUri);
    if (!usesUri && (jwks === null || jwksUri !== null)) return failure("unusable_keys");
  }
  return success({
    id: clientId,
    name: cleanClientName(document.client_name),
    origin: "metadata_document",
    redirectUris,
    grantTypes,
    authentication,
    secretHash: null,
    secretExpiresAt: 0,
    scopes: knownScopes(parseScope(document.scope ?? "")),
    jwks: authentication === "private_key_jwt" ? jwks : null,
    jwksUri: authentication === "private_key_jwt" ? jwksUri : null,
    registeredAt: now,
    usedAt: null,
  });
}
