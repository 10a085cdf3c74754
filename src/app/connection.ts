/**
 * Plays ServiceNow's own client against this server, request by request as it was observed: no `resource`, no
 * authentication method at registration, commas between scopes, JSON only. For `doctor`, which stops where a person is
 * needed, and for a test, which goes through to a call and a refresh.
 */
import { createHash, randomBytes } from "node:crypto";
import { readEndpoints, register, type RegistrationOptions, requestTokens } from "./oauth.ts";
import type { Check } from "./check.ts";
import { askServer, callMcp, type ClientMessage, type Finding, isFinding, wrongStatus } from "./request.ts";

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
