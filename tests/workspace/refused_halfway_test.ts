/** A change that the system refuses at any of its calls: it is made, or everything is as it was, the trash too. */
import assert from "node:assert/strict";
import { KernelError } from "../../src/lib/kernel/descriptor.ts";
import { stagingDirectoryName } from "../../src/files/workspace/path.ts";
import type { Outcome, Trash, Workspace } from "../../src/files/workspace/port.ts";
import { at, encode } from "./contract.ts";
import { currentMode, descriptorMethods, openDiskWorkspace, testInEachMode } from "./disk_modes.ts";
import { quickDirectory } from "./property_runs.ts";

type KeptFile = Awaited<ReturnType<typeof keptOf>>;
type Change = (
  workspace: Workspace & { readonly trash: Trash },
  kept: { readonly f: KeptFile; readonly gone: KeptFile },
) => Promise<Outcome<unknown>>;

const changes: Readonly<Record<string, Change>> = {
  "a new file": (workspace) => workspace.write(at("n"), encode("new")),
  "a new file in new directories": (workspace) => workspace.write(at("x/y/n"), encode("new")),
  "a file replaced": (workspace) => workspace.write(at("f"), encode("new")),
  "a file added to": (workspace) => workspace.write(at("f"), encode("new"), { mode: "append" }),
  "a file that arrives": (workspace) => workspace.receive(at("f"), pieces("new")),
  "a copy over a file": (workspace) => workspace.copy(at("g"), at("f"), { overwrite: true }),
  "a file moved": (workspace) => workspace.move(at("f"), at("d/f")),
  "a file moved over another": (workspace) => workspace.move(at("g"), at("f"), { overwrite: true }),
  "a directory moved": (workspace) => workspace.move(at("d"), at("e")),
  "a file deleted": (workspace) => workspace.remove(at("f")),
  "a directory deleted": (workspace) => workspace.remove(at("d"), { recursive: true }),
  "a version brought back": ({ trash }, { f: [item, left] }) => trash.restore(item, at("f"), left),
  "a deleted file brought back": ({ trash }, { gone: [item] }) => trash.restore(item, at("gone")),
};

const codes = ["EIO", "ENOSPC"];
const calls = [
  ...["open", "makeDirectory", "removeFile", "removeDirectory", "link", "rename", "renameNew"],
  ...["write", "writeNow", "flush", "setMode"],
];

for (const [what, change] of Object.entries(changes)) {
  testInEachMode(`${what}: where the system refuses one of its calls, it is made or nothing is`, async () => {
    if (currentMode() !== "kernel") return; // there nothing stands between this and the system
    for (const code of codes) {
      for (let refused = 1, isMet = true; isMet; refused++) {
        await inWorkspace(async (workspace, root) => {
          const kept = { f: await keptOf(workspace.trash, "f"), gone: await keptOf(workspace.trash, "gone") };
          const changed = await changedPaths(workspace.trash);
          const before = contentsOf(root);
          const fault = refuse(refused, code);
          const outcome = await change(workspace, kept).finally(fault.end);
          isMet = fault.isMet();
          const which = `${code} at call ${refused}, ${fault.name()}: ${JSON.stringify(outcome)}`;
          if (!outcome.ok) {
            assert.deepEqual(contentsOf(root), before, which);
            assert.ok((await changedPaths(workspace.trash)).length <= changed.length, `${which}: it is withdrawn`);
            assert.ok((await change(workspace, kept)).ok, `${which}, and again`);
          }
          assert.notDeepEqual(contentsOf(root), before, which);
        });
      }
    }
  });
}

async function inWorkspace(
  test: (workspace: Workspace & { readonly trash: Trash }, root: string) => Promise<void>,
): Promise<void> {
  const root = quickDirectory();
  const workspace = openDiskWorkspace({ root, trash: { keepMs: 1e9, maxBytes: 1e9 } });
  try {
    for (
      const [path, content] of [["f", "first"], ["f", "second"], ["g", "g"], ["gone", "gone"], ["d/h", "h"]] as const
    ) {
      assert.ok((await workspace.write(at(path), encode(content))).ok);
    }
    assert.ok((await workspace.remove(at("gone"))).ok);
    const { trash } = workspace;
    assert.ok(trash);
    await test({ ...workspace, trash }, root);
  } finally {
    await workspace.close();
    Deno.removeSync(root, { recursive: true });
  }
}

/** What the trash keeps of a path, and what the change has left there. */
async function keptOf(trash: Trash, path: string) {
  for await (const { id, steps } of trash.changes()) {
    for (const { number, step } of steps) {
      if (step.path !== path || !("kept" in step) || step.kept === null) continue;
      return [{ change: id, number }, "left" in step ? step.left : {}] as const;
    }
  }
  throw new Error(`nothing is kept of ${path}`);
}

async function changedPaths(trash: Trash): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const { steps } of trash.changes()) paths.push(...steps.map(({ step }) => step.path));
  return paths;
}

/** Refuses one of the calls, counted from here. */
function refuse(which: number, code: string) {
  const prototype = descriptorMethods();
  assert.ok(prototype);
  let count = 0;
  let met = "";
  const undo = calls.map((name) => {
    const original = Reflect.get(prototype, name);
    Reflect.set(prototype, name, function (this: unknown, ...given: unknown[]) {
      if (++count === which) {
        met = `${name} ${given.filter((each) => typeof each === "string")}`;
        throw new KernelError(code);
      }
      return original.apply(this, given);
    });
    return () => Reflect.set(prototype, name, original);
  });
  return { isMet: () => count >= which, name: () => met, end: () => undo.forEach((each) => each()) };
}

async function* pieces(content: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(encode(content));
}

function contentsOf(root: string, below = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name, isDirectory } of Deno.readDirSync(`${root}/${below}`)) {
    if (name === stagingDirectoryName) continue;
    if (isDirectory) Object.assign(found, contentsOf(root, `${below}${name}/`));
    else found[`${below}${name}`] = Deno.readTextFileSync(`${root}/${below}${name}`);
  }
  return found;
}
