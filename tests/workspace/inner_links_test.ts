/** Files with several names (hard links) inside the workspace stay readable whatever a change does to one of the names. */
import assert from "node:assert/strict";
import { undoChange } from "../../src/files/text/undo.ts";
import { createAccessRules } from "../../src/files/workspace/access_rules.ts";
import { defaultWorkspaceLimits, type TrashLimits, type Workspace } from "../../src/files/workspace/port.ts";
import { createDiskAccess } from "../../src/files/disk/directory.ts";
import { createPathRoots } from "../../src/files/disk/checked_path.ts";
import { createInnerLinks } from "../../src/files/disk/resolve.ts";
import { makeConfinedBase } from "./confined_base.ts";
import { at } from "./contract.ts";
import { openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

const keeping: TrashLimits = { keepMs: 1e9, maxBytes: 1e9 };
const keepingNothingLarge: TrashLimits = { keepMs: 1e9, maxBytes: 1 };

/** Changes a name of the file `d/a`, `d/b`, `c`, and gives the names that it should have then. */
type Change = (workspace: Workspace) => Promise<readonly string[]>;

const renames: Readonly<Record<string, Change>> = {
  async move(workspace) {
    assert.ok((await workspace.move(at("d/a"), at("new/a"))).ok);
    return ["new/a", "d/b", "c"];
  },
  async "move of a directory"(workspace) {
    assert.ok((await workspace.move(at("d"), at("e"))).ok);
    return ["e/a", "e/b", "c"];
  },
  async "move over"(workspace) {
    assert.ok((await workspace.move(at("other"), at("c"), { overwrite: true })).ok);
    return ["d/a", "d/b"];
  },
  async "copy over"(workspace) {
    assert.ok((await workspace.copy(at("other"), at("c"), { overwrite: true })).ok);
    return ["d/a", "d/b"];
  },
  async write(workspace) {
    assert.ok((await workspace.write(at("d/a"), new TextEncoder().encode("changed"))).ok);
    return ["c", "d/b"];
  },
  async "write of one and then of another"(workspace) {
    assert.ok((await workspace.write(at("d/a"), new TextEncoder().encode("changed"))).ok);
    assert.equal(await textAt(workspace, "c"), "text");
    assert.ok((await workspace.write(at("c"), new TextEncoder().encode("changed"))).ok);
    return ["d/b"];
  },
  async delete(workspace) {
    assert.ok((await workspace.remove(at("c"))).ok);
    return ["d/a", "d/b"];
  },
  async "delete of a directory"(workspace) {
    await Deno.mkdir(`${rootOf(workspace)}/two`);
    await Deno.link(`${rootOf(workspace)}/c`, `${rootOf(workspace)}/two/a`);
    assert.equal(await textAt(workspace, "c"), "text");
    assert.ok((await workspace.remove(at("two"), { recursive: true })).ok);
    return ["d/a", "d/b", "c"];
  },
};

const undone: Readonly<Record<string, Change>> = {
  ...Object.fromEntries(
    Object.entries(renames).map(([name, make]): [string, Change] => [
      `undo of a ${name}`,
      async (workspace) => {
        await make(workspace);
        const { trash } = workspace;
        assert.ok(trash !== null);
        for await (const change of trash.changes()) {
          assert.ok((await undoChange({ ...workspace, trash }, change)).ok);
          break;
        }
        return name.startsWith("write of one") ? ["c", "d/b"] : ["d/a", "d/b", "c"];
      },
    ]),
  ),
  async restore(workspace) {
    assert.ok((await workspace.remove(at("c"))).ok);
    assert.equal(await textAt(workspace, "d/a"), "text");
    const { trash } = workspace;
    assert.ok(trash !== null);
    for await (const { id, steps: [step] } of trash.changes()) {
      assert.ok(step !== undefined);
      const item = { change: id, number: step.number };
      const kept = await trash.read(item, { offsetBytes: 0, lengthBytes: 10 });
      assert.equal(kept.ok && new TextDecoder().decode(kept.value), "text");
      assert.ok((await trash.restore(item, at("new/c"))).ok);
      break;
    }
    return ["d/a", "d/b", "new/c"];
  },
  async "undo by what was written, of a file with a new name"(workspace) {
    assert.ok((await workspace.write(at("w"), new TextEncoder().encode("text"))).ok);
    await Deno.link(`${rootOf(workspace)}/w`, `${rootOf(workspace)}/v`);
    const { trash } = workspace;
    assert.ok(trash !== null);
    for await (const change of trash.changes()) {
      assert.ok((await undoChange({ ...workspace, trash }, change)).ok);
      break;
    }
    return ["d/a", "d/b", "c", "v"];
  },
};

for (
  const [title, cases, trash] of [
    ["without a trash", renames, undefined],
    ["with a trash", { ...renames, ...undone }, keeping],
    ["with a trash that it is too large for", renames, keepingNothingLarge],
  ] as const
) {
  testInEachMode(
    `the other names of a file are read at once after each change of one of its names, ${title}`,
    async () => {
      for (const [name, change] of Object.entries(cases)) {
        const { root, remove } = makeConfinedBase();
        const workspace = openDiskWorkspace({ root, ...trash === undefined ? {} : { trash } });
        try {
          Deno.mkdirSync(`${root}/d`);
          Deno.writeTextFileSync(`${root}/d/a`, "text");
          Deno.writeTextFileSync(`${root}/other`, "other");
          for (const each of ["d/b", "c"]) Deno.linkSync(`${root}/d/a`, `${root}/${each}`);
          assert.equal(await textAt(workspace, "c"), "text"); // its names are counted here
          for (const each of await change(workspace)) {
            assert.equal(await textAt(workspace, each), "text", `${name}: ${each}`);
          }
        } finally {
          await workspace.close();
          remove();
        }
      }
    },
  );
}

testInEachMode("a name that was made or moved outside hides the file at once", async () => {
  const { root, outside, remove } = makeConfinedBase();
  const workspace = openDiskWorkspace({ root });
  try {
    for (const change of ["link", "move"]) {
      Deno.writeTextFileSync(`${root}/${change}`, "text");
      Deno.linkSync(`${root}/${change}`, `${root}/${change}2`);
      assert.equal(await textAt(workspace, change), "text");
      if (change === "link") Deno.linkSync(`${root}/link2`, `${outside}/link`);
      else rename(`${root}/move2`, `${outside}/move`);
      assert.equal(await textAt(workspace, change), "denied");
    }
  } finally {
    await workspace.close();
    remove();
  }
});

Deno.test("names are counted anew for what has changed since, and not for what had a name outside before", async () => {
  const { root, outside, remove } = makeConfinedBase();
  let listings = 0;
  const roots = createPathRoots(createAccessRules());
  const real = createDiskAccess(root, roots);
  const access = { ...real, root: () => (listings++, real.root()) };
  const links = createInnerLinks(access, defaultWorkspaceLimits, createAccessRules());
  const read = async (name: string): Promise<boolean> => {
    const before = listings;
    await links.settle(() => {
      const info = real.step(() => real.root()?.statusOf(name));
      return info && links.has(info) ? { ok: true } : { ok: false, error: { reason: "denied", because: "hard_link" } };
    });
    return listings > before;
  };
  try {
    for (const name of ["inner", "outer"]) Deno.writeTextFileSync(`${root}/${name}`, "");
    Deno.linkSync(`${root}/inner`, `${root}/inner2`);
    Deno.linkSync(`${root}/outer`, `${outside}/outer`);
    assert.deepEqual([await read("outer"), await read("outer"), await read("inner")], [true, false, false]);
    rename(`${root}/outer`, `${root}/outer2`);
    assert.deepEqual([await read("outer2"), await read("inner")], [false, false]);
    rename(`${root}/inner`, `${root}/inner3`);
    assert.deepEqual([await read("inner3"), await read("inner2"), await read("outer2")], [true, false, false]);
    rename(`${root}/inner3`, `${outside}/inner3`);
    assert.deepEqual([await read("inner2"), await read("inner2")], [true, false]);
  } finally {
    real.close();
    remove();
  }
});

/** Renames a file until the system's clock, which goes in ticks, shows that. */
function rename(from: string, to: string): void {
  const { ctime } = Deno.statSync(from);
  for (;;) {
    Deno.renameSync(from, to);
    if (Deno.statSync(to).ctime?.getTime() !== ctime?.getTime()) return;
    Deno.renameSync(to, from);
  }
}

/** Of the directory that the workspace was opened at. */
function rootOf({ directories = {} }: Workspace): string {
  return Object.keys(directories)[0] ?? "";
}

/** The text of a file, or why there is none. */
async function textAt(workspace: Workspace, path: string): Promise<string> {
  const read = await workspace.read(at(path));
  return read.ok ? new TextDecoder().decode(read.value.bytes) : read.error.reason;
}
