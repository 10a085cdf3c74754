/** Kill -9 of a process that writes, 100 times (KILL_ROUNDS): old or new, never a mix, and nothing left over. */
import assert from "node:assert/strict";
import process from "node:process";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { stagingDirectoryName } from "../../src/files/workspace/path.ts";
import { diskModes } from "./disk_modes.ts";
import { programToKill } from "./program_to_kill.ts";
import { quickDirectory } from "./property_runs.ts";

const killRounds = Number(Deno.env.get("KILL_ROUNDS") ?? 100);
const size = 50_000;
const writeUntilKilled = await programToKill("write_until_killed.ts");
const changeOnce = await programToKill("change_once.ts");

Deno.test("kill -9 in the midst of writes of all kinds leaves old or new, all that was acknowledged, and nothing over", async () => {
  const lanes = [0, 1].map(async (lane) => {
    const directory = quickDirectory();
    const root = `${directory}/ws`;
    try {
      for (let round = lane; round < killRounds; round += 2) {
        const lines = await killWhileWriting(root);
        assert.ok(stagingNames(root).some((name) => name.endsWith(".lock")));
        checkContents(root, lines);
        await openDiskWorkspace({ root }).close();
        assert.deepEqual(stagingNames(root), []);
        checkContents(root, lines);
      }
    } finally {
      Deno.removeSync(directory, { recursive: true });
    }
  });
  await Promise.all(lanes);
  process.stdout.write(`${killRounds} processes killed\n`);
});

/** Lets a process write for a moment, kills it, and gives the lines that it printed. */
async function killWhileWriting(root: string): Promise<string[]> {
  const args = [...writeUntilKilled, root, `${size}`];
  const child = new Deno.Command(Deno.execPath(), { args, stdout: "piped", stderr: "inherit" }).spawn();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const more = async (): Promise<boolean> => {
    const { value = "", done } = await output.read();
    text += value;
    return !done;
  };
  while (!text.includes("writing\n")) assert.ok(await more(), "it ended by itself");
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 8));
  child.kill("SIGKILL");
  while (await more());
  assert.equal((await child.status).signal, "SIGKILL");
  return text.slice(0, text.lastIndexOf("\n")).split("\n");
}

function checkContents(root: string, acknowledged: readonly string[]): void {
  const file = Deno.readTextFileSync(`${root}/file.txt`);
  assert.ok(file === "A".repeat(size) || file === "B".repeat(size), "a mix of old and new");

  const records = (readOrNull(`${root}/log`) ?? "").split("\n").slice(0, -1);
  assert.deepEqual(records, records.map((_, index) => `${index}`), "appended whole and in order");
  const appended = acknowledged.filter((line) => /^log \d/.test(line)).length;
  assert.ok(records.length === appended || records.length === appended + 1, `${records.length} of ${appended}`);

  const lastCleared = acknowledged.lastIndexOf("new cleared");
  const created = acknowledged.slice(lastCleared).filter((line) => /^new \d/.test(line)).map((line) => line.slice(4));
  const names = namesIn(`${root}/new`);
  for (const name of names) assert.equal(Deno.readTextFileSync(`${root}/new/${name}`), "n".repeat(size));
  // after "cleared" they may be there still, all of them
  if (created.length > 0) assert.ok(created.every((name) => names.includes(name)), "an acknowledged file is lost");

  const trees = ["t", "u"].filter((name) => namesIn(root).includes(name));
  assert.ok(trees.length < 2, "a moved directory is in both places");
  const last = acknowledged.findLast((line) => line.startsWith("tree "));
  if (trees[0] === "u" || last === "tree made") {
    assert.equal(readOrNull(`${root}/${trees[0]}/x/y/f`), "whole", "a directory is half moved or half deleted");
  }
  assert.ok([null, "whole"].includes(readOrNull(`${root}/copy`)));
}

const changes = {
  overwrite: (tree: string) => Deno.writeTextFileSync(`${tree}/d/f`, added),
  receive: (tree: string) => Deno.writeTextFileSync(`${tree}/d/f`, added),
  append: (tree: string) => Deno.writeTextFileSync(`${tree}/d/f`, added, { append: true }),
  create(tree: string) {
    Deno.mkdirSync(`${tree}/d/e`);
    Deno.writeTextFileSync(`${tree}/d/e/new`, added);
  },
  copy: (tree: string) => Deno.copyFileSync(`${tree}/d/f`, `${tree}/g`),
  move: (tree: string) => Deno.renameSync(`${tree}/d/f`, `${tree}/g`),
  move_directory(tree: string) {
    Deno.mkdirSync(`${tree}/h`);
    Deno.renameSync(`${tree}/d`, `${tree}/h/i`);
  },
  remove: (tree: string) => Deno.removeSync(`${tree}/d/f`),
  remove_tree: (tree: string) => Deno.removeSync(`${tree}/d`, { recursive: true }),
  make_directory: (tree: string) => Deno.mkdirSync(`${tree}/d/i/j`, { recursive: true }),
};
const added = "new!".repeat(1000);

const cases = Object.entries(changes).flatMap(([what, change]) =>
  diskModes.map((mode) => ({ what, change, mode: mode.name }))
);

for (const { what, change, mode } of cases) {
  Deno.test(`${mode}: kill -9 before each step of ${what} leaves the old tree or the new, but for new empty directories`, async () => {
    const directory = quickDirectory();
    try {
      const old = filesOf(plant(`${directory}/old`));
      const model = plant(`${directory}/model`);
      change(model);
      const changed = filesOf(model);
      let kills = 0;
      for (let isDone = false; !isDone;) {
        const root = plant(`${directory}/${kills}`);
        const { signal, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: [...changeOnce, root, what, mode],
          env: { KILL_STEP: `${kills}` },
        }).output();
        isDone = signal !== "SIGKILL";
        assert.ok(!isDone || stdout.length > 0, new TextDecoder().decode(stderr));
        if (isDone) {
          assert.equal(Number(new TextDecoder().decode(stdout)), kills);
          assert.deepEqual(entriesOf(root), entriesOf(model));
        } else kills++;
        const left = filesOf(root);
        assert.ok(left === changed || (!isDone && left === old), `step ${kills}: ${left}`);
        await openDiskWorkspace({ root }).close();
        assert.deepEqual(stagingNames(root), []);
        assert.equal(filesOf(root), left);
      }
      assert.ok(kills >= 1, "no step was met");
      process.stdout.write(`${mode}, ${what}: killed at each of ${kills} steps\n`);
    } finally {
      Deno.removeSync(directory, { recursive: true });
    }
  });
}

function plant(root: string): string {
  Deno.mkdirSync(`${root}/d/full`, { recursive: true });
  for (const path of ["d/f", "d/full/other", "g"]) Deno.writeTextFileSync(`${root}/${path}`, path.repeat(1000));
  return root;
}

/** Every file with its content; directories are in it where files are in them. */
function filesOf(root: string): string {
  return entriesOf(root).filter(([, content]) => content !== null).join("\n");
}

/** Every path below `root` in order, with its content, or `null` for a directory. Unfinished files are left out. */
function entriesOf(root: string, below = ""): (readonly [string, string | null])[] {
  return namesIn(`${root}${below}`).sort().flatMap((name) => {
    const path = `${below}/${name}`;
    if (path === `/${stagingDirectoryName}`) return [];
    if (Deno.lstatSync(root + path).isDirectory) return [[path, null], ...entriesOf(root, path)];
    return [[path, Deno.readTextFileSync(root + path)]];
  });
}

function readOrNull(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function namesIn(directory: string): string[] {
  try {
    return Array.from(Deno.readDirSync(directory), ({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** What is kept of contents that were not whole. */

function stagingNames(root: string): string[] {
  return namesIn(`${root}/${stagingDirectoryName}`);
}
