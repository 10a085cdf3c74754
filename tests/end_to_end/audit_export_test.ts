/** The stored audit on its way to a collector of OpenTelemetry, from a server as it is started. */
import assert from "node:assert/strict";
import { form } from "../fixtures/forms/chosen_form.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { startCollector } from "../fixtures/otlp_collector.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

const key = "COLLECTOR-KEY";
const contents = "CONTENTS-OF-A-FILE";

Deno.test({
  ...skippedUnless(
    form.name !== "deploy",
    "the platform takes the telemetry",
    "audit lines arrive with the key of the variables, the head of the chain, and no contents or secret",
  ),
  fn: arrives,
});

async function arrives(): Promise<void> {
  await using collector = startCollector();
  await using place = await makeServerPlace();
  const scope = "files:read files:write";
  const { stdout } = await runCommand(["token", "create", "--scope", scope, "--data-dir", place.dataDir]);
  const token = stdout.trim();
  const env = {
    ...collector.env,
    OTEL_LOGS_EXPORTER: "otlp",
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${key}%3D,  bad header=x`,
    OTEL_SERVICE_NAME: "gate",
    OLLAMA_HOST: "127.0.0.1:1",
  };
  await using server = await startServer(place, { env });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  const call = async (name: string, input: Record<string, unknown>) =>
    await (await postMcp(server.url, toolCall(name, input), { token })).body?.cancel();
  await call("file_write", { filename: "a|b~.txt", content: contents });
  await call("file_read", { filename: "gone.txt" });
  const lineOf = (tool: string) => collector.logs.find(({ attributes }) => attributes["portcullis.tool"] === tool);
  await until("both calls are exported", () => lineOf("file_write") !== undefined && lineOf("file_read") !== undefined);
  const { service, body, attributes } = lineOf("file_write") ?? assert.fail();
  assert.deepEqual([service, body], ["gate", "call file_write ok"]);
  assert.equal(attributes["portcullis.target"], "a|b~.txt");
  assert.equal(attributes["portcullis.person"], "owner");
  assert.equal(lineOf("file_read")?.attributes["portcullis.outcome"], "tool_error");
  assert.equal(collector.logHeaders().get("x-key"), `${key}=`);
  const heads = collector.logs.flatMap((log) => log.attributes["portcullis.audit.head"] ?? []);
  const { code, stdout: verified } = await runCommand([
    ...["audit", "verify", "--head", heads.join(",")],
    ...["--data-dir", place.dataDir],
  ]);
  assert.equal(code, 0, verified);
  const overview = async () => (await openSignedIn(owner, `${server.url}/console`)).html;
  assert.match(await overview(), /Audit export: OK<\/strong> <span>\d+ lines sent to http:\/\/127\.0\.0\.1/);

  collector.fail({ kind: "status", status: 403 });
  await call("file_read", { filename: "gone.txt" });
  await until("the page says so", async () => /Audit export: Does not work.*status 403/s.test(await overview()));
  assert.match(server.stderr(), /audit_export_failed/);
  const { stdout: doctor } = await runCommand(["doctor", "--data-dir", place.dataDir, "--port", "1"], { env });
  assert.match(doctor, /^warn +audit export: on, but http:\/\/127\.0\.0\.1:\d+ answers with status 403/m);
  assert.equal((await server.stop()).code, 0);
  for (const text of [collector.text(), server.stderr(), await overview().catch(() => ""), doctor]) {
    assert.ok(!text.includes(contents) && !text.includes(token) && !text.includes(key));
  }
}

Deno.test("without OTEL_DENO, or without OTEL_LOGS_EXPORTER, no audit line leaves the server", async () => {
  for (const left of [{ OTEL_DENO: "" }, { OTEL_LOGS_EXPORTER: "" }]) {
    await using collector = startCollector();
    await using place = await makeServerPlace();
    const env = { ...collector.env, OTEL_LOGS_EXPORTER: "otlp", OLLAMA_HOST: "127.0.0.1:1", ...left };
    await using server = await startServer(place, { env });
    await setUpOwner(createPerson(server.url), server);
    assert.equal((await server.stop()).code, 0);
    assert.equal(collector.logRequests(), 0);
  }
});
