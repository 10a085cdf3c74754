import assert from "node:assert/strict";
import { exportJWK, generateKeyPair } from "@panva/jose";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { createClient } from "../../src/oauth/manage_clients.ts";
import { type RunningServer, startServer } from "../browser/servers.ts";
import { decide, openBrowser, ownerPasswordHash, reachConsent } from "./harness.ts";

// The servers of these tests listen on loopback, where plain http is right; both libraries want to be told so.
const insecure = { [oauth.allowInsecureRequests]: true };
const redirectUri = "http://127.0.0.1:9/callback";

/** Plays the person in a browser: from the authorization URL to the URL that the client is sent back to. */
async function approve({ issuer }: RunningServer, url: URL): Promise<URL> {
  const browser = openBrowser({ fetch: (path, init) => fetch(new URL(path, issuer), { redirect: "manual", ...init }) });
  const answered = await decide(browser, await reachConsent(browser, url.pathname + url.search));
  await answered.body?.cancel();
  return new URL(answered.headers.get("location") ?? "");
}

async function discover({ issuer }: RunningServer) {
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, { algorithm: "oauth2", ...insecure });
  return { ...await oauth.processDiscoveryResponse(url, response), issuer };
}

for (const method of ["none", "client_secret_basic", "client_secret_post"] as const) {
  Deno.test(`oauth4webapi, ${method}: discovery, registration, code, refresh, introspection, revocation`, async () => {
    await using server = await startServer({ ownerPasswordHash });
    const as = await discover(server);
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(as, {
        client_name: "oauth4webapi",
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: method,
      }, insecure),
    );
    const secret = String(client["client_secret"]);
    const authentication = {
      none: oauth.None(),
      client_secret_basic: oauth.ClientSecretBasic(secret),
      client_secret_post: oauth.ClientSecretPost(secret),
    }[method];
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(as.authorization_endpoint ?? "");
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: redirectUri,
      response_type: "code",
      scope: "files:read files:write",
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      resource: `${server.issuer}/mcp`,
    }).toString();
    const parameters = oauth.validateAuthResponse(as, client, await approve(server, url), state);
    const exchanged = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      authentication,
      parameters,
      redirectUri,
      verifier,
      insecure,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, exchanged);
    assert.equal(tokens.token_type, "bearer");
    const refreshed = await oauth.processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(as, client, authentication, String(tokens.refresh_token), insecure),
    );
    // RFC 9068 as a resource server of somebody else would check it, by the published keys.
    const request = new Request(`${server.issuer}/mcp`, {
      headers: { authorization: `Bearer ${refreshed.access_token}` },
    });
    const claims = await oauth.validateJwtAccessToken(as, request, `${server.issuer}/mcp`, insecure);
    assert.equal(claims.client_id, client.client_id);
    if (method !== "none") {
      const answer = await oauth.introspectionRequest(as, client, authentication, refreshed.access_token, insecure);
      const described = await oauth.processIntrospectionResponse(as, client, answer);
      assert.equal(described.active, true);
      assert.equal(described.sub, "owner");
    }
    const revoked = await oauth.revocationRequest(
      as,
      client,
      authentication,
      String(refreshed.refresh_token),
      insecure,
    );
    await oauth.processRevocationResponse(revoked);
    const dead = await oauth.refreshTokenGrantRequest(
      as,
      client,
      authentication,
      String(refreshed.refresh_token),
      insecure,
    );
    await assert.rejects(oauth.processRefreshTokenResponse(as, client, dead), { error: "invalid_grant", status: 400 });
  });
}

Deno.test("oauth4webapi: client credentials with private_key_jwt, and the errors of a wrong key", async () => {
  await using server = await startServer({ ownerPasswordHash });
  const as = await discover(server);
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const made = await createClient({ storage: server.storage, clock: Date.now }, {
    name: "Machine",
    grantTypes: ["client_credentials"],
    scope: "files:read",
    authentication: "private_key_jwt",
    jwks: JSON.stringify({ keys: [await exportJWK(publicKey)] }),
  });
  assert.ok(made.ok);
  const client = { client_id: made.value.client.id };
  const ask = async (key: CryptoKey) => {
    const response = await oauth.clientCredentialsGrantRequest(as, client, oauth.PrivateKeyJwt(key), {
      scope: "files:read",
    }, insecure);
    return await oauth.processClientCredentialsResponse(as, client, response);
  };
  assert.equal((await ask(privateKey)).scope, "files:read");
  const stranger = await generateKeyPair("ES256");
  await assert.rejects(ask(stranger.privateKey), { name: "WWWAuthenticateChallengeError", status: 401 });
});

Deno.test("openid-client: registration, code flow, refresh, introspection, revocation", async () => {
  await using server = await startServer({ ownerPasswordHash });
  const config = await openid.dynamicClientRegistration(
    new URL(server.issuer),
    { redirect_uris: [redirectUri], client_name: "openid-client" },
    undefined,
    { execute: [openid.allowInsecureRequests], algorithm: "oauth2" },
  );
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: "llm:generate",
    state: expectedState,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  const tokens = await openid.authorizationCodeGrant(config, await approve(server, url), {
    pkceCodeVerifier,
    expectedState,
  });
  assert.equal(tokens.scope, "llm:generate");
  assert.equal(tokens.expires_in, 3_600);
  const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
  assert.notEqual(refreshed.refresh_token, tokens.refresh_token);
  assert.equal((await openid.tokenIntrospection(config, refreshed.access_token)).active, true);
  await openid.tokenRevocation(config, refreshed.access_token);
  assert.equal((await openid.tokenIntrospection(config, refreshed.access_token)).active, false);
  await openid.tokenRevocation(config, refreshed.refresh_token ?? "");
  await assert.rejects(openid.refreshTokenGrant(config, refreshed.refresh_token ?? ""), { error: "invalid_grant" });
});

Deno.test("openid-client: client credentials by secret, and by a secret that is wrong", async () => {
  await using server = await startServer({ ownerPasswordHash });
  const made = await createClient({ storage: server.storage, clock: Date.now }, {
    name: "Machine",
    grantTypes: ["client_credentials"],
    scope: "files:read llm:generate",
  });
  assert.ok(made.ok);
  const configure = (secret: string) =>
    openid.discovery(new URL(server.issuer), made.value.client.id, secret, undefined, {
      execute: [openid.allowInsecureRequests],
      algorithm: "oauth2",
    });
  const tokens = await openid.clientCredentialsGrant(await configure(made.value.secret ?? ""), {
    scope: "llm:generate",
  });
  assert.equal(tokens.scope, "llm:generate");
  assert.equal(tokens.refresh_token, undefined);
  await assert.rejects(openid.clientCredentialsGrant(await configure("pcs_wrong")), { status: 401 });
});

Deno.test("openid-client: a denied request and a wrong state are recognised", async () => {
  await using server = await startServer({ ownerPasswordHash });
  const config = await openid.dynamicClientRegistration(
    new URL(server.issuer),
    { redirect_uris: [redirectUri], token_endpoint_auth_method: "none" },
    openid.None(),
    { execute: [openid.allowInsecureRequests], algorithm: "oauth2" },
  );
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    state: "expected",
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  await approve(server, url);
  url.searchParams.set("prompt", "none");
  const answered = await fetch(url, { redirect: "manual" });
  const back = new URL(answered.headers.get("location") ?? "");
  const checks = { pkceCodeVerifier, expectedState: "expected" };
  await assert.rejects(openid.authorizationCodeGrant(config, back, checks), { error: "login_required" });
  url.searchParams.delete("prompt");
  const approved = await approve(server, url);
  await assert.rejects(openid.authorizationCodeGrant(config, approved, { ...checks, expectedState: "other" }));
  approved.searchParams.set("iss", "https://evil.test");
  await assert.rejects(openid.authorizationCodeGrant(config, approved, checks)); // RFC 9207: mix-up
});
