/** The soak of `deno task soak`, cut to what a gate has time for: some kills, every actor, the whole audit. */
import assert from "node:assert/strict";
import { requireFlatDescriptors } from "./require_flat.ts";
import { runSoak } from "./run_soak.ts";

Deno.test("kill -9 under mixed load: nothing acknowledged is lost, torn or undone, and nothing is left over", async () => {
  const { kills, counts, quiet } = await runSoak({
    seed: 20261122,
    kills: 5,
    secondsBetweenKills: 1.5,
    steadySeconds: 2,
    thinkMilliseconds: 40,
    refreshGraceSeconds: 3,
    say: () => {},
  });
  assert.equal(kills, 6);
  for (
    const what of [
      "file_write",
      "consent",
      "code redeemed",
      "refresh",
      "session begun",
      "task begun",
    ]
  ) {
    assert.ok((counts.get(what) ?? 0) > 0, `${what} was part of the load`);
  }
  requireFlatDescriptors(quiet);
});
