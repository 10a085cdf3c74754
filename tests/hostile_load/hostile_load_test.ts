/** The hostile load of `deno task soak hostile`, cut to what a gate has time for. Its times are not judged. */
import assert from "node:assert/strict";
import process from "node:process";
import { runHostileLoad } from "./run_hostile_load.ts";

const seed = 20_261_122;
const seconds = 20;

Deno.test("hostile calls of every kind in a small heap end nothing, and an innocent caller is served", async () => {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const { counts, innocent } = await runHostileLoad({ seed, seconds, say });
  assert.ok(counts.size > 30, `${counts.size} kinds of attack were sent`);
  assert.ok(innocent.answers > 0);
  assert.deepEqual(innocent.wrong, {});
});
