import assert from "node:assert/strict";
import { parseFilePath, stagingDirectoryName, type WorkspacePath } from "../../src/files/workspace/path.ts";
import type { TrashLimits, Workspace } from "../../src/files/workspace/port.ts";
import { digestOf } from "../../src/lib/secrets.ts";
import { fingerprintTree, makeConfinedBase } from "./confined_base.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { before, descriptorMethods, openDiskWorkspace, testInEachMode } from "./disk_modes.ts";
import { nodeFs } from "../../src/lib/program.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { callTool } from "./call_tool.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

testInEachMode(
  "write() makes missing directories and says what it wrote",
  () =>
    inWorkspace(async ({ workspace, root }) => {
      const written = await workspace.write(path("a/b/c.txt"), encode("abc"));
      assert.deepEqual(written, {
        ok: true,
        value: {
          sizeBytes: 3,
          sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
          created: true,
        },
      });
      assert.equal(Deno.readTextFileSync(`${root}/a/b/c.txt`), "abc");
    }),
);

testInEachMode(
  "write() keeps the permission bits of the file it replaces, without set-user-id",
  () =>
    inWorkspace(async ({ workspace, root }) => {
      Deno.writeTextFileSync(`${root}/run.sh`, "old");
      for (const [before, after] of [[0o755, 0o755], [0o640, 0o640], [0o4755, 0o755], [0o600, 0o600]] as const) {
        Deno.chmodSync(`${root}/run.sh`, before);
        const written = await workspace.write(path("run.sh"), encode("new"));
        assert.ok(written.ok && !written.value.created);
        assert.equal((Deno.lstatSync(`${root}/run.sh`).mode ?? 0) & 0o7777, after);
      }
    }),
);

testInEachMode({
  ...skippedUnless(
    Deno.uid() === 0,
    "it takes root",
    "a new file in a directory of a group gets its group, as the system has it",
  ),
  fn: () =>
    inWorkspace(async ({ workspace, root }) => {
      Deno.mkdirSync(`${root}/shared`);
      Deno.chownSync(`${root}/shared`, 0, 4242);
      Deno.chmodSync(`${root}/shared`, 0o2775);
      for (const name of ["shared/f", "shared/sub/g"]) assert.ok((await workspace.write(path(name), encode("new"))).ok);
      assert.ok((await workspace.copy(path("shared/f"), path("plain"))).ok);
      const groups = ["shared/f", "shared/sub", "shared/sub/g", "plain"].map((name) =>
        Deno.lstatSync(`${root}/${name}`).gid
      );
      assert.deepEqual(groups, [4242, 4242, 4242, Deno.lstatSync(root).gid]);
    }),
});

testInEachMode(
  "write() replaces a hard link instead of the content it shares",
  () =>
    inWorkspace(async ({ workspace, root, base }) => {
      Deno.writeTextFileSync(`${base}/outside/shared`, "theirs");
      Deno.linkSync(`${base}/outside/shared`, `${root}/shared`);
      assert.ok((await workspace.write(path("shared"), encode("ours"))).ok);
      assert.equal(Deno.readTextFileSync(`${base}/outside/shared`), "theirs");
      assert.equal(Deno.readTextFileSync(`${root}/shared`), "ours");
    }),
);

testInEachMode(
  "write() writes through a link that stays inside, and keeps the link",
  () =>
    inWorkspace(async ({ workspace, root }) => {
      Deno.mkdirSync(`${root}/d`);
      Deno.symlinkSync("d/target.txt", `${root}/l`);
      for (const text of ["created", "replaced"]) {
        assert.ok((await workspace.write(path("l"), encode(text))).ok);
        assert.equal(Deno.readLinkSync(`${root}/l`), "d/target.txt");
        assert.equal(Deno.readTextFileSync(`${root}/d/target.txt`), text);
      }
    }),
);

testInEachMode(
  "write() refuses more than maxWriteBytes before it touches the disk",
  () =>
    inWorkspace(async ({ workspace, root }) => {
      const before = fingerprintTree(root);
      assert.deepEqual(await workspace.write(path("d/big"), new Uint8Array(1025)), {
        ok: false,
        error: { reason: "too_large", sizeBytes: 1025, limitBytes: 1024 },
      });
      assert.equal(fingerprintTree(root), before);
      assert.ok((await workspace.write(path("d/big"), new Uint8Array(1024))).ok);
    }, { maxWriteBytes: 1024 }),
);

testInEachMode("a refused write leaves nothing behind", () =>
  inWorkspace(async ({ workspace, root }) => {
    assert.ok((await workspace.write(path("first"), encode("x"))).ok);
    Deno.mkdirSync(`${root}/directory`);
    assert.equal((await workspace.write(path("directory"), encode("x"))).ok, false);
    assert.equal((await workspace.write(path("first/below"), encode("x"))).ok, false);
    assert.equal((await workspace.write(path("new\u202e"), encode("x"))).ok, false);
    assert.deepEqual(unfinished(root), []);
  }));

testInEachMode(
  "a target that becomes a directory, or a link that leaves, while the content is written is refused",
  () =>
    inWorkspace(async ({ workspace, root, base }) => {
      for (const swap of [() => Deno.mkdirSync(`${root}/t`), () => Deno.symlinkSync("../outside/new", `${root}/t`)]) {
        const before = fingerprintTree(`${base}/outside`);
        const { content, begun, finish } = heldContent();
        const writing = workspace.receive(path("t"), content);
        await begun;
        assert.equal(unfinished(root).length, 1);
        swap();
        finish();
        assert.equal((await writing).ok, false);
        Deno.removeSync(`${root}/t`);
        assert.deepEqual(unfinished(root), []);
        assert.equal(fingerprintTree(`${base}/outside`), before);
      }
    }),
);

testInEachMode(
  "readers and 20 concurrent writers of one path see one whole content each time",
  () =>
    inWorkspace(async ({ workspace }) => {
      const size = 40_000;
      const isWhole = (bytes: Uint8Array): boolean => bytes.length === size && bytes.every((byte) => byte === bytes[0]);
      let isWriting = true;
      const writers = Array.from({ length: 20 }, async (_, writer) => {
        for (let round = 0; round < 5; round++) {
          const written = await workspace.write(path("shared.txt"), new Uint8Array(size).fill(65 + writer));
          assert.ok(written.ok);
        }
      });
      const reader = (async () => {
        let reads = 0;
        while (isWriting) {
          const read = await workspace.read(path("shared.txt"));
          if (read.ok) assert.ok(isWhole(read.value.bytes));
          else assert.equal(read.error.reason, "not_found");
          reads++;
          await new Promise((resolve) => setTimeout(resolve, 0));
        }
        return reads;
      })();
      await Promise.all(writers).finally(() => isWriting = false);
      assert.ok(await reader > 0);
      const last = await workspace.read(path("shared.txt"));
      assert.ok(last.ok && isWhole(last.value.bytes));
    }),
);

testInEachMode("opening a workspace leaves the unfinished files of a living process alone", async () => {
  const scene = makeConfinedBase();
  const first = openDiskWorkspace({ root: scene.root });
  try {
    const { content, begun, finish } = heldContent();
    const writing = first.receive(path("file.txt"), content);
    await begun;
    assert.equal(stagingNames(scene.root).length, 2, "a lock and a staged file");
    await openDiskWorkspace({ root: scene.root }).close();
    assert.equal(stagingNames(scene.root).length, 2);
    finish();
    assert.ok((await writing).ok);
  } finally {
    await first.close();
    assert.deepEqual(stagingNames(scene.root), []);
    scene.remove();
  }
});

interface Opened {
  readonly workspace: Workspace;
  readonly root: string;
  readonly base: string;
}

async function inWorkspace(
  body: (opened: Opened) => Promise<void>,
  { trash, ...limits }: { readonly maxWriteBytes?: number; readonly trash?: TrashLimits } = {},
): Promise<void> {
  const scene = makeConfinedBase();
  const workspace = openDiskWorkspace({ root: scene.root, limits, ...trash === undefined ? {} : { trash } });
  try {
    await body({ workspace, root: scene.root, base: scene.base });
  } finally {
    await workspace.close();
    scene.remove();
  }
}

function path(text: string): WorkspacePath {
  const parsed = parseFilePath(text);
  assert.ok(parsed.ok);
  return parsed.value;
}

/** A content of two pieces, of which the second waits: `begun` says that the first was taken. */
function heldContent(): { content: AsyncIterable<Uint8Array>; begun: Promise<void>; finish: () => void } {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const content = async function* (): AsyncGenerator<Uint8Array> {
    yield encode("first ");
    begin();
    await finished;
    yield encode("second");
  };
  return { content: content(), begun, finish };
}

function stagingNames(root: string): string[] {
  if (!Array.from(Deno.readDirSync(root), ({ name }) => name).includes(stagingDirectoryName)) return [];
  return Array.from(Deno.readDirSync(`${root}/${stagingDirectoryName}`), ({ name }) => name);
}

function unfinished(root: string): string[] {
  return stagingNames(root).filter((name) => !name.endsWith(".lock"));
}

testInEachMode({
  ...skippedUnless(
    Deno.uid() === 0,
    "nobody but root may set it",
    "writes, edits and appends keep the owner of the file that they replace, where the server may set it",
  ),
  fn: () =>
    inWorkspace(async ({ workspace, root }) => {
      Deno.writeTextFileSync(`${root}/f`, "old");
      Deno.chmodSync(`${root}/f`, 0o640);
      Deno.chownSync(`${root}/f`, 12_345, 23_456);
      Deno.writeTextFileSync(`${root}/from`, "copied");
      const changes = [
        () => workspace.write(path("f"), encode("new")),
        () => workspace.write(path("f"), encode("more"), { mode: "append" }),
        () => workspace.copy(path("from"), path("f"), { overwrite: true }),
      ];
      for (const change of changes) {
        assert.ok((await change()).ok);
        const { uid, gid, mode } = Deno.lstatSync(`${root}/f`);
        assert.deepEqual([uid, gid, (mode ?? 0) & 0o7777], [12_345, 23_456, 0o640]);
      }
      assert.ok((await workspace.write(path("new"), encode("new"))).ok);
      assert.equal(Deno.lstatSync(`${root}/new`).uid, 0);
    }),
});

for (const [kept, maxBytes] of [["of which nothing is kept", 4], ["which is kept", 4096]] as const) {
  testInEachMode(
    `a change that another program makes as a file, ${kept}, is about to be replaced is not lost`,
    () =>
      inWorkspace(
        async ({ workspace, root }) => {
          const file = `${root}/f.txt`;
          const ways = [() => Deno.writeTextFileSync(file, "first\ntheirs\n"), () => {
            Deno.writeTextFileSync(`${root}/g`, "first\ntheirs\n");
            Deno.renameSync(`${root}/g`, file);
          }];
          for (const change of ways) {
            const calls = [
              { tool: fileEditTool, input: { path: "f.txt", old_text: "first", new_text: "ours" } },
              { tool: fileWriteTool, input: { filename: "f.txt", content: "ours\n", mode: "append" } },
              { tool: fileWriteTool, input: { filename: "f.txt", content: "ours\n", if_version: versionOfFirst } },
              { tool: fileMoveTool, input: { path: "h.txt", destination: "f.txt", overwrite: true } },
            ];
            const results: string[] = [];
            for (const { tool, input } of calls) {
              Deno.writeTextFileSync(file, "first\n");
              Deno.writeTextFileSync(`${root}/h.txt`, "moved\n");
              // the record of the change is written when all was compared
              const methods = descriptorMethods();
              using _ = methods ? before(methods, "writeNow", change) : before(nodeFs(), "writeSync", change);
              const outcome = await callTool(tool(() => workspace), input);
              results.push(`${outcome.ok ? "done" : outcome.code}: ${Deno.readTextFileSync(file)}`);
            }
            assert.deepEqual(results, [
              "done: ours\ntheirs\n",
              "done: first\ntheirs\nours\n",
              "conflict: first\ntheirs\n",
              "denied_changed_while_opening: first\ntheirs\n",
            ]);
            assert.deepEqual(unfinished(root).filter((name) => name !== "trash"), []);
          }
        },
        { trash: { keepMs: 60_000, maxBytes } },
      ),
  );
}

const versionOfFirst = digestOf(encode("first\n"));
