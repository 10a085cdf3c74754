/** How a client of the fleet gets its tokens: the owner's approval, and the code redeemed. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Person } from "../fixtures/person.ts";
import { serverUrl } from "./instance.ts";

/** Where all clients are redirected to. */
export const redirectUri = "https://client.example/callback";
const codeVerifier = "v".repeat(43);
const codeChallenge = createHash("sha256").update(codeVerifier).digest("base64url");

/** Where a client sends the owner. */
export function authorizationUrl(clientId: string): URL {
  const url = new URL(`${serverUrl}/oauth/authorize`);
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
    scope: "files:read files:write",
    resource: `${serverUrl}/mcp`,
    state: "state",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

/**
 * Sends the owner, who is signed in, to approve; gives the code. `null` where the server shows another page: a clock that
 * is wrong ends sign-ins, and a form that was sent again may be done already.
 */
export async function approveClient(person: Person, clientId: string): Promise<string | null> {
  const page = await person.open(authorizationUrl(clientId));
  if (!page.html.includes('name="decision"')) return null;
  const answered = await person.submit(page, { decision: "allow" }, "decision");
  return answered.url.searchParams.get("code");
}

/** A request to the token endpoint. */
export function tokenRequest(parameters: Readonly<Record<string, string>>): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(parameters).toString(),
  };
}

/** The parameters that redeem a code. */
export function codeParameters(clientId: string, code: string): Record<string, string> {
  return {
    grant_type: "authorization_code",
    client_id: clientId,
    code,
    redirect_uri: redirectUri,
    code_verifier: codeVerifier,
  };
}

/** Redeems the code where nothing goes wrong. */
export async function redeem(
  ask: (url: URL, init: RequestInit) => Promise<Response>,
  clientId: string,
  code: string,
): Promise<{ readonly access_token: string; readonly refresh_token: string }> {
  const response = await ask(new URL(`${serverUrl}/oauth/token`), tokenRequest(codeParameters(clientId, code)));
  assert.equal(response.status, 200);
  return await response.json();
}
