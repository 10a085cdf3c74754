/** The console adds a client that the company's provider vouches for. */
import assert from "node:assert/strict";
import { register } from "../authorization_server/harness.ts";
import { act, signInTo, startConsole } from "../console/harness.ts";
import { providerClient, startCompanyProvider } from "../fixtures/company_provider/provider.ts";
import { bring, claimsFor, hour } from "./place.ts";

Deno.test("the console adds a client for assertions and shows its secret once, or names one that is registered", async () => {
  const time = { now: 1_800_000_000_000 };
  await using provider = await startCompanyProvider({ clock: () => time.now });
  const company = {
    issuer: provider.issuer,
    clientId: providerClient.id,
    clientSecret: providerClient.secret,
    allow: [{ kind: "everyone" } as const],
    groups: null,
    groupsClaim: "groups",
    recheckMs: hour,
    assertions: true,
    fetch,
  };
  await using harness = await startConsole([], { time, company });
  const owner = await signInTo(harness);
  assert.match(await (await owner.get("/console/connections")).text(), /Add a client of the company/);
  const nameless = await act(owner, "/console/connections", { act: "vouch", application: " " });
  assert.equal(nameless.status, 422);
  const made = await act(owner, "/console/connections", { act: "vouch", application: "Claude" });
  const page = await made.text();
  assert.equal(made.status, 200);
  const id = /pcc_[0-9a-f]+/.exec(page)?.[0] ?? "";
  const secret = /pcs_[\w-]+/.exec(page)?.[0] ?? "";
  assert.doesNotMatch(await (await owner.get("/console/connections")).text(), /pcs_/);
  assert.ok(!JSON.stringify(harness.lines).includes(secret));
  provider.employ("ada", { groups: ["any"] });
  const registered = await register(harness, { token_endpoint_auth_method: "client_secret_basic" });
  const own = { id: registered.client_id, secret: registered.client_secret ?? "" };
  const bringOwn = async () => await bring({ harness }, own, await provider.assertion(claimsFor(own)));
  assert.equal((await bringOwn()).body.error, "unauthorized_client", "a client does not name itself");
  const open = await register(harness, { token_endpoint_auth_method: "none" });
  for (const application of [open.client_id, `pcc_${"0".repeat(32)}`]) {
    const unfit = await act(owner, "/console/connections", { act: "vouch", application });
    assert.equal(unfit.status, 422);
    assert.match(await unfit.text(), /No client with a secret/);
  }
  assert.equal((await act(owner, "/console/connections", { act: "vouch", application: own.id })).status, 303);
  assert.equal((await bringOwn()).status, 200);
  time.now += 40 * 24 * hour;
  assert.equal((await bringOwn()).status, 200, "it is kept, used or not");
  const issued = await bring({ harness }, { id, secret }, await provider.assertion(claimsFor({ id })));
  assert.equal(issued.status, 200, JSON.stringify(issued.body));
  provider.signIn("ada");
});

Deno.test("where assertions are off, the console does not offer it, and does not do it", async () => {
  await using harness = await startConsole();
  const owner = await signInTo(harness);
  assert.doesNotMatch(await (await owner.get("/console/connections")).text(), /Add a client of the company/);
  assert.equal((await act(owner, "/console/connections", { act: "vouch", application: "Claude" })).status, 422);
});
