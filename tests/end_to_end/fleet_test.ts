/**
 * Any instance answers any request: two processes on one PostgreSQL behind a load balancer that sends each request to
 * the next one; official clients and plain ones keep calling while one of the two ends.
 */
import assert from "node:assert/strict";
import { postMcpAnew, toolCall } from "../fixtures/mcp_call.ts";
import { createFleetClient, type FleetClient } from "../fixtures/fleet_client.ts";
import { freePort } from "../fixtures/free_port.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { startRoundRobinProxy } from "../fixtures/round_robin_proxy.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { startWriters } from "../fixtures/writers.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";

const limits = { MCP_RATE_LIMIT: "1000000", OAUTH_RATE_LIMIT: "100000", OLLAMA_HOST: "127.0.0.1:1" };

/** The sign-in and the first calls of an official client; then it stays connected. */
async function comeIn(clients: readonly FleetClient[]): Promise<void> {
  for (const client of clients) {
    await client.signIn();
    await client.connect();
    await client.write(`${client.name}.txt`, "before");
    assert.equal(await client.read(`${client.name}.txt`), "before");
  }
}

/** What holds afterwards: the files, the sessions, and tokens that are refreshed. */
async function goOn(clients: readonly FleetClient[]): Promise<void> {
  for (const client of clients) {
    for (let times = 0; times < 4; times++) assert.equal(await client.read(`${client.name}.txt`), "before");
    await client.refresh();
    await client.write(`${client.name}.txt`, "after");
    assert.equal(await client.read(`${client.name}.txt`), "after");
    await client.close();
  }
}

async function fileToken(dataDir: string, env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runCommand(
    ["token", "create", "--scope", "files:read files:write", "--data-dir", dataDir],
    { env },
  );
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

async function assertWritten(server: RunningServer, names: readonly string[]): Promise<void> {
  for (const name of names) assert.equal(await Deno.readTextFile(`${server.workspaceDir}/${name}`), name);
}

const found = findPostgres();
const fleet =
  "two processes on PostgreSQL behind a load balancer are one server; one is killed under load and comes back";
if ("missing" in found) {
  Deno.test({ name: `SKIPPED ${fleet}: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  Deno.test(fleet, async () => {
    await using cluster = await startPostgresCluster(found.programs);
    await using place = await makeServerPlace();
    const ports = [freePort(), freePort()];
    const [killed = "", survivor = ""] = ports.map((port) => `http://127.0.0.1:${port}`);
    await using proxy = startRoundRobinProxy();
    for (const instance of [killed, survivor]) proxy.add(instance);
    const env = { ...limits, DATABASE_URL: cluster.url, SERVER_URL: proxy.url };
    const start = (index: number) => startServer(place, { env, args: ["--port", String(ports[index])] });
    const first = await start(0);
    await using second = await start(1);
    assert.equal(second.setUpLink, first.setUpLink, "whichever link is opened works");

    const person = createPerson(proxy.url);
    await setUpOwner(person, first);
    const clients = (["v1", "v2"] as const).map((sdk) => createFleetClient(sdk, new URL(`${proxy.url}/mcp`), person));
    await comeIn(clients);
    for (const backend of [killed, survivor]) assert.ok((proxy.requests.get(backend) ?? 0) > 5, backend);

    const writers = startWriters(proxy.url, await fileToken(place.dataDir, env), 4);
    await until("writes", () => writers.acknowledged.length >= 20);
    const status = await first.stop("SIGKILL");
    assert.equal(status.signal, "SIGKILL");
    const goneAt = performance.now();
    const before = writers.acknowledged.length;
    await until("writes by the one that is left", () => writers.acknowledged.length >= before + 20);
    await using again = await start(0);
    const sentBefore = proxy.requests.get(killed) ?? 0;
    await until("requests for the one that came back", () => (proxy.requests.get(killed) ?? 0) >= sentBefore + 10);
    await writers.stop();
    assert.deepEqual(writers.failures.filter(({ begunAt }) => begunAt > goneAt), [], "only what was cut off failed");
    await assertWritten(again, writers.acknowledged);
    await goOn(clients);
  });
}

const edits = "edits of one file by several servers at once: every one that was acknowledged is in the file";
Deno.test({ name: edits, ignore: Deno.build.os !== "linux" }, async () => {
  await using place = await makeServerPlace();
  const env = { ...limits, DATA_DIR: place.dataDir };
  await using first = await startServer(place, { env });
  await using second = await startServer(place, { env });
  const token = await fileToken(place.dataDir, env);
  const edit = async (number: number): Promise<boolean> => {
    const edit = { old_text: `line ${number} before`, new_text: `line ${number} after` };
    const message = toolCall("file_edit", { filename: "shared.txt", ...edit });
    const { url } = number % 2 === 0 ? first : second;
    return (await postMcpAnew(url, message, token)).text.includes('"isError":false');
  };
  const file = `${place.workspaceDir}/shared.txt`;
  const numbers = Array.from({ length: 16 }, (_, number) => number);
  for (let round = 0; round < 6; round++) {
    await Deno.writeTextFile(file, numbers.map((number) => `line ${number} before\n`).join("") + "x".repeat(100_000));
    const done = await Promise.all(numbers.map(edit));
    const text = await Deno.readTextFile(file);
    assert.ok(done.some((isDone) => isDone));
    for (const number of numbers) assert.equal(text.includes(`line ${number} after`), done[number], `line ${number}`);
  }
});
