/** The stand-in provider itself: what the other tests here rely on. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createRemoteJWKSet, jwtVerify } from "@panva/jose";
import { entraMaxGroups, habitsOf } from "../fixtures/company_provider/habits.ts";
import { providerClient, startCompanyProvider } from "../fixtures/company_provider/provider.ts";

const verifier = "v".repeat(43);

async function signInAs(
  provider: Awaited<ReturnType<typeof startCompanyProvider>>,
): Promise<Record<string, string>> {
  const discovery = await (await fetch(`${provider.issuer}/.well-known/openid-configuration`)).json();
  const query = new URLSearchParams({
    client_id: providerClient.id,
    redirect_uri: "http://127.0.0.1:1/callback",
    response_type: "code",
    scope: "openid offline_access",
    access_type: "offline",
    state: "s",
    nonce: "n",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const back = await fetch(`${discovery.authorization_endpoint}?${query}`, { redirect: "manual" });
  const { searchParams } = new URL(back.headers.get("location") ?? "");
  const answer = await fetch(discovery.token_endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: searchParams.get("code") ?? "",
      redirect_uri: "http://127.0.0.1:1/callback",
      code_verifier: verifier,
      client_id: providerClient.id,
      client_secret: providerClient.secret,
    }),
  });
  return { ...await answer.json(), keys: discovery.jwks_uri };
}

for (const habits of Object.keys(habitsOf) as (keyof typeof habitsOf)[]) {
  Deno.test(`the stand-in with the habits "${habits}" signs in, and refreshes until the person is locked out`, async () => {
    await using provider = await startCompanyProvider({ habits });
    const ada = provider.employ("ada", { groups: ["mcp-users"] });
    provider.signIn("ada");
    const { id_token: idToken = "", refresh_token: refreshToken = "", keys = "" } = await signInAs(provider);
    const { payload } = await jwtVerify(idToken, createRemoteJWKSet(new URL(keys)), {
      issuer: provider.issuer,
      audience: providerClient.id,
    });
    assert.equal(payload.sub, "ada");
    assert.equal(payload["nonce"], "n");
    const refresh = async () =>
      await fetch(`${provider.origin}${habitsOf[habits].endpoints.token}`, {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "refresh_token",
          refresh_token: refreshToken,
          client_id: providerClient.id,
          client_secret: providerClient.secret,
        }),
      });
    const refreshed = await refresh();
    assert.equal(refreshed.status, 200);
    assert.equal("id_token" in await refreshed.json(), habitsOf[habits].refreshesIdToken);
    ada.disabled = true;
    const refused = await refresh();
    assert.deepEqual([refused.status, await refused.json()], [400, { error: "invalid_grant" }]);
  });
}

Deno.test("the stand-in for Entra leaves out the groups where there are too many for a token", async () => {
  await using provider = await startCompanyProvider({ habits: "entra" });
  provider.employ("ada", { groups: Array.from({ length: entraMaxGroups + 1 }, (_, index) => `group-${index}`) });
  provider.signIn("ada");
  const { id_token: idToken = "" } = await signInAs(provider);
  const claims = JSON.parse(Buffer.from(idToken.split(".")[1] ?? "", "base64url").toString());
  assert.equal(claims.groups, undefined);
  assert.deepEqual(claims._claim_names, { groups: "src1" });
});
