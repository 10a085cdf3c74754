/**
 * Plays ServiceNow's own client against this server, request by request as it was observed: no authentication method at
 * registration, commas between scopes, no `resource`, JSON only. Stops where a person is needed.
 */
import { createHash, randomBytes } from "node:crypto";
import { isObject, parseJson } from "../lib/json.ts";
import { type Check, failure, type Result, success } from "../lib/result.ts";

export interface ConnectionOptions {
  readonly serverUrl: string;
  /** Of the instance that would connect. */
  readonly instanceOrigin: string;
  readonly registrationToken?: string;
  readonly scopes: readonly string[];
}

/** What is wrong, and what to do about it. */
interface Finding {
  readonly text: string;
  readonly remedy?: string;
}

/**
 * Yields a step after the other, and ends after the first that is broken, or with the client where a person has to go
 * on: it sent the browser to `authorizationUrl`.
 */
export async function* playConnection(options: ConnectionOptions) {
  const { serverUrl, instanceOrigin, scopes } = options;
  const step = (name: string, found: Result<unknown, Finding>, text: string): Check =>
    found.ok ? { name, state: "well", text } : { name, state: "broken", ...found.error };

  const opened = await initialize(`${serverUrl}/mcp`);
  yield step("test connection", opened, "initialize is answered without a token");
  if (!opened.ok) return null;
  const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
  const taken = await askFor([200], `${serverUrl}/mcp`, { json: initialized });
  yield step("initialized", taken, "the notification is taken with 200");
  if (!taken.ok) return null;
  const endpoints = await readEndpoints(serverUrl);
  yield step("metadata", endpoints, "the endpoints are found");
  if (!endpoints.ok) return null;
  const redirectUri = `${instanceOrigin}/oauth_redirect.do`;
  const redirectUris = [redirectUri, `${instanceOrigin}/mcp_redirect.do`];
  const registered = await register(options, endpoints.value.registration, redirectUris);
  yield step("registration", registered, "the client is registered, with a secret");
  if (!registered.ok) return null;
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(16).toString("hex");
  const authorizationUrl = `${endpoints.value.authorization}?${new URLSearchParams({
    response_type: "code",
    client_id: registered.value.id,
    redirect_uri: redirectUri,
    scope: scopes.join(","),
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  })}`;
  const page = await askFor([200, 302], authorizationUrl, { accept: "text/html" });
  yield step("authorization", page, "a person would be asked to sign in now");
  const tokenEndpoint = endpoints.value.token;
  return page.ok ? { authorizationUrl, redirectUri, state, verifier, tokenEndpoint, ...registered.value } : null;
}

async function initialize(url: string): Promise<Result<null, Finding>> {
  const clientInfo = { name: "Servicenow", version: "1.0" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const answer = await ask(url, { json: { jsonrpc: "2.0", id: 1, method: "initialize", params } });
  if (!answer.ok) return answer;
  const { status, headers, body } = answer.value;
  if (status === 401) {
    return failure({ text: "initialize wants a token", remedy: "set PUBLIC_INITIALIZE=auto or always" });
  }
  if (status !== 200 || !/^application\/json/i.test(headers.get("content-type") ?? "")) {
    return failure({ text: `initialize is answered with status ${status}, not with JSON` });
  }
  return isObject(body["result"])
    ? success(null)
    : failure({ text: `initialize is answered with an error: ${JSON.stringify(body["error"])}` });
}

/** Reads the metadata (RFC 8414 §3.3: its issuer is the address that was asked). */
async function readEndpoints(serverUrl: string) {
  const answer = await ask(`${serverUrl}/.well-known/oauth-authorization-server`, {});
  if (!answer.ok) return answer;
  const { body } = answer.value;
  const remedy = "set SERVER_URL to the address that ServiceNow is given";
  if (body["issuer"] !== serverUrl) {
    return failure({ text: `the metadata speaks for ${String(body["issuer"])}`, remedy });
  }
  const [registration, authorization, token] = ["registration", "authorization", "token"].map((name) => {
    const url = body[`${name}_endpoint`];
    return typeof url === "string" && url.startsWith(`${serverUrl}/`) ? url : undefined;
  });
  if (authorization === undefined || token === undefined) {
    return failure({ text: "the metadata lacks an endpoint", remedy });
  }
  if (registration !== undefined) return success({ registration, authorization, token });
  const byHand = "register the client by hand (docs/servicenow.md), or set REGISTRATION";
  return failure({ text: "registration is off", remedy: byHand });
}

/** Registers as ServiceNow does: without an authentication method, scopes with commas. */
async function register(
  { registrationToken, scopes }: ConnectionOptions,
  url: string,
  redirectUris: readonly string[],
): Promise<Result<{ readonly id: string; readonly secret: string }, Finding>> {
  const answer = await ask(url, {
    ...(registrationToken === undefined ? {} : { authorization: `Bearer ${registrationToken}` }),
    json: {
      client_name: "ServiceNow (connection test)",
      redirect_uris: redirectUris,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: scopes.join(","),
    },
  });
  if (!answer.ok) return answer;
  const { status, body: { client_id: id, client_secret: secret } } = answer.value;
  if (status === 401) return failure({ text: "registration is refused", remedy: "give ServiceNow DCR_AUTH_TOKEN" });
  if (status !== 201 || typeof id !== "string") return failure(wrongStatus(status, 201));
  return typeof secret === "string" ? success({ id, secret }) : failure({ text: "the client got no secret" });
}

/** A request: GET, or POST with JSON. */
interface AskRequest {
  readonly accept?: string;
  readonly authorization?: string;
  readonly json?: unknown;
}

const timeoutMs = 5_000;

/** Sends one request and reads the answer; the body is empty where it is no JSON object. Redirects are not followed. */
async function ask(url: string, { accept = "application/json", authorization, json }: AskRequest) {
  const headers: Record<string, string> = { accept };
  if (authorization !== undefined) headers["authorization"] = authorization;
  if (json !== undefined) headers["content-type"] = "application/json";
  try {
    const response = await fetch(url, {
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      ...(json === undefined ? {} : { method: "POST", body: JSON.stringify(json) }),
    });
    const body = parseJson(await response.text());
    return success({ status: response.status, headers: response.headers, body: isObject(body) ? body : {} });
  } catch {
    const remedy = "start the server, or correct SERVER_URL";
    return failure({ text: `${new URL(url).origin} does not answer`, remedy });
  }
}

async function askFor(
  statuses: readonly [number, ...number[]],
  url: string,
  request: AskRequest,
): Promise<Result<null, Finding>> {
  const answer = await ask(url, request);
  if (!answer.ok) return answer;
  const { status } = answer.value;
  return statuses.includes(status) ? success(null) : failure(wrongStatus(status, statuses[0]));
}

function wrongStatus(status: number, expected: number): Finding {
  return { text: `the answer has status ${status} and not ${expected}` };
}
