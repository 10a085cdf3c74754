/** `file_delete` and `file_move` of several paths: all of them, or none. */
import assert from "node:assert/strict";
import type { Tool } from "../../src/mcp/tool.ts";
import { fileDeleteTool, previewDelete } from "../../src/files/tools/file_delete.ts";
import { fileMoveTool, previewMove } from "../../src/files/tools/file_move.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import { parseToolInput } from "../../src/mcp/tool_call.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { roomyTrash } from "../workspace/contract.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

const context = {
  principal: principalOf("owner"),
  signal: new AbortController().signal,
  progress: () => {},
  ...quietCaller,
};

function fill(root: string): void {
  Deno.mkdirSync(`${root}/d/e`, { recursive: true });
  for (const name of ["a", "b", "d/a", "d/e/f"]) Deno.writeTextFileSync(`${root}/${name}`, name);
  Deno.symlinkSync("nowhere", `${root}/link`);
  Deno.symlinkSync("d", `${root}/into`);
}

function namesIn(root: string, path = "."): readonly string[] {
  return Array.from(Deno.readDirSync(`${root}/${path}`), ({ name }) => name).filter((name) => !name.startsWith("."))
    .sort();
}

Deno.test("file_delete takes several paths: links themselves, directories with what is in them", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root);
    const input = { paths: ["link", "into", "d", "d/e", "./a", "a"], recursive: true };
    assert.match(
      await previewDelete(() => workspace, input, context),
      /^Deletes 6 paths:\nDeletes the link link\nDeletes the link into\nDeletes d with 3 entries/,
    );
    const { text, structured } = await answerOf(fileDeleteTool(() => workspace), input);
    assert.equal(text, "Deleted link, into, d, a (7 entries)");
    assert.deepEqual(structured["paths"], ["link", "into", "d", "a"]);
    assert.deepEqual(namesIn(root), ["b"]);
  }));

Deno.test("where one of several paths cannot be deleted none is, and the refusal names all that is in the way", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root);
    const { message } = await failureOf(fileDeleteTool(() => workspace), {
      paths: ["a", "c", "d", "../x", "", "link", "into"],
    });
    for (const words of [/no such file.*\(c\)/, /not empty.*\(d\)/, /path traversal/, /path parameter is required/]) {
      assert.match(message, words);
    }
    assert.match(message, /\nnothing was changed$/);
    assert.deepEqual(namesIn(root), ["a", "b", "d", "into", "link"]);
    assert.match((await failureOf(fileDeleteTool(() => workspace), {})).message, /path parameter is required/);
  }));

/** The workspace, of which one call fails though nothing showed it before. */
function failing(workspace: Workspace, method: "remove" | "move", at: string): Workspace {
  return new Proxy(workspace, {
    get(target, name) {
      if (name === "begin") {
        return (...args: Parameters<Workspace["begin"]>) => failing(target.begin(...args), method, at);
      }
      if (name !== method) return Reflect.get(target, name);
      const own = target[method].bind(target) as (...args: unknown[]) => unknown;
      return (path: { readonly text: string }, ...rest: unknown[]) =>
        path.text === at
          ? Promise.resolve({ ok: false, error: { reason: "io", code: "EIO", about: "from" } })
          : own(path, ...rest);
    },
  });
}

Deno.test("what was deleted or moved before one that fails is put back from the trash", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root);
    const before = namesIn(root);
    const tries: readonly [Tool, Record<string, unknown>][] = [
      [fileDeleteTool(() => failing(workspace, "remove", "b")), { paths: ["a", "d", "link", "b"], recursive: true }],
      [fileMoveTool(() => failing(workspace, "move", "b")), {
        paths: ["a", "d", "link", "b"],
        destination: "new/place",
      }],
    ];
    for (const [tool, input] of tries) {
      assert.match((await failureOf(tool, input)).message, /; nothing was changed$/);
      assert.deepEqual(namesIn(root), before);
      assert.equal(Deno.readTextFileSync(`${root}/d/e/f`), "d/e/f");
    }
  }, { trash: roomyTrash }));

Deno.test("a batch that failed is not the last change to undo", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root);
    const write = fileWriteTool(() => workspace);
    await answerOf(write, { filename: "a", content: "new" });
    Deno.chmodSync(`${root}/b`, 0o444);
    const files = [{ filename: "d/a", content: "x" }, { filename: "b", content: "x" }];
    assert.match(
      (await failureOf(write, { filename: "made/c", content: "x", files })).message,
      /; nothing was changed$/,
    );
    assert.deepEqual([namesIn(root), namesIn(root, "d")], [["a", "b", "d", "into", "link"], ["a", "e"]]);
    assert.equal(Deno.readTextFileSync(`${root}/d/a`), "d/a");
    await answerOf(fileUndoTool(() => workspace), { change: "last" });
    assert.equal(Deno.readTextFileSync(`${root}/a`), "a");
  }, { trash: roomyTrash }));

Deno.test("without a trash a batch that fails late says what stays changed", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root);
    const refused = await failureOf(fileDeleteTool(() => failing(workspace, "remove", "b")), { paths: ["a", "b"] });
    assert.match(refused.message, /these stay changed, since they could not be put back: a$/);
    await failureOf(fileDeleteTool(() => failing(workspace, "remove", "b")), { paths: ["b", "d"], recursive: true });
    assert.deepEqual(namesIn(root, "d"), ["a", "e"], "nothing is deleted after the one that fails");
    const move = fileMoveTool(() => failing(workspace, "move", "b"));
    await failureOf(move, { paths: ["b", "link"], destination: "new" });
    assert.ok(namesIn(root).includes("link"), "nor moved");
  }));

Deno.test("a file that one call writes several times is undone, and put back where the call fails", () =>
  withWorkspace(async ({ root, workspace }) => {
    const [write, undo] = [fileWriteTool(() => workspace), fileUndoTool(() => workspace)];
    const text = () => Deno.readTextFileSync(`${root}/f`);
    const both = (mode: string, other: string) => ({
      ...{ filename: "f", content: "2\n", mode, files: [{ filename: "./f", content: "3\n", mode: other }] },
    });
    for (const [mode, other] of [["append", "append"], ["overwrite", "append"], ["overwrite", "overwrite"]] as const) {
      Deno.writeTextFileSync(`${root}/f`, "1\n");
      await answerOf(write, both(mode, other));
      await answerOf(undo, { change: "last" });
      assert.equal(text(), "1\n", `${mode} ${other}`);
      const { files, ...first } = both(mode, other);
      const fails = { ...first, files: [...files, ...["g/x", "g"].map((filename) => ({ filename, content: "4" }))] };
      assert.match((await failureOf(write, fails)).message, /nothing was changed$/);
      assert.equal(text(), "1\n");
    }
    assert.match(
      (await failureOf(write, both("append", "overwrite"))).message,
      /name it once \(f\); nothing was changed$/,
    );
    assert.equal(text(), "1\n");
  }, { trash: roomyTrash }));

Deno.test("what a rule keeps in a directory is not said to be the directory", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.mkdirSync(`${root}/d/.git`, { recursive: true });
    Deno.mkdirSync(`${root}/e`);
    Deno.writeTextFileSync(`${root}/e/a.pem`, "");
    for (
      const [path, said] of [["d", "protect this name from changes, or one in it (d)"], [
        "e",
        "this name, or one in it (e)",
      ]]
    ) {
      const { message } = await failureOf(fileDeleteTool(() => workspace), { path, recursive: true });
      assert.ok(message.endsWith(`the server's settings ${path === "e" ? "deny " : ""}${said}`), message);
    }
    assert.match((await failureOf(fileDeleteTool(() => workspace), { path: "e/a.pem" })).message, /deny this name/);
  }, { access: { denied: ["*.pem"] } }));

Deno.test("file_move takes several paths into a directory, which is made", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root);
    const move = fileMoveTool(() => workspace);
    const input = { paths: ["a", "d/e", "link"], destination: "new/place", copy: false };
    assert.match(
      await previewMove(() => workspace, input, context),
      /^Moves 3 paths:\nMoves a to new\/place\/a\nMoves d\/e to new\/place\/e\n/,
    );
    assert.equal((await answerOf(move, input)).text, "Moved a, d/e, link into new/place/");
    assert.deepEqual(namesIn(root, "new/place"), ["a", "e", "link"]);
    const copied = await answerOf(move, { paths: ["b", "d"], destination: "new/place/", copy: true });
    assert.equal(copied.text, "Copied b, d into new/place/");
    assert.deepEqual(namesIn(root, "new/place"), ["a", "b", "d", "e", "link"]);
    assert.deepEqual(namesIn(root), ["b", "d", "into", "new"]);
  }));

Deno.test("where one of several paths cannot be moved none is, and the refusal names all that is in the way", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root);
    const move = fileMoveTool(() => workspace);
    const { message } = await failureOf(move, { paths: ["b", "c", "a", "../x"], destination: "d" });
    for (const words of [/no such file.*\(c\)/, /already.*\(d\/a\)/, /path traversal/]) assert.match(message, words);
    assert.match(message, /\nnothing was changed$/);
    assert.match(
      (await failureOf(move, { paths: ["b", "d"], destination: "a" })).message,
      /a file and not a directory/,
    );
    const within = await failureOf(move, { paths: ["d", "d/e"], destination: "new" });
    assert.match(within.message, /d\/e moves with d, which it is in; leave it out; nothing was changed$/);
    const same = await failureOf(move, { paths: ["a", "d/a"], destination: "new" });
    assert.match(same.message, /already.*\(new\/a\); nothing was changed$/);
    assert.deepEqual(namesIn(root), ["a", "b", "d", "into", "link"]);
  }));

Deno.test("a version holds for one path that is moved or deleted, and is refused beside several", () =>
  withWorkspace(async ({ root, workspace }) => {
    const [move, remove] = [fileMoveTool(() => workspace), fileDeleteTool(() => workspace)];
    const { structured } = await answerOf(fileWriteTool(() => workspace), { filename: "a", content: "1" });
    const guard = { if_version: structured["version"] };
    Deno.writeTextFileSync(`${root}/a`, "2");
    assert.equal((await failureOf(move, { path: "a", destination: "b", ...guard })).code, "conflict");
    assert.equal((await failureOf(remove, { path: "a", ...guard })).code, "conflict");
    assert.match((await failureOf(remove, { paths: ["a", "b"], ...guard })).message, /a version is that of one file/);
    assert.equal((await failureOf(move, { paths: ["a"], destination: "d", ...guard })).code, "conflict");
    assert.match((await failureOf(move, { destination: "new", ...guard })).message, /that of one file/);
    assert.deepEqual(namesIn(root), ["a"]);
    Deno.writeTextFileSync(`${root}/a`, "1");
    await answerOf(move, { path: "a", destination: "b", ...guard });
    await answerOf(remove, { path: "b", ...guard });
  }));

Deno.test("what the first of several files says of itself is not said of the others", () =>
  withWorkspace(async ({ root, workspace }) => {
    const write = createToolRegistry([fileWriteTool(() => workspace)]).get("file_write") ?? assert.fail();
    for (const name of ["a", "b"]) Deno.writeTextFileSync(`${root}/${name}`, "old\n");
    const files = [{ path: "a", content: "1\n", mode: "append" }, { path: "b", content: "2\n" }];
    for (const sent of [{ files }, { files: JSON.stringify(files) }]) {
      const parsed = parseToolInput(write, sent);
      assert.ok(parsed.ok);
      await answerOf(write.tool, parsed.value);
      assert.equal(Deno.readTextFileSync(`${root}/b`), "2\n");
    }
    assert.equal(Deno.readTextFileSync(`${root}/a`), "old\n1\n1\n");
    const shared = parseToolInput(write, { mode: "append", files: files.map(({ mode: _, ...file }) => file) });
    assert.ok(shared.ok);
    await answerOf(write.tool, shared.value);
    assert.equal(Deno.readTextFileSync(`${root}/b`), "2\n2\n");
  }));

Deno.test("each obstacle of a move is named, a directory into itself among them", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root);
    const move = fileMoveTool(() => workspace);
    for (const copy of [false, true]) {
      const { message } = await failureOf(move, { paths: ["b", "d", "nope", "a"], destination: "d/e", copy });
      assert.match(message, /into itself \(d to d\/e\/d\)\n.*\(nope\)\nnothing was changed$/);
    }
    assert.deepEqual(namesIn(root), ["a", "b", "d", "into", "link"]);
  }));

Deno.test("a new path in quotes, behind ~ or percent-encoded is refused with the one that works", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.mkdirSync(`${root}/d`);
    for (const name of ["a b", "100%25"]) Deno.writeTextFileSync(`${root}/d/${name}`, "1");
    const [write, move] = [fileWriteTool(() => workspace), fileMoveTool(() => workspace)];
    for (
      const [given, meant] of [
        ["'d/n'", "d/n"],
        ['"d/a b"', "d/a b"],
        ["`n`", "n"],
        ["~/d/n", "d/n"],
        [
          "d/a%20b",
          "d/a b",
        ],
        ["d%2Fn", "d/n"],
        [" n", "n"],
        ["$HOME/d/n", "d/n"],
      ] as const
    ) {
      const remedy = `did you mean ${meant}?`;
      assert.ok((await failureOf(write, { filename: given, content: "2" })).message.endsWith(remedy), given);
      const others = [{ filename: given, content: "2" }];
      assert.ok((await failureOf(write, { filename: "x", content: "2", files: others })).message.includes(remedy));
      assert.ok((await failureOf(move, { path: "d/a b", destination: given })).message.endsWith(remedy), given);
    }
    for (const filename of ["d/100%25", "d/50%25", "d/it's", "a~/b", "~a", "d/ n", "$d/n", "%2e%2e%2fn"]) {
      await answerOf(write, { filename, content: "2" });
    }
  }));

Deno.test("a version beside a path that is not there is refused as not found, with the near name, by every tool", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/report.md`, "old\n");
    Deno.mkdirSync(`${root}/d`);
    const { structured } = await answerOf(fileReadTool(() => workspace), { filename: "report.md" });
    for (const version of [structured["version"], structured["sha256"], "0".repeat(12)]) {
      const guard = { if_version: version };
      const path = "reprot.md";
      const calls = [
        [fileWriteTool(() => workspace), { filename: path, content: "new", ...guard }],
        [fileWriteTool(() => workspace), { filename: path, content: "new", mode: "append", ...guard }],
        [fileWriteTool(() => workspace), {
          filename: "a",
          content: "",
          files: [{ filename: path, content: "new", ...guard }],
        }],
        [fileEditTool(() => workspace), { path, old_text: "old", new_text: "new", ...guard }],
        [fileDeleteTool(() => workspace), { path, ...guard }],
        [fileMoveTool(() => workspace), { path, destination: "b", ...guard }],
        [fileMoveTool(() => workspace), { path, destination: "b", copy: true, ...guard }],
        [fileMoveTool(() => workspace), { paths: [path], destination: "d", ...guard }],
      ] as const;
      for (const [tool, input] of calls) {
        const { code, message } = await failureOf(tool, input);
        assert.equal(code, "not_found", `${tool.name}: ${message}`);
        assert.match(message, /no such file or directory \(reprot\.md\); did you mean report\.md\?/, tool.name);
      }
      const created = { filename: "other", content: "new", ...guard };
      assert.match(
        (await failureOf(fileWriteTool(() => workspace), created)).message,
        /leave if_version out to create it$/,
      );
      const directory = await failureOf(fileDeleteTool(() => workspace), { path: "d", recursive: true, ...guard });
      assert.match(directory.message, /it is a directory \(d\); a version is that of a file$/);
    }
    assert.deepEqual(Array.from(Deno.readDirSync(root), ({ name }) => name).sort(), ["d", "report.md"]);
  }));

Deno.test("two names of one file in one call are one file: edits are made in their order, and no appended text is lost", () =>
  withWorkspace(async ({ root, workspace }) => {
    const [edit, write] = [fileEditTool(() => workspace), fileWriteTool(() => workspace)];
    Deno.mkdirSync(`${root}/d`);
    Deno.symlinkSync("d", `${root}/into`);
    Deno.symlinkSync("into/f", `${root}/link`);
    const names = ["d/f", "into/f", "link"];
    for (const one of names) {
      for (const other of names) {
        Deno.writeTextFileSync(`${root}/d/f`, "one\ntwo\n");
        const replaced = { path: one, old_text: "one", new_text: "1" };
        const clash = { edits: [replaced, { ...replaced, path: other, new_text: "eins" }] };
        const again = { edits: [replaced, { path: other, old_text: "1\ntwo", new_text: "x" }] };
        for (const dry_run of [true, false]) {
          assert.match((await failureOf(edit, { ...clash, dry_run })).message, /no longer in the file/);
          const { structured } = await answerOf(edit, { ...again, dry_run });
          assert.deepEqual([structured["path"], structured["replacements"], structured["files"]], [one, 2, undefined]);
        }
        assert.equal(Deno.readTextFileSync(`${root}/d/f`), "x\n");
        for (const mode of ["overwrite", "create"]) {
          const files = [{ filename: other, content: "new\n", mode }];
          const { message } = await failureOf(write, { filename: one, content: "end\n", mode: "append", files });
          assert.match(message, /this call appends to it before; name it once/);
        }
        const more = { files: [{ filename: other, content: "b\n" }] };
        await answerOf(write, { filename: one, content: "a\n", mode: "append", ...more });
        assert.equal(Deno.readTextFileSync(`${root}/d/f`), "x\na\nb\n");
      }
    }
    const files = [{ filename: "into/new", content: "over\n", mode: "overwrite" }];
    await failureOf(write, { filename: "d/new", content: "end\n", mode: "append", files });
    assert.deepEqual(namesIn(root, "d"), ["f"]);
    Deno.writeTextFileSync(`${root}/g`, "one\n");
    const edits = ["d/f", "g"].map((path) => ({ path, old_text: path === "g" ? "one" : "x", new_text: "y" }));
    assert.equal(((await answerOf(edit, { edits })).structured["files"] as unknown[]).length, 1);
  }));
