/** What is told of links, and calls that wait for one. */
import assert from "node:assert/strict";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { linkKey, resealLinks } from "../../src/servicenow/link_store.ts";
import { callerOf, openPlace, patientTimes } from "./place.ts";

const signal = new AbortController().signal;
const ada = { userName: "ada", name: "Ada Lovelace" };

Deno.test("health() tells since when a link is there, when it was used, and why it ended", async () => {
  await using place = await openPlace();
  const { links } = place.servicenow;
  assert.deepEqual(await links.health("owner"), []);
  const linkedAt = place.now();
  await place.link("owner", "ada");
  await place.link("ben", "ben");
  place.advance(2_000);
  assert.ok((await links.access("owner", { signal })).ok);
  const [linked] = await links.health("owner");
  assert.deepEqual([linked?.state, linked?.account?.userName, linked?.linkedAt, linked?.renewedAt], [
    ...["linked", "ada"],
    ...[linkedAt, linkedAt + 2_000_000],
  ]);
  assert.deepEqual((await links.health(null)).map(({ subject }) => subject).sort(), ["ben", "owner"]);

  place.instance.oauth.endTokensOf("ada");
  place.advance(2_000);
  await place.servicenow.reader.me(callerOf("owner"));
  const [refused] = await links.health("owner");
  assert.deepEqual([refused?.state, refused?.said, refused?.refusedAt, refused?.linkedAt], [
    ...["refused", "server_error: access_denied"],
    ...[linkedAt + 4_000_000, linkedAt],
  ]);
  assert.partialDeepStrictEqual(refused?.account, ada);

  const otherKey = place.another({ secrets: createSecretBox(new Uint8Array(32).fill(8)) });
  assert.deepEqual((await otherKey.links.health("ben")).map(({ state, account }) => [state, account]), [
    ["unreadable", null],
  ]);
  assert.deepEqual((await otherKey.links.health("owner")).map(({ state, account }) => [state, account]), [
    ["refused", null],
  ]);
});

Deno.test("health() tells a link that the instance gave nothing to renew with, and reads what earlier versions left", async () => {
  await using place = await openPlace();
  const { links, signIn } = place.servicenow;
  await links.save("owner", { accessToken: "a", refreshToken: null, expiresInSeconds: 60 }, { sysId: "0", ...ada });
  place.advance(61);
  await links.access("owner", { signal });
  const [ended] = await links.health("owner");
  assert.deepEqual([ended?.state, ended?.said, ended?.account?.userName], ["no_refresh_token", null, "ada"]);

  const value = { instance: signIn.origin, sealed: null, linkedAt: 5 };
  await place.storage.commit({ puts: [{ key: linkKey("old"), value }] });
  const old = {
    subject: "old",
    state: "refused",
    account: null,
    linkedAt: 5,
    renewedAt: 5,
    refusedAt: null,
    said: null,
  };
  assert.deepEqual(await links.health("old"), [old]);
});

Deno.test("resealLinks() keeps whose account a refused link was", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.instance.oauth.endTokensOf("ada");
  place.advance(2_000);
  await place.servicenow.reader.me(callerOf("owner"));
  const to = createSecretBox(new Uint8Array(32).fill(9));
  for (let round = 0; round < 2; round++) await resealLinks(place.storage, { from: place.secrets, to });
  const [refused] = await place.another({ secrets: to }).links.health("owner");
  assert.equal(refused?.account?.userName, "ada");
  assert.equal((await place.servicenow.links.health("owner"))[0]?.account, null);
});

Deno.test("no instance's word for a refusal is shown that could hold more than words", async () => {
  for (const error of ["invalid_grant<script>", "x".repeat(90), "token-8f3a9c0d"]) {
    await using place = await openPlace();
    await place.link("owner", "ada");
    place.advance(2_000);
    const odd = place.another({
      fetch: async (input, init) => {
        if (!String(input).endsWith("/oauth_token.do")) return await fetch(input, init);
        return Response.json({ error, error_description: "no" }, { status: 400 });
      },
    });
    await odd.links.access("owner", { signal });
    assert.deepEqual((await odd.links.health("owner")).map(({ said }) => said), ["no"]);
  }
});

Deno.test("whenLinked() notices a link that another server instance makes, and gives up after a while or with its caller", async () => {
  await using place = await openPlace();
  const waiting = place.servicenow.linking.whenLinked("owner", signal);
  await place.another().links.save("owner", { accessToken: "a", refreshToken: null, expiresInSeconds: 60 }, {
    sysId: "0",
    ...ada,
  });
  await waiting;
  assert.ok(await place.servicenow.linking.isLinked("owner"));
  const impatient = place.another({ times: { ...patientTimes, linkMs: 20 } });
  await impatient.linking.whenLinked("ben", signal);
  await place.servicenow.linking.whenLinked("ben", AbortSignal.abort());
  assert.equal(await place.servicenow.linking.isLinked("ben"), false);
});
