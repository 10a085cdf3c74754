/** An authorization server with a stand-in instance behind it, and the ways there and back. */
import assert from "node:assert/strict";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { offeredScopes } from "../../src/lib/principal.ts";
import { createServicenow, type Servicenow } from "../../src/servicenow/servicenow.ts";
import { type StandInInstance, startServicenow } from "../fixtures/servicenow/instance.ts";
import {
  fetchFrom,
  type Harness,
  hiddenField,
  issuer,
  mount,
  openBrowser,
  passphrase,
  startHarness,
  type TestBrowser,
} from "./harness.ts";

export interface SignInPlace extends AsyncDisposable {
  readonly harness: Harness;
  readonly instance: StandInInstance;
  readonly servicenow: Servicenow;
  readonly browser: () => TestBrowser;
}

export async function openSignInPlace(signsPeopleIn: boolean): Promise<SignInPlace> {
  const harness = await startHarness();
  const clock = () => harness.time.now;
  const instance = await startServicenow({ redirectUri: `${issuer}/servicenow/callback`, clock });
  const servicenow = createServicenow({
    instance: instance.origin,
    client: instance.client,
    linkUrl: `${issuer}/servicenow/link`,
    storage: harness.storage,
    secrets: harness.secrets,
    fetch,
    clock,
    random: Math.random,
    log: harness.deps.log,
    admit: () => ({ ok: true }),
  });
  const server = createAuthorizationServer({
    ...harness.deps,
    scopes: offeredScopes({ servicenow: "write" }),
    servicenow: {
      signsPeopleIn,
      instance: servicenow.signIn,
    },
  });
  const fetchHere = fetchFrom(mount(server), issuer);
  return {
    harness: { ...harness, server, fetch: fetchHere },
    instance,
    servicenow,
    browser: () => openBrowser({ fetch: fetchHere }),
    async [Symbol.asyncDispose]() {
      servicenow.close();
      await instance[Symbol.asyncDispose]();
      await harness[Symbol.asyncDispose]();
    },
  };
}

/** Where the page sends its reader. */
export function linkTo(origin: string, html: string): string {
  const href = /<a href="([^"]+)">/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
  assert.ok(href.startsWith(origin), html);
  return href;
}

/** Goes through the instance as `userName` and gives the path of the callback. */
export async function callbackPath(place: SignInPlace, response: Response, userName: string): Promise<string> {
  const html = await response.text();
  const location = response.status === 302
    ? response.headers.get("location") ?? ""
    : linkTo(place.instance.origin, html);
  assert.ok(location.startsWith(`${place.instance.origin}/oauth_auth.do?`), location);
  const callback = new URL(await place.instance.approve(location, userName));
  assert.equal(callback.origin, issuer);
  return callback.pathname + callback.search;
}

export async function signedInOwner(place: SignInPlace): Promise<TestBrowser> {
  const browser = place.browser();
  const form = await (await browser.get("/servicenow/link")).text();
  const action = /action="([^"]+)"/.exec(form)?.[1] ?? "";
  const answer = await browser.post(action, { csrf: hiddenField(form, "csrf"), passphrase });
  assert.equal(answer.status, 303);
  return browser;
}
