/** Requests to every other endpoint: forms, queries, registrations and tokens that are long, many or made up. */
import type { Random } from "../soak/random.ts";
import type { Attacks, HostileRequest } from "./attack.ts";
import { hostileText, nested, sizeAround, wide } from "./hostile_values.ts";

const form = { "content-type": "application/x-www-form-urlencoded" };
const json = { "content-type": "application/json" };
const manyPairs = (random: Random): string => {
  const pair = random.pick(["a=b&", "&", "=", "grant_type=refresh_token&", "%", "+=%20&"]);
  return pair.repeat(Math.floor(random.pick([10, 60_000, 70_000]) / pair.length));
};
const posted = (path: string) => (random: Random): HostileRequest => ({
  path,
  headers: { ...form, ...random.pick([{}, { authorization: `Basic ${"a".repeat(random.pick([8, 8_000]))}` }]) },
  body: random.pick([
    manyPairs(random),
    `grant_type=refresh_token&client_id=x&refresh_token=${"a".repeat(random.pick([10, 60_000]))}`,
    `grant_type=authorization_code&code=${
      encodeURIComponent(hostileText(random, 5_000).toWellFormed())
    }&code_verifier=x`,
    `token=${"a.".repeat(20_000)}`,
    `token=${"e".repeat(20_000)}.${"e".repeat(20_000)}.${"s".repeat(80)}`,
  ]),
});

/** By endpoint. */
export const endpointAttacks: Attacks = {
  register: (random) => ({
    path: "/oauth/register",
    headers: json,
    body: random.pick([
      { redirect_uris: Array(sizeAround(random, 10, 1_000)).fill("http://127.0.0.1/callback") },
      { redirect_uris: [`https://a.example/${"a/".repeat(20_000)}`], client_name: hostileText(random, 10_000) },
      { redirect_uris: [hostileText(random, 10_000)] },
      wide(random, 3_000),
      nested(random, 5_000),
    ]),
  }),
  token: posted("/oauth/token"),
  revoke: posted("/oauth/revoke"),
  introspect: posted("/oauth/introspect"),
  sign_in: posted("/oauth/sign-in"),
  consent: posted("/oauth/consent"),
  set_up: posted("/setup"),
  authorize: (random) => ({
    path: `/oauth/authorize?${
      random.pick([
        `client_id=${"x".repeat(random.pick([10, 8_000]))}&response_type=code`,
        "scope=".concat("files:read%20".repeat(500)),
        "resource=http://a.example&".repeat(250),
        `redirect_uri=${encodeURIComponent(`http://127.0.0.1/${"..%2f".repeat(500)}`)}`,
      ])
    }`,
    method: "GET",
  }),
  bad_token: (random) => ({
    path: "/mcp",
    headers: { ...json, authorization: `Bearer ${random.pick(["a", "e.", "pct_"]).repeat(random.pick([3, 4_000]))}` },
    body: {},
  }),
  files: (random) => ({
    path: `/files/${random.pick(["", "a", "a".repeat(54), "%00", "../../etc/passwd", `${"a/".repeat(2_000)}`])}`,
    method: random.pick(["PUT", "POST"]),
    headers: { range: `bytes=${"0-1,".repeat(random.pick([1, 1_000]))}5-`, "content-range": "bytes 0-1/2" },
    body: "a".repeat(random.pick([0, 10, 100_000])),
  }),
  documents: (random) => ({
    path: random.pick([
      "/.well-known/oauth-authorization-server",
      "/.well-known/oauth-protected-resource/mcp",
      "/.well-known/jwks.json",
      "/",
      "/health",
      "/health/ready",
      "/oauth/grants",
      `/${"a/".repeat(2_000)}`,
      `/%2e%2e/${"%25".repeat(1_000)}`,
    ]),
    method: "GET",
    headers: { cookie: `__Host-session=${"a".repeat(random.pick([43, 8_000]))}` },
  }),
};
