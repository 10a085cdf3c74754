/** What `doctor` asks a ServiceNow instance, and the remedy for each fault. */
import assert from "node:assert/strict";
import { registryForm } from "../../src/app/servicenow_wiring.ts";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { startServicenow } from "../fixtures/servicenow/instance.ts";

Deno.test("doctor tells a wrong client and a wrong redirect address, with remedies", async () => {
  const port = freePort();
  await using instance = await startServicenow({ redirectUri: `http://127.0.0.1:${port}/servicenow/callback` });
  await using place = await makeServerPlace();
  const { origin, client } = instance;
  const doctor = async (changes: Readonly<Record<string, string>> = {}): Promise<string> => {
    const places = ["--data-dir", place.dataDir, "--workspace", place.workspaceDir, "--port", String(port)];
    const own = { SERVICENOW_INSTANCE: origin, SERVICENOW_CLIENT_ID: client.clientId };
    const env = { ...own, SERVICENOW_CLIENT_SECRET: client.clientSecret, ...changes };
    return (await runCommand(["doctor", ...places], { env })).stdout;
  };
  assert.match(await doctor(), /^ok +ServiceNow redirect address: /m);
  await assert.rejects(Deno.stat(`${place.dataDir}/portcullis.db`), "it makes nothing");
  const other = await doctor({ SERVER_URL: "https://other.example", REGISTRATION: "off" });
  assert.match(
    other,
    /^warn +ServiceNow redirect address: .*refuses.*\n +hint: .*Redirect URL https:\/\/other\.example\/servicenow\/callback/m,
  );
  const wrong = await doctor({ SERVICENOW_CLIENT_SECRET: "not-the-secret" });
  assert.match(wrong, /^warn +ServiceNow: .* refuses the client/m);
  assert.ok(!wrong.includes("not-the-secret"));
});

Deno.test("SERVICENOW_INSTANCE alone: the start and doctor say what to register at the instance", async () => {
  await using place = await makeServerPlace();
  const env = { SERVICENOW_INSTANCE: "https://dev1.service-now.com" };
  await using server = await startServer(place, { env });
  assert.match(
    server.stderr(),
    /"servicenow_not_configured".*SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET are missing.*Name Portcullis;.*Access Token Lifespan 1800/,
  );
  assert.ok(server.stderr().includes(`Redirect URL ${server.url}/servicenow/callback; Public Client not ticked`));
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
