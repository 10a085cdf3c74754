/** A whole authorization server over a real SQLite file, with a clock and a log that tests can read and turn. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type AuthorizationServer, createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import type { AuthorizationServerOptions } from "../../src/oauth/context.ts";
import { authorizationServerSettings } from "../../src/oauth/mod_settings.ts";
import type { Endpoint } from "../../src/lib/endpoint.ts";
import type { LogFields } from "../../src/lib/log.ts";
import { createAgreedClock, systemTimers } from "../../src/lib/time.ts";
import { createSecretBox, type SecretBox } from "../../src/lib/secrets.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";

export const issuer = "https://mcp.test";
export const resource = `${issuer}/mcp`;
export const passphrase = "correct horse battery";
export const peer = { address: "198.51.100.7" };
/** A hash of the passphrase that costs next to nothing, since these tests sign in hundreds of times. */
export const ownerPasswordHash: string = await cheapHash(passphrase);

async function cheapHash(text: string): Promise<string> {
  const nonce = new TextEncoder().encode("salt of the tests");
  const key = await crypto.subtle.importKey("raw-secret", new TextEncoder().encode(text), "Argon2id", false, [
    "deriveBits",
  ]);
  const algorithm = { name: "Argon2id", nonce, memory: 8, passes: 1, parallelism: 1 } as Algorithm;
  const bits = new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, 256));
  return `$argon2id$v=19$m=8,t=1,p=1$${nonce.toBase64({ omitPadding: true })}$${bits.toBase64({ omitPadding: true })}`;
}

/** As the settings have them by default. */
export const usualLifetimes = {
  accessTokenLifetimeSeconds: Number(authorizationServerSettings.accessTokenLifetimeSeconds.default),
};

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly fields: LogFields;
}

export interface Harness extends AsyncDisposable {
  readonly server: AuthorizationServer;
  readonly deps: AuthorizationServerOptions;
  readonly storage: Storage;
  readonly secrets: SecretBox;
  readonly masterKey: Uint8Array;
  readonly databasePath: string;
  readonly time: { now: number };
  readonly lines: LogLine[];
  /** Sends a request to the endpoint that is mounted at its path. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** The reasons of the refusals logged so far, newest last. */
  reasons(): unknown[];
}

export type HarnessOptions =
  & Partial<
    Pick<
      AuthorizationServerOptions,
      | "issuer"
      | "ownerPasswordHash"
      | "registration"
      | "fetchDocument"
      | "resourceAliases"
      | "lifetimes"
      | "limits"
      | "company"
      | "ownerPassphrase"
    >
  >
  & { readonly setUp?: boolean; readonly address?: string; readonly time?: { now: number } };

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-auth-" });
  const databasePath = `${directory}/portcullis.db`;
  const time = options.time ?? { now: 1_800_000_000_000 };
  const clock = () => time.now;
  const storage = openSqliteStorage({ path: databasePath, clock });
  const lines: LogLine[] = [];
  const masterKey = new Uint8Array(randomBytes(32));
  const secrets = createSecretBox(masterKey);
  const own = options.issuer ?? issuer;
  const deps: AuthorizationServerOptions = {
    issuer: own,
    resource: `${own}/mcp`,
    resourceAliases: options.resourceAliases ?? [],
    storage,
    secrets,
    clock,
    timers: { ...systemTimers, elapsed: clock },
    agreedClock: createAgreedClock(clock, { elapsed: clock }),
    log: { write: (level, event, fields = {}) => void lines.push({ level, event, fields }), flush: () => {} },
    registration: options.registration ?? { mode: "open" },
    lifetimes: options.lifetimes ?? usualLifetimes,
    limits: options.limits ?? {},
    ...(options.fetchDocument === undefined ? {} : { fetchDocument: options.fetchDocument }),
    ...(options.company === undefined ? {} : { company: options.company }),
    ...(options.ownerPassphrase === undefined ? {} : { ownerPassphrase: options.ownerPassphrase }),
    ...(options.setUp === false ? {} : { ownerPasswordHash: options.ownerPasswordHash ?? ownerPasswordHash }),
  };
  const server = createAuthorizationServer(deps);
  const mounted = mount(server);
  return {
    server,
    deps,
    storage,
    secrets,
    masterKey,
    databasePath,
    time,
    lines,
    fetch: fetchFrom(mounted, own, options.address),
    reasons: () => lines.flatMap(({ fields }) => fields["reason"] === undefined ? [] : [fields["reason"]]),
    async [Symbol.asyncDispose]() {
      await storage.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Requests to mounted endpoints, from one address. */
export function fetchFrom(
  endpoints: Readonly<Record<string, Endpoint>>,
  origin: string,
  address: string = peer.address,
): Harness["fetch"] {
  return async (path, init) => {
    const url = new URL(path, origin);
    const endpoint = endpoints[url.pathname];
    assert.ok(endpoint, `nothing is mounted at ${url.pathname}`);
    return await endpoint(new Request(url, { redirect: "manual", ...init }), { address });
  };
}

/** The endpoints by their paths. */
export function mount(server: AuthorizationServer): Record<string, Endpoint> {
  return Object.fromEntries(server.routes.flatMap(({ paths, endpoint }) => paths.map((path) => [path, endpoint])));
}

/** A browser: keeps cookies, follows nothing by itself. */
export interface TestBrowser {
  readonly cookies: Map<string, string>;
  get(path: string): Promise<Response>;
  post(path: string, form: Iterable<readonly [string, string]> | Record<string, string>): Promise<Response>;
}

export function openBrowser(harness: Pick<Harness, "fetch">): TestBrowser {
  const cookies = new Map<string, string>();
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (cookies.size > 0) headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const response = await harness.fetch(path, { ...init, headers });
    for (const line of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split("; ");
      const [name = "", value = ""] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
      if (attributes.includes("Max-Age=0")) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  return {
    cookies,
    get: (path) => send(path),
    post: (path, form) =>
      send(path, {
        method: "POST",
        body: new URLSearchParams(Symbol.iterator in form ? [...form].map(([k, v]) => [k, v]) : form),
      }),
  };
}

const linkForms = new WeakMap<TestBrowser, string>();

/** Opens the link with the form's code, and posts its form from there; once it is used up, from the page seen last. */
export async function postLinkForm(
  browser: TestBrowser,
  path: "/setup" | "/invitation",
  form: Readonly<Record<string, string>>,
): Promise<Response> {
  const page = await (await browser.get(`${path}?code=${form["code"]}`)).text();
  const csrf = /name="csrf" value="([^"]*)"/.exec(page)?.[1] ?? linkForms.get(browser) ?? "";
  linkForms.set(browser, csrf);
  return await browser.post(path, { ...form, csrf });
}

/** The value of a hidden field on a page. */
export function hiddenField(page: string, name: string): string {
  const value = new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1];
  assert.ok(value !== undefined, `the page has no field ${name}`);
  return value;
}

export const verifier = "dBjftJeZ4CVP-mBNKwVLAuaJWnk5bzFjaAZRcBTTvlc-0";
const challengeBytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
export const challenge = challengeBytes.toBase64({ alphabet: "base64url", omitPadding: true });
export const redirectUri = "https://client.test/callback";

export interface RegisteredClient {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly [member: string]: unknown;
}

export async function register(harness: Harness, metadata: Record<string, unknown> = {}): Promise<RegisteredClient> {
  const response = await harness.fetch("/oauth/register", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Test client",
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "none",
      ...metadata,
    }),
  });
  assert.equal(response.status, 201, await response.clone().text());
  return await response.json();
}

export function authorizePath(clientId: string, parameters: Record<string, string | null> = {}): string {
  const query = new URLSearchParams();
  const all = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state: "the state",
    scope: "files:read files:write llm:generate",
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...parameters,
  };
  for (const [name, value] of Object.entries(all)) if (value !== null) query.set(name, value);
  return `/oauth/authorize?${query}`;
}

/** Goes through sign-in to the consent page and gives its markup. */
export async function reachConsent(browser: TestBrowser, path: string): Promise<string> {
  const first = await browser.get(path);
  const page = await first.text();
  assert.equal(first.status, 200, page);
  if (!page.includes('name="passphrase"')) return page;
  const signedIn = await browser.post("/oauth/sign-in", { request: hiddenField(page, "request"), passphrase });
  assert.equal(signedIn.status, 303, await signedIn.text());
  return await (await browser.get(signedIn.headers.get("location") ?? "")).text();
}

export function decide(
  browser: TestBrowser,
  page: string,
  options: { scopes?: readonly string[]; decision?: "allow" | "deny" } = {},
): Promise<Response> {
  const offered = [...page.matchAll(/name="scope" value="([^"]*)"/g)].map(([, name = ""]) => name);
  return browser.post("/oauth/consent", [
    ["request", hiddenField(page, "request")],
    ["account", hiddenField(page, "account")],
    ["proof", hiddenField(page, "proof")],
    ["decision", options.decision ?? "allow"],
    ...(options.scopes ?? offered).map((name) => ["scope", name] as const),
  ]);
}

export function locationOf(response: Response): URL {
  const location = response.headers.get("location");
  assert.ok(location !== null, `no Location in a ${response.status}`);
  return new URL(location, issuer);
}

/** Signs in, approves everything and gives the code. */
export async function obtainCode(
  harness: Harness,
  client: RegisteredClient,
  parameters: Record<string, string | null> = {},
  browser: TestBrowser = openBrowser(harness),
): Promise<string> {
  const approved = await decide(browser, await reachConsent(browser, authorizePath(client.client_id, parameters)));
  assert.equal(approved.status, 303, await approved.text());
  const code = locationOf(approved).searchParams.get("code");
  assert.ok(code !== null, `no code in ${approved.headers.get("location")}`);
  return code;
}

export interface TokenAnswer {
  readonly status: number;
  readonly body: {
    readonly access_token: string;
    readonly refresh_token: string;
    readonly token_type: string;
    readonly expires_in: number;
    readonly scope: string;
    readonly error?: string;
    readonly error_description?: string;
  };
  readonly headers: Headers;
}

export async function postForm(
  harness: Pick<Harness, "fetch">,
  path: string,
  form: Record<string, string> | [string, string][],
  headers: Record<string, string> = {},
): Promise<TokenAnswer> {
  const response = await harness.fetch(path, { method: "POST", body: new URLSearchParams(form), headers });
  const text = await response.text();
  return {
    status: response.status,
    body: text === "" ? {} as TokenAnswer["body"] : JSON.parse(text),
    headers: response.headers,
  };
}

export function basic(id: string, secret: string): Record<string, string> {
  return { authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}` };
}

export function redeem(
  harness: Harness,
  client: RegisteredClient,
  code: string,
  extra: Record<string, string> = {},
): Promise<TokenAnswer> {
  const secret = client.client_secret === undefined ? {} : { client_secret: client.client_secret };
  return postForm(harness, "/oauth/token", {
    grant_type: "authorization_code",
    client_id: client.client_id,
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...secret,
    ...extra,
  });
}

export function refresh(
  harness: Harness,
  client: RegisteredClient,
  refreshToken: string,
  extra: Record<string, string> = {},
): Promise<TokenAnswer> {
  const secret = client.client_secret === undefined ? {} : { client_secret: client.client_secret };
  return postForm(harness, "/oauth/token", {
    grant_type: "refresh_token",
    client_id: client.client_id,
    refresh_token: refreshToken,
    ...secret,
    ...extra,
  });
}

/** Registers a client that a person approves once: before that, its bad requests redirect nowhere. */
export async function registerApproved(
  harness: Harness,
  metadata: Record<string, unknown> = {},
): Promise<RegisteredClient> {
  const client = await register(harness, metadata);
  await obtainCode(harness, client);
  return client;
}

/** Registers a client, approves it and redeems the code. */
export async function connect(
  harness: Harness,
  metadata: Record<string, unknown> = {},
): Promise<{ client: RegisteredClient; code: string; tokens: TokenAnswer["body"] }> {
  const client = await register(harness, metadata);
  const code = await obtainCode(harness, client);
  const answer = await redeem(harness, client, code);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { client, code, tokens: answer.body };
}

export async function isAccepted(harness: Harness, accessToken: string): Promise<boolean> {
  return (await harness.server.verifier.verify(accessToken)).ok;
}
