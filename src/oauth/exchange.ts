/**
 * How a protocol endpoint reads its request and refuses it: every reason for a refusal with its response, and beneath
 * it the bodies that are read. The log gets the reason; the client gets the error code and the vague text that RFC 6749
 * §5.2 grants.
 */
import type { Peer, ReportedStep } from "../lib/endpoint.ts";
import type { Log, LogFields, LogLevel } from "../lib/log.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { Limits } from "./context.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { type BodyRefusal, bodyTimeoutMs, readRequestText } from "../lib/request_text.ts";
import { failure, type Result, success } from "../lib/result.ts";

type WireError = ReturnType<typeof wire>;

const wire = (error: string, status: number, description: string) => ({ error, status, description });
const badRequest = (description: string, status = 400) => wire("invalid_request", status, description);
const badMetadata = (description: string) => wire("invalid_client_metadata", 400, description);
const badRedirect = (description: string) => wire("invalid_redirect_uri", 400, description);
const unavailable = (status: number, description: string) => wire("temporarily_unavailable", status, description);

/** Reasons that look the same to the client. */
function alike<Reason extends string>(response: WireError, ...reasons: Reason[]): Readonly<Record<Reason, WireError>> {
  return Object.fromEntries(reasons.map((reason) => [reason, response])) as Record<Reason, WireError>;
}

const refusals = {
  // Bodies
  body_too_large: badRequest("The request body is too large", 413),
  body_too_slow: badRequest("The request body took too long to arrive", 408),
  encoded_body: badRequest("Send the body as it is, without Content-Encoding", 415),
  wrong_content_type: badRequest("Send application/x-www-form-urlencoded or application/json", 415),
  malformed_body: badRequest("The request is malformed"),
  repeated_parameter: badRequest("A parameter is repeated"),
  // Client authentication, RFC 6749 §2.3 and §5.2
  several_authentication_methods: badRequest("Authenticate by one method only"),
  client_id_mismatch: badRequest("The request names two different clients"),
  ...alike(
    wire("invalid_client", 401, "Client authentication failed"),
    ...["missing_client", "unknown_client", "malformed_basic_credentials", "wrong_authentication_method"] as const,
    ...["wrong_client_secret", "expired_client_secret", "public_client_may_not_introspect"] as const,
    ...["invalid_client_assertion", "replayed_client_assertion"] as const,
  ),
  // Token endpoint
  missing_grant_type: badRequest("grant_type is missing"),
  missing_code: badRequest("code is missing"),
  missing_code_verifier: badRequest("code_verifier is missing"),
  missing_refresh_token: badRequest("refresh_token is missing"),
  missing_token: badRequest("token is missing"),
  missing_assertion: badRequest("assertion is missing"),
  unsupported_grant_type: wire("unsupported_grant_type", 400, "This grant type is not supported"),
  grant_type_not_registered: wire("unauthorized_client", 400, "The client is not registered for this grant type"),
  client_held: wire(
    "unauthorized_client",
    400,
    "The owner of this server has not approved the client yet: on the Connections page, or with clients approve",
  ),
  ...alike(
    wire("invalid_grant", 400, "The grant is invalid, expired, revoked, or was issued to another client"),
    ...["unknown_code", "code_of_another_client", "expired_code", "replayed_code"] as const,
    ...["redirect_uri_mismatch", "wrong_code_verifier", "user_not_active"] as const,
    ...["unknown_refresh_token", "refresh_token_of_another_client"] as const,
    ...["expired_refresh_token", "reused_refresh_token"] as const,
    // RFC 7521 §4.1.1
    ...["invalid_identity_assertion", "replayed_identity_assertion", "person_not_admitted"] as const,
  ),
  provider_unavailable: unavailable(503, "The company's identity provider cannot be reached"),
  // Back-channel logout, OpenID Connect Back-Channel Logout 1.0 §2.8
  ...alike(badRequest("The logout token is invalid"), "invalid_logout_token", "replayed_logout_token"),
  scope_exceeds_grant: wire("invalid_scope", 400, "The requested scope exceeds what was granted"),
  scope_exceeds_client: wire(
    "invalid_scope",
    400,
    "The requested scope is unknown or exceeds what the client may have",
  ),
  resource_mismatch: wire("invalid_target", 400, "The resource is unknown or not the one that was granted"),
  token_of_another_client: wire("invalid_grant", 400, "The token was issued to another client"),
  // Registration, RFC 7591 §3.2.2
  registration_off: wire("access_denied", 403, "This server registers no clients"),
  wrong_registration_token: wire("invalid_token", 401, "Registration requires the server's registration token"),
  too_many_unused_clients: unavailable(429, "Too many clients were registered recently; try again later"),
  too_many_held_clients: unavailable(429, "Too many clients wait for approval; try again later"),
  malformed_client_metadata: badMetadata(
    "The client metadata is malformed, or has an address to call that is not https",
  ),
  unsupported_authentication_method: badMetadata(
    "token_endpoint_auth_method must be none, client_secret_basic, client_secret_post or private_key_jwt",
  ),
  unusable_client_keys: badMetadata(
    "jwks may contain only public keys; private_key_jwt needs either jwks or an https jwks_uri",
  ),
  no_supported_grant_type: badMetadata("grant_types must include authorization_code or client_credentials"),
  client_credentials_need_token: badMetadata(
    "client_credentials alone needs this server's registration token (DCR_AUTH_TOKEN), and then its owner's approval",
  ),
  client_credentials_need_proof: badMetadata(
    "client_credentials is for clients that authenticate: token_endpoint_auth_method must not be none",
  ),
  unsupported_response_type: badMetadata("response_types must be code"),
  missing_redirect_uris: badRedirect("redirect_uris must have at least one entry"),
  too_many_redirect_uris: badRedirect("redirect_uris has too many entries"),
  forbidden_redirect_uri: badRedirect(
    "Redirect URIs must be https, http on 127.0.0.1, [::1] or localhost, or on a known application's own scheme, without fragment, credentials or wildcard",
  ),
} as const satisfies Record<string, WireError>;

/** A reason for a refusal; a stable name for the audit log. */
export type RefusalReason = keyof typeof refusals;

/** Caches must not store tokens (RFC 6749 §5.1). */
export const noStore: Readonly<Record<string, string>> = { "cache-control": "no-store", pragma: "no-cache" };

export function jsonResponse(
  body: unknown,
  options: { status?: number; headers?: Record<string, string> } = {},
): Response {
  return Response.json(body, { status: options.status ?? 200, headers: { ...noStore, ...options.headers } });
}

/** Where a step is told. */
interface StepReport {
  readonly log: Log;
  readonly peer: Peer;
  readonly level?: LogLevel;
}

/** Logs the outcome of a sign-in step, and reports it with `unlogged` to the connection recorder. */
export function logStep(
  { log, peer, level = "audit" }: StepReport,
  event: string,
  step: ReportedStep & LogFields,
  unlogged: Partial<ReportedStep> = {},
): void {
  log.write(level, event, { ...step, address: peer.address });
  peer.onStep?.({ ...step, ...unlogged });
}

/** The same for a refusal; returns what the client sees, with `remedy` in its description. */
export function refuseStep(
  to: StepReport & { readonly remedy?: string },
  event: string,
  reason: RefusalReason,
  step: Partial<ReportedStep> & LogFields = {},
  unlogged: Partial<ReportedStep> = {},
): Response {
  logStep(to, event, { outcome: "refused", reason, ...step }, unlogged);
  const { error, status, description } = refusals[reason];
  const body = { error, error_description: description + (to.remedy ?? "") };
  return jsonResponse(body, { status, headers: headersOf(reason, status) });
}

function headersOf(reason: RefusalReason, status: number): Record<string, string> {
  if (status === 429) return { "retry-after": "600" };
  if (status === 503) return { "retry-after": "30" };
  if (reason === "encoded_body") return { "accept-encoding": "identity" }; // RFC 9110 §15.5.16
  if (status === 408 || status === 413) return { connection: "close" }; // RFC 9110 §15.5.9, §15.5.14
  if (status !== 401) return {};
  // RFC 6749 §5.2 for clients, RFC 6750 §3 for the registration token.
  return reason === "wrong_registration_token"
    ? { "www-authenticate": 'Bearer error="invalid_token"' }
    : { "www-authenticate": 'Basic realm="token", charset="UTF-8"' };
}

/** The answer to a wrong verb (RFC 9110 §15.5.6). */
export function wrongMethod(...allowed: readonly string[]): Response {
  return jsonResponse({ error: "invalid_request", error_description: `Use ${allowed.join(" or ")}` }, {
    status: 405,
    headers: { allow: allowed.join(", ") },
  });
}

// What the log says instead of a caller's text: a passphrase or a token may have been sent in any field.

const shownCharacters = 8;

/** Its length and a MAC, by which equal texts are known again; a plain hash would let a passphrase be guessed. */
export function hiddenText(secrets: SecretBox, text: string): string {
  const mac = secrets.authenticate("log-text", text);
  return `(${text.length} characters, ${mac.slice(0, shownCharacters)})`;
}

// * Request bodies up to a limit, as JSON or as OAuth parameters.

/** Why a body cannot be used. */
type BodyProblem = (typeof problemOf)[BodyRefusal] | "wrong_content_type" | "repeated_parameter";

/** A form, or the JSON of a registration. */
export const maxOAuthBodyBytes = 65_536;
export const maxQueryCharacters = 8_192;

/** Parameters of a request. Those without a value are treated as absent (RFC 6749 §3.2). */
export interface Parameters {
  get(name: string): string | undefined;
  /** `resource` alone may be repeated (RFC 8707 §2). */
  getAll(name: string): readonly string[];
}

function mediaType(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

const problemOf = {
  too_large: "body_too_large",
  too_slow: "body_too_slow",
  too_fragmented: "malformed_body",
  over_share: "malformed_body",
  unreadable: "malformed_body",
  not_utf8: "malformed_body",
  encoded: "encoded_body",
} as const satisfies Record<BodyRefusal, string>;

/** The body's text; its Content-Type must be the given type. */
async function readText(
  request: Request,
  type: string,
  { bodyTimeoutMs: timeoutMs = bodyTimeoutMs }: Limits = {},
): Promise<Result<string, BodyProblem>> {
  if (mediaType(request) !== type) {
    await request.body?.cancel();
    return failure("wrong_content_type");
  }
  const text = await readRequestText(request, { maxBytes: maxOAuthBodyBytes, timeoutMs });
  return text.ok ? text : failure(problemOf[text.error]);
}

/** The body as JSON. */
export async function readJsonBody(request: Request, limits?: Limits): Promise<Result<unknown, BodyProblem>> {
  const text = await readText(request, "application/json", limits);
  if (!text.ok) return text;
  const json = parseJson(text.value);
  return json === undefined ? failure("malformed_body") : success(json);
}

/** A form as it was sent. */
export async function readForm(request: Request, limits?: Limits): Promise<Result<URLSearchParams, BodyProblem>> {
  const text = await readText(request, "application/x-www-form-urlencoded", limits);
  return text.ok ? success(new URLSearchParams(text.value)) : text;
}

/** The parameters of a form, or of the flat JSON object that the ServiceNow guide's clients send. */
export async function readParameters(request: Request, limits?: Limits): Promise<Result<Parameters, BodyProblem>> {
  if (mediaType(request) !== "application/json") {
    const form = await readForm(request, limits);
    return form.ok ? toParameters(form.value) : form;
  }
  const json = await readJsonBody(request, limits);
  if (!json.ok) return json;
  const pairs = jsonPairs(json.value);
  return pairs === null ? failure("malformed_body") : toParameters(pairs);
}

function jsonPairs(value: unknown): [string, string][] | null {
  if (!isObject(value)) return null;
  const pairs = Object.entries(value).flatMap(([name, entry]) => {
    const texts: unknown[] = name === "resource" && Array.isArray(entry) ? entry : [entry];
    return texts.filter((text) => text !== null).map((text): [string, unknown] => [name, text]);
  });
  return pairs.every((pair): pair is [string, string] => typeof pair[1] === "string") ? pairs : null;
}

/** Collects parameters; a repeated one (other than `resource`) is a refusal (RFC 6749 §3.1). */
export function toParameters(pairs: Iterable<readonly [string, string]>): Result<Parameters, "repeated_parameter"> {
  const values = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    if (value === "") continue;
    const present = values.get(name);
    if (present === undefined) values.set(name, [value]);
    else if (name === "resource") present.push(value);
    else return failure("repeated_parameter");
  }
  return success({ get: (name) => values.get(name)?.[0], getAll: (name) => values.get(name) ?? [] });
}
