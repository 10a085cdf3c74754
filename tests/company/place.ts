/** An authorization server whose people come by the stand-in for a company's provider. */
import assert from "node:assert/strict";
import { createClient } from "../../src/oauth/manage_clients.ts";
import { parseAllow, parseGroups } from "../../src/oauth/mod_settings.ts";
import {
  authorizePath,
  basic,
  decide,
  type Harness,
  issuer,
  locationOf,
  openBrowser,
  postForm,
  redeem,
  register,
  type RegisteredClient,
  resource,
  startHarness,
  type TestBrowser,
} from "../authorization_server/harness.ts";
import type { habitsOf } from "../fixtures/company_provider/habits.ts";
import { type CompanyProvider, providerClient, startCompanyProvider } from "../fixtures/company_provider/provider.ts";

export interface Place extends AsyncDisposable {
  readonly harness: Harness;
  readonly provider: CompanyProvider;
  readonly recheckMs: number;
}

export const hour = 3_600_000;
export const usualGroups = "mcp-users=files:read files:write; mcp-readers=files:read; mcp-admins=administrator";

/** The usual one: everyone in a group that begins with `mcp-` may come, and is asked about again after 12 hours. */
export async function startPlace(
  {
    habits = "usual",
    allow = "group:mcp-users; group:mcp-readers; group:mcp-admins",
    groups = usualGroups,
    groupsClaim = habits === "keycloak" ? "realm_access.roles" : "groups",
    recheckMs = 12 * hour,
    ownerPassphrase = true,
    assertions = true,
  }: {
    readonly habits?: keyof typeof habitsOf;
    readonly allow?: string;
    readonly groups?: string | null;
    readonly groupsClaim?: string;
    readonly recheckMs?: number;
    readonly ownerPassphrase?: boolean;
    readonly assertions?: boolean;
  } = {},
): Promise<Place> {
  const time = { now: 1_800_000_000_000 };
  const provider = await startCompanyProvider({ habits, clock: () => time.now });
  const rules = parseAllow(allow);
  const rights = groups === null ? null : parseGroups(groups);
  assert.ok(rules.ok);
  if (rights !== null) assert.ok(rights.ok);
  const harness = await startHarness({
    time,
    ownerPassphrase,
    company: {
      issuer: provider.issuer,
      clientId: providerClient.id,
      clientSecret: providerClient.secret,
      allow: rules.value,
      groups: rights?.ok ? rights.value : null,
      groupsClaim,
      recheckMs,
      assertions,
      fetch,
    },
  });
  return {
    harness,
    provider,
    recheckMs,
    async [Symbol.asyncDispose]() {
      await harness[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** A client that may bring assertions. */
export async function addAsserting({ harness }: Place, scope = "files:read files:write") {
  const created = await createClient(harness.deps, { name: "Claude", scope, grantTypes: [], assertions: true });
  assert.ok(created.ok && created.value.secret !== null);
  return { id: created.value.client.id, secret: created.value.secret };
}

type Asserting = Awaited<ReturnType<typeof addAsserting>>;

/** Claims of an assertion about Ada for a client, as its provider would write them. */
export function claimsFor(
  { id }: Pick<Asserting, "id">,
): { sub: string; aud: string; client_id: string; resource: string } {
  return { sub: "ada", aud: issuer, client_id: id, resource };
}

/** Brings an assertion to the token endpoint. */
export function bring(
  { harness }: Pick<Place, "harness">,
  { id, secret }: Asserting,
  assertion: string,
  more: Record<string, string> = {},
) {
  const form = { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion, ...more };
  return postForm(harness, "/oauth/token", form, basic(id, secret));
}

/** Follows a browser here and at the provider, until a page wants something of the person. */
export async function follow(
  { provider }: Pick<Place, "provider">,
  browser: TestBrowser,
  start: string,
): Promise<{ readonly status: number; readonly text: string; readonly path: string }> {
  let url = new URL(start, issuer);
  for (let hops = 0; hops < 12; hops++) {
    const isThere = url.origin === provider.origin;
    const response = isThere
      ? await fetch(url, { redirect: "manual" })
      : await browser.get(`${url.pathname}${url.search}`);
    const refreshed = /url=(.*)$/.exec(response.headers.get("refresh") ?? "")?.[1];
    const text = await response.text();
    const offered = /href="(\/oauth\/company\?[^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
    const next = response.headers.get("location") ?? refreshed ?? offered;
    if (next === undefined) return { status: response.status, text, path: url.pathname };
    url = new URL(next, url);
  }
  throw new Error(`the browser was sent on too often, lately to ${url.origin}${url.pathname}`);
}

/** What a person's client got. */
export interface Connected {
  readonly client: RegisteredClient;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly scope: string;
}

/** Connects a client for who sits at the provider: sign-in there, consent here, tokens. */
export async function connect(
  place: Place,
  { browser = openBrowser(place.harness), scope = "files:read files:write" }: {
    readonly browser?: TestBrowser;
    readonly scope?: string;
  } = {},
): Promise<Connected> {
  const client = await register(place.harness);
  const { text } = await follow(place, browser, authorizePath(client.client_id, { scope }));
  const approved = await decide(browser, text);
  const code = locationOf(approved).searchParams.get("code");
  assert.ok(code !== null, await approved.text());
  const { status, body } = await redeem(place.harness, client, code);
  assert.equal(status, 200, JSON.stringify(body));
  return { client, accessToken: body.access_token, refreshToken: body.refresh_token, scope: body.scope };
}

/** Whether a token of it still works, and what for. */
export async function scopesNow({ harness }: Place, { accessToken }: Pick<Connected, "accessToken">) {
  const verified = await harness.server.verifier.verify(accessToken);
  return verified.ok ? [...verified.value.scopes].sort().join(" ") : null;
}
