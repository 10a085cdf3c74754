import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { parseFilePath, rootPath, type WorkspacePath } from "../../src/files/workspace/path.ts";
import type { Workspace, WorkspaceLimits } from "../../src/files/workspace/port.ts";
import { makeConfinedBase } from "./confined_base.ts";
import { currentKernel, openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

const bytes = new TextEncoder().encode("text");

testInEachMode(
  "openDiskWorkspace() creates the directory for its owner alone, and leaves one that is there as it is",
  () =>
    inScene(async (base) => {
      await openDiskWorkspace({ root: `${base}/new/workspace` }).close();
      assert.equal((Deno.lstatSync(`${base}/new/workspace`).mode ?? 0) & 0o777, 0o700);
      Deno.chmodSync(`${base}/ws`, 0o750);
      await openDiskWorkspace({ root: `${base}/ws` }).close();
      assert.equal((Deno.lstatSync(`${base}/ws`).mode ?? 0) & 0o777, 0o750);
    }),
);

testInEachMode("openDiskWorkspace() refuses a file and the root of the file system", () =>
  inScene((base) => {
    Deno.writeTextFileSync(`${base}/file`, "");
    assert.throws(() => openDiskWorkspace({ root: `${base}/file` }));
    assert.throws(() => openDiskWorkspace({ root: "/" }), /cannot be the root of the file system/);
  }));

testInEachMode(
  "a workspace given as a link is the directory that the link led to at the start",
  () =>
    inScene(async (base) => {
      Deno.symlinkSync("ws", `${base}/link`);
      Deno.writeTextFileSync(`${base}/ws/a`, "first");
      const workspace = openDiskWorkspace({ root: `${base}/link` });
      Deno.removeSync(`${base}/link`);
      Deno.symlinkSync("outside", `${base}/link`);
      assert.equal(await readText(workspace, "a"), "first");
      assert.equal(await readText(workspace, "secret.txt"), "not_found");
      await workspace.close();
    }),
);

testInEachMode(
  "a workspace whose directory was replaced, by a link or another directory, refuses everything",
  () =>
    inScene(async (base) => {
      const workspace = openDiskWorkspace({ root: `${base}/ws` });
      Deno.renameSync(`${base}/ws`, `${base}/moved`);
      for (const replace of [() => Deno.symlinkSync("outside", `${base}/ws`), () => Deno.mkdirSync(`${base}/ws`)]) {
        replace();
        const refusal = { ok: false, error: { reason: "denied", because: "workspace_replaced" } };
        assert.deepEqual(await workspace.read(path("secret.txt")), refusal);
        assert.deepEqual(await workspace.list(rootPath), refusal);
        assert.deepEqual(await workspace.write(path("a"), bytes), refusal);
        Deno.removeSync(`${base}/ws`);
      }
      assert.deepEqual(await workspace.list(rootPath), { ok: false, error: { reason: "not_found" } });
      await workspace.close();
      Deno.mkdirSync(`${base}/ws`);
    }),
);

testInEachMode(
  "reads look whether the workspace's directory is in its place once a millisecond, and then refuse another's",
  () =>
    inScene(async (base) => {
      const roots = currentKernel();
      if (roots === undefined) return; // paths are checked each time
      let looks = 0;
      const statusOf = (path: string) => ++looks > 0 ? roots.statusOf(path) : null;
      const { now } = performance;
      try {
        let time = performance.now();
        performance.now = () => time;
        const workspace = openDiskWorkspace({ root: `${base}/ws`, kernel: { ...roots, statusOf } });
        await workspace.write(path("a"), bytes);
        looks = 0;
        time += 1;
        for (let n = 0; n < 10; n++) assert.equal(await readText(workspace, "a"), "text");
        assert.equal(looks, 1);
        Deno.renameSync(`${base}/ws`, `${base}/moved`);
        Deno.mkdirSync(`${base}/ws`);
        Deno.writeTextFileSync(`${base}/ws/a`, "another's");
        assert.equal(await readText(workspace, "a"), "text");
        time += 1;
        for (let n = 0; n < 2; n++) assert.equal(await readText(workspace, "a"), "denied");
        await workspace.close();
      } finally {
        performance.now = now;
      }
    }),
);

testInEachMode(
  "small files are read without a promise, large ones with one, with the same answer",
  () =>
    inScene(async (base) => {
      const workspace = openDiskWorkspace({ root: `${base}/ws` });
      for (const size of [0, 1, 1000, 256 * 1024, 256 * 1024 + 1, 1024 * 1024]) {
        const content = crypto.getRandomValues(new Uint8Array(Math.min(size, 1000)));
        const whole = new Uint8Array(size).map((_, index) => content[index % 1000] ?? 0);
        Deno.writeFileSync(`${base}/ws/f`, whole);
        const read = workspace.read(path("f"));
        assert.equal(read instanceof Promise, size > 256 * 1024);
        const result = await read;
        assert.ok(result.ok);
        assert.deepEqual(result.value.bytes, whole);
      }
      await workspace.close();
    }),
);

testInEachMode(
  "read() refuses more than maxReadBytes by the size alone, a sparse file of 10 GiB too",
  () =>
    inScene(async (base) => {
      const workspace = openDiskWorkspace({ root: `${base}/ws`, limits: { maxReadBytes: 10 } });
      Deno.writeTextFileSync(`${base}/ws/ten`, "x".repeat(10));
      assert.equal(await readText(workspace, "ten"), "x".repeat(10));
      Deno.writeTextFileSync(`${base}/ws/sparse`, "");
      Deno.truncateSync(`${base}/ws/sparse`, 10 * 1024 ** 3);
      assert.deepEqual(await workspace.read(path("sparse")), {
        ok: false,
        error: { reason: "too_large", sizeBytes: 10 * 1024 ** 3, limitBytes: 10 },
      });
      await workspace.close();
    }),
);

testInEachMode(
  "a file with a hard link outside is not read",
  () =>
    inScene(async (base) => {
      Deno.linkSync(`${base}/outside/secret.txt`, `${base}/ws/h`);
      const strict = openDiskWorkspace({ root: `${base}/ws` });
      assert.equal(await readText(strict, "h"), "denied");
      const refused = { ok: false, error: { reason: "denied", because: "hard_link" } };
      assert.deepEqual(await strict.readInto(path("h"), new Uint8Array(10_000), 0), refused);
      await strict.close();
    }),
);

testInEachMode(
  "a file whose hard links are all inside is read, edited and copied, and said to have other names",
  () =>
    inScene(async (base) => {
      Deno.mkdirSync(`${base}/ws/d`);
      Deno.writeTextFileSync(`${base}/ws/a`, "old");
      for (const name of ["b", "d/c"]) Deno.linkSync(`${base}/ws/a`, `${base}/ws/${name}`);
      const trash = { keepMs: 60_000, maxBytes: 1_000_000 };
      const workspace = openDiskWorkspace({ root: `${base}/ws`, trash, recountLinksAfter: 0 });
      for (const name of ["a", "b", "d/c"]) assert.equal(await readText(workspace, name), "old");
      assert.equal((await workspace.readInto(path("b"), new Uint8Array(10), 0)).ok, true);
      assert.equal((await workspace.copy(path("a"), path("copy"))).ok, true);
      const written = await workspace.write(path("a"), new TextEncoder().encode("+"), { mode: "append" });
      assert.equal(written.ok && written.value.otherNames, 2);
      assert.equal(await readText(workspace, "a"), "old+");
      assert.equal(await readText(workspace, "b"), "old");
      Deno.linkSync(`${base}/ws/b`, `${base}/outside/b`);
      assert.equal(await readText(workspace, "b"), "denied");
      await workspace.close();
    }),
);

testInEachMode("a file with a denied name is not read by its other names (hard links)", () =>
  inScene(async (base) => {
    for (const place of ["d/.env", "keys/a.pem", "private/x/y"]) {
      Deno.mkdirSync(`${base}/ws/${place}`.replace(/\/[^/]*$/, ""), { recursive: true });
      Deno.writeTextFileSync(`${base}/ws/${place}`, "secret");
      Deno.linkSync(`${base}/ws/${place}`, `${base}/ws/other`);
      const access = { denied: [".env", "*.pem", "private"] };
      const workspace = openDiskWorkspace({ root: `${base}/ws`, access, recountLinksAfter: 0 });
      assert.equal(await readText(workspace, "other"), "denied", place);
      assert.equal((await workspace.copy(path("other"), path("copy"))).ok, false);
      Deno.removeSync(`${base}/ws/other`);
      await workspace.close();
    }
  }));

testInEachMode(
  "what is read-only is neither written, appended to, copied over, moved over nor deleted",
  () =>
    inScene(async (base) => {
      Deno.mkdirSync(`${base}/ws/d`);
      for (const name of ["r", "d/r", "w"]) Deno.writeTextFileSync(`${base}/ws/${name}`, name);
      for (const name of ["r", "d/r"]) Deno.chmodSync(`${base}/ws/${name}`, 0o444);
      const workspace = openDiskWorkspace({ root: `${base}/ws`, trash: { keepMs: 60_000, maxBytes: 1_000_000 } });
      const bytes = new Uint8Array(1);
      const outcomes = [
        await workspace.write(path("r"), bytes),
        await workspace.write(path("r"), bytes, { mode: "append" }),
        await workspace.copy(path("w"), path("r"), { overwrite: true }),
        await workspace.move(path("w"), path("r"), { overwrite: true }),
        await workspace.remove(path("r")),
        await workspace.remove(path("d"), { recursive: true }),
      ];
      for (const outcome of outcomes) {
        assert.ok(!outcome.ok && outcome.error.reason === "denied" && outcome.error.because === "read_only");
      }
      assert.equal((await workspace.copy(path("d/r"), path("d/s"))).ok, true);
      assert.equal((await workspace.move(path("d/r"), path("moved"))).ok, true);
      await workspace.close();
    }),
);

testInEachMode(
  "an edit keeps set-group-ID and sticky bits, not set-user-ID, and a copy gets none of them",
  () =>
    inScene(async (base) => {
      const workspace = openDiskWorkspace({ root: `${base}/ws` });
      for (const mode of [0o2755, 0o4755, 0o6711, 0o1644, 0o3770]) {
        Deno.writeTextFileSync(`${base}/ws/f`, "");
        Deno.chmodSync(`${base}/ws/f`, mode);
        assert.ok((await workspace.write(path("f"), new Uint8Array(1))).ok);
        assert.equal((Deno.statSync(`${base}/ws/f`).mode ?? 0) & 0o7777, mode & 0o3777);
        assert.ok((await workspace.copy(path("f"), path(`copy${mode}`))).ok);
        assert.equal((Deno.statSync(`${base}/ws/copy${mode}`).mode ?? 0) & 0o7777, mode & 0o777);
      }
      await workspace.close();
    }),
);

testInEachMode(
  "hard links that a change has replaced or deleted are not read in the trash either",
  () =>
    inScene(async (base) => {
      for (const name of ["h", "i"]) Deno.linkSync(`${base}/outside/secret.txt`, `${base}/ws/${name}`);
      const workspace = openDiskWorkspace({ root: `${base}/ws`, trash: { keepMs: 60_000, maxBytes: 1_000_000 } });
      assert.ok((await workspace.write(path("h"), new Uint8Array(1))).ok);
      assert.ok((await workspace.remove(path("i"))).ok);
      const reads: unknown[] = [];
      for await (const { id, steps } of workspace.trash?.changes() ?? []) {
        for (const { number } of steps) {
          reads.push(await workspace.trash?.read({ change: id, number }, { offsetBytes: 0, lengthBytes: 10 }));
        }
      }
      const refused = { ok: false, error: { reason: "denied", because: "hard_link" } };
      assert.deepEqual(reads, [refused, refused]);
      await workspace.close();
    }),
);

testInEachMode(
  "list() gives the kinds, sorted, and is bounded in short and in long directories",
  () =>
    inScene(async (base) => {
      Deno.mkdirSync(`${base}/ws/d`);
      Deno.symlinkSync("../outside", `${base}/ws/l`);
      Deno.writeTextFileSync(`${base}/ws/a`, "");
      await list({}, (listing) =>
        assert.deepEqual(listing, {
          entries: [{ name: "a", kind: "file" }, { name: "d", kind: "directory" }, { name: "l", kind: "link" }],
          hasMore: false,
        }));
      await list({ maxListEntries: 3 }, (listing) => assert.equal(listing.hasMore, false));
      await list({ maxListEntries: 2 }, (listing) => {
        assert.equal(listing.entries.length, 2);
        assert.equal(listing.hasMore, true);
      });
      // long names make the directory itself large, so that it is streamed
      for (let index = 0; index < 2600; index++) Deno.writeTextFileSync(`${base}/ws/${"n".repeat(240)}${index}`, "");
      await list({ maxListEntries: 5_000 }, (listing) => {
        assert.equal(listing.entries.length, 2603);
        const names = listing.entries.map(({ name }) => name);
        assert.deepEqual(names, names.toSorted());
      });
      await list({}, (listing) => assert.deepEqual([listing.entries.length, listing.hasMore], [1000, true]));

      async function list(
        limits: Partial<WorkspaceLimits>,
        check: (listing: { entries: readonly { name: string; kind: string }[]; hasMore: boolean }) => void,
      ): Promise<void> {
        const workspace = openDiskWorkspace({ root: `${base}/ws`, limits });
        const listing = await workspace.list(rootPath);
        assert.ok(listing.ok);
        check(listing.value);
        await workspace.close();
      }
    }),
);

testInEachMode("every operation works with permissions for the workspace alone", async () => {
  const scene = makeConfinedBase();
  try {
    const words = await exercise(scene.root, [`--allow-read=${scene.root}`, `--allow-write=${scene.root}`]);
    assert.equal(words.length, 11);
    for (const word of words) assert.match(word, /: ok$/);
  } finally {
    scene.remove();
  }
});

testInEachMode("a server without write permission still reads and lists, and refuses to write", async () => {
  const scene = makeConfinedBase();
  try {
    Deno.mkdirSync(`${scene.root}/d`);
    Deno.writeTextFileSync(`${scene.root}/d/a`, "text");
    const words = await exercise(scene.root, [`--allow-read=${scene.root}`]);
    assert.deepEqual(words.filter((word) => word.endsWith(": ok")), ["read: ok", "stat: ok", "list: ok"]);
    assert.deepEqual(words.filter((word) => word.endsWith(": permission")).map((word) => word.split(":")[0]), [
      "write",
      "append",
      "create",
      "copy",
      "makeDirectory",
      "removeTree",
    ]);
  } finally {
    scene.remove();
  }
});

async function exercise(root: string, permissions: readonly string[]): Promise<string[]> {
  const script = fileURLToPath(new URL("exercise_workspace.ts", import.meta.url));
  const args = ["run", "--no-check", "--no-prompt", ...permissions, script, root];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  const words = new TextDecoder().decode(stdout).trim().split("\n");
  assert.notEqual(words[0], "", new TextDecoder().decode(stderr));
  return words;
}

async function inScene(body: (base: string) => void | Promise<void>): Promise<void> {
  const scene = makeConfinedBase();
  try {
    await body(scene.base);
  } finally {
    scene.remove();
  }
}

async function readText(workspace: Workspace, name: string): Promise<string> {
  const read = await workspace.read(path(name));
  return read.ok ? new TextDecoder().decode(read.value.bytes) : read.error.reason;
}

function path(text: string): WorkspacePath {
  const parsed = parseFilePath(text);
  assert.ok(parsed.ok);
  return parsed.value;
}

Deno.test("what cannot be deleted from the trash holds up nothing else there", async () => {
  const root = await Deno.makeTempDir();
  const clock = { now: 1_700_000_000_000 };
  const trash = { keepMs: 3_600_000, maxBytes: 20_000 };
  const workspace = openDiskWorkspace({ root, trash, clock: () => clock.now });
  const { remove } = Deno;
  const kept = () => Array.from(Deno.readDirSync(`${root}/.portcullis/trash`), ({ name }) => name);
  const write = async () => {
    clock.now += 1_000;
    assert.ok((await workspace.write(path("a"), new Uint8Array(1_000))).ok);
  };
  try {
    await write();
    await write();
    const [stuck] = kept().filter((name) => !name.endsWith(".json"));
    Deno.remove = async (path, options) => {
      // as of a directory of an agent's tools that nobody may write, and what is in it
      if (String(path).endsWith(`/${stuck}`)) {
        throw Object.assign(new Deno.errors.PermissionDenied(), { code: "EACCES" });
      }
      await remove(path, options);
    };
    for (let count = 0; count < 100; count++) await write();
    assert.ok(kept().length <= 2 * 21 + 2, `${kept().length} entries are kept`);
    clock.now += 7_200_000;
    await workspace.trash?.tidy(clock.now);
    assert.deepEqual(kept().sort(), [stuck, `${stuck?.split(".")[0]}.json`].sort());
  } finally {
    Deno.remove = remove;
    await workspace.close();
    await Deno.remove(root, { recursive: true });
  }
});
