import assert from "node:assert/strict";
import fc from "fast-check";
import { parseDirectoryPath, parseFilePath, rootPath, type WorkspacePath } from "../../src/files/workspace/path.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { walk } from "../../src/files/workspace/walk.ts";
import { type ConfinedBase, makeConfinedBase, secretText } from "./confined_base.ts";
import { checkProperty, quickDirectory } from "./property_runs.ts";
import { openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

const names = ["a", "b", "c", "d"] as const;
const specialCommands = ["mkfifo special-0", "mknod special-1 c 1 5", "mknod special-2 c 1 3"];

type Node =
  | { readonly at: readonly string[]; readonly kind: "directory" | "file" | "hard_link" | "special" | "sparse" }
  | { readonly at: readonly string[]; readonly kind: "link"; readonly target: string };

const place = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 });
const step = fc.constantFrom("..", ".", "", ...names, "outside", "secret.txt", "ws", "ws-evil");
const target = fc.tuple(
  fc.constantFrom("", "", "", "{{ROOT}}/", "{{BASE}}/outside/", "{{BASE}}/", "{{ROOT}}-evil/", "/proc/self/root/"),
  fc.array(step, { minLength: 1, maxLength: 5 }),
).map(([start, steps]) => start + steps.join("/") || ".");
const node: fc.Arbitrary<Node> = fc.oneof(
  fc.record({ at: place, kind: fc.constantFrom("directory", "file", "hard_link", "special", "sparse" as const) }),
  fc.record({ at: place, kind: fc.constant("link" as const), target }),
);
const tree = fc.array(node, { minLength: 1, maxLength: 12 });
const wanted = fc.array(fc.array(fc.constantFrom(...names, "secret.txt"), { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 6,
});

testInEachMode(
  "a random tree with links never gives bytes or names from outside, nor does what is outside decide",
  async () => {
    await checkProperty(
      "reads and listings in random trees",
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
          const aside = [scene.outside, scene.sibling];
          for (const directory of aside) Deno.renameSync(directory, `${directory}.moved`);
          assert.deepEqual(await observe(workspace, paths), first, "the answer depends on what is outside");
          for (const directory of aside) Deno.renameSync(`${directory}.moved`, directory);
        });
      }),
    );
  },
);

testInEachMode("writes through a random tree with links never change anything outside, and are read back", async () => {
  await checkProperty(
    "writes in random trees",
    fc.asyncProperty(tree, wanted, async (nodes, paths) => {
      await inScene(nodes, async (_scene, workspace) => {
        for (const [index, segments] of paths.entries()) {
          const content = `written ${index}`;
          const written = await workspace.write(filePath(segments), new TextEncoder().encode(content));
          if (!written.ok) continue;
          const read = await workspace.read(filePath(segments));
          assert.ok(read.ok, "what was written cannot be read");
          assert.equal(new TextDecoder().decode(read.value.bytes), content);
          assert.equal(read.value.sha256, written.value.sha256);
        }
      });
    }),
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

testInEachMode(
  "copying, moving, deleting and making directories in a random tree with links stays inside",
  async () => {
    await checkProperty(
      "changes in random trees",
      fc.asyncProperty(tree, fc.array(change, { minLength: 1, maxLength: 8 }), async (nodes, changes) => {
        await inScene(nodes, async (_scene, workspace) => {
          for (const each of changes) {
            const [from, to] = [filePath(each.from), filePath(each.to)];
            if (each.kind === "copy") await workspace.copy(from, to, { overwrite: each.force });
            if (each.kind === "move") await workspace.move(from, to, { overwrite: each.force });
            if (each.kind === "remove") await workspace.remove(from, { recursive: each.force });
            if (each.kind === "makeDirectory") await workspace.makeDirectory(to);
            if (each.kind === "append") await workspace.write(to, new Uint8Array(1), { mode: "append" });
          }
          // moving a link changes what it means; it must not give anything from outside away now
          for await (const step of walk(workspace, rootPath, { depth: 64 })) {
            assert.ok(step.ok);
            const read = await workspace.read(filePath(step.value.segments));
            if (read.ok) assert.ok(!new TextDecoder().decode(read.value.bytes).includes(secretText));
          }
        });
      }),
    );
  },
);

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

/** One scene for all cases, since making it costs more than a case; one that a case has changed is never used again. */
let kept: { readonly scene: ConfinedBase; readonly fingerprint: string } | null = null;

async function inScene(
  nodes: readonly Node[],
  body: (scene: ConfinedBase, workspace: Workspace) => Promise<void>,
): Promise<void> {
  const { scene, fingerprint } = kept ?? makeScene();
  kept = null;
  const workspace = openDiskWorkspace({ root: scene.root });
  try {
    for (const each of nodes) plant(scene, each);
    await body(scene, workspace);
    assert.equal(scene.fingerprint(), fingerprint, "something outside has changed");
    Deno.removeSync(scene.root, { recursive: true });
    Deno.mkdirSync(scene.root);
    kept = { scene, fingerprint };
  } finally {
    await workspace.close();
    if (kept === null) scene.remove();
  }
}

function makeScene(): { readonly scene: ConfinedBase; readonly fingerprint: string } {
  const scene = makeConfinedBase(quickDirectory());
  for (const command of specialCommands) {
    // where devices may not be made there still is the pipe
    new Deno.Command("sh", { args: ["-c", command], cwd: scene.base, stderr: "null" }).outputSync();
  }
  return { scene, fingerprint: scene.fingerprint() };
}

Deno.test.afterAll(() => {
  kept?.scene.remove();
  kept = null;
});

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
    else if (planted.kind === "special") {
      const specials = Array.from(Deno.readDirSync(scene.base), ({ name }) => name).filter((name) =>
        /^special/.test(name)
      );
      const chosen = specials.sort()[planted.at.length % specials.length];
      if (chosen !== undefined) Deno.linkSync(`${scene.base}/${chosen}`, path);
    } else if (planted.kind === "sparse") {
      Deno.writeFileSync(path, new Uint8Array(), { createNew: true });
      Deno.truncateSync(path, 10 * 1024 ** 3);
    } else if (planted.kind === "link") {
      Deno.symlinkSync(planted.target.replace("{{ROOT}}", scene.root).replace("{{BASE}}", scene.base), path);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}
