/** `doctor --servicenow`: what it asks the instance, and the remedy for each fault. */
import assert from "node:assert/strict";
import { form } from "../fixtures/forms/chosen_form.ts";
import { registryForm } from "../../src/app/servicenow_registry.ts";
import { hasOpenssl, makeAuthority, makeCertificate } from "../fixtures/certificate.ts";
import { freePort } from "../fixtures/free_port.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { type StandInInstance, startServicenow } from "../fixtures/servicenow/instance.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

interface Ward extends AsyncDisposable {
  readonly instance: StandInInstance;
  readonly place: ServerPlace;
  readonly port: number;
  doctor(changes?: Readonly<Record<string, string>>): Promise<string>;
}

async function openWard(): Promise<Ward> {
  const port = freePort();
  const instance = await startServicenow({ redirectUri: `http://127.0.0.1:${port}/servicenow/callback` });
  const place = await makeServerPlace();
  return {
    instance,
    place,
    port,
    async doctor(changes = {}) {
      const places = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir, "--port", String(port)];
      const { stdout } = await runCommand(["doctor", "--servicenow", ...places], {
        env: { ...environmentOf(instance), ...changes },
      });
      return stdout;
    },
    async [Symbol.asyncDispose]() {
      await instance[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

function environmentOf({ origin, client }: StandInInstance): Record<string, string> {
  return {
    SERVICENOW_INSTANCE: origin,
    SERVICENOW_CLIENT_ID: client.clientId,
    SERVICENOW_CLIENT_SECRET: client.clientSecret,
    SERVICENOW_TABLES: "incident,problem,no_such_table,cmdb_ci_*",
  };
}

Deno.test("doctor --servicenow asks each API and table as a person who has linked an account", async () => {
  await using ward = await openWard();
  const { instance, place, port } = ward;
  const before = await ward.doctor();
  assert.match(before, /^ok +ServiceNow API: the Table API answers, and demands a sign-in \(401\)$/m);
  assert.match(before, /^ok +ServiceNow redirect address: /m);
  assert.match(before, /^note +ServiceNow tables: not asked: no one has linked .*\n +hint: link one at http/m);
  assert.match(before, /^(ok|FAIL) +ServiceNow, /m, "then it plays ServiceNow's own client");
  await assert.rejects(Deno.stat(`${place.dataDir}/portcullis.db`), "it makes nothing");
  {
    await using server = await startServer(place, { args: ["--port", String(port)], env: environmentOf(instance) });
    const owner = createPerson(server.url);
    await setUpOwner(owner, server);
    const page = await openSignedIn(owner, `${server.url}/servicenow/link`);
    const sent = await owner.submit(page, { action: "link" }, 'value="link"');
    await owner.open(await instance.approve(sent.headers.get("refresh")?.split("url=")[1] ?? "", "ada"));
    instance.oauth.endAccessTokens();
    instance.habits.closedApis = ["sn_km_api/knowledge"];
    const asked = await ward.doctor();
    assert.match(asked, /^ok +ServiceNow tables: open to ada: .*incident/m);
    assert.match(asked, /^warn +ServiceNow tables: no_such_table: answers 400 as ada\n +hint: .*SERVICENOW_TABLES/m);
    assert.match(asked, /^note +ServiceNow tables: 1 of SERVICENOW_TABLES are beginnings/m);
    assert.match(asked, /^warn +ServiceNow API: Knowledge API: answers 403 as ada.*\n +hint: .*REST API ACLs/m);
    assert.match(asked, /^ok +ServiceNow API: open to ada: Attachment API, Service Catalog API$/m);
  }
});

Deno.test("doctor --servicenow tells a sleeping instance, a wrong client and a wrong redirect address, with remedies", async () => {
  await using ward = await openWard();
  const { instance } = ward;
  instance.faults.play("hibernating", { times: 99 });
  assert.match(await ward.doctor(), /^warn +ServiceNow API: .*hibernating.*\n +hint: wake it/m);
  instance.faults.clear();
  const other = await ward.doctor({ SERVER_URL: "https://other.example", REGISTRATION: "off" });
  assert.match(
    other,
    /^warn +ServiceNow redirect address: .*refuses.*\n +hint: .*Redirect URL https:\/\/other\.example\/servicenow\/callback/m,
  );
  assert.match(await ward.doctor({ SERVICENOW_CLIENT_ID: "x" }), /^warn +ServiceNow redirect address: .*refuses/m);
  const wrong = await ward.doctor({ SERVICENOW_CLIENT_SECRET: "not-the-secret" });
  assert.match(wrong, /^warn +ServiceNow: .* refuses the client/m);
  assert.ok(!wrong.includes("not-the-secret"));
});

/** A container has no name for the loopback, and sees no certificate that lies beside its volumes. */
const lacks = hasOpenssl() ? form.lacks["other files"] : "there is no openssl";

Deno.test({
  ...skippedUnless(
    lacks === undefined,
    lacks ?? "",
    "doctor --servicenow tells an untrusted certificate of the instance",
  ),
  async fn() {
    const directory = await Deno.makeTempDir();
    try {
      const { certificate, keyFile } = await makeCertificate(directory, "instance");
      const tls = { certificate, key: await Deno.readTextFile(keyFile), host: "localhost" };
      await using instance = await startServicenow({ redirectUri: "http://127.0.0.1:9/callback", tls });
      await using ward = await openWard();
      const told = await ward.doctor({ SERVICENOW_INSTANCE: instance.origin });
      assert.match(told, /^warn +ServiceNow certificate: localhost .*\n +hint: .*DENO_CERT/m);
      assert.doesNotMatch(told, /ServiceNow (API|tables)/);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});

Deno.test({
  ...skippedUnless(
    lacks === undefined,
    lacks ?? "",
    "doctor --servicenow tells what is wrong with a certificate of the instance, each fault with its own remedy",
  ),
  async fn() {
    const directory = await Deno.makeTempDir();
    try {
      const authority = await makeAuthority(directory);
      await using ward = await openWard();
      for (
        const [name, from, until, expected] of [
          [
            "localhost",
            "20200101",
            "20200201",
            /certificate that has expired.*\n +hint: have the certificate .*renewed/,
          ],
          ["localhost", "20490101", "20490201", /is not valid yet.*\n +hint: set this machine's clock/],
          ["other.example", "20200101", "20490101", /of another name.*\n +hint: correct SERVICENOW_INSTANCE/],
        ] as const
      ) {
        const { certificate, keyFile } = await authority.issue(name, from, until);
        const tls = { certificate, key: await Deno.readTextFile(keyFile), host: "localhost" };
        await using instance = await startServicenow({ redirectUri: "http://127.0.0.1:9/callback", tls });
        const env = { SERVICENOW_INSTANCE: instance.origin, DENO_CERT: authority.authorityFile };
        const told = await ward.doctor(env);
        assert.match(told, new RegExp(`^warn +ServiceNow certificate: localhost .*${expected.source}`, "m"));
        assert.doesNotMatch(told, /ServiceNow (API|tables)/);
      }
      const gone = await ward.doctor({ SERVICENOW_INSTANCE: "https://no-such-instance.invalid" });
      assert.match(gone, /^warn +ServiceNow certificate: .*does not show its certificate.*\n +hint: .*DNS, firewall/m);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});

Deno.test("SERVICENOW_INSTANCE alone: the start and doctor say what to register at the instance", async () => {
  await using place = await makeServerPlace();
  const env = { SERVICENOW_INSTANCE: "https://dev1.service-now.com" };
  await using server = await startServer(place, { env });
  const form = [
    ...[/Application Registry/, /Name +Portcullis/, /Public Client +not ticked/, /Auth Scope +useraccount/],
    ...[/Refresh Token Lifespan +8640000/, /Access Token Lifespan +1800/],
    new RegExp(`Redirect URL +${server.url}/servicenow/callback`),
  ];
  for (const line of form) assert.match(server.stderr(), line);
  assert.match(server.stderr(), /Then set SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET from that form/);
  const { stdout } = await runCommand(["doctor", "--data-dir", place.dataDir, "--workspace", place.workspaceDir], {
    env: { ...env, SERVER_URL: "https://mcp.example.com", REGISTRATION: "off" },
  });
  assert.match(
    stdout,
    /SERVICENOW_INSTANCE alone offers no tools[^\n]*\n +hint: .*Redirect URL https:\/\/mcp\.example\.com\/servicenow\/callback.*Access Token Lifespan 1800/,
  );
});

Deno.test("docs/servicenow.md shows the form that the start prints", async () => {
  const page = (await Deno.readTextFile(new URL("../../docs/servicenow.md", import.meta.url))).replaceAll(
    /(?<=\d),(?=\d{3})/g,
    "",
  );
  for (const [field, value] of registryForm("https://YOUR-SERVER")) {
    const rows = page.split("\n").filter((line) => line.startsWith(`| ${field} `));
    assert.ok(rows.some((row) => row.includes(value.split(",")[0] ?? "")), `${field}: ${rows.join()}`);
  }
});
