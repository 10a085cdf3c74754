/** The door of the stand-in: limits, closed APIs, compression, certificates, lost answers, OAuth. */
import assert from "node:assert/strict";
import { hasOpenssl, makeCertificate } from "../../fixtures/certificate.ts";
import { startServicenow } from "../../fixtures/servicenow/instance.ts";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { skippedUnless } from "../../fixtures/skipped_unless.ts";
import { until } from "../../fixtures/until.ts";
import { errorOf, openDesk } from "./desk.ts";

Deno.test("an instance limits requests an hour for each user, and says how in headers", async () => {
  await using desk = await openDesk({ habits: { requestsPerHour: 2 } });
  const ask = (userName: string) => desk.ask(userName, "incident", { query: { sysparm_limit: "1" } });
  const first = await ask("ada");
  assert.deepEqual([first.status, first.headers.get("x-ratelimit-limit")], [200, "2"]);
  assert.equal(first.headers.get("x-ratelimit-reset"), String(Date.parse("2026-05-28T13:00:00Z") / 1_000));
  await ask("ada");
  const third = await ask("ada");
  assert.equal(errorOf(third), "429 Rate limit exceeded: Rate limit of 2 requests per hour for Table API exceeded");
  assert.equal(third.headers.get("retry-after"), "3600");
  assert.equal((await ask("ben")).status, 200, "each user has a limit of their own");
});

Deno.test("an instance closes an API to everyone", async () => {
  await using desk = await openDesk({ habits: { closedApis: ["now/stats"] } });
  assert.equal(errorOf(await desk.ask("dora", "/api/now/stats/incident")), "403 Failed API level ACL Validation: null");
  assert.equal((await desk.ask("ada", "incident", { query: { sysparm_limit: "1" } })).status, 200);
  const unknown = await desk.ask("ada", "/api/x_app/none");
  assert.equal(errorOf(unknown), "400 Requested URI does not represent any resource: /api/x_app/none");
});

Deno.test("a session cookie stands for its user, whatever token comes with it", async () => {
  await using desk = await openDesk();
  const whoAmI = (userName: string, headers = {}) => desk.ask(userName, "/api/now/ui/user/current_user", { headers });
  const first = await whoAmI("ada");
  const [cookie = ""] = first.headers.getSetCookie()[0]?.split(";") ?? [];
  assert.equal((await whoAmI("ben")).body.result.user_name, "ben");
  assert.equal((await whoAmI("ben", { cookie })).body.result.user_name, "ada");
});

Deno.test("an instance has as many people as a test wants, each with an incident of their own", async () => {
  await using desk = await openDesk({ people: 50, data: "small" });
  for (const userName of ["p01", "p50"]) {
    const [own] = await desk.find(userName, "incident", "caller_id=javascript:gs.getUserID()", "short_description");
    assert.deepEqual(own, { short_description: `Incident of Person ${userName}` });
  }
});

Deno.test("a slow instance answers in its own time, and a malformed path is a bad request", async () => {
  await using desk = await openDesk({ data: "small" });
  assert.equal((await desk.ask("ada", "/api/now/table/incident/%E0%A4%A")).status, 400);
  desk.instance.habits.delayMs = 600_000;
  const authorization = `Bearer ${await desk.token("ada")}`;
  desk.instance.requests.length = 0;
  const impatient = new AbortController();
  const answer = fetch(`${desk.instance.origin}/api/now/table/incident`, {
    headers: { accept: "application/json", authorization },
    signal: impatient.signal,
  });
  await until("the request", () => desk.instance.requests.length === 1);
  impatient.abort();
  await assert.rejects(answer, /abort/i);
  assert.deepEqual(desk.instance.crashes, []);
});

Deno.test("an instance compresses for clients that take it", async () => {
  await using desk = await openDesk();
  const authorization = `Bearer ${await desk.token("ada")}`;
  const send = async (encoding: string): Promise<string> => {
    const { hostname, port } = new URL(desk.instance.origin);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const head = [
      "GET /api/now/table/incident?sysparm_limit=1 HTTP/1.1",
      "host: x",
      "accept: application/json",
      `authorization: ${authorization}`,
      `accept-encoding: ${encoding}`,
      "connection: close",
    ];
    await connection.write(new TextEncoder().encode(`${head.join("\r\n")}\r\n\r\n`));
    return await new Response(connection.readable).text();
  };
  assert.match(await send("gzip"), /content-encoding: gzip/i);
  assert.doesNotMatch(await send("identity"), /content-encoding/i);
});

Deno.test("answers may be forged, lead elsewhere, or grow when they are unpacked", async () => {
  await using desk = await openDesk({ data: "small" });
  const authorization = `Bearer ${await desk.token("ada")}`;
  desk.instance.faults.play("foreign_link");
  assert.match((await desk.ask("ada", "incident")).headers.get("link") ?? "", /evil\.example.*rel="next"/);
  desk.instance.faults.play("forged_record");
  assert.match((await desk.ask("ada", "incident/1")).body.result.sys_id, /^\.\.\//);
  desk.instance.faults.play("gzip_bomb");
  const bomb = await fetch(`${desk.instance.origin}/api/now/table/incident`, { headers: { authorization } });
  let bytes = 0;
  for await (const chunk of bomb.body ?? []) bytes += chunk.byteLength;
  assert.ok(bytes > 64 * 1_048_576);
});

Deno.test("a lost answer is one to a change that was made", async () => {
  await using desk = await openDesk();
  const before = desk.instance.tables.get("incident")?.size ?? 0;
  const authorization = `Bearer ${await desk.token("ada")}`;
  desk.instance.faults.play("answer_lost", { method: "POST", path: /\/table\/incident$/ });
  // On a connection that was kept open, fetch would send it again by itself.
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  await assert.rejects(fetch(`${desk.instance.origin}/api/now/table/incident`, {
    method: "POST",
    client,
    headers: { accept: "application/json", "content-type": "application/json", authorization },
    body: JSON.stringify({ short_description: "Once", caller_id: sysId("a1") }),
  }));
  assert.equal(desk.instance.tables.get("incident")?.size, before + 1);
});

Deno.test({
  ...skippedUnless(hasOpenssl(), "it needs openssl", "an instance has a certificate that its clients do not trust"),
  async fn() {
    const directory = await Deno.makeTempDir();
    try {
      const { certificate, keyFile } = await makeCertificate(directory, "instance");
      const tls = { certificate, key: await Deno.readTextFile(keyFile), host: "localhost" };
      await using instance = await startServicenow({ redirectUri: "http://127.0.0.1:9/callback", tls });
      const address = `${instance.origin}/api/now/table/incident`;
      await assert.rejects(
        fetch(address),
        ({ cause }: Error) => /certificate|CaUsedAsEndEntity|UnknownIssuer/i.test(String(cause)),
      );
      using client = Deno.createHttpClient({ caCerts: [certificate] });
      const trusting = await fetch(address, { client });
      assert.equal(trusting.status, 401);
      await trusting.body?.cancel();
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});

Deno.test("tokens expire, rotate when they are set to, and end when an administrator says so", async () => {
  let now = Date.parse("2026-05-28T12:00:00Z");
  await using instance = await startServicenow({ redirectUri: "http://127.0.0.1:9/callback", clock: () => now });
  const { clientId, clientSecret, redirectUri } = instance.client;
  const token = async (form: Record<string, string>) => {
    const client = { client_id: clientId, client_secret: clientSecret };
    const answered = await fetch(`${instance.origin}/oauth_token.do`, {
      method: "POST",
      body: new URLSearchParams({ ...client, ...form }),
    });
    return { status: answered.status, body: await answered.json() };
  };
  const parameters = { response_type: "code", client_id: clientId, redirect_uri: redirectUri, state: "s" };
  const callback = new URL(
    await instance.approve(`${instance.origin}/oauth_auth.do?${new URLSearchParams(parameters)}`, "ada"),
  );
  const code = {
    grant_type: "authorization_code",
    redirect_uri: redirectUri,
    code: callback.searchParams.get("code") ?? "",
  };
  assert.equal((await token({ ...code, client_secret: "wrong" })).body.error, "invalid_client");
  const first = await token(code);
  assert.deepEqual([first.body.expires_in, first.body.scope], [1_799, "useraccount"]);
  assert.equal((await token(code)).status, 401, "a code is good once");
  const refresh = (refreshToken: string) => token({ grant_type: "refresh_token", refresh_token: refreshToken });
  now += 1_800_000;
  assert.equal(instance.oauth.userOf(first.body.access_token), undefined);
  assert.equal((await refresh(first.body.refresh_token)).body.refresh_token, first.body.refresh_token);
  instance.oauth.habits.refreshTokens = "rotate";
  const rotated = await refresh(first.body.refresh_token);
  assert.notEqual(rotated.body.refresh_token, first.body.refresh_token);
  assert.equal((await refresh(first.body.refresh_token)).status, 401);
  now += (instance.oauth.habits.refreshTokenLifetimeSeconds - 10) * 1_000;
  const late = await refresh(rotated.body.refresh_token);
  assert.equal(late.status, 200);
  now += (instance.oauth.habits.refreshTokenLifetimeSeconds + 1) * 1_000;
  assert.equal((await refresh(late.body.refresh_token)).status, 401, "a refresh token expires too");
  instance.oauth.endTokensOf("ada");
  assert.equal((await refresh(rotated.body.refresh_token)).status, 401);
  const elsewhere = new URLSearchParams({ ...parameters, redirect_uri: "http://127.0.0.1:9/other" });
  const unknown = await fetch(`${instance.origin}/oauth_auth.do?${elsewhere}`);
  assert.equal(unknown.status, 400);
  await unknown.body?.cancel();
});
