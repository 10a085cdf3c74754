import assert from "node:assert/strict";
import { createSign, generateKeyPairSync } from "node:crypto";
import { exportJWK, generateKeyPair, importJWK, SignJWT } from "@panva/jose";
import fc from "fast-check";
import { maxAccessTokenLifetimeSeconds } from "../../src/oauth/mod_settings.ts";
import { createSigningKeys, currentSigningKey, signingKeys } from "../../src/oauth/signing_keys.ts";
import { connect, type Harness, isAccepted, startHarness } from "./harness.ts";

const base64url = { alphabet: "base64url", omitPadding: true } as const;
const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).toBase64(base64url);
const decode = (part = "") =>
  JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(part, { alphabet: "base64url" })));

/** The server's own private key, to sign what it would never sign. */
async function ownKey(harness: Harness): Promise<{ kid: string; privateKey: CryptoKey }> {
  const kid = (await currentSigningKey.read(harness.storage, "kid"))?.value.kid ?? "";
  const stored = await signingKeys.read(harness.storage, kid);
  const jwk = await harness.secrets.open("signing-key", stored?.value.sealedPrivateJwk ?? "", kid);
  const privateKey = await importJWK(JSON.parse(jwk ?? ""), "EdDSA");
  assert.ok(!(privateKey instanceof Uint8Array));
  return { kid, privateKey };
}

async function reasonFor(harness: Harness, token: string): Promise<string> {
  const verified = await harness.server.verifier.verify(token);
  return verified.ok ? "accepted" : verified.error;
}

Deno.test("every change of one character of a valid token is refused (property of RFC 7515 §5.2)", async () => {
  await using harness = await startHarness();
  const { tokens: { access_token: token } } = await connect(harness);
  assert.ok(await isAccepted(harness, token));
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  for (let index = 0; index < token.length; index++) {
    // The neighbour in the alphabet differs in the lowest bits: the ones that lenient decoders throw away.
    const changed = alphabet[(alphabet.indexOf(token[index] ?? "") ^ 1) % alphabet.length] ?? "A";
    assert.ok(!await isAccepted(harness, token.slice(0, index) + changed + token.slice(index + 1)), `at ${index}`);
  }
  const position = fc.nat({ max: token.length - 1 });
  await fc.assert(
    fc.asyncProperty(
      position,
      fc.constantFrom(...alphabet, "=", "+", "/", " ", "\0", "é"),
      async (index, character) => {
        const changed = token.slice(0, index) + character + token.slice(index + 1);
        assert.equal(await isAccepted(harness, changed), changed === token);
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("no text is taken for a token, and none makes verification throw (property)", async () => {
  await using harness = await startHarness();
  const part = fc.oneof(
    fc.string(),
    fc.string().map((text) => encode(text)),
    fc.json().map((text) => btoa(encodeURI(text))),
  );
  await fc.assert(fc.asyncProperty(fc.array(part, { maxLength: 4 }), async (parts) => {
    assert.ok(!await isAccepted(harness, parts.join(".")));
  }));
});

Deno.test("alg none in any spelling, and an empty signature, are refused (RFC 8725 §3.1)", async () => {
  await using harness = await startHarness();
  const { tokens: { access_token: token } } = await connect(harness);
  const [header, payload, signature] = token.split(".");
  for (const alg of ["none", "None", "NONE", "nOnE", "HS256", "RS256", "ES256", "Ed25519", ""]) {
    const forged = encode({ ...decode(header), alg });
    assert.equal(await reasonFor(harness, `${forged}.${payload}.${signature}`), "foreign_token_header");
    assert.equal(await reasonFor(harness, `${forged}.${payload}.`), "malformed_token");
  }
  assert.equal(await reasonFor(harness, `${header}.${payload}.`), "malformed_token");
  assert.equal(await reasonFor(harness, `${header}.${payload}`), "malformed_token");
});

Deno.test("jwk, jku, x5u, x5c, crit and b64 headers are refused without a fetch, even under our signature", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const claims = decode(tokens.access_token.split(".")[1]);
  const own = await ownKey(harness);
  const attacker = await generateKeyPair("EdDSA", { extractable: true });
  const jwk = await exportJWK(attacker.publicKey);
  const extras = [{ jwk }, { jku: "http://127.0.0.1:9/" }, { x5u: "http://127.0.0.1:9/" }, { x5c: ["x"] }, {
    cty: "JWT",
  }, { b64: true, crit: ["b64"] }];
  for (const extra of extras) {
    for (const key of [own.privateKey, attacker.privateKey]) {
      const header = { alg: "EdDSA", typ: "at+jwt", kid: own.kid, ...extra };
      const token = await new SignJWT(claims).setProtectedHeader(header).sign(key);
      assert.equal(await reasonFor(harness, token), "foreign_token_header");
    }
  }
  const [header, payload, signature] = tokens.access_token.split(".");
  const critical = encode({ ...decode(header), crit: ["exp"] });
  assert.equal(await reasonFor(harness, `${critical}.${payload}.${signature}`), "foreign_token_header");
});

Deno.test("wrong or missing claims and types are refused, even under our signature (RFC 9068 §4)", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const claims = decode(tokens.access_token.split(".")[1]);
  const { kid, privateKey } = await ownKey(harness);
  const sign = (payload: Record<string, unknown>, header: Record<string, unknown> = {}) =>
    new SignJWT(payload).setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid, ...header }).sign(privateKey);
  assert.equal(await reasonFor(harness, await sign(claims)), "accepted");
  for (const name of ["iss", "aud", "exp", "iat", "jti", "sub", "client_id", "grant_id", "scope"]) {
    const { [name]: _, ...rest } = claims;
    assert.equal(await reasonFor(harness, await sign(rest)), "wrong_claims", name);
  }
  const wrong: [Record<string, unknown>, string][] = [
    [{ iss: `${claims.iss}/` }, "wrong_issuer"],
    [{ iss: "https://other.test" }, "wrong_issuer"],
    [{ aud: `${claims.aud}/` }, "wrong_audience"],
    [{ aud: "https://other.test/mcp" }, "wrong_audience"],
    [{ aud: [claims.aud, "https://other.test/mcp"] }, "wrong_claims"],
    [{ exp: Math.floor(harness.time.now / 1_000) }, "expired_token"],
    [{ exp: "9999999999" }, "wrong_claims"],
    [{ exp: 1e308 }, "wrong_claims"],
    [{ exp: claims.iat + maxAccessTokenLifetimeSeconds + 1 }, "wrong_claims"],
    [{ exp: claims.exp + 0.5 }, "wrong_claims"],
    [{ iat: claims.iat + 91 }, "wrong_claims"],
    [{ iat: -1e308 }, "wrong_claims"],
    [{ iat: 0 }, "wrong_claims"],
    [{ nbf: claims.exp }, "wrong_claims"],
    [{ cnf: { jkt: "x" } }, "wrong_claims"],
    [{ grant_id: "0".repeat(32) }, "revoked_token"],
  ];
  for (const [change, reason] of wrong) {
    assert.equal(await reasonFor(harness, await sign({ ...claims, ...change })), reason);
  }
  for (const typ of ["JWT", "at+JWT", "application/at+jwt", "id_token", "client-authentication+jwt"]) {
    assert.equal(await reasonFor(harness, await sign(claims, { typ })), "foreign_token_header");
  }
  const longest = { ...claims, exp: claims.iat + maxAccessTokenLifetimeSeconds };
  for (const fine of [longest, { ...claims, iat: claims.iat + 90 }]) {
    assert.equal(await reasonFor(harness, await sign(fine)), "accepted"); // clocks of instances differ
  }
  const unknownKey = await sign(claims, { kid: "0".repeat(32) });
  assert.equal(await reasonFor(harness, unknownKey), "unknown_signing_key");
});

Deno.test("an ES256 signature, in DER too, never passes under our header", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  const [header, payload] = tokens.access_token.split(".");
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = createSign("sha256").update(`${header}.${payload}`).sign(privateKey).toString("base64url");
  for (const signature of [der, "A".repeat(86), new Uint8Array(64).toBase64(base64url)]) {
    assert.ok(!await isAccepted(harness, `${header}.${payload}.${signature}`));
  }
});

Deno.test("an access token ends with its lifetime", async () => {
  await using harness = await startHarness();
  const { tokens } = await connect(harness);
  harness.time.now += 3_599_000;
  assert.ok(await isAccepted(harness, tokens.access_token));
  harness.time.now += 1_000;
  assert.equal(await reasonFor(harness, tokens.access_token), "expired_token");
});

Deno.test("two processes that start at once agree on one signing key", async () => {
  await using harness = await startHarness();
  const instances = Array.from({ length: 5 }, () => createSigningKeys(harness.deps));
  const kids = await Promise.all(instances.map(async (keys) => (await keys.current()).kid));
  assert.equal(new Set(kids).size, 1);
});

Deno.test("the JWK set holds no private member and may be cached", async () => {
  await using harness = await startHarness();
  const response = await harness.fetch("/.well-known/jwks.json");
  assert.match(response.headers.get("cache-control") ?? "", /max-age=\d+/);
  const { keys } = await response.json();
  assert.deepEqual(Object.keys(keys[0]).sort(), ["alg", "crv", "kid", "kty", "use", "x"]);
});

Deno.test("a master key that is not the one that sealed the keys stops signing with a clear message", async () => {
  await using harness = await startHarness();
  await connect(harness);
  await using other = await startHarness();
  await assert.rejects(createSigningKeys({ ...harness.deps, secrets: other.secrets }).current(), /master key/);
});
