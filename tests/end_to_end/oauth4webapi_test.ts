/** The strict third client: oauth4webapi checks every answer against the specifications and forgives nothing. */
import assert from "node:assert/strict";
import * as oauth from "oauth4webapi";
import { approve, setUpOwner } from "../fixtures/owner.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

const insecure = { [oauth.allowInsecureRequests]: true }; // http on loopback
const redirectUri = "http://127.0.0.1:53123/callback";

Deno.test("oauth4webapi: resource and server discovery, registration, code with PKCE, narrowed consent, refresh, revocation", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const person = createPerson(server.url);
  await setUpOwner(person, server);
  const resourceUrl = new URL(`${server.url}/mcp`);

  // From the 401's challenge to the metadata, as a client starts that knows the address only (RFC 9728 §5).
  const unauthorized = await postMcp(server.url, toolCall("file_list", {}));
  assert.equal(unauthorized.status, 401);
  await unauthorized.body?.cancel();
  const challenge = unauthorized.headers.get("www-authenticate") ?? "";
  assert.ok(!challenge.includes("error="), "no token was sent, so nothing was wrong with it (RFC 6750 §3.1)");
  const metadataUrl = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
  assert.equal(metadataUrl, `${server.url}/.well-known/oauth-protected-resource/mcp`);
  const resource = await oauth.processResourceDiscoveryResponse(
    resourceUrl,
    await oauth.resourceDiscoveryRequest(resourceUrl, insecure),
  );
  const issuer = new URL(resource.authorization_servers?.[0] ?? "");
  assert.equal(resource.authorization_servers?.[0], server.url, "byte for byte, without a trailing slash");

  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...insecure, algorithm: "oauth2" }),
  );
  const registered = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(as, {
      client_name: "Strict client",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "client_secret_basic",
    }, insecure),
  );
  const client: oauth.Client = { client_id: registered.client_id };
  const authentication = oauth.ClientSecretBasic(String(registered["client_secret"]));

  const codeVerifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const authorizationUrl = new URL(as.authorization_endpoint ?? "");
  authorizationUrl.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "files:read files:write llm:generate",
    resource: resourceUrl.href,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: "S256",
  }).toString();
  // The person unticks writing and the model.
  const callback = await approve(person, authorizationUrl, { scope: "files:read" });
  const parameters = oauth.validateAuthResponse(as, client, callback, state); // iss included (RFC 9207)

  const codeResponse = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    authentication,
    parameters,
    redirectUri,
    codeVerifier,
    {
      ...insecure,
      additionalParameters: { resource: resourceUrl.href },
    },
  );
  assert.equal(codeResponse.headers.get("cache-control"), "no-store");
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, codeResponse);
  assert.equal(tokens.scope, "files:read", "what was unticked is not granted");

  // RFC 9068: the resource server's view of the token, by an independent implementation.
  const claims = await oauth.validateJwtAccessToken(
    as,
    new Request(resourceUrl, { headers: { authorization: `Bearer ${tokens.access_token}` } }),
    resourceUrl.href,
    { ...insecure, [oauth.jwksCache]: {} },
  );
  assert.equal(claims.client_id, client.client_id);

  const listed = await postMcp(server.url, toolCall("file_list", {}), { token: tokens.access_token });
  assert.equal(listed.status, 200);
  await listed.body?.cancel();
  const refusedWrite = await postMcp(server.url, toolCall("file_write", { filename: "a", content: "" }), {
    token: tokens.access_token,
  });
  assert.equal(refusedWrite.status, 403);
  await refusedWrite.body?.cancel();

  const refreshed = await oauth.processRefreshTokenResponse(
    as,
    client,
    await oauth.refreshTokenGrantRequest(as, client, authentication, tokens.refresh_token ?? "", insecure),
  );
  assert.notEqual(refreshed.refresh_token, tokens.refresh_token);
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(as, client, authentication, refreshed.refresh_token ?? "", insecure),
  );
  for (const token of [tokens.access_token, refreshed.access_token]) {
    const refused = await postMcp(server.url, toolCall("file_list", {}), { token });
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("www-authenticate") ?? "", /error="invalid_token"/);
    await refused.body?.cancel();
  }
});
