/** Resources and lists that streams watch: looked at in turns, for as long as a stream wants to know. */
import assert from "node:assert/strict";
import { createResourceRegistry, createResourceWatch, type ResourceFamily } from "../../src/mcp/resource.ts";
import { timeTurnsBy } from "../../src/lib/turns.ts";
import { mcpLimits } from "../../src/mcp/limits.ts";
import { virtualTimers } from "../fixtures/virtual_timers.ts";
import { principalOf } from "../servicenow/principal.ts";

const ada = principalOf("ada");
const lookMs = 2_000;

/** A watch over files that are a table of texts, and what was told of them. Until it is disposed of, no look waits for its turn. */
function createScene(override: Partial<ResourceFamily> = {}) {
  timeTurnsBy(() => 0);
  const files = new Map<string, string>();
  const timers = virtualTimers();
  const told: string[] = [];
  const logged: string[] = [];
  const scene = { files, told, logged, timers, looks: 0, isLost: false };
  const watch = createResourceWatch(
    createResourceRegistry([{
      name: "files",
      scopes: [],
      owns: () => true,
      list: () => [],
      listPage: (_principal, _position, limit) =>
        Promise.resolve({ resources: [...files.keys()].sort().slice(0, limit).map((uri) => ({ uri, name: uri })) }),
      templates: [],
      read: () => null,
      cacheHint: { ttlMs: 0, cacheScope: "private" },
      stamp(uri) {
        scene.looks++;
        return scene.isLost ? Promise.reject(new Error("lost")) : Promise.resolve(files.get(uri) ?? "missing");
      },
      ...override,
    }]),
    { timers, limits: mcpLimits, log: { write: (_level, event) => void logged.push(event), flush() {} } },
  );
  const open = (...uris: string[]) =>
    watch(ada, { uris, lists: true }, { onChange: (uri) => told.push(uri), onList: () => told.push("list") });
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
  return Object.assign(scene, {
    [Symbol.dispose]: () => timeTurnsBy(() => performance.now()),
    open,
    /** Watches these addresses, and the list, until what it returns is called. */
    begin: (...uris: string[]) => open(...uris).stop,
    /** What is told by the next look. */
    async next(): Promise<readonly string[]> {
      await settle();
      timers.advance(lookMs);
      await settle();
      return told.splice(0).sort();
    },
  });
}

Deno.test("a watch tells of resources that change, come and go, and of the list, once each", async () => {
  using scene = createScene();
  scene.files.set("a", "1");
  const stop = scene.begin("a", "b");
  assert.deepEqual(await scene.next(), []);
  scene.files.set("a", "2");
  assert.deepEqual(await scene.next(), ["a"]);
  scene.files.set("b", "1");
  assert.deepEqual(await scene.next(), ["b", "list"]);
  scene.files.delete("a");
  assert.deepEqual(await scene.next(), ["a", "list"]);
  stop();
  scene.files.set("a", "3");
  assert.deepEqual(await scene.next(), []);
});

Deno.test("a change just before a stream watches something else, too, is told", async () => {
  using scene = createScene();
  const first = scene.begin("a");
  assert.deepEqual(await scene.next(), []);
  scene.files.set("a", "1");
  const second = scene.begin("a", "b"); // as a new subscription has it: the new watch, then the end of the old one
  first();
  assert.deepEqual(await scene.next(), ["a", "list"]);
  second();
});

Deno.test("once a watch has begun, the next change is told, however late its first look comes", async () => {
  const gate = Promise.withResolvers<void>();
  using scene = createScene({
    async stamp(uri) {
      await gate.promise;
      return scene.files.get(uri) ?? "missing";
    },
  });
  const { stop, begun } = scene.open("a");
  const second = scene.open("a"); // of a resource that is watched already
  let hasBegun = false;
  const both = Promise.all([begun(), second.begun()]).then(() => hasBegun = true);
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.ok(!hasBegun);
  gate.resolve();
  await both;
  scene.files.set("a", "1");
  assert.deepEqual(await scene.next(), ["a", "a", "list", "list"]);
  stop();
  second.stop();
});

Deno.test("a watch whose looks take long begins after two seconds all the same", async () => {
  using scene = createScene({ stamp: () => new Promise(() => {}) });
  const { stop, begun } = scene.open("a");
  const beginning = begun();
  scene.timers.advance(2_000);
  await beginning;
  stop();
});

Deno.test("two streams of one token cost one look", async () => {
  using scene = createScene();
  const stops = [scene.begin("a"), scene.begin("a")];
  await scene.next();
  assert.equal(scene.looks, 2, "one at the beginning, one after two seconds");
  scene.files.set("a", "1");
  assert.deepEqual(await scene.next(), ["a", "a", "list", "list"]);
  stops.forEach((stop) => stop());
});

Deno.test("of many resources each look takes some, in turns", async () => {
  using scene = createScene();
  const uris = Array.from({ length: 500 }, (_, index) => `${index}`);
  const stop = scene.begin(...uris);
  await scene.next();
  for (const uri of uris) scene.files.set(uri, "1");
  const before = scene.looks;
  const told = [await scene.next(), await scene.next(), await scene.next()];
  assert.ok(told.every((each) => each.length <= 200));
  assert.ok(scene.looks - before <= 600);
  assert.deepEqual(told.flat().filter((each) => each !== "list").length, 500);
  stop();
});

Deno.test("a look that fails is made again, and one that fails keeps no other from being told", async () => {
  using scene = createScene({
    stamp: (uri) =>
      scene.isLost && uri === "a" ? Promise.reject(new Error("lost")) : Promise.resolve(String(scene.files.get(uri))),
  });
  const stop = scene.begin("a", "b");
  await scene.next();
  scene.isLost = true;
  scene.files.set("a", "1").set("b", "1");
  assert.deepEqual(await scene.next(), ["b", "list"]);
  assert.deepEqual(scene.logged, ["look_failed"]);
  scene.isLost = false;
  assert.deepEqual(await scene.next(), ["a"]);
  stop();
});

Deno.test("what rules have come to keep from a person is not told", async () => {
  using scene = createScene({ mayWatch: (uri) => Promise.resolve(uri !== "secret") });
  const stop = scene.begin("secret", "open");
  await scene.next();
  scene.files.set("secret", "1").set("open", "1");
  assert.deepEqual(await scene.next(), ["list", "open"]);
  stop();
});

Deno.test("looks that take long come seldom, and streams that come and go add none beside each other", async () => {
  let running = 0;
  let most = 0;
  using scene = createScene({
    async stamp(uri) {
      most = Math.max(most, ++running);
      await Promise.resolve();
      scene.timers.advance(uri === "slow" ? 1_000 : 0);
      running--;
      scene.looks++;
      return "same";
    },
  });
  for (let time = 0; time < 50; time++) scene.begin(`${time}`)();
  const stop = scene.begin("slow");
  await scene.next();
  assert.deepEqual([most, scene.looks], [1, 2], "none for streams that are gone");
  for (let second = 0; second < 18; second += 2) await scene.next();
  assert.equal(scene.looks, 2);
  for (let second = 0; second < 30; second += 2) await scene.next();
  assert.equal(scene.looks, 3);
  stop();
});

Deno.test("rules that cannot be asked keep no other stream from being told, and end nothing", async () => {
  using scene = createScene({
    stamp: (uri) => Promise.resolve(String(scene.files.get(uri))),
    mayWatch: (uri) => scene.isLost && uri === "a" ? Promise.reject(new Error("lost")) : Promise.resolve(true),
  });
  const stop = scene.begin("a", "b");
  await scene.next();
  scene.isLost = true;
  scene.files.set("a", "1").set("b", "1");
  assert.deepEqual(await scene.next(), ["b", "list"]);
  assert.deepEqual(scene.logged, ["look_failed"]);
  scene.isLost = false;
  assert.deepEqual(await scene.next(), ["a"]);
  stop();
});

Deno.test("what lies on top of a long list tells of the list, too", async () => {
  let top = [{ uri: "code", name: "directory" }];
  using scene = createScene({ listTop: () => Promise.resolve(top) });
  const stop = scene.begin();
  await scene.next();
  assert.deepEqual(await scene.next(), []);
  top = [{ uri: "code", name: "away" }];
  assert.deepEqual(await scene.next(), ["list"]);
  top = [...top, { uri: "notes", name: "directory" }];
  assert.deepEqual(await scene.next(), ["list"]);
  assert.deepEqual(await scene.next(), []);
  stop();
});
