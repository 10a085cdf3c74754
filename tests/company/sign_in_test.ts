/** Signing in at the company's provider: the whole way, who comes in, and every way that is no way in. */
import assert from "node:assert/strict";
import { noPassphrase, users } from "../../src/oauth/records.ts";
import { parseAllow, parseGroups } from "../../src/oauth/company/settings.ts";
import {
  authorizePath,
  decide,
  issuer,
  locationOf,
  openBrowser,
  redeem,
  register,
  startHarness,
  type TestBrowser,
} from "../authorization_server/harness.ts";
import { providerClient, startCompanyProvider } from "../fixtures/company_provider/provider.ts";

const groups = "mcp-users=files:read files:write; mcp-readers=files:read; mcp-admins=administrator";

async function startPlace(
  { habits = "usual", allow = "group:mcp-users; group:mcp-readers; group:mcp-admins", map = groups, claim, on = true }:
    {
      habits?: NonNullable<Parameters<typeof startCompanyProvider>[0]>["habits"] & string;
      allow?: string | null;
      map?: string | null;
      claim?: string;
      on?: boolean;
    } = {},
) {
  let clock = (): number => Date.now();
  const provider = await startCompanyProvider({ habits, clock: () => clock() });
  const rules = parseAllow(allow ?? "*");
  const rights = map === null ? null : parseGroups(map);
  assert.ok(rules.ok);
  const harness = await startHarness({
    ownerPassphrase: on,
    company: {
      issuer: provider.issuer,
      clientId: providerClient.id,
      clientSecret: providerClient.secret,
      allow: allow === null ? [] : rules.value,
      groups: rights?.ok ? rights.value : null,
      groupsClaim: claim ?? (habits === "keycloak" ? "realm_access.roles" : "groups"),
      recheckMs: 43_200_000,
      assertions: false,
      fetch,
    },
  });
  clock = () => harness.time.now;
  const browser = (): TestBrowser => openBrowser(harness);
  return {
    provider,
    harness,
    browser,
    /** The page that comes out of following everything, from a path of ours. */
    async follow(browser: TestBrowser, path: string): Promise<{ status: number; text: string; path: string }> {
      let [url, hops] = [new URL(path, issuer), 0];
      for (;;) {
        assert.ok(hops++ < 12, `sent on too often, lately to ${url}`);
        const isThere = url.origin === provider.origin;
        const response = isThere
          ? await fetch(url, { redirect: "manual" })
          : await browser.get(`${url.pathname}${url.search}`);
        const text = await response.text();
        const offered = isThere ? undefined : /href="([^"]*\/oauth\/company\?[^"]*)"/.exec(text)?.[1];
        const refreshed = /url=(.*)$/.exec(response.headers.get("refresh") ?? "")?.[1];
        const next = response.headers.get("location") ?? refreshed ?? offered?.replaceAll("&amp;", "&");
        if (next === undefined) return { status: response.status, text, path: url.pathname };
        url = new URL(next, url);
      }
    },
    /** The address that the provider sends the browser back to, for a path of ours; not yet visited. */
    async comeBack(browser: TestBrowser, path: string): Promise<URL> {
      const page = await (await browser.get(path)).text();
      const offered = /href="([^"]*\/oauth\/company\?[^"]*)"/.exec(page)?.[1]?.replaceAll("&amp;", "&");
      const sent = await browser.get(offered ?? path);
      assert.equal(sent.status, 302, await sent.text());
      const answer = await fetch(sent.headers.get("location") ?? "", { redirect: "manual" });
      await answer.body?.cancel();
      return locationOf(answer);
    },
    async [Symbol.asyncDispose]() {
      await harness[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("company: sign-in there, consent here, and the grant is the person's, within their groups", async () => {
  await using place = await startPlace();
  place.provider.employ("ada", { name: "Ada Lovelace", groups: ["mcp-readers", "choir"] });
  place.provider.signIn("ada");
  const client = await register(place.harness);
  const browser = place.browser();
  const { text, path } = await place.follow(browser, authorizePath(client.client_id));
  assert.equal(path, "/oauth/consent", text);
  assert.match(text, /<dd>Ada Lovelace<\/dd>/);
  assert.match(text, /Your groups do not let you allow this: [^.]*Create, change/);
  const code = locationOf(await decide(browser, text, { scopes: ["files:read", "files:write"] })).searchParams.get(
    "code",
  );
  const { status, body } = await redeem(place.harness, client, code ?? "");
  assert.equal(status, 200);
  assert.equal(body.scope, "files:read");
  const verified = await place.harness.server.verifier.verify(body.access_token);
  assert.ok(verified.ok);
  assert.match(verified.value.subject, /^company:[0-9a-f]{24}$/);
  const stored = await users.read(place.harness.storage, verified.value.subject);
  assert.equal(stored?.value.passwordHash, noPassphrase);
  assert.deepEqual(stored?.value.company?.groups, ["mcp-readers"]);
});
