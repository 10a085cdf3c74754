import assert from "node:assert/strict";
import fc from "fast-check";
import { openDiskWorkspace } from "../../src/workspace/disk_workspace.ts";
import { parseDirectoryPath, parseFilePath, rootPath, type WorkspacePath } from "../../src/workspace/path.ts";
import type { Workspace } from "../../src/workspace/port.ts";
import { walk } from "../../src/workspace/walk.ts";
import { type ConfinedBase, makeConfinedBase, secretText } from "./confined_base.ts";

const runs = Number(Deno.env.get("PROPERTY_RUNS") ?? 150);
const names = ["a", "b", "c", "d"] as const;

type Node =
  | { readonly at: readonly string[]; readonly kind: "directory" | "file" | "hard_link" }
  | { readonly at: readonly string[]; readonly kind: "link"; readonly target: string };

const place = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 });
const step = fc.constantFrom("..", ".", "", ...names, "outside", "secret.txt", "ws", "ws-evil");
const target = fc.tuple(
  fc.constantFrom("", "", "", "{{ROOT}}/", "{{BASE}}/outside/", "{{BASE}}/", "{{ROOT}}-evil/", "/proc/self/root/"),
  fc.array(step, { minLength: 1, maxLength: 5 }),
).map(([start, steps]) => start + steps.join("/") || ".");
const node: fc.Arbitrary<Node> = fc.oneof(
  fc.record({ at: place, kind: fc.constantFrom("directory", "file", "hard_link" as const) }),
  fc.record({ at: place, kind: fc.constant("link" as const), target }),
);
const tree = fc.array(node, { minLength: 1, maxLength: 12 });
const wanted = fc.array(fc.array(fc.constantFrom(...names, "secret.txt"), { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 10,
});

Deno.test("a random tree with links never gives bytes or names from outside, nor does what is outside decide", async () => {
  await fc.assert(
    fc.asyncProperty(tree, wanted, async (nodes, paths) => {
      await inScene(nodes, async (scene, workspace) => {
        const first = await observe(workspace, paths);
        for (const { outcome, segments } of first) {
          assert.ok(!outcome.includes(secretText), "bytes from outside");
          assert.ok(!outcome.includes(scene.base), "a path from outside");
          if (outcome.startsWith("read:")) {
            const real = Deno.realPathSync(`${scene.root}/${segments.join("/")}`);
            assert.ok(real.startsWith(`${scene.root}/`));
            assert.equal(outcome, `read:${Deno.readTextFileSync(real)}`);
          }
        }
        for (const directory of [scene.outside, scene.sibling]) Deno.renameSync(directory, `${directory}.moved`);
        assert.deepEqual(await observe(workspace, paths), first, "the answer depends on what is outside");
      });
    }),
    { numRuns: runs },
  );
});

Deno.test("writes through a random tree with links never change anything outside, and are read back", async () => {
  await fc.assert(
    fc.asyncProperty(tree, wanted, async (nodes, paths) => {
      await inScene(nodes, async (scene, workspace) => {
        const before = scene.fingerprint();
        for (const [index, segments] of paths.entries()) {
          const content = `written ${index}`;
          const written = await workspace.write(filePath(segments), new TextEncoder().encode(content));
          assert.equal(scene.fingerprint(), before);
          if (!written.ok) continue;
          const read = await workspace.read(filePath(segments));
          assert.ok(read.ok, "what was written cannot be read");
          assert.equal(new TextDecoder().decode(read.value.bytes), content);
          assert.equal(read.value.sha256, written.value.sha256);
        }
      });
    }),
    { numRuns: runs },
  );
});

const anyPath = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 });
const change = fc.record({
  kind: fc.constantFrom(
    "copy" as const,
    "move" as const,
    "remove" as const,
    "makeDirectory" as const,
    "append" as const,
  ),
  from: anyPath,
  to: anyPath,
  force: fc.boolean(),
});

Deno.test("copying, moving, deleting and making directories in a random tree with links stays inside", async () => {
  await fc.assert(
    fc.asyncProperty(tree, fc.array(change, { minLength: 1, maxLength: 12 }), async (nodes, changes) => {
      await inScene(nodes, async (scene, workspace) => {
        const before = scene.fingerprint();
        for (const each of changes) {
          const [from, to] = [filePath(each.from), filePath(each.to)];
          if (each.kind === "copy") await workspace.copy(from, to, { overwrite: each.force });
          if (each.kind === "move") await workspace.move(from, to, { overwrite: each.force });
          if (each.kind === "remove") await workspace.remove(from, { recursive: each.force });
          if (each.kind === "makeDirectory") await workspace.makeDirectory(to);
          if (each.kind === "append") await workspace.write(to, new Uint8Array(1), { mode: "append" });
          assert.equal(scene.fingerprint(), before, JSON.stringify(each));
        }
        // moving a link changes what it means; it must not give anything from outside away now
        for await (const step of walk(workspace, rootPath, { depth: 64 })) {
          assert.ok(step.ok);
          const read = await workspace.read(filePath(step.value.segments));
          if (read.ok) assert.ok(!new TextDecoder().decode(read.value.bytes).includes(secretText));
        }
      });
    }),
    { numRuns: runs },
  );
});

interface Observation {
  readonly segments: readonly string[];
  readonly outcome: string;
}

async function observe(workspace: Workspace, paths: readonly (readonly string[])[]): Promise<Observation[]> {
  const seen: Observation[] = [];
  for (const segments of paths) {
    const read = await workspace.read(filePath(segments));
    const outcome = read.ok ? `read:${new TextDecoder().decode(read.value.bytes)}` : JSON.stringify(read.error);
    seen.push({ segments, outcome });
    const directory = parseDirectoryPath(segments.join("/"));
    assert.ok(directory.ok);
    seen.push({ segments, outcome: JSON.stringify(await workspace.list(directory.value)) });
  }
  return seen;
}

function filePath(segments: readonly string[]): WorkspacePath {
  const path = parseFilePath(segments.join("/"));
  assert.ok(path.ok);
  return path.value;
}

async function inScene(
  nodes: readonly Node[],
  body: (scene: ConfinedBase, workspace: Workspace) => Promise<void>,
): Promise<void> {
  const scene = makeConfinedBase();
  const workspace = openDiskWorkspace({ root: scene.root });
  try {
    for (const each of nodes) plant(scene, each);
    await body(scene, workspace);
  } finally {
    await workspace.close();
    scene.remove();
  }
}

/** Makes one node; a place that an earlier node has taken or barred stays as it is. */
function plant(scene: ConfinedBase, planted: Node): void {
  const parent = [scene.root, ...planted.at.slice(0, -1)];
  for (let depth = 1; depth <= parent.length; depth++) {
    const path = parent.slice(0, depth).join("/");
    try {
      if (!Deno.lstatSync(path).isDirectory) return;
    } catch {
      Deno.mkdirSync(path); // not there
    }
  }
  const path = `${scene.root}/${planted.at.join("/")}`;
  try {
    if (planted.kind === "directory") Deno.mkdirSync(path);
    else if (planted.kind === "file") {
      Deno.writeTextFileSync(path, `inside ${planted.at.join("/")}`, { createNew: true });
    } else if (planted.kind === "hard_link") Deno.linkSync(scene.secret, path);
    else if (planted.kind === "link") {
      Deno.symlinkSync(planted.target.replace("{{ROOT}}", scene.root).replace("{{BASE}}", scene.base), path);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}
