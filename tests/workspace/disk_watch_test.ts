import assert from "node:assert/strict";
import { createDiskWatch } from "../../src/files/disk/watch.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { WorkspaceChange } from "../../src/files/workspace/watch.ts";
import { makeConfinedBase } from "./confined_base.ts";
import { at } from "./contract.ts";
import { currentKernel, diskModes, testInEachMode } from "./disk_modes.ts";

testInEachMode(
  "the watch tells of what appears, changes, moves and disappears, in new directories too",
  () =>
    withWatch({}, async ({ root, told }) => {
      Deno.writeTextFileSync(`${root}/a`, "1");
      await told("a");
      Deno.writeTextFileSync(`${root}/a`, "2");
      await told("a");
      Deno.renameSync(`${root}/a`, `${root}/b`);
      await told("a", "b");
      Deno.mkdirSync(`${root}/d/e`, { recursive: true });
      Deno.writeTextFileSync(`${root}/d/e/f`, "");
      await told("d", "d/e", "d/e/f");
      Deno.writeTextFileSync(`${root}/d/e/g`, "");
      await told("d/e/g");
      Deno.removeSync(`${root}/d`, { recursive: true });
      await told("d", "d/e"); // Deno may keep back what was in them
    }),
);

testInEachMode(
  "the watch tells of this process's own writes, without their unfinished files",
  () =>
    withWatch({}, async ({ root, told, seen }) => {
      const workspace = openDiskWorkspace({ root });
      assert.ok((await workspace.write(at("d/own.txt"), new Uint8Array(10))).ok);
      await told("d/own.txt");
      await workspace.close();
      assert.ok(!seen().some((path) => path.includes("portcullis")));
    }),
);

testInEachMode(
  "the watch is blind outside, whatever links lead there",
  () =>
    withWatch({}, async ({ root, outside, told, seen }) => {
      Deno.symlinkSync("../outside", `${root}/l`);
      Deno.symlinkSync("/", `${root}/everything`);
      Deno.mkdirSync(`${root}/d`); // makes the watch anew
      await told("d");
      Deno.writeTextFileSync(`${outside}/secret.txt`, "changed");
      Deno.writeTextFileSync(`${outside}/new-outside`, "");
      Deno.writeTextFileSync(`${root}/d/last`, "");
      await told("d/last");
      Deno.removeSync(`${root}/everything`);
      await told("everything");
      assert.ok(!seen().some((path) => path.includes("outside") || path.includes("secret")));
    }),
);

testInEachMode(
  "the watch goes on beside a directory whose name is not UTF-8",
  () =>
    withWatch({}, async ({ root, seen }) => {
      const made = await new Deno.Command("sh", { args: ["-c", `mkdir "$1/$(printf 'a\\377')"`, "sh", root] }).output();
      assert.ok(made.success);
      Deno.mkdirSync(`${root}/d`);
      for (let n = 0; !seen().some((path) => path.startsWith("d/f-")); n++) { // once the watch is made anew
        assert.ok(n < 2_000, "not told of a file");
        Deno.writeTextFileSync(`${root}/d/f-${n}`, "");
        await pause();
      }
    }),
);

testInEachMode(
  "many changes are told together, and too many as partial",
  () =>
    withWatch({ maxPaths: 10 }, async ({ root, changes }) => {
      for (let n = 0; n < 100; n++) Deno.writeTextFileSync(`${root}/f${n}`, "x");
      while (!changes.some(({ isPartial }) => isPartial)) await pause();
      assert.ok(changes.length < 100, `${changes.length} notices of 100 changes`);
      assert.ok(changes.every(({ paths }) => paths.length <= 10));
    }),
);

testInEachMode(
  "the watch says nothing of denied names",
  () =>
    withWatch({ access: { denied: [".env"] } }, async ({ root, told, seen }) => {
      Deno.writeTextFileSync(`${root}/.env`, "1");
      Deno.writeTextFileSync(`${root}/a`, "1");
      await told("a");
      assert.ok(!seen().includes(".env"));
    }),
);

testInEachMode(
  "the watch survives directories that come and go in masses, and one that nobody may read",
  () =>
    withWatch({}, async ({ root, told }) => {
      for (let round = 0; round < 20; round++) {
        for (let n = 0; n < 20; n++) Deno.mkdirSync(`${root}/d${n}/e`, { recursive: true });
        Deno.mkdirSync(`${root}/locked${round}`, { mode: 0o000 });
        await pause();
        for (let n = 0; n < 20; n++) Deno.removeSync(`${root}/d${n}`, { recursive: true });
      }
      Deno.mkdirSync(`${root}/last`);
      Deno.writeTextFileSync(`${root}/last/file`, "1");
      await told("last/file");
      for (let round = 0; round < 20; round++) Deno.chmodSync(`${root}/locked${round}`, 0o700); // or none but root removes them
    }),
);

testInEachMode(
  "the watch tells files that appear or disappear from files that change, even by a rename onto them",
  () =>
    withWatch({}, async ({ root, told, changes, listChanges }) => {
      Deno.writeTextFileSync(`${root}/a`, "1");
      await told("a");
      assert.equal(listChanges(), 1);
      const workspace = openDiskWorkspace({ root });
      for (let n = 0; n < 5; n++) {
        assert.ok((await workspace.write(at("a"), new Uint8Array(n))).ok);
        await told("a");
      }
      await workspace.close();
      assert.equal(listChanges(), 1, "a replaced file has not appeared");
      Deno.mkdirSync(`${root}/empty`); // makes the watch anew, without the paths that change until it is there
      while (!changes.some(({ isPartial }) => isPartial)) await pause();
      await told("empty");
      assert.equal(listChanges(), 1, "a directory is no file");
      Deno.renameSync(`${root}/a`, `${root}/empty/b`);
      await told("a", "empty/b");
      assert.ok(listChanges() > 1);
      const before = listChanges();
      Deno.removeSync(`${root}/empty`, { recursive: true });
      await told("empty");
      assert.ok(listChanges() > before);
    }),
);

testInEachMode(
  "a directory that is deleted and made again, or moved away and back, is watched again",
  () =>
    withWatch({}, async ({ root, outside, told }) => {
      Deno.mkdirSync(`${root}/d`);
      Deno.writeTextFileSync(`${root}/d/f`, "");
      await told("d", "d/f");
      for (let round = 0; round < 5; round++) {
        Deno.removeSync(`${root}/d`, { recursive: true });
        Deno.mkdirSync(`${root}/d`); // before anybody noticed
        await told("d");
        Deno.writeTextFileSync(`${root}/d/f`, "");
        await told("d/f");
        Deno.writeTextFileSync(`${root}/d/f${round}`, "");
        await told(`d/f${round}`);
      }
      for (let round = 0; round < 20; round++) { // often while the watch is made anew
        Deno.renameSync(`${root}/d`, `${outside}/d`);
        await told("d");
        await new Promise((resolve) => setTimeout(resolve, round % 5));
        Deno.renameSync(`${outside}/d`, `${root}/d`);
        await told("d", "d/f");
      }
      Deno.writeTextFileSync(`${root}/d/g`, "");
      await told("d/g");
    }),
);

testInEachMode("a file that is only read is not told of", () =>
  withWatch({}, async ({ root, told, seen }) => {
    Deno.writeTextFileSync(`${root}/read`, "1");
    await told("read");
    const before = seen().length;
    for (let n = 0; n < 100; n++) Deno.readTextFileSync(`${root}/read`);
    Deno.writeTextFileSync(`${root}/written`, "1");
    await told("written");
    assert.ok(!seen().slice(before).includes("read"));
  }));

testInEachMode(
  "a link that appears is told of where the kernel tells",
  () =>
    withWatch({}, async ({ root, outside, told, seen }) => {
      Deno.symlinkSync(`${outside}/secret.txt`, `${root}/link`);
      Deno.writeTextFileSync(`${root}/written`, "1");
      await told("written", ...currentKernel() === undefined ? [] : ["link"]);
      Deno.writeTextFileSync(`${outside}/secret.txt`, "changed");
      Deno.writeTextFileSync(`${root}/last`, "1");
      await told("last");
      assert.ok(!seen().some((path) => path.includes("secret")));
    }),
);

for (const { kernel } of diskModes.filter((mode) => mode.kernel !== undefined)) {
  Deno.test("when the system drops changes because there are too many, the kernel's way tells so and goes on", () =>
    withWatch({ kernel }, async ({ root, changes, told }) => {
      Deno.writeTextFileSync(`${root}/a`, "");
      const queued = Number(Deno.readTextFileSync("/proc/sys/fs/inotify/max_queued_events"));
      for (let n = 0; n < queued; n++) { // four times as many changes, while this thread takes none
        Deno.renameSync(`${root}/a`, `${root}/b`);
        Deno.renameSync(`${root}/b`, `${root}/a`);
      }
      while (!changes.some(({ isPartial }) => isPartial)) await pause();
      Deno.writeTextFileSync(`${root}/last`, "1");
      await told("last");
    }));
}

testInEachMode(
  "with more files than it remembers, the watch rather tells of one that appears too often than not",
  () =>
    withWatch({ maxFiles: 3 }, async ({ root, told, changes, listChanges }) => {
      for (const name of ["a", "b", "c", "d"]) Deno.writeTextFileSync(`${root}/${name}`, "");
      Deno.mkdirSync(`${root}/e`); // makes the watch anew: there are too many now
      while (!changes.some(({ isPartial }) => isPartial)) await pause();
      await told("e");
      Deno.writeTextFileSync(`${root}/new`, "");
      await told("new");
      const before = listChanges();
      assert.ok(before >= 1);
      Deno.writeTextFileSync(`${root}/new`, "changed");
      await told("new");
      assert.equal(listChanges(), before, "what only changes is told as that");
      Deno.removeSync(`${root}/a`);
      await told("a");
      assert.ok(listChanges() > before);
    }),
);

Deno.test("checked: where a directory disappears before it is watched, the watch begins again", async () => {
  const { watchFs } = Deno;
  Deno.watchFs = () => {
    Deno.watchFs = watchFs;
    throw new Deno.errors.NotFound("gone");
  };
  try {
    await withWatch({ kernel: undefined }, async ({ root, seen }) => {
      assert.equal(Deno.watchFs, watchFs);
      for (let n = 0; seen().length === 0; n++) {
        Deno.writeTextFileSync(`${root}/a`, `${n}`);
        await pause();
      }
      assert.deepEqual(new Set(seen()), new Set(["a"]));
    });
  } finally {
    Deno.watchFs = watchFs;
  }
});

interface Watched {
  readonly root: string;
  readonly outside: string;
  readonly changes: readonly WorkspaceChange[];
  seen(): string[];
  /** How many notices said that files may have appeared or disappeared. */
  listChanges(): number;
  /** Waits until all these paths have been told of, and forgets what was told. */
  told(...paths: readonly string[]): Promise<void>;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}

async function withWatch(
  options: Partial<Parameters<typeof createDiskWatch>[0]>,
  body: (watched: Watched) => Promise<void>,
): Promise<void> {
  const scene = makeConfinedBase();
  const changes: WorkspaceChange[] = [];
  const all: string[] = [];
  let fresh = new Set<string>();
  const watch = createDiskWatch({
    root: scene.root,
    coalesceMilliseconds: 30,
    onFailure: (error) => assert.fail(String(error)),
    kernel: currentKernel(),
    ...options,
  })(
    (change) => {
      changes.push(change);
      for (const { text } of change.paths) {
        all.push(text);
        fresh.add(text);
      }
    },
  );
  try {
    await body({
      root: scene.root,
      outside: scene.outside,
      changes,
      seen: () => all,
      listChanges: () => changes.filter(({ isListChanged }) => isListChanged).length,
      async told(...paths) {
        const deadline = performance.now() + 60_000;
        while (!paths.every((path) => fresh.has(path))) {
          assert.ok(performance.now() < deadline, `not told of ${paths.filter((path) => !fresh.has(path))}`);
          await pause();
        }
        fresh = new Set();
      },
    });
  } finally {
    await watch.close();
    scene.remove();
  }
}
