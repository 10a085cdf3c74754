/** File systems that lack a call, or refuse one in the midst of an operation, where the kernel resolves names. */
import assert from "node:assert/strict";
import { type Descriptor, KernelError } from "../../src/lib/kernel/descriptor.ts";
import { stagingDirectoryName } from "../../src/files/workspace/path.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { at, encode, text } from "./contract.ts";
import { currentMode, descriptorMethods, openDiskWorkspace, testInEachMode } from "./disk_modes.ts";
import { quickDirectory } from "./property_runs.ts";

type Call = Exclude<keyof Descriptor, "open" | "tryOpen">;

const lacking: Readonly<Record<string, Readonly<Partial<Record<Call, string>>>>> = {
  "no rename but the plain one": { renameNew: "EINVAL" },
  "no rename but the plain one, and no second names": { renameNew: "EINVAL", link: "EPERM" },
  "renames with flags that a seccomp profile refuses": { renameNew: "EPERM" },
  "no change of a mode": { setMode: "EPERM" },
};

for (const [what, codes] of Object.entries(lacking)) {
  testInEachMode(
    `${what}: files are made, replaced, moved, deleted and brought back`,
    () =>
      inWorkspace(async (workspace, root) => {
        using _ = refuse(codes);
        assert.ok((await workspace.write(at("d/f"), encode("one"))).ok);
        assert.ok((await workspace.write(at("d/f"), encode("two"))).ok);
        assert.ok((await workspace.receive(at("d/g"), pieces("three"))).ok);
        const again = await workspace.write(at("d/g"), encode("no"), { mode: "create" });
        assert.deepEqual(again, { ok: false, error: { reason: "already_exists" } });
        assert.ok((await workspace.move(at("d/f"), at("d/h"))).ok);
        assert.equal((await workspace.move(at("d/g"), at("d/h"))).ok, false);
        assert.ok((await workspace.move(at("d"), at("e"))).ok);
        assert.ok((await workspace.remove(at("e/g"))).ok);
        assert.deepEqual(filesIn(root), { "e/h": "two" });
        const { trash } = workspace;
        assert.ok(trash);
        const kept: string[] = [];
        for await (const { id, steps } of trash.changes()) {
          for (const { number, step } of steps) {
            if (!("kept" in step) || step.kept === null) continue;
            assert.ok((await trash.restore({ change: id, number }, at(`back-${kept.length}`))).ok);
            kept.push(await text(workspace, `back-${kept.length}`));
          }
        }
        assert.deepEqual(kept, ["three", "one"]);
      }),
  );
}

testInEachMode(
  "what is left of a directory whose deletion is refused half-way shows again",
  () =>
    inWorkspace(async (workspace, root) => {
      Deno.mkdirSync(`${root}/d/e`, { recursive: true });
      for (const name of ["d/f", "d/e/g"]) Deno.writeTextFileSync(`${root}/${name}`, name);
      using _ = currentMode() === "kernel" ? refuse({ removeDirectory: "EACCES" }) : refuseRemoval();
      const removed = await workspace.remove(at("d"), { recursive: true });
      assert.deepEqual(removed, { ok: false, error: { reason: "denied", because: "permission" } });
      assert.ok(Deno.statSync(`${root}/d/e`).isDirectory);
      assert.deepEqual(stagedIn(root), []);
    }, false),
);

testInEachMode(
  "a clean-up that is refused does not hide what an operation says",
  () =>
    inWorkspace(async (workspace, root) => {
      if (currentMode() !== "kernel") return; // there nothing stands between this and the system
      Deno.writeTextFileSync(`${root}/f`, "stays");
      using _ = refuse({ flush: "ENOSPC", removeFile: "EIO" });
      for (
        const attempt of [
          () => workspace.write(at("f"), encode("new")),
          () => workspace.receive(at("f"), pieces("new")),
        ]
      ) assert.deepEqual(await attempt(), { ok: false, error: { reason: "no_space" } });
      assert.deepEqual(filesIn(root), { f: "stays" });
    }, false),
);

/** In the kernel's way alone: each of these calls of a descriptor is refused. */
function refuse(codes: Readonly<Partial<Record<Call, string>>>): Disposable {
  const methods = descriptorMethods();
  const undo = Object.entries(methods === null ? {} : codes).map(([name, code]) => {
    const original = Reflect.get(methods ?? {}, name);
    const throwing = (): never => {
      throw new KernelError(code);
    };
    Reflect.set(methods ?? {}, name, throwing);
    return () => Reflect.set(methods ?? {}, name, original);
  });
  return { [Symbol.dispose]: () => undo.forEach((each) => each()) };
}

function refuseRemoval(): Disposable {
  const { remove } = Deno;
  Deno.remove = () => Promise.reject(Object.assign(new Deno.errors.PermissionDenied("refused"), { code: "EACCES" }));
  return { [Symbol.dispose]: () => Deno.remove = remove };
}

async function inWorkspace(
  test: (workspace: Workspace, root: string) => Promise<void>,
  hasTrash = true,
): Promise<void> {
  const root = quickDirectory();
  const workspace = openDiskWorkspace({ root, ...hasTrash ? { trash: { keepMs: 1e9, maxBytes: 1e9 } } : {} });
  try {
    await test(workspace, root);
  } finally {
    await workspace.close();
    Deno.removeSync(root, { recursive: true });
  }
}

async function* pieces(content: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(encode(content));
}

function filesIn(root: string, below = ""): Record<string, string> {
  const entries = Array.from(Deno.readDirSync(`${root}/${below}`)).filter(({ name }) => name !== stagingDirectoryName);
  return Object.assign(
    {},
    ...entries.map(({ name, isDirectory }) =>
      isDirectory
        ? filesIn(root, `${below}${name}/`)
        : { [`${below}${name}`]: Deno.readTextFileSync(`${root}/${below}${name}`) }
    ),
  );
}

function stagedIn(root: string): string[] {
  const names = Array.from(Deno.readDirSync(`${root}/${stagingDirectoryName}`), ({ name }) => name);
  return names.filter((name) => !name.endsWith(".lock"));
}
