import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { leadsInto, lookAtPath } from "../../src/app/config/directories.ts";
import { foldingSkipped, withFoldingMount } from "../fixtures/folding_mount.ts";
import { ownMounts, withMounts } from "../fixtures/own_mounts.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

/** Below a new directory: links by their targets, `null` for a directory. */
type Layout = Readonly<Record<string, string | null>>;
type Case = readonly [what: string, layout: Layout, path: string, expected: boolean];

const cases: readonly Case[] = [
  ["the workspace itself", { ws: null }, "ws", true],
  ["a path in it", { "ws/data": null }, "ws/data", true],
  ["a path in it that is not there yet", { ws: null }, "ws/a/b", true],
  ["a path beside it", { ws: null, data: null }, "data", false],
  ["a path whose name begins like it", { ws: null, "ws-data": null }, "ws-data", false],
  ["the directory above it", { "in/ws": null, ws: "in/ws" }, "in", false],
  ["a path in it, where the workspace is given by a link", { home: null, ws: "home" }, "home/.pc", true],
  ["a path through a link to it", { ws: null, alias: "ws" }, "alias/data", true],
  ["a path through a link to what is above it", { "home/ws": null, alias: "home", ws: "home/ws" }, "alias/ws/d", true],
  ["a path through links to links", { ws: null, a: "b", b: "./c", c: "d/../ws", d: null }, "a/data", true],
  ["a link in it that leads out again", { "ws/out": "../data", ws: null, data: null }, "ws/out/key", true],
  ["a link to a link in it that leads out again", { "ws/out": "../data", data: null, a: "ws/out" }, "a/key", true],
  ["a link that leads nowhere, in it", { ws: null, "ws/dangling": "/nowhere" }, "ws/dangling/key", true],
  ["a link back out by dots", { "ws/deep": null, a: "ws/deep/../../data", data: null }, "a/key", true],
  ["a link that circles", { ws: null, a: "b", b: "a" }, "a/key", false],
  ["a workspace that is not there yet", {}, "ws/data", true],
  ["a workspace that is not there yet, by a link", { home: null, alias: "home", ws: "home/new" }, "alias/new/d", true],
  ["a workspace that is not there yet, in another case", {}, "WS/data", true],
  ["neither there, beside each other", {}, "data", false],
];

for (const [what, layout, path, expected] of cases) {
  Deno.test(`leadsInto() ${expected ? "finds" : "passes"} ${what}`, async () => {
    const base = await Deno.makeTempDir();
    try {
      for (const [name, target] of Object.entries(layout)) {
        if (target === null) await Deno.mkdir(`${base}/${name}`, { recursive: true });
        else {
          await Deno.mkdir(`${base}/${name}/..`.replace(/[^/]+\/\.\.$/, ""), { recursive: true });
          await Deno.symlink(target, `${base}/${name}`);
        }
      }
      assert.equal(leadsInto(`${base}/${path}`, `${base}/ws`, lookAtPath), expected);
    } finally {
      await Deno.remove(base, { recursive: true });
    }
  });
}

Deno.test("leadsInto() compares what is written where nothing can be looked at", () => {
  const blind = () => null;
  for (const path of ["/home/ws", "/home/ws/a", "/home/./ws//a"]) assert.ok(leadsInto(path, "/home/ws", blind), path);
  for (const path of ["/home", "/", "/home/ws-2", "/other/ws"]) assert.ok(!leadsInto(path, "/home/ws", blind), path);
});

const program = fileURLToPath(new URL("./print_overlap.ts", import.meta.url));

async function overlaps(words: readonly string[], base: string, path: string): Promise<string> {
  const [command = "", ...args] = words;
  const { stdout, stderr } = await new Deno.Command(command, {
    args: [...args, Deno.execPath(), "run", "--no-prompt", "--allow-read", program, `${base}/${path}`, `${base}/ws`],
    env: { BASE: base, WORKSPACE_DIR: `${base}/folding` },
  }).output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout) || decoder.decode(stderr);
}

Deno.test({
  ...skippedUnless(
    ownMounts !== null,
    "this machine lets no user mount",
    "leadsInto() finds a path in what is also mounted as the workspace",
  ),
  async fn() {
    const base = await Deno.makeTempDir();
    try {
      const mounted = withMounts(
        'mkdir -p "$BASE/home/data" "$BASE/ws" "$BASE/other"; mount --bind "$BASE/home" "$BASE/ws"',
      );
      assert.equal(await overlaps(mounted, base, "home/data"), "true\n");
      assert.equal(await overlaps(mounted, base, "other/data"), "false\n");
    } finally {
      await Deno.remove(base, { recursive: true });
    }
  },
});

Deno.test({
  name: `leadsInto() finds other spellings of the workspace where the file system knows them${foldingSkipped ?? ""}`,
  ignore: foldingSkipped !== null,
  async fn() {
    const base = await Deno.makeTempDir();
    try {
      await Deno.mkdir(`${base}/folding`);
      await Deno.symlink("folding/Workspace", `${base}/ws`);
      const mounted = withFoldingMount("mkdir -p Workspace/data other");
      for (const name of ["Workspace", "WORKSPACE", "WORKSP~1", "workspace.", "Work\u200cspace"]) {
        assert.equal(await overlaps(mounted, base, `folding/${name}/data`), "true\n", name);
      }
      assert.equal(await overlaps(mounted, base, "folding/other/data"), "false\n");
    } finally {
      await Deno.remove(base, { recursive: true });
    }
  },
});
