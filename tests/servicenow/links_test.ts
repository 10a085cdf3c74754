import assert from "node:assert/strict";
import { createSecretBox } from "../../src/lib/secrets.ts";
import type { Storage, StorageKey, StoredEntry } from "../../src/storage/port.ts";
import { createInstanceTokenEndpoint } from "../../src/servicenow/servicenow.ts";
import { linkKey, resealLinks } from "../../src/servicenow/link_store.ts";
import type { FaultName } from "../fixtures/servicenow/faults.ts";
import { until } from "../fixtures/until.ts";
import { browser, callerOf, openPlace, patientTimes, type Place } from "./place.ts";

const refreshesOf = ({ instance }: Place): number =>
  instance.requests.filter(({ grantType }) => grantType === "refresh_token").length;
const signal = new AbortController().signal;

Deno.test("access() renews a token 60 seconds before it ends, and not earlier", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const { links } = place.servicenow;
  place.advance(1_799 - 61);
  assert.ok((await links.access("owner", { signal })).ok);
  assert.equal(refreshesOf(place), 0);
  place.advance(1);
  assert.ok((await links.access("owner", { signal })).ok);
  assert.ok((await links.access("owner", { signal })).ok);
  assert.equal(refreshesOf(place), 1);
});

Deno.test("access() gives 50 callers of two server instances a new token with one refresh upstream", async () => {
  for (const refreshTokens of ["same", "rotate"] as const) {
    await using place = await openPlace();
    await place.link("owner", "ada");
    place.instance.oauth.habits.refreshTokens = refreshTokens;
    place.advance(2_000);
    const other = place.another();
    const calls = Array.from(
      { length: 50 },
      (_, index) => (index % 2 === 0 ? place.servicenow : other).reader.me(callerOf("owner")),
    );
    const answers = await Promise.all(calls);
    assert.equal(answers.filter(({ ok }) => ok).length, 50);
    assert.equal(refreshesOf(place), 1);
  }
});

Deno.test("access() asks an instance that is down once for 50 callers, and again after a pause", async () => {
  for (
    const fault of ["silence", "reset", "maintenance", "token_gateway_401"] as const satisfies readonly FaultName[]
  ) {
    await using place = await openPlace();
    await place.link("owner", "ada");
    place.advance(2_000);
    place.instance.faults.play(fault, { path: /^\/oauth_token/, times: 9 });
    const times = { ...patientTimes, ...fault === "silence" ? { requestMs: 1_500 } : {} };
    const [one, other] = [place.another({ times }), place.another({ times })];
    const answers = await Promise.all(
      Array.from(
        { length: 50 },
        (_, index) => (index % 2 === 0 ? one : other).links.access("owner", { signal }),
      ),
    );
    assert.ok(answers.every((answer) => !answer.ok && answer.error.reason === "unavailable"), fault);
    assert.equal(refreshesOf(place), 1, fault);
    place.instance.faults.clear();
    place.advance(5);
    assert.ok((await place.servicenow.links.access("owner", { signal })).ok, fault);
    assert.equal(refreshesOf(place), 2, fault);
  }
});

Deno.test("access() goes on with the old token while it lasts when it cannot be renewed", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(1_799 - 30);
  place.instance.faults.play("maintenance", { path: /^\/oauth_token/, times: 9 });
  assert.ok((await place.servicenow.reader.me(callerOf("owner"))).ok);
  place.advance(31);
  const late = await place.servicenow.reader.me(callerOf("owner"));
  assert.equal(!late.ok && late.error.reason, "unavailable");
});

Deno.test("access() keeps the refresh token when a refresh brings none", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.instance.oauth.habits.refreshTokens = "none";
  for (let round = 1; round <= 3; round++) {
    place.advance(2_000);
    assert.ok((await place.servicenow.links.access("owner", { signal })).ok);
    assert.equal(refreshesOf(place), round);
  }
});

Deno.test("access() drops the tokens when the instance refuses the refresh token with 400 or 401", async () => {
  for (const fault of ["token_refused", "token_refused_400"] as const) {
    await using place = await openPlace();
    await place.link("owner", "ada");
    place.advance(2_000);
    place.instance.faults.play(fault);
    const refused = await place.servicenow.reader.me(callerOf("owner"));
    assert.deepEqual(refused, { ok: false, error: { reason: "link_expired" } });
    const stored = await place.storage.get(linkKey("owner"));
    assert.equal((stored?.value as { sealed: unknown }).sealed, null);
    assert.deepEqual(await place.servicenow.links.status("owner"), { state: "expired" });
    await place.servicenow.reader.me(callerOf("owner"));
    assert.equal(refreshesOf(place), 1, "nobody asks again with a token that was refused");
    await place.link("owner", "ada");
    assert.ok((await place.servicenow.reader.me(callerOf("owner"))).ok);
  }
});

Deno.test("access() keeps everybody's tokens when it is the server's own secret that is refused (RFC 6749 §5.2)", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(2_000);
  place.instance.faults.play("token_client_refused");
  const refused = await place.servicenow.reader.me(callerOf("owner"));
  assert.deepEqual(refused, { ok: false, error: { reason: "unavailable", because: "client_refused" } });
  assert.ok(!refused.ok);
  assert.match(place.servicenow.describe(refused.error).detail, /SERVICENOW_CLIENT_SECRET/);
  place.advance(6);
  assert.ok((await place.servicenow.reader.me(callerOf("owner"))).ok);
});

Deno.test("a token endpoint's refusal counts against the person only where it is about the token (RFC 6749 §5.2)", async () => {
  const unavailable = (because: string) => ({ reason: "unavailable", because });
  const refused = (said: string | null) => ({ reason: "refused", said });
  const cases: [string, Record<string, unknown>][] = [
    ['{"error":"invalid_grant"}', refused("invalid_grant")],
    ['{"error":"server_error","error_description":"access_denied"}', refused("server_error: access_denied")],
    ['{"error":"access_denied"}', refused("access_denied")],
    ['{"error":"invalid_client"}', unavailable("client_refused")],
    ['{"error":"unauthorized_client"}', unavailable("client_refused")],
    ['{"error":"temporarily_unavailable"}', unavailable("server_error")],
    ['{"error":"unsupported_grant_type"}', unavailable("server_error")],
    ['{"error":"invalid_request"}', unavailable("server_error")],
    ['{"error":"invalid_scope"}', unavailable("server_error")],
    ['{"message":"blocked by policy"}', unavailable("bad_reply")],
    ['{"error":{"message":"User Not Authenticated"}}', unavailable("bad_reply")],
    ["Proxy authentication required", unavailable("bad_reply")],
    ["", unavailable("bad_reply")],
  ];
  for (const status of [400, 401]) {
    for (const [text, error] of cases) {
      const reply = {
        ok: true,
        value: { status, bytes: new TextEncoder().encode(text), headers: new Headers() },
      } as const;
      const client = { clientId: "c", clientSecret: "s", redirectUri: "https://mcp.test/servicenow/callback" };
      const endpoint = createInstanceTokenEndpoint({ transport: () => Promise.resolve(reply), client });
      assert.deepEqual(await endpoint.refresh("r"), { ok: false, error }, `${status} ${text}`);
    }
  }
});

Deno.test("an account that was locked at the instance is told as an expired link, with what to do", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.instance.oauth.endTokensOf("ada");
  const refused = await place.servicenow.reader.me(callerOf("owner"));
  assert.ok(!refused.ok);
  assert.deepEqual(place.servicenow.describe(refused.error), {
    error: "Authentication expired",
    detail: "ServiceNow no longer accepts the user's sign-in. Ask the user to open " +
      "https://mcp.example.com/servicenow/link and sign in to ServiceNow again, then try again.",
  });
});

Deno.test("a refresh whose server instance died is taken over when its lock has run out", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(2_000);
  const value = { holder: "a process that is gone", failed: null };
  await place.storage.commit({
    puts: [{ key: ["servicenow_refresh", "owner"], value, expiresAt: place.now() + 300 }],
  });
  let looks = 0;
  const { storage } = place;
  const get: typeof storage.get = (key) => {
    if (key[0] === "servicenow_refresh") looks++;
    return storage.get(key);
  };
  const pending = place.another({ storage: { ...storage, get } }).links.access("owner", { signal });
  await until("a second look at the lock", () => looks >= 2);
  place.advance(1);
  assert.ok((await pending).ok);
  assert.equal(refreshesOf(place), 1);
});

Deno.test("a caller who gives up does not take the refresh from the others", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(2_000);
  const controller = new AbortController();
  const leaving = place.servicenow.links.access("owner", { signal: controller.signal });
  const staying = place.servicenow.links.access("owner", { signal });
  controller.abort();
  assert.deepEqual(await leaving, { ok: false, error: { reason: "cancelled" } });
  assert.ok((await staying).ok);
});

Deno.test("unlink() forgets the tokens here and ends them at the instance", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const access = await place.servicenow.links.access("owner", { signal });
  assert.ok(access.ok);
  assert.equal(await place.servicenow.links.unlink("owner"), true);
  assert.equal(place.instance.oauth.userOf(access.value.accessToken), undefined);
  assert.equal(await place.storage.get(linkKey("owner")), null);
  assert.deepEqual(await place.servicenow.reader.me(callerOf("owner")), {
    ok: false,
    error: { reason: "not_linked" },
  });
  assert.equal(await place.servicenow.links.unlink("owner"), false);
  const revocations = place.instance.requests.filter(({ path }) => path === "/oauth_revoke_token.do");
  assert.equal(revocations.length, 2);
  assert.ok(revocations.every(({ query }) => [...query].length === 0), "no token in a URL");
});

Deno.test("unlink() during a refresh wins: the new tokens are not stored", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(2_000);
  place.instance.oauth.habits.refreshTokens = "same";
  const slow = place.another({
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (String(input).endsWith("/oauth_token.do")) await place.servicenow.links.unlink("owner");
      return response;
    },
  });
  assert.deepEqual(await slow.links.access("owner", { signal }), { ok: false, error: { reason: "not_linked" } });
  assert.equal(await place.storage.get(linkKey("owner")), null);
});

Deno.test("unlink() ends the tokens that were stored last, also by a refresh at that moment", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(2_000);
  place.instance.oauth.habits.refreshTokens = "rotate";
  const renewed: string[] = [];
  const beforeIt = async (key: StorageKey): Promise<StoredEntry | null> => {
    const access = await place.servicenow.links.access("owner", { signal });
    if (access.ok) renewed.push(access.value.accessToken);
    return await place.storage.consume(key);
  };
  const slow = place.another({ storage: { ...place.storage, consume: beforeIt } });
  assert.equal(await slow.links.unlink("owner"), true);
  assert.equal(refreshesOf(place), 1);
  assert.deepEqual(renewed.map((token) => place.instance.oauth.userOf(token)), [undefined]);
});

Deno.test("unlink() during a refresh leaves none of the new tokens at the instance", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(2_000);
  place.instance.oauth.habits.refreshTokens = "rotate";
  const slow = place.another({
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (String(input).endsWith("/oauth_token.do")) await place.servicenow.links.unlink("owner");
      return response;
    },
  });
  assert.equal((await slow.links.access("owner", { signal })).ok, false);
  const revocations = place.instance.requests.filter(({ path }) => path === "/oauth_revoke_token.do");
  assert.equal(revocations.length, 4, "two that were stored, two that came");
});

Deno.test("a stolen database gives nothing without the key, and a row is of use to its own person only", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  await place.servicenow.signIn.begin({ browser, purpose: { kind: "link", subject: "owner" } });
  const access = await place.servicenow.links.access("owner", { signal });
  assert.ok(access.ok);
  const files = await Promise.all(
    ["", "-wal"].map(async (suffix) =>
      new TextDecoder("latin1").decode(await Deno.readFile(place.databasePath + suffix))
    ),
  );
  const tokens = [access.value.accessToken, `"ada"`, "Lovelace", access.value.account.sysId, browser];
  for (const secret of tokens) assert.ok(files.every((text) => !text.includes(secret)), secret);

  const otherKey = place.another({ secrets: createSecretBox(new Uint8Array(32).fill(8)) });
  assert.equal((await otherKey.links.status("owner")).state, "expired");

  const row = await place.storage.get(linkKey("owner"));
  await place.storage.commit({ puts: [{ key: linkKey("thief"), value: row?.value }] });
  assert.equal((await place.servicenow.links.status("thief")).state, "expired");
});

Deno.test("a link to one instance is not used with another", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  const moved = place.another({ instance: "https://other.service-now.com" });
  assert.deepEqual(await moved.links.access("owner", { signal }), { ok: false, error: { reason: "not_linked" } });
});

Deno.test("resealLinks() moves every link to a new key", async () => {
  await using place = await openPlace();
  for (let number = 0; number < 5; number++) await place.link(`user-${number}`, "ada");
  const to = createSecretBox(new Uint8Array(32).fill(9));
  await place.storage.commit({ puts: [{ key: linkKey("gone"), value: { instance: "x", sealed: null, linkedAt: 0 } }] });
  const options = { from: place.secrets, to };
  assert.deepEqual(await resealLinks(place.storage, options), { resealed: 5, upToDate: 1, unreadable: 0 });
  assert.deepEqual(await resealLinks(place.storage, options), { resealed: 0, upToDate: 6, unreadable: 0 });
  const after = place.another({ secrets: to });
  assert.ok((await after.reader.me(callerOf("user-4"))).ok);
  const stranger = createSecretBox(new Uint8Array(32).fill(1));
  const unreadable = await resealLinks(place.storage, { from: stranger, to: stranger });
  assert.deepEqual(unreadable, { resealed: 0, upToDate: 1, unreadable: 5 });
});

Deno.test("no token, code or secret is logged", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(2_000);
  await place.servicenow.reader.me(callerOf("owner"));
  place.instance.faults.play("token_refused");
  place.advance(2_000);
  await place.servicenow.reader.me(callerOf("owner"));
  assert.ok(place.logLines.length >= 2);
  const text = JSON.stringify(place.logLines);
  assert.doesNotMatch(text, /[A-Za-z0-9_-]{43}/);
  assert.ok(!text.includes(place.instance.client.clientSecret));
});

Deno.test("access() stores renewed tokens although the database is away when they come, and asks the instance once", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(2_000);
  let failures = 3;
  const commit: Storage["commit"] = (batch) => {
    const renews = batch.puts?.some(({ key }) => key[0] === "servicenow_link");
    return renews && failures-- > 0 ? Promise.reject(new Error("disk full")) : place.storage.commit(batch);
  };
  const flaky = place.another({ storage: { ...place.storage, commit } });
  assert.ok((await flaky.links.access("owner", { signal })).ok);
  assert.ok(failures <= 0);
  assert.equal(refreshesOf(place), 1);
  assert.ok((await place.servicenow.links.access("owner", { signal })).ok);
  assert.equal(refreshesOf(place), 1, "the tokens are there for every instance");
});

Deno.test("access() gives its lock back when the database fails in between", async () => {
  await using place = await openPlace();
  await place.link("owner", "ada");
  place.advance(2_000);
  let locked = false;
  const commit: Storage["commit"] = (batch) => {
    locked ||= batch.puts?.some(({ key }) => key.includes("refresh") || key[0]?.includes("refresh")) === true;
    return place.storage.commit(batch);
  };
  let reads = 0;
  const get: Storage["get"] = (key) => {
    // The first look at the link after the lock was taken.
    if (locked && key[0] === "servicenow_link" && reads++ === 0) return Promise.reject(new Error("disk failed"));
    return place.storage.get(key);
  };
  const flaky = place.another({ storage: { ...place.storage, commit, get } });
  await assert.rejects(flaky.links.access("owner", { signal }), /disk failed/);
  assert.equal(reads, 1);
  assert.ok((await place.servicenow.links.access("owner", { signal })).ok);
});
