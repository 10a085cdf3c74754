/** Limits over several workers and several processes of one installation, with real connections. */
import assert from "node:assert/strict";
import { toolCall } from "../fixtures/mcp_call.ts";
import { ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { onLinux, skippedUnless } from "../fixtures/skipped_unless.ts";

function linuxTest(name: string, fn: () => Promise<void>): void {
  Deno.test({ ...skippedUnless(...onLinux, name), fn });
}

/** The status of a request on a connection of its own: the kernel picks a worker for each. */
async function statusOf(url: string, init: RequestInit): Promise<number> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(url, { ...init, client });
  await response.text();
  return response.status;
}

linuxTest(
  "two processes of two workers each admit together what the limit says, and a sixteenth each beyond",
  async () => {
    await using place = await makeServerPlace();
    const env = { DATA_DIR: place.dataDir, MCP_RATE_LIMIT: "32", WORKERS: "2" };
    const { stdout } = await runCommand(["token", "create", "--scope", "files:read"], { env });
    await using first = await startServer(place, { env });
    await using second = await startServer(place, { env });
    const call = (url: string): Promise<number> =>
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
    for (let round = 0; round < 10; round++) {
      const urls = Array.from({ length: 16 }, (_, index) => index % 2 === 0 ? first.url : second.url);
      statuses.push(...await Promise.all(urls.map(call)));
    }
    const elapsedMinutes = (performance.now() - start) / 60_000;
    const admitted = statuses.filter((status) => status === 200).length;
    const most = 32 + 4 * 2 + Math.ceil(elapsedMinutes * 32);
    assert.ok(admitted >= 32 && admitted <= most, `${admitted} of ${statuses.length} admitted, at most ${most}`);
    assert.ok(statuses.every((status) => status === 200 || status === 429), statuses.join());
  },
);

linuxTest("failures at the token endpoint count over all workers, ten times what a success does", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env: { OAUTH_RATE_LIMIT: "32", WORKERS: "4" } });
  const start = performance.now();
  const statuses: number[] = [];
  for (let request = 0; request < 120; request++) {
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: "guess", client_id: "guess" });
    statuses.push(await statusOf(`${server.url}/oauth/token`, { method: "POST", body }));
  }
  const refilled = Math.ceil((performance.now() - start) / 900_000 * 32);
  const looked = statuses.filter((status) => status !== 429).length;
  const most = 32 + 4 * (2 + 1) + refilled; // the charge of a failure comes after it
  assert.ok(looked >= 32 - refilled && looked <= most, `${looked} of ${statuses.length} looked at, at most ${most}`);
});

linuxTest(
  "64 guesses at once over four workers are few attempts, and the owner's own browser is not shut out",
  async () => {
    await using place = await makeServerPlace();
    await using server = await startServer(place, { env: { OAUTH_RATE_LIMIT: "100000", WORKERS: "4" } });
    const owner = createPerson(server.url);
    await setUpOwner(owner, server);
    const signIn = await owner.open(`${server.url}/oauth/grants`);
    if (signIn.html.includes("<title>Sign in")) {
      const signedIn = await owner.submit(signIn, { username: "owner", passphrase: ownerPassphrase });
      assert.equal(signedIn.status, 200, signedIn.html);
    }
    const stranger = createPerson(server.url);
    const page = await stranger.open(`${server.url}/oauth/grants`);
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

    const out = await owner.open(`${server.url}/oauth/grants`);
    const signedOut = await owner.submit(out, {}, "sign-out");
    assert.equal(signedOut.status, 200, signedOut.html);
    const again = await owner.submit(await owner.open(`${server.url}/oauth/grants`), {
      username: "owner",
      passphrase: ownerPassphrase,
    });
    assert.equal(again.status, 200, again.html);
  },
);
