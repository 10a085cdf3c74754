/** The schemas with which the program of commit 4668edf parses what is stored, by the first part of the key; copied. */
import { z } from "zod";

const scopes = z.array(z.string());
const rotation = z.object({ generation: z.number(), at: z.number() });
const file = {
  kind: z.literal("file"),
  generation: z.string(),
  chunkCount: z.int().min(0),
  sizeBytes: z.int().min(0),
  sha256: z.string(),
  modifiedAt: z.number(),
};

/** Of a workspace, by the third part of the key. */
const workspace: Readonly<Record<string, z.ZodType>> = {
  entry: z.discriminatedUnion("kind", [
    z.object(file),
    z.object({ kind: z.literal("directory"), id: z.string(), modifiedAt: z.number() }),
  ]),
  chunk: z.string(),
  staged: z.object({ chunkCount: z.int().min(0), since: z.number() }),
  gone: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("file"), chunkCount: z.int().min(0) }),
    z.object({ kind: z.literal("directory") }),
  ]),
  usage: z.object({ bytes: z.number(), entries: z.number() }),
  membership: z.unknown(),
};

const families: Readonly<Record<string, z.ZodType>> = {
  authorization_code: z.object({
    grantId: z.string(),
    clientId: z.string(),
    userId: z.string(),
    credentialHash: z.string(),
    redirectUri: z.string(),
    codeChallenge: z.string(),
    scopes,
    resource: z.string(),
    createdAt: z.number(),
    expiresAt: z.number(),
    redeemedAt: z.number().nullable(),
  }),
  authorization_request: z.object({
    clientId: z.string(),
    redirectUri: z.string(),
    state: z.string().nullable(),
    codeChallenge: z.string(),
    scopes,
    resource: z.string(),
    browserHash: z.string(),
    signInAfter: z.number(),
    createdAt: z.number(),
  }),
  browser_session: z.object({ userId: z.string(), credentialHash: z.string(), signedInAt: z.number() }),
  client: z.object({
    id: z.string(),
    name: z.string(),
    origin: z.enum(["registered", "operator", "metadata_document"]),
    redirectUris: z.array(z.string()),
    grantTypes: z.array(z.enum(["authorization_code", "refresh_token", "client_credentials"])),
    authentication: z.enum([
      "none",
      "client_secret_basic",
      "client_secret_post",
      "client_secret_any",
      "private_key_jwt",
    ]),
    secretHash: z.string().nullable(),
    secretExpiresAt: z.number(),
    scopes,
    jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).nullable(),
    jwksUri: z.string().nullable(),
    registeredAt: z.number(),
    usedAt: z.number().nullable(),
  }),
  unused_client: z.object({ clientId: z.string() }),
  grant: z.object({
    id: z.string(),
    subject: z.string(),
    kind: z.enum(["user", "client"]),
    credentialHash: z.string().nullable(),
    clientId: z.string(),
    clientName: z.string(),
    redirectHost: z.string().nullable(),
    scopes,
    resource: z.string(),
    createdAt: z.number(),
    refresh: z.object({
      generation: z.number().int().positive(),
      salt: z.string(),
      currentHash: z.string(),
      endsAt: z.number(),
      lastUsedAt: z.number(),
      rotations: z.array(rotation),
    }).nullable(),
  }),
  subject_grant: z.object({ grantId: z.string() }),
  known_browser: z.object({ signedInAt: z.number() }),
  operator_token: z.object({
    id: z.string(),
    name: z.string(),
    userId: z.string(),
    scopes,
    createdAt: z.number(),
    expiresAt: z.number(),
    tokenHash: z.string(),
  }),
  revoked_token: z.object({ revokedAt: z.number() }),
  set_up_code: z.object({ codeHash: z.string(), seed: z.string() }),
  sign_in_attempts: z.object({ failures: z.number(), notBefore: z.number(), lastAt: z.number() }),
  signing_key: z.object({
    kid: z.string(),
    publicJwk: z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: z.string() }),
    sealedPrivateJwk: z.string(),
    createdAt: z.number(),
  }),
  current_signing_key: z.object({
    kid: z.string(),
    next: z.object({ kid: z.string(), signsFrom: z.number() }).optional(),
  }),
  used_assertion: z.object({ clientId: z.string() }),
  user: z.object({
    id: z.string(),
    displayName: z.string().optional(),
    passwordHash: z.string(),
    epoch: z.string(),
    disabled: z.boolean(),
    createdAt: z.number(),
    passwordChangedAt: z.number(),
  }),
  mcp_session: z.object({
    ended: z.boolean(),
    logLevel: z.enum(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]).nullable(),
    subscriptions: z.array(z.string()),
  }),
  mcp_task: z.object({
    taskId: z.string(),
    subject: z.string(),
    clientId: z.string(),
    tool: z.string().nullable(),
    scopes: scopes.default([]),
    status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
    statusMessage: z.string().optional(),
    createdAt: z.number(),
    lastUpdatedAt: z.number(),
    ttlMs: z.number(),
    pollIntervalMs: z.number(),
    aliveAt: z.number(),
    inputRequests: z.record(z.string(), z.unknown()).optional(),
    result: z.unknown().optional(),
    error: z.unknown().optional(),
  }),
  mcp_task_inbox: z.object({ cancel: z.boolean(), responses: z.record(z.string(), z.unknown()) }),
  workspace_change: z.object({
    count: z.int(),
    recent: z.array(z.tuple([z.number(), z.array(z.string()), z.boolean()])),
  }),
  rate_limit: z.object({ fullAt: z.number() }),
  servicenow_link: z.object({ instance: z.string(), sealed: z.string().nullable(), linkedAt: z.number() }),
  installation: z.unknown(),
  health: z.unknown(),
};

/** How 4668edf reads what is under a key; `null` where it never looks. */
export function schemaAt4668edf(key: readonly string[]): z.ZodType | null {
  const [family = "", , part = ""] = key;
  return (family === "workspace" ? workspace[part] : families[family]) ?? null;
}
