import assert from "node:assert/strict";
import { assertionAlgorithms } from "../../src/oauth/client_authentication.ts";
import {
  authorizePath,
  connect,
  decide,
  issuer,
  locationOf,
  openBrowser,
  reachConsent,
  startHarness,
} from "./harness.ts";

Deno.test("the issuer is byte-identical in metadata, iss parameter and iss claim, without a trailing slash (RFC 8414 §3.3)", async () => {
  await using harness = await startHarness();
  const metadata = await (await harness.fetch("/.well-known/oauth-authorization-server")).json();
  const { client, tokens } = await connect(harness);
  const claims = JSON.parse(atob((tokens.access_token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")));
  const browser = openBrowser(harness);
  const answered = await decide(browser, await reachConsent(browser, authorizePath(client.client_id)));
  assert.equal(metadata.issuer, issuer);
  assert.equal(claims.iss, issuer);
  assert.equal(locationOf(answered).searchParams.get("iss"), issuer);
});

Deno.test("the metadata advertises what exists, and the tests beside this one show each (RFC 8414 §2)", async () => {
  await using harness = await startHarness();
  const response = await harness.fetch("/.well-known/oauth-authorization-server");
  assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
  assert.deepEqual(await response.json(), {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "private_key_jwt"],
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    scopes_supported: ["files:read", "files:write", "llm:generate"],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    revocation_endpoint_auth_methods_supported: [
      "none",
      "client_secret_basic",
      "client_secret_post",
      "private_key_jwt",
    ],
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
  });
});

Deno.test("metadata and JWK set answer GET and HEAD, anything else is 405", async () => {
  await using harness = await startHarness();
  for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/jwks.json"]) {
    for (const [method, status] of [["GET", 200], ["HEAD", 200], ["POST", 405]] as const) {
      const response = await harness.fetch(path, { method });
      assert.equal(response.status, status);
      await response.body?.cancel();
    }
  }
});
