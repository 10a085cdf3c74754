/** The tasks of deno.json, and the programs that three of them choose by name. */
import assert from "node:assert/strict";
import { root } from "../../scripts/bundle.ts";
import { heapFlag } from "../../src/lib/start_flags.ts";
import { commandOf, programs } from "../../scripts/run_by_name.ts";

Deno.test("deno.json has at most fifteen tasks", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
  const names = Object.keys(tasks);
  assert.ok(names.length <= 15, names.join(" "));
});

Deno.test("every task that runs the program has the same flags of V8, else each start after another task compiles it anew", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
  const running = Object.entries<string>(tasks).filter(([, command]) => / main\.ts /.test(command));
  assert.ok(running.some(([name]) => name === "start"), "the tasks were read");
  for (const [name, command] of running) assert.ok(command.split(" ").includes(heapFlag), name);
});

Deno.test("a task that chooses by name passes the arguments on, and refuses a name that it does not have", async () => {
  assert.deepEqual(commandOf("bench", []), ["run", "--allow-all", "bench/run.ts"]);
  assert.deepEqual(commandOf("bench", ["start", "PROGRAM"]), ["run", "--allow-all", "bench/start_bench.ts", "PROGRAM"]);
  assert.deepEqual(commandOf("soak", ["--minutes", "10"])?.slice(-3), ["tests/soak/soak.ts", "--minutes", "10"]);
  assert.deepEqual(commandOf("soak", ["fleet", "--seeds", "5"])?.slice(-2), ["--seeds", "5"]);
  for (const args of [["no-such-name"], ["constructor"]]) assert.equal(commandOf("bench", args), null);
  assert.deepEqual(commandOf("release", ["1.2.3", "--only", "pins"])?.slice(-4), [
    "scripts/release/release.ts",
    "1.2.3",
    "--only",
    "pins",
  ]);
  assert.equal(commandOf("release", ["no-such-name"]), null);
  for (const named of Object.values(programs)) {
    for (const command of Object.values(named)) assert.ok(await Deno.stat(`${root}${command.at(-1)}`));
  }
});
