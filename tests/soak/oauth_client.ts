/** An application without a secret, as far as the actors need one: registration, authorization codes, tokens. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { answerConsent, openSignedIn } from "../fixtures/owner.ts";
import type { Person } from "../fixtures/person.ts";
import type { SoakedServer } from "./soaked_server.ts";

/** A code, and what proves that it is ours. */
export interface Code {
  readonly code: string;
  readonly verifier: string;
  readonly receivedAt: number;
}

/** What the token endpoint hands out. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** A registered application. Every method throws `Cut` when its answer was cut off. */
export interface OAuthClient {
  readonly clientId: string;
  /** Asks `person` for access; `null` when they have to wait before they sign in. */
  requestCode(person: Person): Promise<Code | null>;
  /** `null` when the code is refused. */
  redeem(code: Code): Promise<Tokens | null>;
  /** `null` when the refresh token is refused. */
  refresh(refreshToken: string): Promise<Tokens | null>;
  revoke(token: string): Promise<void>;
}

const redirectUri = "http://127.0.0.1:53123/callback";

/** Registers an application. */
export async function registerClient(server: SoakedServer): Promise<OAuthClient> {
  const registered = await server.fetch(`${server.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      client_name: "Soak",
    }),
  });
  assert.equal(registered.status, 201);
  const { client_id: clientId } = await registered.json();
  const ask = (path: string, parameters: Record<string, string>): Promise<Response> =>
    server.fetch(`${server.url}${path}`, {
      method: "POST",
      body: new URLSearchParams({ client_id: clientId, ...parameters }),
    });
  const askForTokens = async (parameters: Record<string, string>): Promise<Tokens | null> => {
    const response = await ask("/oauth/token", parameters);
    const body = await response.json();
    if (response.status === 200) return body;
    assert.deepEqual([response.status, body.error], [400, "invalid_grant"]);
    return null;
  };
  return {
    clientId,
    async requestCode(person) {
      const verifier = randomBytes(32).toString("base64url");
      const url = new URL(`${server.url}/oauth/authorize`);
      url.search = new URLSearchParams({
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: "code",
        scope: "files:read",
        code_challenge: createHash("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
      }).toString();
      const page = await openSignedIn(person, url);
      if (page.status === 429) return null;
      const answer = await answerConsent(person, page);
      const code = answer.searchParams.get("code");
      assert.ok(code !== null, `no code came back: ${answer.search}`);
      return { code, verifier, receivedAt: Date.now() };
    },
    redeem: ({ code, verifier }) =>
      askForTokens({ grant_type: "authorization_code", redirect_uri: redirectUri, code, code_verifier: verifier }),
    refresh: (refreshToken) => askForTokens({ grant_type: "refresh_token", refresh_token: refreshToken }),
    async revoke(token) {
      assert.equal((await ask("/oauth/revoke", { token })).status, 200);
    },
  };
}
