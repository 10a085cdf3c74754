/** Where a path leads, in random trees of links: the workspace and a short reference agree, whichever way is used. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { WorkspacePath } from "../../src/files/workspace/path.ts";
import { openDiskWorkspace, testInEachMode } from "./disk_modes.ts";
import { checkProperty, quickDirectory } from "./property_runs.ts";

type Entry = string | { readonly link: string } | Map<string, Entry>;

const maxLinks = 40;
const names = ["a", "b", "c", "d"] as const;
const segments = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 });
const target = fc.array(fc.constantFrom("..", "..", ".", ...names), { minLength: 1, maxLength: 5 }).map((steps) =>
  steps.join("/")
);
const node = fc.record({ at: segments, link: fc.option(target), isDirectory: fc.boolean() });

/** The entry at the end of the path, or the reason why there is none: 40 links, none of which may leave the root. */
function reference(root: Map<string, Entry>, path: readonly string[]): string | Map<string, Entry> {
  const way = [root];
  const pending = path.toReversed();
  let links = 0;
  let file: string | null = null;
  for (let name; (name = pending.pop()) !== undefined;) {
    if (file !== null) return "not_a_directory";
    if (name === "..") {
      if (way.length === 1) return "outside_link";
      way.pop();
      continue;
    }
    if (name === "." || name === "") continue;
    const entry = way.at(-1)?.get(name);
    if (entry === undefined) return "not_found";
    if (entry instanceof Map) way.push(entry);
    else if (typeof entry === "string") file = entry;
    else if (++links > maxLinks) return "link_loop";
    else pending.push(...entry.link.split("/").reverse());
  }
  return file === null ? way.at(-1) ?? root : `file ${file}`;
}

testInEachMode("a path in a random tree of links leads where a short reference says", async () => {
  await checkProperty(
    "paths in random trees",
    fc.asyncProperty(
      fc.array(node, { minLength: 1, maxLength: 12 }),
      fc.array(segments, { minLength: 1, maxLength: 8 }),
      async (nodes, paths) => {
        const root = new Map<string, Entry>();
        const directory = quickDirectory();
        try {
          for (const [index, { at, link, isDirectory }] of nodes.entries()) {
            plant(root, at, isDirectory ? new Map() : link === null ? `${index}` : { link });
          }
          write(directory, root);
          const workspace = openDiskWorkspace({ root: directory });
          for (const path of paths) {
            const expected = reference(root, path);
            assert.equal(
              await observe(workspace, path),
              expected instanceof Map ? `directory ${[...expected.keys()].sort()}` : expected,
            );
          }
          await workspace.close();
        } finally {
          Deno.removeSync(directory, { recursive: true });
        }
      },
    ),
  );
});

function plant(root: Map<string, Entry>, at: readonly string[], entry: Entry): void {
  let directory = root;
  for (const name of at.slice(0, -1)) {
    const there = directory.get(name) ?? new Map<string, Entry>();
    if (!(there instanceof Map)) return;
    directory.set(name, there);
    directory = there;
  }
  const last = at.at(-1) ?? "";
  if (!directory.has(last)) directory.set(last, entry);
}

function write(path: string, directory: Map<string, Entry>): void {
  for (const [name, entry] of directory) {
    if (typeof entry === "string") Deno.writeTextFileSync(`${path}/${name}`, entry);
    else if (!(entry instanceof Map)) Deno.symlinkSync(entry.link, `${path}/${name}`);
    else {
      Deno.mkdirSync(`${path}/${name}`);
      write(`${path}/${name}`, entry);
    }
  }
}

async function observe(workspace: ReturnType<typeof openDiskWorkspace>, names: readonly string[]): Promise<string> {
  const path: WorkspacePath = { text: names.join("/"), segments: names };
  const read = await workspace.read(path);
  if (read.ok) return `file ${new TextDecoder().decode(read.value.bytes)}`;
  const listed = await workspace.list(path);
  if (listed.ok) return `directory ${listed.value.entries.map(({ name }) => name)}`;
  return listed.error.reason === "denied" ? listed.error.because : listed.error.reason;
}
