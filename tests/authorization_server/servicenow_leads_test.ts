/** Pages that lead to the page where a ServiceNow account is linked. */
import assert from "node:assert/strict";
import { createHomeEndpoint } from "../../src/http/home.ts";
import { hiddenField, passphrase, peer, resource, startHarness } from "./harness.ts";
import { callbackPath, openSignInPlace, signedInOwner } from "./servicenow_place.ts";

const lead = /href="\/servicenow\/link"/;

Deno.test("the set-up page, the home page and the Access page lead to the link page, where there is an instance", async () => {
  await using place = await openSignInPlace(false);
  await using without = await startHarness();
  assert.match(await (await place.browser().get("/setup?ready")).text(), lead);
  assert.doesNotMatch(await (await without.fetch("/setup?ready")).text(), /ServiceNow/);

  for (const hasServicenow of [true, false]) {
    const home = createHomeEndpoint({
      base: "",
      resourceOf: () => resource,
      isSetUp: () => Promise.resolve(true),
      hasConsole: true,
      hasServicenow,
    });
    const page = await (await home(new Request(resource), peer)).text();
    assert.equal(lead.test(page), hasServicenow);
  }

  const browser = await signedInOwner(place);
  assert.match(await (await browser.get("/oauth/grants")).text(), lead);
  const linking = await (await browser.get("/servicenow/link")).text();
  const sent = await browser.post("/servicenow/link", { csrf: hiddenField(linking, "csrf"), action: "link" });
  await browser.get(await callbackPath(place, sent, "ada"));
  assert.match(await (await browser.get("/oauth/grants")).text(), /account is Ada Lovelace \(ada\)/);
});

Deno.test("the link page and the sign-in before it speak of linking", async () => {
  await using place = await openSignInPlace(false);
  const browser = place.browser();
  const signIn = await (await browser.get("/servicenow/link")).text();
  assert.match(signIn, /<h1>Link your ServiceNow account<\/h1>[\s\S]*You sign in to ServiceNow\s+after that/);
  const wrong = await browser.post(/action="([^"]+)"/.exec(signIn)?.[1] ?? "", {
    csrf: hiddenField(signIn, "csrf"),
    passphrase: `${passphrase}!`,
  });
  assert.match(await wrong.text(), /<h1>Link your ServiceNow account<\/h1>/);
  const owner = await signedInOwner(place);
  const page = await (await owner.get("/servicenow/link")).text();
  assert.match(page, /<h1>Link your ServiceNow account<\/h1>[\s\S]*<button[^>]*>Link your ServiceNow account</);
});
