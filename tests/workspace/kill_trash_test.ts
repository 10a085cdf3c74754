/**
 * Kill -9 before each step of a change that keeps what it replaces: the tree is as before or after, readers are never
 * refused, and after the next start both versions exist: in the tree, or in the trash.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { roomyTrash, tree } from "./contract.ts";
import { programToKill } from "./program_to_kill.ts";
import { quickDirectory } from "./property_runs.ts";
import { changesOf, trashOf, undo } from "./trash_contract.ts";
import { loadKernel } from "../../src/lib/kernel/kernel.ts";
import { refuseLinks, replaceable } from "./replaceable_kernel.ts";

const changeOnce = await programToKill("change_once.ts");
const kernel = loadKernel();
const changes = [
  "overwrite",
  "append",
  "create",
  "copy",
  "move",
  "move_directory",
  "remove",
  "remove_tree",
  "make_directory",
];

for (const mode of ["checked", ...kernel.available ? ["kernel"] : []]) {
  for (const what of changes) {
    Deno.test(`${mode}: kill -9 before each step of ${what} loses neither version, and what was done can be undone`, async () => {
      const directory = quickDirectory();
      try {
        const old = contentsOf(plant(`${directory}/old`));
        let kills = 0;
        let changed: string | null = null;
        const seen = new Set<string>();
        for (let isDone = false; !isDone;) {
          const root = plant(`${directory}/${kills}`);
          const { signal, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
            args: [...changeOnce, root, what, mode, "trash"],
            env: { KILL_STEP: `${kills}` },
          }).output();
          isDone = signal !== "SIGKILL";
          assert.ok(!isDone || stdout.length > 0, new TextDecoder().decode(stderr));
          const left = contentsOf(root);
          if (isDone) changed = left;
          else kills++;
          seen.add(left);
          await checkAfterStart(root, left, old);
        }
        for (const left of seen) assert.ok(left === old || left === changed, `a tree that is neither: ${left}`);
        assert.ok(kills >= 1, "no step was met");
        process.stdout.write(`${mode} ${what}: killed at each of ${kills} steps\n`);
      } finally {
        Deno.removeSync(directory, { recursive: true });
      }
    });
  }
}

const unlinkable = kernel.available ? replaceable(kernel.roots) : undefined;
refuseLinks();

for (const what of kernel.available ? ["overwrite", "copy", "move"] : []) {
  Deno.test(`kill -9 before each step of ${what} of files without second names loses neither version`, async () => {
    const directory = quickDirectory();
    try {
      const old = contentsOf(plant(`${directory}/old`));
      const seen = new Set<string>();
      let last = "";
      for (let [kills, isDone] = [0, false]; !isDone; kills++) {
        const root = plant(`${directory}/${kills}`);
        const { signal, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: [...changeOnce, root, what, "kernel", "unlinkable"],
          env: { KILL_STEP: `${kills}` },
        }).output();
        isDone = signal !== "SIGKILL";
        assert.ok(!isDone || stdout.length > 0, new TextDecoder().decode(stderr));
        const workspace = openDiskWorkspace({ root, trash: roomyTrash, kernel: unlinkable });
        await workspace.trash?.tidy(0);
        await workspace.close();
        seen.add(last = contentsOf(root));
      }
      assert.deepEqual([...seen].filter((left) => left !== last), [old]);
    } finally {
      Deno.removeSync(directory, { recursive: true });
    }
  });
}

async function checkAfterStart(root: string, left: string, old: string): Promise<void> {
  const kernelOf = kernel.available ? { kernel: kernel.roots } : {};
  await openDiskWorkspace({ root, trash: roomyTrash, ...kernelOf }).close();
  const workspace = openDiskWorkspace({ root, trash: roomyTrash, ...kernelOf });
  try {
    assert.equal(contentsOf(root), left, "a start changes the tree");
    for (const path of await tree(workspace)) {
      if (path.endsWith("/")) continue;
      const read = await workspace.read({ text: path, segments: path.split("/") });
      assert.ok(read.ok, `${path} cannot be read: ${JSON.stringify(read)}`);
    }
    const names = [...Deno.readDirSync(`${root}/.portcullis`)].map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name !== "trash"), [], "something is left over");
    if (left === old) return;
    const [change] = await changesOf(workspace);
    assert.ok(change !== undefined, "the change was made and is not recorded");
    for (const { number, step } of change.steps) {
      if ("kept" in step && step.kept !== null) {
        assert.ok(await trashOf(workspace).holds({ change: change.id, number }));
      }
    }
    assert.match(await undo(workspace, change.id), /^[0-9a-z]{15}$/);
    assert.equal(contentsOf(root), old, "undoing brings the old version back");
  } finally {
    await workspace.close();
  }
}

function plant(root: string): string {
  Deno.mkdirSync(`${root}/.portcullis`, { recursive: true });
  Deno.mkdirSync(`${root}/d/full`, { recursive: true });
  for (const path of ["d/f", "d/full/other", "g"]) Deno.writeTextFileSync(`${root}/${path}`, path.repeat(1000));
  return root;
}

/** Every file with its content; directories are in it where files are in them. */
function contentsOf(root: string, below = ""): string {
  return [...Deno.readDirSync(root + below)].map(({ name }) => `${below}/${name}`).sort().flatMap((path) => {
    if (path === "/.portcullis") return [];
    return Deno.lstatSync(root + path).isDirectory
      ? contentsOf(root, path) || []
      : `${path}=${Deno.readTextFileSync(root + path)}`;
  }).join("\n");
}
