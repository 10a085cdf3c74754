/** The provider as this server asks it: what its answers and tokens must be, and what is borne while it is away. */
import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, importJWK, type JWTPayload, jwtVerify } from "@panva/jose";
import { createProvider } from "../../src/oauth/company_provider.ts";
import { Overload, unavailability } from "../../src/lib/system_fault.ts";
import { systemTimers } from "../../src/lib/time.ts";
import { broken, startCompanyProvider } from "../fixtures/company_provider/provider.ts";

const types = [null, "jwt"];

async function withProvider(habits: Parameters<typeof startCompanyProvider>[0] = {}) {
  const there = await startCompanyProvider(habits);
  const time = { elapsed: 0 };
  const here = createProvider({
    company: { issuer: there.issuer, clientId: "id", clientSecret: "secret" },
    fetch,
    clock: Date.now,
    timers: { ...systemTimers, elapsed: () => time.elapsed },
  });
  const fetches = (): number => there.requests.length;
  return { there, here, time, fetches, [Symbol.asyncDispose]: () => there[Symbol.asyncDispose]() };
}

const seconds = (): number => Math.floor(Date.now() / 1_000);

Deno.test("the provider's metadata and keys are read once, by any number of askers", async () => {
  for (const habits of ["usual", "entra", "okta", "google", "keycloak", "servicenow"] as const) {
    await using pair = await withProvider({ habits });
    const tokens = await Promise.all([1, 2, 3].map(() => pair.there.logoutToken({})));
    const verified = await Promise.all(tokens.map((token) => pair.here.verify(token, ["logout+jwt"])));
    assert.ok(verified.every(({ ok }) => ok), habits);
    assert.equal(pair.fetches(), 2, habits);
  }
});

Deno.test("a provider that answers wrongly is told by its reason, and no redirect is followed", async () => {
  const wrong = {
    server_error: broken.down,
    not_json: broken.html,
    too_large: broken.huge,
    unexpected_status: broken.redirect,
    malformed_answer: () => Response.json({ issuer: 1 }),
    other_issuer: () =>
      Response.json({
        issuer: "https://other.example",
        ...Object.fromEntries(
          ["authorization_endpoint", "token_endpoint", "jwks_uri"].map((name) => [name, "https://other.example/x"]),
        ),
      }),
  };
  for (const [reason, answer] of Object.entries(wrong)) {
    await using pair = await withProvider();
    pair.there.faults.answer = answer;
    const found = await pair.here.metadata();
    assert.equal(!found.ok && found.error.reason, reason);
    assert.equal(pair.fetches(), 1);
    await pair.here.metadata();
    assert.equal(pair.fetches(), 1, "a failure is remembered for a while");
  }
  await using pair = await withProvider();
  await pair.there[Symbol.asyncDispose]();
  const found = await pair.here.metadata();
  assert.equal(!found.ok && found.error.reason, "unreachable");
});

/** A provider that holds its token answers back until `release`; and a clock of timers that jumps. */
function startHeld() {
  const origin = "https://login.example.com";
  const urls = ["authorization", "token", "userinfo"].map((name) => [`${name}_endpoint`, `${origin}/${name}`]);
  const metadata = { issuer: origin, jwks_uri: `${origin}/keys`, ...Object.fromEntries(urls) };
  const [held, armed] = [new Set<() => void>(), new Set<{ at: number; run: () => void }>()];
  const state = { isHolding: true, most: 0, now: 0 };
  const provider = createProvider({
    company: { issuer: origin, clientId: "id", clientSecret: "secret" },
    async fetch(url, { signal }) {
      if (url.includes("/.well-known/")) return Response.json(metadata);
      await new Promise<void>((resolve, reject) => {
        if (!state.isHolding) return resolve();
        held.add(resolve);
        state.most = Math.max(state.most, held.size);
        signal.addEventListener("abort", () => reject(signal.reason));
      });
      return Response.json({ access_token: "a" });
    },
    clock: Date.now,
    timers: {
      ...systemTimers,
      elapsed: () => state.now,
      after(milliseconds, run) {
        const timer = { at: state.now + milliseconds, run };
        armed.add(timer);
        return () => void armed.delete(timer);
      },
    },
  });
  return {
    provider,
    state,
    async settle(): Promise<void> {
      for (let pass = 0; pass < 50; pass++) await new Promise((resolve) => setImmediate(resolve));
    },
    /** Answers what is held, and everything from now on. */
    release(): void {
      state.isHolding = false;
      for (const resolve of held) resolve();
    },
    pass(milliseconds: number): void {
      state.now += milliseconds;
      for (const timer of [...armed]) {
        if (timer.at > state.now || !armed.delete(timer)) continue;
        timer.run();
      }
    },
  };
}

Deno.test("requests beyond those that run at once wait for their turn, and get the provider's answers", async () => {
  const { provider, state, settle, release } = startHeld();
  const asked = Array.from({ length: 90 }, () => provider.requestToken({ grant_type: "refresh_token" }));
  const informed = Array.from({ length: 10 }, () => provider.userInfo("a"));
  await settle();
  assert.equal(state.most, 20);
  release();
  for (const answer of await Promise.all([...asked, ...informed])) assert.ok(answer.ok);
  assert.equal(state.most, 20);
});

Deno.test("a request whose turn does not come is this server's to answer for, and no fault of the provider", async () => {
  const { provider, settle, release, pass } = startHeld();
  const ask = () => provider.requestToken({ grant_type: "refresh_token" });
  const running = Array.from({ length: 20 }, ask);
  await settle();
  const waiting = Array.from({ length: 5 }, ask);
  const outcomes = Promise.allSettled(waiting);
  await settle();
  pass(6_000);
  for (const outcome of await outcomes) {
    assert.equal(outcome.status, "rejected");
    const { text, cause } = unavailability(outcome.reason) ?? {};
    assert.match(text ?? "", /too many requests .* try again/);
    assert.equal(cause, "machine_fault");
  }
  const late = ask();
  await settle();
  pass(4_000); // those that ran have had their time, and make room
  for (const answer of await Promise.all(running)) {
    assert.deepEqual(!answer.ok && answer.error, { reason: "timed_out" });
  }
  await settle();
  pass(9_000);
  release();
  assert.ok((await late).ok, "whose turn came late has its whole time");
});

Deno.test("metadata that is at hand counts for a day where its renewal gets no turn, and then it is an overload", async () => {
  const { provider, state, settle, pass } = startHeld();
  const signIn = () =>
    provider.authorizationUrl({ state: "s", nonce: "n", redirectUri: "r", codeChallenge: "c", ask: null });
  assert.ok((await signIn()).ok);
  const hour = 3_600_000;
  state.now = hour - 3_000;
  for (let running = 0; running < 20; running++) void provider.requestToken({ grant_type: "refresh_token" });
  await settle();
  state.now = hour + 1_000;
  const late = signIn();
  await settle();
  pass(5_001);
  assert.ok((await late).ok, "an older one, as in an outage");
  const tooOld = assert.rejects(signIn(), Overload);
  await settle();
  pass(25 * hour);
  await tooOld;
});

Deno.test("endpoints that a browser or this server must not go to make the metadata malformed", async () => {
  for (const url of ["http://login.example.com/x", "javascript:alert(1)", "file:///etc/passwd", "/token"]) {
    for (const name of ["authorization_endpoint", "token_endpoint", "jwks_uri"]) {
      await using pair = await withProvider();
      pair.there.faults.discovery = (document) => ({ ...document, [name]: url });
      const found = await pair.here.metadata();
      assert.equal(!found.ok && found.error.reason, "malformed_answer", `${name} ${url}`);
    }
  }
});

Deno.test("what the provider said last counts for a day while it is away, and not where it became another", async () => {
  await using pair = await withProvider();
  const hour = 3_600_000;
  assert.ok((await pair.here.verify(await pair.there.logoutToken({}), ["logout+jwt"])).ok);
  pair.there.faults.answer = broken.down;
  pair.time.elapsed = 23 * hour;
  assert.ok((await pair.here.verify(await pair.there.logoutToken({}), ["logout+jwt"])).ok);
  pair.time.elapsed = 25 * hour;
  const late = await pair.here.verify(await pair.there.logoutToken({}), ["logout+jwt"]);
  assert.deepEqual(!late.ok && late.error, { reason: "server_error" });

  pair.time.elapsed = 26 * hour;
  pair.there.faults.answer = null;
  assert.ok((await pair.here.metadata()).ok);
  pair.there.faults.discovery = (document) => ({ ...document, issuer: "https://other.example" });
  for (const elapsed of [28 * hour, 28 * hour + 1_000]) {
    pair.time.elapsed = elapsed;
    const other = await pair.here.metadata();
    assert.deepEqual(!other.ok && other.error, { reason: "other_issuer", said: "https://other.example" });
  }
});

Deno.test("a rotated key is fetched at once, and nonsense makes no flood of fetches", async () => {
  await using pair = await withProvider();
  assert.ok((await pair.here.verify(await pair.there.logoutToken({}), ["logout+jwt"])).ok);
  pair.time.elapsed += 11_000;
  await pair.there.rotateKeys();
  assert.ok((await pair.here.verify(await pair.there.logoutToken({}), ["logout+jwt"])).ok);
  const before = pair.fetches();
  for (let count = 0; count < 20; count++) {
    const forged = await pair.there.logoutToken({}, { isForeign: true });
    const verified = await pair.here.verify(forged, ["logout+jwt"]);
    assert.equal(!verified.ok && verified.error, "bad_signature");
  }
  assert.equal(pair.fetches(), before);
});

Deno.test("tokens are refused for their algorithm, type, issuer and time, however they are signed", async () => {
  await using pair = await withProvider();
  const { faults } = pair.there;
  const refusalOf = async (
    { claims = {}, header = {} }: { claims?: JWTPayload; header?: Record<string, unknown> },
  ): Promise<unknown> => {
    faults.header = (usual) => ({ ...usual, ...header });
    const verified = await pair.here.verify(await pair.there.logoutToken(claims), ["logout+jwt"]);
    return verified.ok ? null : verified.error;
  };
  assert.equal(await refusalOf({}), null);
  assert.equal(await refusalOf({ header: { alg: "none" } }), "symmetric_or_unsigned");
  assert.equal(await refusalOf({ header: { alg: "HS256" } }), "symmetric_or_unsigned");
  assert.equal(await refusalOf({ header: { typ: "JWT" } }), "wrong_type");
  assert.equal(await refusalOf({ header: { typ: "at+jwt" } }), "wrong_type");
  assert.equal(await refusalOf({ header: { typ: "application/logout+jwt" } }), null);
  assert.equal(await refusalOf({ header: { kid: "unknown" } }), "bad_signature");
  assert.equal(await refusalOf({ claims: { iss: `${pair.there.issuer}/` } }), "wrong_issuer");
  assert.equal(await refusalOf({ claims: { exp: seconds() - 90 } }), "expired");
  assert.equal(await refusalOf({ claims: { exp: seconds() - 30 } }), null);
  assert.equal(await refusalOf({ claims: { iat: seconds() + 600 } }), "not_yet_valid");
  assert.equal(await refusalOf({ claims: { nbf: seconds() + 600 } }), "not_yet_valid");
  assert.equal(await refusalOf({ claims: { exp: "soon" } as never }), "malformed_token");
  for (const text of ["", "a.b.c", "x".repeat(600_000)]) {
    const verified = await pair.here.verify(text, types);
    assert.equal(!verified.ok && verified.error, "malformed_token");
  }
});

Deno.test("a private key in the place of the secret signs assertions (OpenID Connect Core §9)", async () => {
  for (const algorithm of ["RS256", "ES256", "EdDSA"]) {
    const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
    const jwk = { ...await exportJWK(privateKey), kid: "k1", alg: algorithm };
    for (const clientSecret of [JSON.stringify(jwk)]) {
      await using there = await startCompanyProvider();
      const { issuer } = there;
      const company = { issuer, clientId: "id", clientSecret };
      const here = createProvider({ company, fetch, clock: Date.now, timers: systemTimers });
      const refused = await here.requestToken({ grant_type: "refresh_token", refresh_token: "r" });
      assert.deepEqual(!refused.ok && refused.error, { reason: "refused", said: "invalid_client" });
      const form = new URLSearchParams(there.requests.at(-1)?.body);
      const key = await importJWK(await exportJWK(publicKey), algorithm);
      const audience = `${there.origin}/token`;
      const { payload } = await jwtVerify(form.get("client_assertion") ?? "", key, { issuer: "id", audience });
      assert.equal(payload.sub, "id");
      assert.equal(form.get("client_secret"), null);
    }
  }
});
