/** Limits over two processes of one installation, on PostgreSQL, with real connections. */
import assert from "node:assert/strict";
import { freePort } from "../fixtures/free_port.ts";
import { toolCall } from "../fixtures/mcp_call.ts";
import { ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { startRoundRobinProxy } from "../fixtures/round_robin_proxy.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";

const found = findPostgres();

interface Pair {
  /** Of the load balancer, which sends each request to the next process. */
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly first: RunningServer;
}

/** Runs a test with two processes behind a load balancer. */
function pairTest(name: string, settings: Readonly<Record<string, string>>, run: (pair: Pair) => Promise<void>): void {
  if ("missing" in found) return Deno.test({ name: `SKIPPED ${name}: ${found.missing}`, ignore: true, fn: () => {} });
  Deno.test(name, async () => {
    await using cluster = await startPostgresCluster(found.programs);
    await using place = await makeServerPlace();
    await using proxy = startRoundRobinProxy();
    const env = { DATABASE_URL: cluster.url, SERVER_URL: proxy.url, DATA_DIR: place.dataDir, ...settings };
    const ports = [freePort(), freePort()];
    const start = (port = 0): Promise<RunningServer> => startServer(place, { env, args: ["--port", String(port)] });
    await using first = await start(ports[0]);
    await using _second = await start(ports[1]);
    for (const port of ports) proxy.add(`http://127.0.0.1:${port}`);
    await run({ url: proxy.url, env, first });
  });
}

/** The status of a request on a connection of its own. */
async function statusOf(url: string, init: RequestInit): Promise<number> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(url, { ...init, client });
  await response.text();
  return response.status;
}

pairTest(
  "two processes admit together what the limit says, and a sixteenth each beyond",
  { MCP_RATE_LIMIT: "32" },
  async ({ url, env }) => {
    const { stdout } = await runCommand(["token", "create", "--scope", "files:read"], { env });
    const call = (): Promise<number> =>
      statusOf(`${url}/mcp`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          authorization: `Bearer ${stdout.trim()}`,
        },
        body: JSON.stringify(toolCall("file_list", {})),
      });
    const start = performance.now();
    const statuses: number[] = [];
    for (let round = 0; round < 10; round++) statuses.push(...await Promise.all(Array.from({ length: 16 }, call)));
    const elapsedMinutes = (performance.now() - start) / 60_000;
    const admitted = statuses.filter((status) => status === 200).length;
    const most = 32 + 2 * 2 + Math.ceil(elapsedMinutes * 32);
    assert.ok(admitted >= 32 && admitted <= most, `${admitted} of ${statuses.length} admitted, at most ${most}`);
    assert.ok(statuses.every((status) => status === 200 || status === 429), statuses.join());
  },
);

const failures = "failures at the token endpoint count over both processes, ten times what a success does";
pairTest(failures, { OAUTH_RATE_LIMIT: "32" }, async ({ url }) => {
  const start = performance.now();
  const statuses: number[] = [];
  for (let request = 0; request < 120; request++) {
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: "guess", client_id: "guess" });
    statuses.push(await statusOf(`${url}/oauth/token`, { method: "POST", body }));
  }
  const refilled = Math.ceil((performance.now() - start) / 900_000 * 32);
  const looked = statuses.filter((status) => status !== 429).length;
  const most = 32 + 2 * (2 + 1) + refilled; // the charge of a failure comes after it
  assert.ok(looked >= 32 - refilled && looked <= most, `${looked} of ${statuses.length} looked at, at most ${most}`);
});

pairTest(
  "64 guesses at once over two processes are few attempts, and the owner's own browser is not shut out",
  { OAUTH_RATE_LIMIT: "100000" },
  async ({ url, first }) => {
    const owner = createPerson(url);
    await setUpOwner(owner, first);
    const signIn = await owner.open(`${url}/oauth/grants`);
    if (signIn.html.includes("<title>Sign in")) {
      const signedIn = await owner.submit(signIn, { username: "owner", passphrase: ownerPassphrase });
      assert.equal(signedIn.status, 200, signedIn.html);
    }
    const stranger = createPerson(url);
    const page = await stranger.open(`${url}/oauth/grants`);
    const start = performance.now();
    const guesses = await Promise.all(
      Array.from(
        { length: 64 },
        (_, guess) => stranger.submit(page, { username: "owner", passphrase: `a wrong passphrase ${guess}` }),
      ),
    );
    const seconds = (performance.now() - start) / 1_000;
    const checked = guesses.filter(({ status }) => status === 403).length;
    // Five are free; the delays after that are 1, 2, 4, ... seconds.
    const most = 6 + Math.floor(Math.log2(seconds + 1));
    assert.ok(checked >= 5 && checked <= most, `${checked} checked, at most ${most}`);
    assert.equal(guesses.filter(({ status }) => status === 429).length, 64 - checked);

    const out = await owner.open(`${url}/oauth/grants`);
    const signedOut = await owner.submit(out, {}, "sign-out");
    assert.equal(signedOut.status, 200, signedOut.html);
    const again = await owner.submit(await owner.open(`${url}/oauth/grants`), {
      username: "owner",
      passphrase: ownerPassphrase,
    });
    assert.equal(again.status, 200, again.html);
  },
);
