/** Changes of a store-backed workspace, as those who watch it hear of them. */
import assert from "node:assert/strict";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import type { Storage } from "../../src/storage/port.ts";
import { createStoreWatch } from "../../src/files/store/watch.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import type { WorkspaceChange } from "../../src/files/workspace/watch.ts";
import type { Outcome, Workspace } from "../../src/files/workspace/port.ts";
import { at } from "./contract.ts";

const name = "shared";
const access = { denied: ["secret*"] };
const bytes = new Uint8Array(3);

/** Two openings of one database: a workspace changes in one, the other is watched. */
async function withTwo(
  run: (workspace: Workspace, watched: Storage, clock: { now: number }) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-watch-" });
  const clock = { now: 1_700_000_000_000 };
  const [writing, watched] = [1, 2].map(() =>
    openSqliteStorage({ path: `${directory}/db`, clock: () => clock.now, watchIntervalMs: 10 })
  );
  assert.ok(writing && watched);
  const workspace = openStoreWorkspace({ storage: writing, name, clock: () => clock.now });
  try {
    await run(workspace, watched, clock);
  } finally {
    await writing.close();
    await watched.close();
    await Deno.remove(directory, { recursive: true });
  }
}

function watchAt(storage: Storage, clock: { now: number }, maxPaths = 500) {
  const changes: WorkspaceChange[] = [];
  let waiting = Promise.withResolvers<void>();
  const log = { write() {}, flush() {} };
  const options = { storage, name, access, clock: () => clock.now, log, coalesceMilliseconds: 5, maxPaths };
  const watch = createStoreWatch(options)((change) => {
    changes.push(change);
    waiting.resolve();
    waiting = Promise.withResolvers();
  });
  return {
    /** Resolves once each of these paths was told. */
    async told(...paths: string[]): Promise<void> {
      const missing = (): string[] =>
        paths.filter((path) => !changes.some((change) => change.paths.some(({ text }) => text === path)));
      while (missing().length > 0) await waiting.promise;
    },
    async partial(): Promise<void> {
      while (!changes.some(({ isPartial }) => isPartial)) await waiting.promise;
    },
    changes,
    close: () => watch.close(),
  };
}

Deno.test("a watch of a stored workspace tells what is written, moved, made, copied and removed by another opening", () =>
  withTwo(async (workspace, watched, clock) => {
    const watch = watchAt(watched, clock);
    assert.ok((await workspace.write(at("a/b.txt"), bytes)).ok);
    await watch.told("a/b.txt");
    assert.ok((await workspace.move(at("a/b.txt"), at("c.txt"))).ok);
    assert.ok((await workspace.makeDirectory(at("d"))).ok);
    assert.ok((await workspace.copy(at("c.txt"), at("e.txt"))).ok);
    await watch.told("c.txt", "d", "e.txt");
    watch.changes.length = 0;
    assert.ok((await workspace.remove(at("d"))).ok);
    await watch.told("d");
    assert.ok(!(await workspace.remove(at("d"))).ok);
    assert.ok((await workspace.makeDirectory(at("a"))).ok); // it is there already: no change
    assert.ok((await workspace.write(at("last"), bytes)).ok);
    await watch.told("last");
    assert.deepEqual(watch.changes.flatMap(({ paths }) => paths.map(({ text }) => text)), ["d", "last"]);
    assert.ok(watch.changes.every(({ isPartial }) => !isPartial));
    await watch.close();
  }));

Deno.test("a watch of a stored workspace tells nothing from before it began, nor of denied names, and more than it holds as partial", () =>
  withTwo(async (workspace, watched, clock) => {
    assert.ok((await workspace.write(at("before"), bytes)).ok);
    clock.now += 60_000;
    const watch = watchAt(watched, clock);
    for (const path of ["secret.key", "seen"]) assert.ok((await workspace.write(at(path), bytes)).ok);
    await watch.told("seen");
    assert.deepEqual(watch.changes.flatMap(({ paths }) => paths.map(({ text }) => text)), ["seen"]);
    for (let file = 0; file < 30; file++) assert.ok((await workspace.write(at(`many/${file}`), bytes)).ok);
    await watch.told("many/29");
    await watch.close();
    const narrow = watchAt(watched, clock, 2);
    await narrow.partial(); // those of the last second are told to whoever begins
    await narrow.close();
  }));

Deno.test("a watch of a stored workspace says whether files appeared or disappeared", () =>
  withTwo(async (workspace, watched, clock) => {
    const watch = watchAt(watched, clock);
    const told = async (changing: Promise<Outcome<unknown>>, path: string): Promise<boolean> => {
      watch.changes.length = 0;
      const outcome = await changing;
      assert.ok(outcome.ok, JSON.stringify(outcome));
      await watch.told(path);
      return watch.changes.some(({ isListChanged }) => isListChanged);
    };
    assert.equal(await told(workspace.write(at("a"), bytes), "a"), true);
    assert.equal(await told(workspace.write(at("a"), bytes, { mode: "append" }), "a"), false);
    assert.equal(await told(workspace.makeDirectory(at("d/e")), "d/e"), false);
    assert.equal(await told(workspace.copy(at("a"), at("d/e/b")), "d/e/b"), true);
    assert.equal(await told(workspace.copy(at("a"), at("d/e/b"), { overwrite: true }), "d/e/b"), false);
    assert.equal(await told(workspace.move(at("a"), at("c")), "c"), true);
    assert.equal(await told(workspace.remove(at("d"), { recursive: true }), "d"), true);
    assert.ok((await workspace.write(at("secret"), bytes)).ok); // a new file, of which nobody hears
    assert.equal(await told(workspace.write(at("c"), bytes), "c"), false);
    await watch.close();
  }));
