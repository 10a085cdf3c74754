import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import { createClient } from "../../src/oauth/manage_clients.ts";
import { basic, challenge, type Harness, redirectUri, registerApproved, startHarness } from "./harness.ts";

/** The same request to either server; names in it are replaced by each server's own. */
interface Probe {
  readonly name: string;
  readonly endpoint: "authorize" | "token" | "introspect" | "revoke";
  readonly form: (names: Names) => Record<string, string>;
  readonly headers?: (names: Names) => Record<string, string>;
}

/** The clients of one server. */
interface Names {
  /** Public, for people. */
  readonly app: string;
  /** Confidential, client_secret_basic, for machines. */
  readonly machine: string;
  readonly secret: string;
}

const code = (names: Names, change: Record<string, string> = {}) => ({
  grant_type: "authorization_code",
  client_id: names.app,
  code: "unknown-code-unknown-code-unknown-code-unkn",
  redirect_uri: redirectUri,
  code_verifier: "v".repeat(43),
  ...change,
});
const authorization = (names: Names, change: Record<string, string> = {}) => ({
  client_id: names.app,
  redirect_uri: redirectUri,
  response_type: "code",
  scope: "files:read",
  state: "s",
  code_challenge: challenge,
  code_challenge_method: "S256",
  ...change,
});
const asMachine = ({ machine, secret }: Names) => basic(machine, secret);

const probes: Probe[] = [
  { name: "no grant_type", endpoint: "token", form: ({ app }) => ({ client_id: app }) },
  { name: "an unknown grant type", endpoint: "token", form: ({ app }) => ({ client_id: app, grant_type: "magic" }) },
  { name: "the password grant", endpoint: "token", form: ({ app }) => ({ client_id: app, grant_type: "password" }) },
  { name: "an unknown client", endpoint: "token", form: (names) => code(names, { client_id: "nobody" }) },
  { name: "no client", endpoint: "token", form: (names) => code(names, { client_id: "" }) },
  { name: "an unknown code", endpoint: "token", form: code },
  { name: "no code", endpoint: "token", form: (names) => code(names, { code: "" }) },
  { name: "no refresh token", endpoint: "token", form: ({ app }) => ({ client_id: app, grant_type: "refresh_token" }) },
  {
    name: "an unknown refresh token",
    endpoint: "token",
    form: ({ app }) => ({ client_id: app, grant_type: "refresh_token", refresh_token: "x" }),
  },
  {
    name: "a grant type that the client may not use",
    endpoint: "token",
    form: ({ app }) => ({ client_id: app, grant_type: "client_credentials" }),
  },
  {
    name: "a wrong secret",
    endpoint: "token",
    form: () => ({ grant_type: "client_credentials" }),
    headers: ({ machine }) => basic(machine, "wrong"),
  },
  {
    name: "another method than the registered one",
    endpoint: "token",
    form: ({ machine, secret }) => ({ grant_type: "client_credentials", client_id: machine, client_secret: secret }),
  },
  {
    name: "two methods",
    endpoint: "token",
    form: ({ machine, secret }) => ({ grant_type: "client_credentials", client_id: machine, client_secret: secret }),
    headers: asMachine,
  },
  {
    name: "two different client ids",
    endpoint: "token",
    form: ({ app }) => ({ grant_type: "client_credentials", client_id: app }),
    headers: asMachine,
  },
  {
    name: "a scope that the client may not have",
    endpoint: "token",
    form: () => ({ grant_type: "client_credentials", scope: "llm:generate" }),
    headers: asMachine,
  },
  { name: "introspection of garbage", endpoint: "introspect", form: () => ({ token: "x" }), headers: asMachine },
  { name: "introspection without a token", endpoint: "introspect", form: () => ({}), headers: asMachine },
  { name: "introspection without a client", endpoint: "introspect", form: () => ({ token: "x" }) },
  { name: "revocation of garbage", endpoint: "revoke", form: () => ({ token: "x" }), headers: asMachine },
  { name: "revocation without a token", endpoint: "revoke", form: () => ({}), headers: asMachine },
  {
    name: "revocation with a wrong secret",
    endpoint: "revoke",
    form: () => ({ token: "x" }),
    headers: ({ machine }) => basic(machine, "wrong"),
  },
  {
    name: "authorization by an unknown client",
    endpoint: "authorize",
    form: (names) => authorization(names, { client_id: "nobody" }),
  },
  {
    name: "a redirect URI that is not registered",
    endpoint: "authorize",
    form: (names) => authorization(names, { redirect_uri: "https://evil.test/" }),
  },
  { name: "no response_type", endpoint: "authorize", form: (names) => authorization(names, { response_type: "" }) },
  {
    name: "an unknown response_type",
    endpoint: "authorize",
    form: (names) => authorization(names, { response_type: "magic" }),
  },
  {
    name: "an unknown response_mode",
    endpoint: "authorize",
    form: (names) => authorization(names, { response_mode: "magic" }),
  },
  {
    name: "no PKCE",
    endpoint: "authorize",
    form: (names) => authorization(names, { code_challenge: "", code_challenge_method: "" }),
  },
  {
    name: "PKCE by plain",
    endpoint: "authorize",
    form: (names) => authorization(names, { code_challenge_method: "plain" }),
  },
  { name: "prompt=none", endpoint: "authorize", form: (names) => authorization(names, { prompt: "none" }) },
  { name: "a request object", endpoint: "authorize", form: (names) => authorization(names, { request: "e30.e30." }) },
  {
    name: "a request_uri",
    endpoint: "authorize",
    form: (names) => authorization(names, { request_uri: "https://x.test/" }),
  },
];

/** Where we differ on purpose, and why. */
const deviations: Record<string, { ours: string; reason: string }> = {
  "no client": { ours: "401 invalid_client", reason: "RFC 6749 §5.2: no client authentication included" },
  "introspection without a client": { ours: "401 invalid_client", reason: "the same" },
  "a grant type that the client may not use": { ours: "400 unauthorized_client", reason: "RFC 6749 §5.2 says so" },
  "another method than the registered one": {
    ours: "401 invalid_client",
    reason: "oidc-provider takes basic and post for each other; a client that registered one is held to it",
  },
  "an unknown response_mode": {
    ours: "redirect invalid_request state=s",
    reason: "unsupported_response_mode is in no RFC",
  },
};

/** What a server said: a status with an error code, or the error that a redirect carries. */
async function verdictOf(response: Response): Promise<string> {
  const location = response.headers.get("location");
  if (location !== null) {
    await response.body?.cancel();
    const url = new URL(location);
    return `redirect ${url.searchParams.get("error")} state=${url.searchParams.get("state")}`;
  }
  const text = await response.text();
  if (text === "" && response.ok) return `${response.status} fine`;
  if (!(response.headers.get("content-type") ?? "").includes("json")) return `${response.status} page`;
  const body = JSON.parse(text);
  return `${response.status} ${body.error ?? (body.active === false ? "inactive" : "fine")}`;
}

type Send = (probe: Probe) => Promise<Response>;

function requestOf(probe: Probe, names: Names): { query: string; init: RequestInit } {
  const form = Object.entries(probe.form(names)).filter(([, value]) => value !== "");
  const body = new URLSearchParams(form);
  return probe.endpoint === "authorize"
    ? { query: `?${body}`, init: { redirect: "manual" } }
    : { query: "", init: { method: "POST", body, headers: probe.headers?.(names) ?? {} } };
}

async function openOurs(harness: Harness): Promise<Send> {
  const app = await registerApproved(harness);
  const machine = await createClient(harness.deps, {
    name: "Machine",
    grantTypes: ["client_credentials"],
    scope: "files:read",
    authentication: "client_secret_basic",
  });
  assert.ok(machine.ok);
  const names = { app: app.client_id, machine: machine.value.client.id, secret: machine.value.secret ?? "" };
  return (probe) => {
    const { query, init } = requestOf(probe, names);
    return harness.fetch(`/oauth/${probe.endpoint}${query}`, init);
  };
}

async function openOracle(): Promise<{ send: Send } & AsyncDisposable> {
  const names = { app: "app", machine: "machine", secret: "the secret of the machine" };
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(origin, {
    clients: [
      {
        client_id: names.app,
        token_endpoint_auth_method: "none",
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
      },
      {
        client_id: names.machine,
        client_secret: names.secret,
        token_endpoint_auth_method: "client_secret_basic",
        redirect_uris: [],
        grant_types: ["client_credentials"],
        response_types: [],
        scope: "files:read",
      },
    ],
    scopes: ["openid", "offline_access", "files:read", "files:write", "llm:generate"],
    pkce: { required: () => true },
    features: {
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: false },
    },
  });
  server.on("request", provider.callback());
  const paths = {
    authorize: "/auth",
    token: "/token",
    introspect: "/token/introspection",
    revoke: "/token/revocation",
  };
  return {
    send: (probe) => {
      const { query, init } = requestOf(probe, names);
      return fetch(`${origin}${paths[probe.endpoint]}${query}`, {
        ...init,
        headers: { ...init.headers, connection: "close" },
      });
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => (server.close(() => resolve()), server.closeAllConnections())),
  };
}

Deno.test("error codes are those of oidc-provider, wherever both have the feature", async (context) => {
  await using harness = await startHarness();
  await using oracle = await openOracle();
  const ours = await openOurs(harness);
  for (const probe of probes) {
    await context.step(probe.name, async () => {
      const expected = await verdictOf(await oracle.send(probe));
      const verdict = await verdictOf(await ours(probe));
      assert.equal(verdict, deviations[probe.name]?.ours ?? expected, `oidc-provider says ${expected}`);
    });
  }
});
