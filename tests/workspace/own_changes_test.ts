import assert from "node:assert/strict";
import { systemClock } from "../../src/lib/clock.ts";
import { openSqliteStorage } from "../../src/storage/sqlite.ts";
import { createOwnChanges } from "../../src/workspace/own_changes.ts";
import type { Outcome, Workspace } from "../../src/workspace/port.ts";
import { openStoreWorkspace } from "../../src/workspace/store_workspace.ts";
import type { WorkspaceChange } from "../../src/workspace/watch.ts";
import { at } from "./contract.ts";

const bytes = new Uint8Array(3);

Deno.test("changes through the workspace are told together to those who watch its name, refusals and denied names to nobody", async () => {
  const directory = Deno.makeTempDirSync({ prefix: "portcullis-" });
  const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
  const ownChanges = createOwnChanges({ coalesceMilliseconds: 1, maxPaths: 3, access: { denied: [".env"] } });
  const workspaceOf = (name: string): Workspace => ownChanges.tellOf(name, openStoreWorkspace({ storage, name }));
  const ada = workspaceOf("ada");
  const bob = workspaceOf("bob");
  const heard: WorkspaceChange[] = [];
  const watch = ownChanges.watchOf("ada")((change) => heard.push(change));
  const other = ownChanges.watchOf("nobody")(() => assert.fail("nobody changes this"));
  const next = async (): Promise<readonly [readonly string[], boolean, boolean]> => {
    while (heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const { paths, isListChanged, isPartial } = heard.shift() ?? assert.fail();
    return [paths.map(({ text }) => text), isListChanged, isPartial];
  };
  const changed = (outcome: Outcome<unknown>): void => assert.ok(outcome.ok, JSON.stringify(outcome));
  try {
    changed(await bob.write(at("bobs"), bytes));
    changed(await ada.write(at(".env"), bytes));
    assert.equal((await ada.remove(at("none"))).ok, false);
    changed(await ada.write(at("a"), bytes));
    assert.deepEqual(await next(), [["a"], true, false]);
    changed(await ada.write(at("a"), bytes, { mode: "append" }));
    assert.deepEqual(await next(), [["a"], false, false]);
    changed(await ada.makeDirectory(at("d/e")));
    assert.deepEqual(await next(), [["d/e"], false, false]);
    changed(await ada.copy(at("a"), at("d/e/b")));
    assert.deepEqual(await next(), [["d/e/b"], true, false]);
    changed(await ada.copy(at("a"), at("d/e/b"), { overwrite: true }));
    assert.deepEqual(await next(), [["d/e/b"], false, false]);
    changed(await ada.move(at("a"), at("c")));
    assert.deepEqual(await next(), [["a", "c"], true, false]);
    changed(await ada.remove(at("d"), { recursive: true }));
    assert.deepEqual(await next(), [["d"], true, false]);
    const many = ["1", "2", "3", "4", "5"];
    for (const each of await Promise.all(many.map((name) => ada.write(at(name), bytes)))) changed(each);
    let told: readonly string[] = [];
    for (let isPartial = false; told.length < many.length && !isPartial;) {
      const [paths, isListChanged, isCut] = await next();
      assert.ok(isListChanged && paths.length <= 3);
      told = [...told, ...paths];
      isPartial = isCut;
    }
    await watch.close();
    changed(await ada.write(at("unheard"), bytes));
    assert.deepEqual(heard, []);
  } finally {
    await watch.close();
    await other.close();
    await storage.close();
    Deno.removeSync(directory, { recursive: true });
  }
});
