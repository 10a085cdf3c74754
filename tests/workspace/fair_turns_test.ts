import assert from "node:assert/strict";
import { exists } from "../../src/lib/system_path.ts";
import { createFairTurns } from "../../src/workspace/text/fair_turns.ts";

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
        const nextTurn = createFairTurns();
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
