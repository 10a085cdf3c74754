import assert from "node:assert/strict";
import { exists } from "../../src/lib/system_path.ts";
import { nextTurn, runInTurn, timeTurnsBy } from "../../src/lib/turns.ts";

Deno.test({
  name: "what arrives during a turn of long work is there at the end of the pause after it",
  ignore: Deno.build.os === "windows",
  async fn() {
    for (let round = 0; round < 5; round++) {
      const directory = Deno.makeTempDirSync();
      try {
        const script = "while [ ! -e go ]; do :; done; echo arrived; : > written";
        await using child = new Deno.Command("sh", { args: ["-c", script], cwd: directory, stdout: "piped" }).spawn();
        let hasArrived = false;
        const reader = child.stdout.getReader();
        const reading = reader.read().then(() => hasArrived = true);
        await new Promise((resolve) => setTimeout(resolve, 0));
        Deno.writeTextFileSync(`${directory}/go`, "");
        while (!exists(`${directory}/written`)) continue;
        let pause = nextTurn();
        while (pause === undefined) pause = nextTurn();
        assert.equal(hasArrived, false);
        await pause;
        assert.equal(hasArrived, true);
        await reading;
        await reader.cancel();
      } finally {
        Deno.removeSync(directory, { recursive: true });
      }
    }
  },
});

/** Works for so many milliseconds in steps of one, and gives up its turn where it should. */
async function workFor(milliseconds: number, onStep: () => void): Promise<void> {
  for (let step = 0; step < milliseconds; step++) {
    const until = performance.now() + 1;
    while (performance.now() < until) continue;
    onStep();
    await nextTurn();
  }
}

Deno.test("a caller with one task is done long before a caller with twenty, whoever came first", async () => {
  await runInTurn("warm", () => workFor(30, () => {})); // from here on callers are known
  const done: string[] = [];
  const many = Array.from({ length: 20 }, () => runInTurn("many", () => workFor(20, () => {})));
  const one = Promise.resolve(runInTurn("one", () => workFor(20, () => {}))).then(() => done.push("one"));
  await Promise.all([...many.map((task) => Promise.resolve(task).then(() => done.push("many"))), one]);
  assert.ok(done.indexOf("one") <= 4, `as number ${done.indexOf("one")}`);
});

Deno.test("what many tasks do without a pause of their own is one turn, whoever they work for", async () => {
  let stepsSincePass = 0;
  let most = 0;
  let isOver = false;
  const watch = (): void => {
    most = Math.max(most, stepsSincePass);
    stepsSincePass = 0;
    if (!isOver) setImmediate(watch);
  };
  setImmediate(watch);
  const tasks = Array.from({ length: 30 }, (_, index) =>
    runInTurn(`caller ${index}`, async () => {
      await workFor(5, () => stepsSincePass++);
    }));
  await Promise.all(tasks);
  isOver = true;
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(most <= 25, `${most} steps of a millisecond between two passes of the event loop`);
});

Deno.test("what arrives during a pause waits behind work of the same caller, and before none of another's", async () => {
  let time = 0;
  timeTurnsBy(() => time);
  try {
    const order: string[] = [];
    const arrive = (caller: string, name: string) =>
      runInTurn(caller, () => {
        order.push(name);
        time += 20; // longer than a turn
      });
    const all = [arrive("many", "first"), arrive("many", "second")];
    await new Promise((resolve) => setImmediate(resolve));
    all.push(arrive("many", "third"), arrive("one", "another's"));
    await Promise.all(all);
    assert.deepEqual(order, ["first", "another's", "second", "third"]);
  } finally {
    timeTurnsBy(() => performance.now());
  }
});

Deno.test("work whose caller has gone ends at its next turn, and other work goes on", async () => {
  const gone = new AbortController();
  let time = performance.now();
  timeTurnsBy(() => time += 10); // each step takes a turn
  try {
    const work = async (steps: number) => {
      for (let step = 0; step < steps; step++) await nextTurn({ signal: gone.signal });
    };
    await work(5);
    gone.abort();
    await assert.rejects(work(5), { name: "AbortError" });
    for (let step = 0; step < 5; step++) await nextTurn(); // what has to be done to its end
  } finally {
    timeTurnsBy(() => performance.now());
  }
});
