import assert from "node:assert/strict";
import type { Principal } from "../../src/lib/principal.ts";
import { createDiskWatch } from "../../src/files/disk/watch.ts";
import { createWorkspaceWatches } from "../../src/files/workspace/watch.ts";
import { until } from "../fixtures/until.ts";
import { makeConfinedBase } from "./confined_base.ts";

function principal(subject: string): Principal {
  return { subject, clientId: "c", grantId: "g", tokenId: "t", keyId: null, scopes: new Set(), expiresAt: Infinity };
}

Deno.test("a watch begins with its first listener, is shared by its workspace's, and ends with the last", async () => {
  const scene = makeConfinedBase();
  const opened: string[] = [];
  const watches = createWorkspaceWatches({
    nameOf: ({ subject }) => subject,
    open: (name) => {
      opened.push(name);
      return createDiskWatch({ root: scene.root, coalesceMilliseconds: 10, onFailure: fail });
    },
    onFailure: fail,
  });
  assert.deepEqual(opened, []);
  const heard: string[] = [];
  const stopFirst = watches.watch(principal("ada"), () => heard.push("first"));
  const stopSecond = watches.watch(principal("ada"), () => heard.push("second"));
  const stopOther = watches.watch(principal("bob"), () => heard.push("other"));
  assert.deepEqual(opened, ["ada", "bob"]);
  Deno.writeTextFileSync(`${scene.root}/a`, "1");
  await until("the notice", () => new Set(heard).size === 3);
  stopFirst();
  stopFirst(); // a second time it does nothing
  await watches.close();
  heard.length = 0;
  stopSecond();
  stopOther();
  const stopAgain = watches.watch(principal("ada"), () => heard.push("again"));
  assert.deepEqual(opened, ["ada", "bob", "ada"]);
  Deno.writeTextFileSync(`${scene.root}/a`, "2");
  await until("the notice", () => heard.length > 0);
  assert.deepEqual([...new Set(heard)], ["again"]);
  stopAgain();
  await watches.close();
  scene.remove();
});

Deno.test("a watch that cannot begin is told to the operator, and its listeners nothing", async () => {
  const scene = makeConfinedBase();
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  const watches = createWorkspaceWatches({
    nameOf: ({ subject }) => subject,
    open: (name) => createDiskWatch({ root: `${scene.root}/${name}`, coalesceMilliseconds: 10, onFailure }),
    onFailure,
  });
  watches.watch(principal("nowhere"), fail)();
  assert.equal(failures.length, 1);
  await watches.close();
  scene.remove();
});

function fail(error: unknown): never {
  assert.fail(String(error));
}
