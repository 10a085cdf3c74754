/**
 * Plays ServiceNow's own client against this server, request by request as it was observed: no `resource`, no
 * authentication method at registration, commas between scopes, JSON only. For `doctor`, which stops where a person is
 * needed, and for a test, which goes through to a call and a refresh.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Fetch } from "../servicenow/mod.ts";
import type { Check } from "./doctor_places.ts";

// Single requests of ServiceNow's client, for `play_connection.ts`.

/** What is wrong, and what to do about it. */
interface Finding {
  readonly text: string;
  readonly remedy?: string;
}

/** How to reach the server. */
interface AskOptions {
  readonly fetch: Fetch;
  /** For each request. */
  readonly timeoutSeconds: number;
}

/** A request: GET, or POST with a body. */
interface AskRequest {
  readonly accept?: string;
  readonly authorization?: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}

interface Asked {
  readonly status: number;
  readonly headers: Headers;
  /** `null` when it is no JSON object. */
  readonly body: Readonly<Record<string, unknown>> | null;
}

interface ClientMessage {
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Tells a problem from what was asked for. */
function isFinding<T>(found: T | Finding): found is Finding {
  return typeof found === "object" && found !== null && "text" in found;
}

/** Sends one request and reads the answer. Redirects are not followed. */
async function askServer(
  { fetch, timeoutSeconds }: AskOptions,
  url: string,
  { accept = "application/json", authorization, json, form }: AskRequest,
): Promise<Asked | Finding> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutSeconds * 1_000);
  const headers: Record<string, string> = { accept };
  if (authorization !== undefined) headers["authorization"] = authorization;
  if (json !== undefined) headers["content-type"] = "application/json";
  if (form !== undefined) headers["content-type"] = "application/x-www-form-urlencoded";
  const body = json !== undefined ? JSON.stringify(json) : form && new URLSearchParams(form).toString();
  try {
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers,
      redirect: "manual",
      signal: controller.signal,
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, headers: response.headers, body: parseObject(await response.text()) };
  } catch {
    return { text: `${new URL(url).origin} does not answer`, remedy: "start the server, or correct SERVER_URL" };
  } finally {
    clearTimeout(timer);
  }
}

/** Sends one JSON-RPC request and gives its result. */
async function callMcp(
  options: AskOptions,
  url: string,
  message: ClientMessage,
  accessToken?: string,
): Promise<Readonly<Record<string, unknown>> | Finding> {
  const answer = await askServer(options, url, {
    json: { jsonrpc: "2.0", ...message },
    ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
  });
  if (isFinding(answer)) return answer;
  const { status, headers, body } = answer;
  if (status === 401) {
    return { text: `${message.method} wants a token`, remedy: "set PUBLIC_INITIALIZE=auto or always" };
  }
  const result = body?.["result"];
  if (status !== 200 || !/^application\/json/i.test(headers.get("content-type") ?? "")) {
    return { text: `${message.method} is answered with status ${status}, not with JSON` };
  }
  return typeof result === "object" && result !== null
    ? result as Readonly<Record<string, unknown>>
    : { text: `${message.method} is answered with an error: ${JSON.stringify(body?.["error"])}` };
}

/** The problem of an answer with another status than expected. */
function wrongStatus(status: number, expected: number): Finding {
  return { text: `the answer has status ${status} and not ${expected}` };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : null;
  } catch {
    return null; // not JSON
  }
}

// The OAuth part of ServiceNow's client, for `play_connection.ts`.

/** What ServiceNow reads from the metadata. */
interface Endpoints {
  readonly registration: string;
  readonly authorization: string;
  readonly token: string;
}

/** Reads the metadata (RFC 8414 §3.3: its issuer is the address that was asked). */
function readEndpoints(body: Readonly<Record<string, unknown>> | null, serverUrl: string): Endpoints | Finding {
  const remedy = "set SERVER_URL to the address that ServiceNow is given";
  if (body === null) return { text: "the metadata is not JSON", remedy };
  if (body["issuer"] !== serverUrl) return { text: `the metadata speaks for ${String(body["issuer"])}`, remedy };
  const urlOf = (name: string): string | null => {
    const url = body[name];
    return typeof url === "string" && url.startsWith(`${serverUrl}/`) ? url : null;
  };
  const registration = urlOf("registration_endpoint");
  const authorization = urlOf("authorization_endpoint");
  const token = urlOf("token_endpoint");
  if (authorization === null || token === null) return { text: "the metadata lacks an endpoint", remedy };
  return registration === null
    ? { text: "registration is off", remedy: "register the client by hand (docs/servicenow.md), or set REGISTRATION" }
    : { registration, authorization, token };
}

interface RegisteredClient {
  readonly id: string;
  readonly secret: string;
}

interface RegistrationOptions extends AskOptions {
  readonly registrationToken?: string;
  readonly scopes: readonly string[];
}

/** Registers as ServiceNow does: without an authentication method, scopes with commas. */
async function register(
  options: RegistrationOptions,
  url: string,
  redirectUris: readonly string[],
): Promise<RegisteredClient | Finding> {
  const answer = await askServer(options, url, {
    ...(options.registrationToken === undefined ? {} : { authorization: `Bearer ${options.registrationToken}` }),
    json: {
      client_name: "ServiceNow (connection test)",
      redirect_uris: redirectUris,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: options.scopes.join(","),
    },
  });
  if (isFinding(answer)) return answer;
  if (answer.status === 401) return { text: "registration is refused", remedy: "give ServiceNow DCR_AUTH_TOKEN" };
  const { client_id: id, client_secret: secret } = answer.body ?? {};
  if (answer.status !== 201 || typeof id !== "string") return wrongStatus(answer.status, 201);
  return typeof secret === "string" ? { id, secret } : { text: "the client got no secret" };
}

/** Asks the token endpoint, with the secret in Basic (RFC 6749 §2.3.1). */
async function requestTokens(
  options: AskOptions,
  url: string,
  { id, secret }: RegisteredClient,
  form: Readonly<Record<string, string>>,
): Promise<{ readonly access: string; readonly refresh: string } | Finding> {
  const credentials = [id, secret].map(encodeURIComponent).join(":");
  const authorization = `Basic ${Buffer.from(credentials).toString("base64")}`;
  const answer = await askServer(options, url, { authorization, form });
  if (isFinding(answer)) return answer;
  const { access_token: access, refresh_token: refresh } = answer.body ?? {};
  return answer.status === 200 && typeof access === "string" && typeof refresh === "string"
    ? { access, refresh }
    : wrongStatus(answer.status, 200);
}

export interface ConnectionOptions extends RegistrationOptions {
  readonly serverUrl: string;
  /** Of the instance that would connect. */
  readonly instanceOrigin: string;
  /** Goes through sign-in and consent in a person's place, and gives the URL that they are sent back to. */
  readonly approve?: (authorizationUrl: string) => Promise<string>;
  /** A tool to call once connected. */
  readonly call?: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };
}

const initialize: ClientMessage = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "Servicenow", version: "1.0" } },
};

/** Yields a step after the other; ends after the first that is broken. */
export async function* playConnection(options: ConnectionOptions): AsyncGenerator<Check, void> {
  const { serverUrl, instanceOrigin, approve, call } = options;
  const mcpUrl = `${serverUrl}/mcp`;
  const step = (name: string, found: string | Finding): Check =>
    isFinding(found) ? { name, state: "broken", ...found } : { name, state: "well", text: found };

  const opened = await callMcp(options, mcpUrl, initialize);
  yield step("test connection", isFinding(opened) ? opened : "initialize is answered without a token");
  if (isFinding(opened)) return;
  const ready = await askServer(options, mcpUrl, { json: { jsonrpc: "2.0", method: "notifications/initialized" } });
  const isTaken = !isFinding(ready) && ready.status === 200;
  yield step(
    "initialized",
    isTaken ? "the notification is taken with 200" : isFinding(ready) ? ready : wrongStatus(ready.status, 200),
  );
  if (!isTaken) return;

  const metadata = await askServer(options, `${serverUrl}/.well-known/oauth-authorization-server`, {});
  const endpoints = isFinding(metadata) ? metadata : readEndpoints(metadata.body, serverUrl);
  yield step("metadata", isFinding(endpoints) ? endpoints : "the endpoints are found");
  if (isFinding(endpoints)) return;

  const redirectUri = `${instanceOrigin}/oauth_redirect.do`;
  const registered = await register(options, endpoints.registration, [
    redirectUri,
    `${instanceOrigin}/mcp_redirect.do`,
  ]);
  yield step("registration", isFinding(registered) ? registered : "the client is registered, with a secret");
  if (isFinding(registered)) return;

  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(16).toString("hex");
  const authorizationUrl = `${endpoints.authorization}?${new URLSearchParams({
    response_type: "code",
    client_id: registered.id,
    redirect_uri: redirectUri,
    scope: options.scopes.join(","),
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  })}`;
  if (approve === undefined) {
    const page = await askServer(options, authorizationUrl, { accept: "text/html" });
    const isPage = !isFinding(page) && (page.status === 200 || page.status === 302);
    yield step(
      "authorization",
      isPage ? "a person would be asked to sign in now" : isFinding(page) ? page : wrongStatus(page.status, 200),
    );
    return;
  }
  const callback = new URL(await approve(authorizationUrl)).searchParams;
  const code = callback.get("state") === state ? callback.get("code") : null;
  yield step("authorization", code === null ? { text: "no code came back" } : "a code came back");
  if (code === null) return;

  const token = (form: Readonly<Record<string, string>>) => requestTokens(options, endpoints.token, registered, form);
  const tokens = await token({
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  yield step("token", isFinding(tokens) ? tokens : "the code is redeemed");
  if (isFinding(tokens)) return;
  yield* useTools(options, mcpUrl, tokens.access, step);
  if (call !== undefined) {
    const { name, arguments: input } = call;
    const message: ClientMessage = { id: 3, method: "tools/call", params: { name, arguments: input } };
    const called = await callMcp(options, mcpUrl, message, tokens.access);
    const failed = !isFinding(called) && called["isError"] === true;
    yield step(
      "tools/call",
      isFinding(called)
        ? called
        : failed
        ? { text: `${name}: ${JSON.stringify(called["content"])}` }
        : `${name} answers`,
    );
  }
  const refreshed = await token({ grant_type: "refresh_token", refresh_token: tokens.refresh });
  yield step("refresh", isFinding(refreshed) ? refreshed : "the token is renewed");
  if (!isFinding(refreshed)) yield* useTools(options, mcpUrl, refreshed.access, step);
}

/** Opens again, with a token this time, and reads the whole list of tools, as ServiceNow does after each sign-in. */
async function* useTools(
  options: ConnectionOptions,
  mcpUrl: string,
  accessToken: string,
  step: (name: string, found: string | Finding) => Check,
): AsyncGenerator<Check, void> {
  const opened = await callMcp(options, mcpUrl, initialize, accessToken);
  yield step("initialize", isFinding(opened) ? opened : `protocol ${opened["protocolVersion"]}`);
  if (isFinding(opened)) return;
  let count = 0;
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await callMcp(options, mcpUrl, { id: 2, method: "tools/list", params }, accessToken);
    const tools = isFinding(page) ? page : page["tools"];
    if (isFinding(page) || !Array.isArray(tools)) {
      return yield step("tools/list", isFinding(page) ? page : { text: "the answer holds no list" });
    }
    count += tools.length;
    cursor = typeof page["nextCursor"] === "string" && page["nextCursor"] !== "" ? page["nextCursor"] : undefined;
  } while (cursor !== undefined);
  yield step("tools/list", count === 0 ? { text: "there are no tools" } : `${count} tools`);
}
