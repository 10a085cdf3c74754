/** Of writers that exclude each other one wins, however many they are and in whatever order they come. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { at } from "./contract.ts";
import { checkProperty, quickDirectory } from "./property_runs.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Writers that all know the same content, or all know of none; each by its mode and the instance that it uses. */
const race = fc.record({
  isThere: fc.boolean(),
  writers: fc.array(
    fc.record({ mode: fc.constantFrom("overwrite" as const, "append" as const), instance: fc.nat(1) }),
    { minLength: 2, maxLength: 6 },
  ),
});

for (const backend of ["disk", "store"] as const) {
  Deno.test(`${backend}: of any conditional writers and of any creators, in two instances, exactly one wins`, async () => {
    const directory = quickDirectory();
    const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
    const open = (): Workspace =>
      backend === "disk"
        ? openDiskWorkspace({ root: `${directory}/ws` })
        : openStoreWorkspace({ storage, name: "shared" });
    const instances = [open(), open()] as const;
    try {
      await checkProperty(
        `${backend}: one winner`,
        fc.asyncProperty(race, async ({ isThere, writers }) => {
          const [first] = instances;
          let ifMatch: string | null = null;
          if (isThere) {
            const before = await first.write(at("f"), encode("start "));
            assert.ok(before.ok);
            ifMatch = before.value.sha256;
          }
          const outcomes = await Promise.all(
            writers.map(({ mode, instance }, index) =>
              (instances[instance] ?? first).write(
                at("f"),
                encode(`${index}`),
                ifMatch === null ? { mode: "create" } : { mode, ifMatch },
              )
            ),
          );
          const winners = outcomes.flatMap(({ ok }, index) => ok ? [index] : []);
          assert.equal(winners.length, 1, JSON.stringify(outcomes));
          for (const outcome of outcomes) {
            assert.ok(outcome.ok || outcome.error.reason === (isThere ? "conflict" : "already_exists"));
          }
          const [winner = 0] = winners;
          const read = await first.read(at("f"));
          const expected = isThere && writers[winner]?.mode === "append" ? `start ${winner}` : `${winner}`;
          assert.equal(read.ok && new TextDecoder().decode(read.value.bytes), expected);
          assert.ok((await first.remove(at("f"))).ok);
        }),
      );
    } finally {
      await Promise.all(instances.map((each) => each.close()));
      await storage.close();
      Deno.removeSync(directory, { recursive: true });
    }
  });
}
