import assert from "node:assert/strict";
import { makeServerPlace, runCommand } from "../fixtures/running_server.ts";

Deno.test("keys: rotate publishes, a second one waits, list shows where each key is, --now leaves one", async () => {
  await using place = await makeServerPlace();
  const keys = (...args: string[]) => runCommand(["keys", ...args, "--data-dir", place.dataDir]);
  const states = async (): Promise<string[]> =>
    (await keys("list")).stdout.trim().split("\n").map((line) => line.split(/ +/)[1] ?? "").sort();
  assert.match((await keys("rotate")).stderr, /is the first, and signs/);
  assert.match((await keys("rotate")).stderr, /is published and signs from 20.+; the one before verifies until 20/);
  assert.deepEqual(await states(), ["active", "published"]);
  const waiting = await keys("rotate");
  assert.equal(waiting.code, 1);
  assert.match(waiting.stderr, /a rotation is under way/);
  assert.match((await keys("rotate", "--now")).stderr, /signs from now on; 2 withdrawn/);
  assert.deepEqual(await states(), ["active"]);
});
