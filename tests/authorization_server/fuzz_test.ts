import assert from "node:assert/strict";
import fc from "fast-check";
import { connect, type Harness, mount, register, startHarness } from "./harness.ts";

const names = [
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type",
  "redirect_uri",
  "response_type",
  "response_mode",
  "scope",
  "state",
  "code",
  "code_challenge",
  "code_challenge_method",
  "code_verifier",
  "grant_type",
  "refresh_token",
  "resource",
  "token",
  "prompt",
  "request",
  "request_uri",
  "csrf",
  "grant",
  "account",
  "decision",
  "username",
  "passphrase",
  "confirmation",
  "redirect_uris",
  "jwks",
  "jwks_uri",
  "grant_types",
  "token_endpoint_auth_method",
  "__proto__",
  "constructor",
];

interface Known {
  readonly server: Harness["server"];
  readonly clientId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

function valuesOf({ clientId, accessToken, refreshToken }: Known): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 50 }) },
    { weight: 1, arbitrary: fc.string({ maxLength: 3_000 }) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        clientId,
        accessToken,
        refreshToken,
        refreshToken.replace("_1_", "_999999999_"),
        "authorization_code",
        "refresh_token",
        "client_credentials",
        "code",
        "S256",
        "https://client.test/callback",
        "https://[::1]:99999/%ff",
        "https://mcp.test/mcp",
        "files:read",
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.",
        "\ud800",
        "\0",
        "pct_" + "0".repeat(32) + "_" + "A".repeat(43),
      ),
    },
  );
}

function requestsOf(known: Known): fc.Arbitrary<{ path: string; init: RequestInit }> {
  const value = valuesOf(known);
  const pairs = fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 10 });
  const json = fc.oneof(
    fc.json(),
    pairs.map((entries) => JSON.stringify(Object.fromEntries(entries))),
    fc.array(fc.tuple(fc.constantFrom(...names), fc.jsonValue())).map((entries) =>
      JSON.stringify(Object.fromEntries(entries))
    ),
  );
  const form = pairs.map((entries) => new URLSearchParams(entries).toString());
  const headers = fc.record({
    authorization: fc.oneof(
      fc.string({ maxLength: 60 }).map((text) => `Basic ${btoa(encodeURI(text))}`),
      fc.constantFrom("Basic", "Basic =", "Basic %", "Bearer x", `Basic ${btoa(`${known.clientId}:%zz`)}`),
    ),
    cookie: fc.constantFrom("__Host-portcullis-browser=" + "A".repeat(43), "=;=;;", "__Host-portcullis-session=x"),
    "sec-fetch-site": fc.constantFrom("same-origin", "cross-site", "none"),
  }, { requiredKeys: [] });
  const typed = fc.oneof(
    form.map((body) => ({ body, type: "application/x-www-form-urlencoded" })),
    json.map((body) => ({ body, type: "application/json" })),
    fc.uint8Array({ maxLength: 100 }).map((body) => ({ body, type: "application/x-www-form-urlencoded" })),
  );
  const path = fc.constantFrom(...Object.keys(mount(known.server)));
  return fc.record({ path, query: pairs, method: fc.constantFrom("GET", "POST", "PUT"), typed, headers }).map(
    (parts) => {
      const query = new URLSearchParams(parts.query);
      const hasBody = parts.method !== "GET";
      return {
        path: `${parts.path}?${query}`,
        init: {
          method: parts.method,
          headers: { ...parts.headers, ...(hasBody ? { "content-type": parts.typed.type } : {}) },
          ...(hasBody ? { body: parts.typed.body } : {}),
        },
      };
    },
  );
}

Deno.test("no request makes an endpoint throw, answer 5xx, or redirect to where no client is (property)", async () => {
  await using harness = await startHarness();
  const { client, tokens } = await connect(harness);
  await register(harness);
  const { server } = harness;
  const known = {
    server,
    clientId: client.client_id,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
  };
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(requestsOf(known), async ({ path, init }) => {
      const response = await harness.fetch(path, init);
      const body = await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      assert.ok(response.status < 500, `${response.status} ${body}`);
      assert.ok(!/\bat \S+\.ts:\d+|node:|file:\/\//.test(body), "no stack trace");
      const location = response.headers.get("location");
      assert.ok(
        location === null || location.startsWith("https://client.test/callback?") || location.startsWith("/oauth/"),
      );
    }),
    { numRuns: 1_500 },
  );
  assert.ok(statuses.size > 4, "the requests reach different answers");
});
