import assert from "node:assert/strict";
import {
  authorizePath,
  connect,
  type Harness,
  hiddenField,
  mount,
  obtainCode,
  openBrowser,
  passphrase,
  redirectUri,
  register,
  startHarness,
} from "./harness.ts";
import { openTestNetwork } from "./test_network.ts";

/** A secret that slipped into the wrong field, in each form that a field may ask for. */
const slipped = "tr0ub4dor-and-3";
const forms = [
  slipped,
  slipped.replaceAll("-", " "),
  `https://app.example.com/${slipped}`,
  `https://app.example.com/?${slipped}`,
  `pcr_${slipped}`,
];
const fields = [
  "grant_type",
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type",
  "code",
  "code_verifier",
  "refresh_token",
  "redirect_uri",
  "resource",
  "scope",
  "token",
  "token_type_hint",
  "response_type",
  "response_mode",
  "code_challenge",
  "code_challenge_method",
  "state",
  "prompt",
  "request",
  "request_uri",
  "username",
  "passphrase",
  "csrf",
  "account",
  "proof",
  "decision",
  "grant",
  "confirmation",
  slipped,
];

function assertUnsaid(harness: Harness, what: string): void {
  const log = JSON.stringify(harness.lines).toLowerCase();
  for (const part of ["tr0ub4dor", encodeURIComponent(slipped)]) assert.ok(!log.includes(part), `${what}: ${log}`);
}

Deno.test("no refusal says in the log what a caller sent, in whatever field, at whatever endpoint", async () => {
  await using web = openTestNetwork();
  await using harness = await startHarness({ fetchDocument: web.fetcher() });
  const { client, tokens } = await connect(harness);
  const usual: Record<string, string> = {
    grant_type: "refresh_token",
    client_id: client.client_id,
    refresh_token: tokens.refresh_token,
    response_type: "code",
    redirect_uri: redirectUri,
    username: "owner",
    passphrase,
  };
  for (const path of Object.keys(mount(harness.server))) {
    for (const field of fields) {
      for (const value of forms) {
        harness.time.now += 3_600_000 / 1_000; // no delay after wrong passphrases
        const form = new URLSearchParams({ ...usual, [field]: value });
        const answers = [
          await harness.fetch(`${path}?${form}`),
          await harness.fetch(path, { method: "POST", body: form }),
          await harness.fetch(path, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(Object.fromEntries(form)),
          }),
        ];
        for (const answer of answers) await answer.body?.cancel();
        assertUnsaid(harness, `${field}=${value} at ${path}`);
        harness.lines.length = 0;
      }
    }
  }
  for (const authorization of [`Basic ${btoa(`${slipped}:${slipped}`)}`, `Bearer ${slipped}`, slipped]) {
    for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/register"]) {
      const answer = await harness.fetch(path, {
        method: "POST",
        headers: { authorization },
        body: new URLSearchParams({ grant_type: "refresh_token" }),
      });
      await answer.body?.cancel();
      assertUnsaid(harness, `${authorization} at ${path}`);
    }
  }
});

Deno.test("a passphrase in the field for the name is not in the log, a known name is", async () => {
  await using harness = await startHarness();
  const client = await register(harness);
  const browser = openBrowser(harness);
  const page = await (await browser.get(authorizePath(client.client_id))).text();
  const request = hiddenField(page, "request");
  for (const username of [slipped, slipped.toUpperCase(), "owner"]) {
    for (let attempt = 0; attempt < 8; attempt++) {
      const answer = await browser.post("/oauth/sign-in", { request, username, passphrase: "wrong" });
      await answer.body?.cancel();
    }
    assertUnsaid(harness, username);
  }
  const users = harness.lines.filter(({ event }) => event === "sign_in").map(({ fields }) => fields["user"]);
  assert.equal(new Set(users.filter((user) => user !== "owner")).size, 1, "equal names can be told to be equal");
  assert.ok(users.includes("owner"));
});

Deno.test("a registration's line says no text of the client's", async () => {
  await using harness = await startHarness();
  const client = await register(harness, {
    client_name: slipped,
    redirect_uris: [redirectUri, `https://client.test/${slipped}`],
    scope: slipped,
  });
  assertUnsaid(harness, "registration");
  const [line] = harness.lines.filter(({ event }) => event === "client_registration");
  assert.equal(line?.fields["client"], client.client_id);
  const code = await obtainCode(harness, client, { redirect_uri: redirectUri });
  assert.notEqual(code, "");
  assertUnsaid(harness, "consent");
});
