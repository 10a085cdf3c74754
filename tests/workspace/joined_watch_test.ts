import assert from "node:assert/strict";
import { joinWatches, type WorkspaceChange } from "../../src/files/workspace/watch.ts";

import { at } from "./contract.ts";
import { until } from "../fixtures/until.ts";

Deno.test("changes are told by the directory's name, and a directory that goes or comes back changes the list", async () => {
  const there: Record<string, string | null> = { notes: "1", code: null };
  const running = new Map<string, (change: WorkspaceChange) => void>();
  const directories = ["notes", "code"].map((name) => ({
    name,
    identity: () => there[name] ?? null,
    watch: (onChange: (change: WorkspaceChange) => void) => {
      running.set(name, onChange);
      return { close: () => Promise.resolve(void running.delete(name)) };
    },
  }));
  const told: WorkspaceChange[] = [];
  const watch = joinWatches(directories, (error) => assert.fail(String(error)))((change) => told.push(change));
  const change = { paths: [at("a/b"), at("c")], isPartial: false, isListChanged: false };
  try {
    assert.deepEqual([...running.keys()], ["notes"]);
    running.get("notes")?.(change);
    assert.deepEqual(told.splice(0), [{ ...change, paths: [at("notes/a/b"), at("notes/c")] }]);
    for (
      const [name, identity, isWatched] of [["code", "2", true], ["notes", null, false], ["code", "3", true]] as const
    ) {
      const before = running.get(name);
      there[name] = identity;
      await until("the list has changed", () => Promise.resolve(told.length > 0 || null));
      assert.deepEqual(told.splice(0), [{ paths: [], isPartial: true, isListChanged: true }]);
      assert.equal(running.has(name), isWatched);
      assert.notEqual(running.get(name), before, "what is there now is watched");
    }
  } finally {
    await watch.close();
  }
  assert.deepEqual([...running.keys()], []);
});

Deno.test("a directory that comes back and cannot be watched is reported, and the others are watched on", async () => {
  let identity: string | null = null;
  const failures: unknown[] = [];
  const told: WorkspaceChange[] = [];
  const broken = {
    name: "code",
    identity: () => identity,
    watch: () => {
      throw new Deno.errors.PermissionDenied("not to be listed");
    },
  };
  const watch = joinWatches([broken], (error) => failures.push(error))((change) => told.push(change));
  try {
    identity = "1";
    await until("the list has changed", () => Promise.resolve(told.length > 0 || null));
    assert.match(String(failures), /not to be listed/);
  } finally {
    await watch.close();
  }
});
