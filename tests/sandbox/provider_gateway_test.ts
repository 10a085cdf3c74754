/** The main thread's way to the company's provider: to the hosts of its metadata, and nowhere else. */
import assert from "node:assert/strict";
import { createProviderGateway } from "../../src/app/sandboxed_server.ts";
import { startCompanyProvider } from "../fixtures/company_provider/provider.ts";

/** A host of its own, which counts what comes. */
function startHost() {
  let asked = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    asked += 1;
    return Response.json({ keys: [] });
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    asked: () => asked,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const question = (url: string, body: string | null = null) => ({ url, headers: {}, body });

Deno.test("the gateway reaches the issuer, and what the issuer's own metadata names, and no other host", async () => {
  await using provider = await startCompanyProvider();
  await using named = startHost();
  await using other = startHost();
  const metadata = question(`${provider.issuer}/.well-known/openid-configuration`);
  const ask = createProviderGateway(provider.issuer);
  for (const url of [`${named.origin}/keys`, `${other.origin}/`, "file:///etc/passwd", "data:,x", "no url", ""]) {
    assert.equal(await ask(question(url)), null, url);
  }
  for (const broken of [undefined, null, {}, { url: 1 }, question(`${provider.issuer}/x`, 7 as never)]) {
    await ask(broken as never);
  }
  provider.faults.discovery = (document) => ({ ...document, issuer: named.origin, jwks_uri: `${other.origin}/keys` });
  assert.equal((await ask(metadata))?.status, 200);
  assert.equal(await ask(question(`${other.origin}/keys`)), null, "metadata of another issuer names no host");
  provider.faults.discovery = (document) => ({
    ...document,
    jwks_uri: `${named.origin}/keys`,
    token_endpoint: "http://login.example.com/token",
    authorization_endpoint: `${other.origin}/authorize`,
  });
  await ask(metadata);
  assert.equal((await ask(question(`${named.origin}/keys`)))?.status, 200);
  assert.equal((await ask(question(`${named.origin}/token`, "a=b")))?.status, 200);
  for (const url of [`${other.origin}/authorize`, "http://login.example.com/token"]) {
    assert.equal(await ask(question(url)), null, "browsers go there, or it is not safe");
  }
  assert.deepEqual([named.asked(), other.asked()], [2, 0]);
});

Deno.test("the gateway follows no redirect, and cuts an answer that is too large", async () => {
  await using provider = await startCompanyProvider();
  await using other = startHost();
  const ask = createProviderGateway(provider.issuer);
  provider.faults.answer = () => Response.redirect(`${other.origin}/`);
  assert.equal((await ask(question(`${provider.origin}/token`)))?.status, 302);
  assert.equal(other.asked(), 0);
  provider.faults.answer = () => new Response("x".repeat(5_000_000));
  assert.ok(
    ((await ask(question(`${provider.origin}/token`)))?.bytes.length ?? 0) > 1_048_576,
    "its reader refuses it",
  );
});
