/** A client's whole way to its tokens: registration, a person's consent, the code redeemed with PKCE. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { approve } from "../fixtures/owner.ts";
import type { Person } from "../fixtures/person.ts";

const redirectUri = "http://127.0.0.1:53123/callback";

/** What the client keeps. */
export interface SignedIn {
  readonly clientId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Signs in at the server's address; the person approves. */
export async function signIn(serverUrl: string, person: Person, scope: string): Promise<SignedIn> {
  const registered = await fetch(`${serverUrl}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
  });
  assert.equal(registered.status, 201);
  const { client_id: clientId } = await registered.json();
  const verifier = randomBytes(32).toString("base64url");
  const url = new URL(`${serverUrl}/oauth/authorize`);
  url.search = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  }).toString();
  const code = (await approve(person, url)).searchParams.get("code") ?? "";
  const response = await fetch(`${serverUrl}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
    }),
  });
  assert.equal(response.status, 200);
  const { access_token: accessToken, refresh_token: refreshToken } = await response.json();
  return { clientId, accessToken, refreshToken };
}

/** Revokes the grant by its refresh token (RFC 7009 §2.1). */
export async function revoke(serverUrl: string, { clientId, refreshToken }: SignedIn): Promise<void> {
  const response = await fetch(`${serverUrl}/oauth/revoke`, {
    method: "POST",
    body: new URLSearchParams({ client_id: clientId, token: refreshToken }),
  });
  assert.equal(response.status, 200);
  await response.body?.cancel();
}
