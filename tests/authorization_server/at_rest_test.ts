import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "@panva/jose";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { createClient } from "../../src/oauth/manage_clients.ts";
import { addUser, resetUser } from "../../src/oauth/manage_users.ts";
import { createOperatorToken } from "../../src/oauth/access_token.ts";
import { rotateSigningKeys } from "../../src/oauth/signing_keys.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import {
  authorizePath,
  basic,
  decide,
  fetchFrom,
  type Harness,
  hiddenField,
  issuer,
  locationOf,
  mount,
  openBrowser,
  passphrase,
  postForm,
  postLinkForm,
  reachConsent,
  redeem,
  refresh,
  register,
  startHarness,
  type TestBrowser,
  verifier,
} from "./harness.ts";

/** Runs every flow and collects every secret that passed through it. */
async function runEverything(harness: Harness): Promise<Record<string, string>> {
  const setUpLink = await harness.server.issueSetUpLink() ?? "";
  const setUpCode = new URL(setUpLink).searchParams.get("code") ?? "";
  const form = { code: setUpCode, passphrase, confirmation: passphrase };
  assert.equal((await postLinkForm(openBrowser(harness), "/setup", form)).status, 303);
  const client = await register(harness, { token_endpoint_auth_method: "client_secret_post" });
  const browser = openBrowser(harness);
  const page = await reachConsent(browser, authorizePath(client.client_id));
  const code = locationOf(await decide(browser, page)).searchParams.get("code") ?? "";
  const first = await redeem(harness, client, code);
  const second = await refresh(harness, client, first.body.refresh_token);
  const operator = await createOperatorToken(harness.deps, { scope: "files:read", lifetimeSeconds: 60 });
  await postForm(harness, "/oauth/revoke", {
    token: first.body.access_token,
    client_id: client.client_id,
    client_secret: client.client_secret ?? "",
  });
  await redeem(harness, client, code, { code_verifier: `${verifier}wrong` });
  await refresh(harness, client, second.body.refresh_token, { client_secret: "pcs_wrong-secret-of-somebody" });
  const rest = await runOperatorFlows(harness, browser);
  return {
    ...rest,
    passphrase,
    setUpCode,
    verifier,
    code,
    clientSecret: client.client_secret ?? "",
    wrongSecret: "pcs_wrong-secret-of-somebody",
    handle: hiddenField(page, "request"),
    accessToken: first.body.access_token,
    accessSignature: first.body.access_token.split(".")[2] ?? "",
    refreshToken: first.body.refresh_token,
    refreshMac: first.body.refresh_token.split("_").slice(3).join("_"),
    successor: second.body.refresh_token,
    operatorToken: operator.ok ? operator.value.token : "",
    ...Object.fromEntries([...browser.cookies].map(([name, value]) => [`cookie ${name}`, value])),
  };
}

/** Named users, machines with secrets and with keys, introspection, the grants page. */
async function runOperatorFlows(harness: Harness, browser: TestBrowser): Promise<Record<string, string>> {
  const userPassphrase = "passphrase of alice";
  const newPassphrase = "new passphrase of alice";
  await addUser(harness.deps, { name: "alice", passphrase: userPassphrase });
  await resetUser(harness.deps, { name: "alice", passphrase: newPassphrase });
  const machine = await createClient(harness.deps, {
    name: "Job",
    grantTypes: ["client_credentials"],
    scope: "files:read",
  });
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const signer = await createClient(harness.deps, {
    name: "Signer",
    grantTypes: ["client_credentials"],
    scope: "files:read",
    authentication: "private_key_jwt",
    jwks: JSON.stringify({ keys: [await exportJWK(publicKey)] }),
  });
  assert.ok(machine.ok && signer.ok);
  const machineSecret = machine.value.secret ?? "";
  const byBasic = basic(machine.value.client.id, machineSecret);
  const machineToken = (await postForm(harness, "/oauth/token", { grant_type: "client_credentials" }, byBasic)).body;
  await postForm(harness, "/oauth/introspect", { token: machineToken.access_token }, byBasic);
  const seconds = Math.floor(harness.time.now / 1_000);
  const id = signer.value.client.id;
  const jti = "the-jti-of-the-assertion";
  const assertion = await new SignJWT({ iss: id, sub: id, aud: issuer, jti, exp: seconds + 60 })
    .setProtectedHeader({ alg: "ES256" }).sign(privateKey);
  const form = {
    grant_type: "client_credentials",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: assertion,
  };
  assert.equal((await postForm(harness, "/oauth/token", form)).status, 200);
  const grants = await (await browser.get("/oauth/grants")).text();
  await rotateSigningKeys(harness.deps, { leadSeconds: 900, overlapSeconds: 3_600 });
  return {
    userPassphrase,
    newPassphrase,
    machineSecret,
    machineToken: machineToken.access_token,
    assertion,
    jti,
    clientPrivateKey: (await exportJWK(privateKey)).d ?? "",
    csrf: hiddenField(grants, "csrf"),
  };
}

Deno.test("neither the database nor the log holds any secret that passed through", async () => {
  await using harness = await startHarness({ setUp: false });
  const secrets = await runEverything(harness);
  const directory = dirname(harness.databasePath);
  const files = readdirSync(directory).map((name) => readFileSync(`${directory}/${name}`, "latin1"));
  assert.ok(files.some((text) => text.includes("authorization_code")), "the search looks at the right files");
  const log = JSON.stringify(harness.lines);
  assert.ok(harness.lines.length > 5);
  for (const [name, secret] of Object.entries(secrets)) {
    assert.ok(secret.length > 11, `${name} was collected`);
    assert.ok(!files.some((text) => text.includes(secret)), `${name} is in the database`);
    assert.ok(!log.includes(secret), `${name} is in the log`);
  }
});

Deno.test("private signing keys are sealed", async () => {
  await using harness = await startHarness({ setUp: false });
  await runEverything(harness);
  const [entry] = await harness.storage.list(["signing_key"], { limit: 1 });
  const text = JSON.stringify(entry?.value);
  assert.ok(!/"d"\s*:/.test(text));
});

Deno.test("the database files are for their owner only", async () => {
  await using harness = await startHarness({ setUp: false });
  await runEverything(harness);
  const directory = dirname(harness.databasePath);
  for (const name of readdirSync(directory)) assert.equal(statSync(`${directory}/${name}`).mode & 0o077, 0, name);
});

Deno.test("clients, grants, revocations and signing keys survive a restart", async () => {
  await using harness = await startHarness({ setUp: false });
  const { accessToken = "", successor = "" } = await runEverything(harness);
  const client = await register(harness);
  const storage = openSqliteStorage({ path: harness.databasePath, clock: harness.deps.clock });
  const restarted = createAuthorizationServer({ ...harness.deps, storage });
  assert.equal(await restarted.issueSetUpLink(), null);
  assert.deepEqual(await restarted.verifier.verify(accessToken), { ok: false, error: "revoked_token" });
  const body = new URLSearchParams({
    grant_type: "refresh_token",
    refresh_token: successor,
    client_id: client.client_id,
  });
  const answer = await fetchFrom(mount(restarted), "https://mcp.test")("/oauth/token", { method: "POST", body });
  assert.equal((await answer.json()).error, "invalid_grant"); // the client is known, the token is another client's
  await storage.close();
});
