/** Names that are not UTF-8: listed in a form that can be typed back, and reached where the system lets Deno reach them. */
import assert from "node:assert/strict";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { answerOf, failureOf } from "../tools/with_workspace.ts";
import { at } from "./contract.ts";
import { currentMode, openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

/** Names by their bytes, as printf(1) writes them, and what each is shown as. */
const names = [
  ["caf\\351.txt", "caf\\x{E9}.txt"],
  ["caf\\350.txt", "caf\\x{E8}.txt"],
  ["caf\\357\\277\\275.txt", "caf\ufffd.txt"],
  ["caf\\303\\251.txt", "café.txt"],
  ["cafe\\314\\201.txt", "cafe\\u{301}.txt"],
  ["two\\nlines", "two\\u{A}lines"],
  ["back\\134slash", "back\\u{5C}slash"],
  ["two\\134u{A}lines", "two\\u{5C}u{A}lines"],
  ["a:b", "a\\u{3A}b"],
] as const;

async function withNames(access: object, body: (workspace: Workspace, root: string) => Promise<void>): Promise<void> {
  const root = Deno.makeTempDirSync({ prefix: "portcullis-" });
  const script = names.map(([name], index) => `printf 'file ${index}' > "$(printf '${name}')"`).join(" && ");
  const nested = `mkdir -p "$(printf 'd\\351/e\\350')" && printf deep > "$(printf 'd\\351/e\\350/f')"`;
  const made = await new Deno.Command("sh", { args: ["-c", `${script} && ${nested}`], cwd: root }).output();
  assert.ok(made.success, new TextDecoder().decode(made.stderr));
  const workspace = openDiskWorkspace({ root, ...access });
  try {
    await body(workspace, root);
  } finally {
    await workspace.close();
    await new Deno.Command("rm", { args: ["-r", root] }).output();
  }
}

testInEachMode("names that are not UTF-8 are listed, each in a form of its own", async () => {
  await withNames({}, async (workspace) => {
    const listed = await answerOf(fileListTool(() => workspace), { depth: 3 });
    const isKernel = currentMode() === "kernel";
    const unread = /^\(could not look into .*\)$/m;
    assert.equal(unread.test(listed.text), !isKernel);
    const shown = listed.text.split("\n").filter((line) => !/\/$|^ /.test(line) && !unread.test(line));
    assert.equal(new Set(shown).size, names.length);
    const isSaid = (name: string): boolean => isKernel || !name.includes("\\x");
    assert.deepEqual(shown.filter(isSaid).sort(), names.map(([, name]) => name).filter(isSaid).sort());
    const found = (await answerOf(fileSearchTool(() => workspace), { pattern: "caf*" })).text.split("\n");
    assert.equal(new Set(found.slice(0, 5).map((name) => name.normalize("NFC"))).size, 5, found.join());
    assert.ok(JSON.stringify(listed.structured).isWellFormed());
    assert.doesNotMatch(JSON.stringify(listed.structured), /\\ud[89a-f]/);
    for (const name of isKernel ? [] : shown.filter((each) => each.includes("\\x"))) {
      const { message } = await failureOf(fileReadTool(() => workspace), { filename: name });
      assert.match(message, /its name is not UTF-8, and this server's system cannot reach such names/);
    }
  });
});

testInEachMode("a name is read, searched, edited, moved and deleted as it is shown", async () => {
  await withNames({}, async (workspace) => {
    const isKernel = currentMode() === "kernel";
    for (const [index, [, name]] of names.entries()) {
      if (!isKernel && name.includes("\\x")) continue;
      const read = await answerOf(fileReadTool(() => workspace), { filename: name });
      assert.equal(read.text, `file ${index}`, name);
      const found = await answerOf(fileSearchTool(() => workspace), { query: `file ${index}` });
      const shown = name.replace("\\u{301}", "\u0301"); // alone it needs no escape
      assert.ok(found.text.startsWith(`${shown}\n`), found.text);
      await answerOf(fileEditTool(() => workspace), { path: name, old_text: "file", new_text: "text" });
      const missing = await failureOf(fileReadTool(() => workspace), { filename: `${name}X` });
      assert.match(missing.message, /no such file/);
      await answerOf(fileMoveTool(() => workspace), { path: name, destination: `moved${index}` });
      await answerOf(fileMoveTool(() => workspace), { path: `moved${index}`, destination: `again${index}` });
      assert.equal(
        (await answerOf(fileReadTool(() => workspace), { filename: `again${index}` })).text,
        `text ${index}`,
      );
      await answerOf(fileDeleteTool(() => workspace), { path: `again${index}` });
    }
  });
});

testInEachMode("no new name is made that is not UTF-8, or holds what is shown escaped", async () => {
  await withNames({}, async (workspace, root) => {
    const before = [...Deno.readDirSync(root)].length;
    for (const name of ["new\\x{E9}", "new\\u{A}", "new\\u{5C}", "new\\u{200B}", "n\\u{3A}", "new\\x{?}"]) {
      const { message } = await failureOf(fileWriteTool(() => workspace), { filename: name, content: "x" });
      assert.match(message, /a new name |its name is not UTF-8|no such file/, name);
      await failureOf(fileMoveTool(() => workspace), { path: "café.txt", destination: name });
      await failureOf(fileMoveTool(() => workspace), { destination: `${name}/d` });
    }
    assert.equal([...Deno.readDirSync(root)].length, before);
  });
});

testInEachMode("an escape spells no other name: no dot, no slash, no bytes of a character", async () => {
  await withNames({ access: { denied: ["café.txt", "d\udce9"] } }, async (workspace) => {
    for (
      const [name, words] of [
        ["\\u{2E}\\u{2E}/x", /path traversal not allowed/],
        ["d\\u{2F}e", /path traversal not allowed/],
        ["\\u{0}", /path traversal not allowed/],
        ["\\u{61}", /path traversal not allowed/],
        ["caf\\u{E9}.txt", /deny this name/],
        ["\\u{2f}etc", /path traversal not allowed/],
        ["caf\\u{DCE9}.txt", /path traversal not allowed/],
        ["caf\\x{41}.txt", /path traversal not allowed/],
        ["caf\\x{C3}\\x{A9}.txt", /no such file|its name is not UTF-8/],
        ["d\\x{E9}/e\\x{E8}/f", /deny this name|its name is not UTF-8/],
        ["caf\\u{200B}é.txt", /deny this name|no such file/],
      ] as const
    ) {
      const { message } = await failureOf(fileReadTool(() => workspace), { filename: name });
      assert.match(message, words, name);
    }
  });
});

testInEachMode(
  "a directory whose name is not UTF-8 is walked and deleted, and not copied",
  async () => {
    await withNames({}, async (workspace, root) => {
      const isKernel = currentMode() === "kernel";
      const listed = await answerOf(fileListTool(() => workspace), { depth: 3 });
      assert.equal(listed.text.includes("    f"), isKernel);
      if (!isKernel) return;
      assert.match(listed.text, /^d\\x\{E9\}\/\n {2}e\\x\{E8\}\/\n {4}f$/m);
      assert.equal((await answerOf(fileReadTool(() => workspace), { filename: "d\\x{E9}/e\\x{E8}/f" })).text, "deep");
      assert.match(
        (await answerOf(fileSearchTool(() => workspace), { query: "deep" })).text,
        /^d\\x\{E9\}\/e\\x\{E8\}\/f\n1: deep/,
      );
      const copy = { path: "d\\x{E9}", destination: "copy", copy: true };
      const { message } = await failureOf(fileMoveTool(() => workspace), copy);
      assert.match(message, /a new name must be UTF-8 \(copy\/e\\x\{E8\}\); nothing was copied/);
      await answerOf(fileDeleteTool(() => workspace), { path: "d\\x{E9}", recursive: true });
      assert.ok([...Deno.readDirSync(root)].every(({ name }) => !name.startsWith("d")));
    });
  },
);

Deno.test("a stored workspace has no such names, and takes none for another", async () => {
  const directory = Deno.makeTempDirSync({ prefix: "portcullis-" });
  const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
  const workspace = openStoreWorkspace({ storage, name: "shared" });
  try {
    assert.ok((await workspace.write(at("caf\ufffd.txt"), new TextEncoder().encode("x"))).ok);
    for (const name of ["caf\\x{E9}.txt", "caf\\x{?}.txt"]) {
      assert.match((await failureOf(fileReadTool(() => workspace), { filename: name })).message, /no such file/);
      await failureOf(fileDeleteTool(() => workspace), { path: name });
      await failureOf(fileWriteTool(() => workspace), { filename: name, content: "y" });
      await failureOf(fileMoveTool(() => workspace), { path: "caf\ufffd.txt", destination: name });
    }
    assert.equal((await answerOf(fileReadTool(() => workspace), { filename: "caf\ufffd.txt" })).text, "x");
  } finally {
    await workspace.close();
    await storage.close();
    Deno.removeSync(directory, { recursive: true });
  }
});
