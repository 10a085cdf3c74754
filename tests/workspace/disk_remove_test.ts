/** Deletions while another process saves: only what was judged is deleted, and every newer version stays. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { stagingDirectoryName } from "../../src/files/workspace/path.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { until } from "../fixtures/until.ts";
import { at } from "./contract.ts";
import { quickDirectory } from "./property_runs.ts";
import { before, descriptorMethods, openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

const changed = { ok: false, error: { reason: "denied", because: "changed_while_opening" } };

/** What another process does right before the entry is taken out of sight, and right after. */
interface Meanwhile {
  readonly before?: (root: string) => void;
  readonly after?: (root: string) => void;
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const save = (path: string, text: string): void => {
  Deno.writeTextFileSync(`${path}.tmp`, text);
  Deno.renameSync(`${path}.tmp`, path);
};

const races: Readonly<Record<string, Meanwhile & { readonly left: Readonly<Record<string, string>> }>> = {
  "a save by rename": {
    before: (root) => save(`${root}/d/f.txt`, "newer"),
    left: { "f.txt": "newer" },
  },
  "a save in place of the same size": {
    before: (root) => Deno.writeTextFileSync(`${root}/d/f.txt`, "judgeD"),
    left: { "f.txt": "judgeD" },
  },
  "a save in place that adds": {
    before: (root) => Deno.writeTextFileSync(`${root}/d/f.txt`, " and more", { append: true }),
    left: { "f.txt": "judged and more" },
  },
  "two saves by rename, around the deletion": {
    before: (root) => save(`${root}/d/f.txt`, "newer"),
    after: (root) => save(`${root}/d/f.txt`, "newest"),
    left: { "f.txt": "newest", "f (2).txt": "newer" },
  },
  "two saves, where the next name is taken as well": {
    before: (root) => {
      save(`${root}/d/f.txt`, "newer");
      Deno.writeTextFileSync(`${root}/d/f (2).txt`, "other");
    },
    after: (root) => save(`${root}/d/f.txt`, "newest"),
    left: { "f.txt": "newest", "f (2).txt": "other", "f (3).txt": "newer" },
  },
  "a link in its place": {
    before: (root) => {
      Deno.removeSync(`${root}/d/f.txt`);
      Deno.symlinkSync("elsewhere", `${root}/d/f.txt`);
    },
    left: { "f.txt": "-> elsewhere" },
  },
};

for (const [what, { before, after, left }] of Object.entries(races)) {
  testInEachMode(
    `remove() against ${what} refuses, and every newer version is still there`,
    () =>
      inWorkspace(async (workspace, root) => {
        Deno.mkdirSync(`${root}/d`);
        Deno.writeTextFileSync(`${root}/d/f.txt`, "judged");
        Deno.utimeSync(`${root}/d/f.txt`, 1, 1);
        const removed = await racing(
          root,
          { ...before && { before }, ...after && { after } },
          () => workspace.remove(at("d/f.txt")),
        );
        assert.deepEqual(removed, changed);
        assert.deepEqual(contentsOf(`${root}/d`), left);
        assert.deepEqual(stagedIn(root), []);
      }),
  );
}

testInEachMode(
  "remove() of a directory that a protected entry came into meanwhile refuses, and puts all of it back",
  () =>
    inWorkspace(async (workspace, root) => {
      Deno.mkdirSync(`${root}/d/e`, { recursive: true });
      Deno.writeTextFileSync(`${root}/d/e/f`, "text");
      Deno.mkdirSync(`${root}/.git`);
      const moveIn = { before: () => Deno.renameSync(`${root}/.git`, `${root}/d/e/.git`) };
      const removed = await racing(root, moveIn, () => workspace.remove(at("d"), { recursive: true }));
      assert.deepEqual(removed, { ok: false, error: { reason: "denied", because: "protected_name" } });
      assert.deepEqual(contentsOf(`${root}/d/e`), { ".git": "directory", f: "text" });
      assert.deepEqual(stagedIn(root), []);
    }),
);

testInEachMode(
  "remove() of an empty directory never deletes the file that has taken its place",
  () =>
    inWorkspace(async (workspace, root) => {
      Deno.mkdirSync(`${root}/d`);
      const replace = (): void => {
        Deno.removeSync(`${root}/d`);
        Deno.writeTextFileSync(`${root}/d`, "newer");
      };
      // the last look at it, or its removal
      const methods = descriptorMethods();
      using _ = methods ? before(methods, "removeDirectory", replace) : before(Deno, "realPathSync", replace);
      assert.deepEqual(await workspace.remove(at("d")), { ok: false, error: { reason: "not_a_directory" } });
      assert.equal(Deno.readTextFileSync(`${root}/d`), "newer");
    }),
);

testInEachMode(
  "a version whose directory was swapped for a link is put back nowhere outside, and outlives restarts",
  () =>
    inWorkspace(async (workspace, root) => {
      const outside = quickDirectory();
      try {
        Deno.mkdirSync(`${root}/d`);
        Deno.writeTextFileSync(`${root}/d/f`, "judged");
        const swap = {
          before: () => save(`${root}/d/f`, "newer"),
          after: () => {
            Deno.renameSync(`${root}/d`, `${root}/moved`);
            Deno.symlinkSync(outside, `${root}/d`);
          },
        };
        assert.deepEqual(await racing(root, swap, () => workspace.remove(at("d/f"))), changed);
        assert.deepEqual(contentsOf(outside), {});
        for (let start = 0; start < 3; start++) await openDiskWorkspace({ root }).close();
        assert.deepEqual(Object.values(contentsOf(`${root}/${stagingDirectoryName}/kept`)), ["newer"]);
      } finally {
        Deno.removeSync(outside, { recursive: true });
      }
    }),
);

for (
  const [what, meanwhile, kept] of [
    ["removes what was to be deleted", () => {}, []],
    ["keeps a newer version", (root: string) => save(`${root}/f`, "newer"), ["newer"]],
  ] as const
) {
  testInEachMode(`a start after a deletion that was interrupted ${what}`, () =>
    inWorkspace(async (_, root) => {
      Deno.writeTextFileSync(`${root}/f`, "judged");
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "-A", "--no-check", "--no-config", "--no-lock", `--import-map=${here("bare_programs.json")}`],
          here("die_in_deletion.ts"),
          root,
        ],
        stdin: "piped",
        stdout: "piped",
      }).spawn();
      // it stands before the rename that takes the file out of sight, and dies after it
      assert.equal((await child.stdout.getReader().read()).done, false);
      meanwhile(root);
      await child.stdin.close();
      assert.equal((await child.status).signal, "SIGKILL");
      assert.deepEqual(contentsOf(root), { [stagingDirectoryName]: "directory" });
      await openDiskWorkspace({ root }).close();
      const names = kept.length === 0 ? [] : ["kept"];
      assert.deepEqual(stagedIn(root), names);
      if (kept.length > 0) {
        assert.deepEqual(Object.values(contentsOf(`${root}/${stagingDirectoryName}/kept`)), kept);
      }
    }));
}

testInEachMode("after each deletion that an editor's save by rename defeats, the file is there", async () => {
  const root = quickDirectory();
  const workspace = openDiskWorkspace({ root });
  const editor = new Worker(
    new URL(`save_by_rename.ts?${new URLSearchParams({ path: `${root}/f` })}`, import.meta.url),
    {
      type: "module",
    },
  );
  const ended = new Promise<void>((resolve) => editor.onmessage = () => resolve());
  try {
    let defeated = 0;
    let deleted = 0;
    await until("deletions that were defeated, and ones that were not", async () => {
      const removed = await workspace.remove(at("f"));
      if (removed.ok) deleted++;
      else if (removed.error.reason !== "not_found") {
        assert.deepEqual(removed, changed);
        assert.ok(Deno.lstatSync(`${root}/f`).isFile);
        assert.deepEqual(stagedIn(root), []);
        for (const { name } of Deno.readDirSync(root)) if (name.startsWith("f (")) Deno.removeSync(`${root}/${name}`);
        defeated++;
      }
      return defeated >= 5 && deleted >= 5;
    });
  } finally {
    Deno.renameSync(root, `${root}-done`); // which ends the editor: it cannot save any more
    await ended;
    editor.terminate();
    await workspace.close();
    Deno.removeSync(`${root}-done`, { recursive: true });
  }
});

async function inWorkspace(body: (workspace: Workspace, root: string) => Promise<void>): Promise<void> {
  const root = Deno.realPathSync(quickDirectory());
  const workspace = openDiskWorkspace({ root });
  try {
    await body(workspace, root);
  } finally {
    await workspace.close();
    Deno.removeSync(root, { recursive: true });
  }
}

/** Runs `step` with another process's work around the rename that takes an entry out of sight. */
async function racing<T>(root: string, meanwhile: Meanwhile, step: () => Promise<T>): Promise<T> {
  const [first, last] = [(): void => meanwhile.before?.(root), (): void => meanwhile.after?.(root)];
  const methods = descriptorMethods();
  using _ = methods ? before(methods, "rename", first, last) : before(Deno, "renameSync", first, last);
  return await step();
}

function stagedIn(root: string): string[] {
  const names = Array.from(Deno.readDirSync(`${root}/${stagingDirectoryName}`), ({ name }) => name);
  return names.filter((name) => !name.endsWith(".lock"));
}

function contentsOf(directory: string): Record<string, string> {
  const names = Array.from(Deno.readDirSync(directory), ({ name }) => name).sort().reverse();
  return Object.fromEntries(names.map((name) => {
    const { isSymlink, isDirectory } = Deno.lstatSync(`${directory}/${name}`);
    if (isSymlink) return [name, `-> ${Deno.readLinkSync(`${directory}/${name}`)}`];
    return [name, isDirectory ? "directory" : Deno.readTextFileSync(`${directory}/${name}`)];
  }));
}
