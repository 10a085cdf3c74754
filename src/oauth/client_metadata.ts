/** Client metadata (RFC 7591 §2), parsed as leniently as security allows. */
import * as z from "zod";
import { hasMoreParts } from "../lib/json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { isClientDocumentUrl } from "../lib/client_document_url.ts";
import { holdsSecretKey, parsePublicJwks } from "./signing_keys.ts";
import { classifyRedirectUri, isUsableRedirectUri } from "./redirect_uri.ts";
import type { Client } from "./records.ts";
import { knownScopes, parseScope } from "./scope.ts";

/** Values in one registration; clients send some fifty. */
const maxMetadataParts = 5_000;

/** Drops members that are `null`, "" or []: clients serialise absent values like that. Non-objects stay as they are. */
function withoutEmptyMembers(json: unknown): unknown {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  const isEmpty = (value: unknown): boolean =>
    value === null || value === "" || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(json).filter(([, value]) => !isEmpty(value)));
}

// Unknown members are ignored (RFC 7591 §2); `token_value` is the ServiceNow guide's place for the registration token.
const metadataSchema = z.lazy(() =>
  z.object({
    token_value: z.string().optional(),
    client_name: z.string().max(2_000).optional(),
    redirect_uris: z.array(z.string()).optional(),
    grant_types: z.array(z.string()).optional(),
    response_types: z.array(z.string()).optional(),
    token_endpoint_auth_method: z.string().optional(),
    scope: z.string().max(10_000).optional(),
    jwks: z.unknown().optional(),
    jwks_uri: z.string().optional(),
  })
);

/** The members that count here. */
export type ClientMetadata = z.output<typeof metadataSchema>;

/** Reads the members that count; `null` when one of them is of the wrong type. */
export function parseClientMetadata(json: unknown): ClientMetadata | null {
  if (hasMoreParts(json, maxMetadataParts)) return null;
  const parsed = metadataSchema.safeParse(withoutEmptyMembers(json));
  return parsed.success ? parsed.data : null;
}

/** Addresses that a server calls. Those of pages (`client_uri`, `logo_uri` ...) are neither kept nor shown here. */
const calledAddresses = ["jwks_uri", "sector_identifier_uri", "request_uris"];

/** Whether every address that a server would call is https; anything else could lie inside a private network (SSRF). */
export function calledAddressesAreHttps(json: unknown): boolean {
  const members = Object.entries(withoutEmptyMembers(json) ?? {}).filter(([name]) => calledAddresses.includes(name));
  return members.flatMap(([, value]) => value)
    .every((value) => typeof value === "string" && URL.parse(value)?.protocol === "https:");
}

const maxNameCharacters = 60;

/** Without control, bidirectional and zero-width characters, on one line, cut to a length; a stand-in when empty. */
export function cleanClientName(name: string | undefined): string {
  const visible = (name ?? "").normalize("NFKC")
    .replace(/[\s\p{Z}]+/gu, " ")
    .replace(/[\p{C}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu, "")
    .trim();
  const short = [...visible].slice(0, maxNameCharacters).join("").trim();
  return short === "" ? "An application without a name" : short;
}

// Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document-00): the client_id is where they are.

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
