/** More connections than the process has descriptors for, at the started server. */
import assert from "node:assert/strict";
import { form } from "../fixtures/forms/chosen_form.ts";
import { makeServerPlace, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";

const limit = 150;
const silentConnections = 1_000;
/** `deno run` raises the soft limit to the hard one. */
const launcher = ["sh", "-c", `ulimit -n ${limit} && exec "$@"`, "sh"];

/** Deno 2.7, of which the base binaries on npm are, reports a failed accept when its last connection has ended. */
const reportsFailures = form.name !== "binary" || Deno.env.get("COMPILE_DENO") === "deno";

Deno.test({
  ...skippedUnless(
    Deno.build.os === "linux" && reportsFailures,
    "it is about Linux, and Deno 2.9",
    `${silentConnections} silent connections end nothing: connections from before are served, and new ones when they are gone`,
  ),
  fn: async () => {
    await using place = await makeServerPlace();
    await using server = await startServer(place, { launcher });
    const early = await keptAlive(server);
    assert.equal(await early.ask(), 200);
    const silent = await openMany(server, silentConnections);
    await until("the report", () => server.stderr().includes('"event":"accept_failed"'));
    assert.equal(await early.ask(), 200, "a connection from before");
    for (const connection of silent) connection.close();
    await until("an answer", () => answers(server));
    early.close();
    const reports = server.stderr().split("\n").filter((line) => line.includes('"event":"accept_failed"'));
    assert.ok(reports.length <= 1, "told once an outage, not once a connection");
    assert.equal((await server.stop()).code, 0);
    assert.doesNotMatch(server.stderr(), /Uncaught|without being asked/);
  },
});

async function openMany({ url }: RunningServer, count: number): Promise<readonly Deno.Conn[]> {
  const { hostname, port } = new URL(url);
  const connect = (): Promise<Deno.Conn | null> => Deno.connect({ hostname, port: Number(port) }).catch(() => null);
  const opened = await Promise.all(Array.from({ length: count }, connect));
  return opened.filter((connection) => connection !== null);
}

async function answers({ url }: RunningServer): Promise<boolean> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  return await fetch(`${url}/health/live`, { client, signal: AbortSignal.timeout(5_000) }).then(async (response) => {
    await response.body?.cancel();
    return response.ok;
  }, () => false);
}

/** One connection that asks and asks again. */
async function keptAlive({ url }: RunningServer): Promise<{ ask(): Promise<number>; close(): void }> {
  const { hostname, port, host } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const buffer = new Uint8Array(4_096);
  return {
    async ask() {
      await connection.write(new TextEncoder().encode(`GET /health/live HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
      const count = await connection.read(buffer);
      return Number(new TextDecoder().decode(buffer.subarray(0, count ?? 0)).slice(9, 12));
    },
    close: () => connection.close(),
  };
}
