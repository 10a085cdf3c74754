/** More connections than the process has descriptors for, at the started server. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { form } from "../fixtures/forms/chosen_form.ts";
import { cleanEnvironment } from "../fixtures/forms/server_process.ts";
import { makeServerPlace, type RunningServer, serverFlags, startServer } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";

const limit = 150;
const program = fileURLToPath(new URL("../../main.ts", import.meta.url));
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

/** What `doctor` says of connections, under a limit of descriptors. */
async function examine(limit: number, env: Readonly<Record<string, string>>): Promise<string> {
  await using place = await makeServerPlace();
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", `ulimit -n ${limit} && exec "$@"`, "sh", Deno.execPath(), "run", ...serverFlags, program, "doctor"],
    clearEnv: true,
    env: { ...cleanEnvironment(), DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, NO_COLOR: "1", ...env },
  }).output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line.includes("connections:")).join("\n");
}

Deno.test({
  name:
    "doctor compares the limit of descriptors with the streams that are allowed, and asks for a proxy on open addresses",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    assert.match(
      await examine(300, {}),
      /^warn +connections: 2000 streams need about 2512 descriptors, but this system allows only 2/,
    );
    assert.match(await examine(4_000, {}), /^ok +connections: 2000 streams[^\n]*$/);
    const open = { HOST: "0.0.0.0", SERVER_URL: "https://mcp.example.com", REGISTRATION: "off" };
    assert.match(await examine(4_000, open), /^ok[^]*\nwarn +connections: a client that reaches 0\.0\.0\.0 /);
    assert.doesNotMatch(await examine(4_000, { ...open, TRUST_PROXY: "10.0.0.1" }), /^warn/m);
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
