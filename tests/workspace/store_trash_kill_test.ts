/**
 * A process that ends before any commit of a change in the store: the tree is as before or after, both versions exist, in
 * the tree or in the trash, and what was done is undone by the next process. Likewise for the undoing.
 */
import assert from "node:assert/strict";
import { systemClock } from "../../src/lib/time.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { at, encode, fillFile, roomyTrash, text, tree } from "./contract.ts";
import { quickDirectory } from "./property_runs.ts";
import { author, makeChange, trashOf, undo } from "./trash_contract.ts";

class Dead extends Error {}

/** The storage for a process that ends before its commit `count`, from 0: nothing it asks for happens any more. */
function endingBefore(storage: Storage, count: number): { readonly storage: Storage; readonly isDead: () => boolean } {
  let commits = 0;
  const alive = <T extends (...args: never[]) => unknown>(call: T): T =>
    new Proxy(call, {
      apply(target, self, args) {
        if (commits > count) throw new Dead();
        return Reflect.apply(target, self, args);
      },
    });
  const commit: Storage["commit"] = (batch) => {
    if (commits++ >= count) return Promise.reject(new Dead());
    return storage.commit(batch);
  };
  const { get, list, consume, changeCount, watch, sweep, close } = storage;
  return {
    storage: {
      ...{ get: alive(get), list: alive(list), consume: alive(consume), changeCount: alive(changeCount) },
      ...{ watch, sweep, close, commit },
    },
    isDead: () => commits > count,
  };
}

const changes: Readonly<Record<string, (workspace: Workspace) => Promise<unknown>>> = {
  overwrite: (workspace) => workspace.write(at("d/f"), encode("new")),
  "overwrite in pieces": (workspace) => workspace.receive(at("d/f"), pieces()),
  append: (workspace) => workspace.write(at("d/f"), encode("more"), { mode: "append" }),
  create: (workspace) => workspace.write(at("x/y/new"), encode("new")),
  copy: (workspace) => workspace.copy(at("d/f"), at("g"), { overwrite: true }),
  move: (workspace) => workspace.move(at("d/f"), at("g"), { overwrite: true }),
  "move of a directory": (workspace) => workspace.move(at("d"), at("h/i")),
  remove: (workspace) => workspace.remove(at("d/f")),
  "remove of a tree": (workspace) => workspace.remove(at("d"), { recursive: true }),
  "make directory": (workspace) => workspace.makeDirectory(at("d/i/j")),
};

async function* pieces(): AsyncGenerator<Uint8Array> { // over several commits
  for (let piece = 0; piece < 3; piece++) yield await Promise.resolve(encode("large".repeat(100_000)));
}

async function contentsOf(workspace: Workspace): Promise<string> {
  const lines: string[] = [];
  for (const path of await tree(workspace)) {
    const name = path.replace(/\/$/, "");
    lines.push(name === path ? `${path}=${await text(workspace, path)}` : path);
  }
  return lines.join("\n");
}

async function fill(workspace: Workspace): Promise<void> {
  await fillFile(workspace, "d/f", "file");
  for (let index = 0; index < 30; index++) await fillFile(workspace, `d/many/${index}`, `file ${index}`);
  await fillFile(workspace, "g", "target");
}

/** Runs `change` in a new store, ended before one commit after the other; `check` looks at what the next process finds. */
async function endAtEachCommit(
  prepare: (workspace: Workspace) => Promise<void>,
  change: (workspace: Workspace) => Promise<unknown>,
  check: (workspace: Workspace, isDone: boolean) => Promise<void>,
): Promise<number> {
  for (let count = 0;; count++) {
    const directory = quickDirectory();
    const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
    const open = (over: Storage): Workspace =>
      openStoreWorkspace({ storage: over, name: "shared", trash: roomyTrash, limits: { maxReadBytes: 2_000_000 } });
    try {
      const first = open(storage);
      await prepare(first);
      await first.close();
      const ending = endingBefore(storage, count);
      const dying = open(ending.storage);
      await change(dying).catch((error: unknown) => assert.ok(error instanceof Dead, String(error)));
      await dying.close().catch(() => {});
      const next = open(storage);
      await check(next, !ending.isDead());
      await next.close();
      if (!ending.isDead()) return count;
    } finally {
      await storage.close();
      Deno.removeSync(directory, { recursive: true });
    }
  }
}

for (const [what, change] of Object.entries(changes)) {
  Deno.test(`store: a process that ends before any commit of ${what} loses neither version`, async () => {
    let [old, id] = ["", ""];
    let changed: string | null = null;
    const seen = new Set<string>();
    const prepare = async (workspace: Workspace): Promise<void> => {
      await fill(workspace);
      old = await contentsOf(workspace);
    };
    const commits = await endAtEachCommit(
      prepare,
      (workspace) => change(workspace.begin(author, (begun) => id = begun)),
      async (workspace, isDone) => {
        const left = await contentsOf(workspace);
        if (isDone) changed = left;
        seen.add(left);
        if (left === old) return;
        const latest = await trashOf(workspace).find(id);
        assert.ok(latest !== null, "the change was made and is not recorded");
        for (const { number, step } of latest.steps) {
          const isKept = "kept" in step && step.kept !== null;
          assert.ok(!isKept || await trashOf(workspace).holds({ change: latest.id, number }));
        }
        assert.match(await undo(workspace, latest.id), /^[0-9a-z]{15}$/);
        assert.equal(await contentsOf(workspace), old, "undoing brings the old version back");
      },
    );
    for (const left of seen) {
      assert.ok(left === old || left === changed, `a tree that is neither: ${left.slice(0, 500)}`);
    }
    assert.ok(commits >= 1 && changed !== old);
  });

  Deno.test(`store: a process that ends before any commit of the undoing of ${what} loses neither version`, async () => {
    let [old, changed, id] = ["", "", ""];
    const prepare = async (workspace: Workspace): Promise<void> => {
      await fill(workspace);
      old = await contentsOf(workspace);
      id = await makeChange(workspace, change);
      changed = await contentsOf(workspace);
    };
    await endAtEachCommit(
      prepare,
      (workspace) => undo(workspace, id),
      async (workspace, isDone) => {
        const left = await contentsOf(workspace);
        if (isDone) assert.equal(left, old);
        if (left !== changed) return;
        assert.match(await undo(workspace, id), /^[0-9a-z]{15}$/, "it can be undone still");
        assert.equal(await contentsOf(workspace), old);
      },
    );
  });
}
