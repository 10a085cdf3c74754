import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { directoryCreateTool } from "../../src/tools/files/directory_create.ts";
import { fileDeleteTool } from "../../src/tools/files/file_delete.ts";
import { fileInfoTool } from "../../src/tools/files/file_info.ts";
import { fileCopyTool, fileMoveTool } from "../../src/tools/files/file_move.ts";
import { fileWriteTool } from "../../src/tools/files/file_write.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_write creates, appends and changes only the version that the caller saw", () =>
  withWorkspace(async ({ root, workspace }) => {
    const write = fileWriteTool(workspace);
    const first = await answerOf(write, { filename: "a", content: "one", mode: "create" });
    assert.match(first.text, /^Created a \(3 bytes, version [0-9a-f]{12}\)$/);
    const again = await failureOf(write, { filename: "a", content: "x", mode: "create" });
    assert.equal(again.message, "Failed to write file: there is something of this name already (a)");
    const more = await answerOf(write, { filename: "a", content: "+", mode: "append" });
    assert.match(more.text, /^Appended to a \(4 bytes, version /);
    const stale = { filename: "a", content: "x", if_version: first.structured["version"] };
    assert.equal((await failureOf(write, stale)).code, "conflict");
    await answerOf(write, { ...stale, if_version: more.structured["version"] });
    await answerOf(write, {
      ...stale,
      if_version: (await answerOf(write, { filename: "a", content: "x" })).structured["sha256"],
    });
    assert.equal(Deno.readTextFileSync(`${root}/a`), "x");
    assert.equal((await failureOf(write, { ...stale, if_version: "short" })).code, "invalid_input");
  }));

Deno.test("file_write writes several files, none of them where a name is not allowed", () =>
  withWorkspace(async ({ root, workspace }) => {
    const write = fileWriteTool(workspace);
    Deno.mkdirSync(`${root}/d`);
    const files = [{ filename: "b/c", content: "2" }, { filename: "d", content: "3" }, { filename: "e", content: "4" }];
    const { text, structured } = await answerOf(write, { filename: "a", content: "1", files });
    assert.deepEqual(text.replace(/, version \w+/g, "").split("\n"), [
      "Created a (1 bytes)",
      "Created b/c (1 bytes)",
      "Failed to write file: it is a directory (d)",
      "Created e (1 bytes)",
    ]);
    assert.equal((structured["files"] as unknown[]).length, 3);
    const refused = await failureOf(write, { filename: "f", content: "", files: [{ filename: "../g", content: "" }] });
    assert.equal(refused.code, "path_leaves_workspace");
    assert.deepEqual(Array.from(Deno.readDirSync(root), ({ name }) => name).filter((name) => name === "f"), []);
  }));

Deno.test("what file_write puts in place of UTF-16, or adds to it, is UTF-16", () =>
  withWorkspace(async ({ root, workspace }) => {
    const write = fileWriteTool(workspace);
    for (const [name, swap] of [["le", false], ["be", true]] as const) {
      const bytes = (text: string) => {
        const buffer = Buffer.from(text, "utf16le");
        return new Uint8Array(swap ? buffer.swap16() : buffer);
      };
      Deno.writeFileSync(`${root}/${name}`, bytes("\ufeffold"));
      await answerOf(write, { filename: name, content: "néw" });
      await answerOf(write, { filename: name, content: "+", mode: "append" });
      assert.deepEqual(Deno.readFileSync(`${root}/${name}`), bytes("\ufeffnéw+"));
    }
  }));

Deno.test("file_info tells of files and directories, and hashes what one read cannot give", () =>
  withWorkspace(async ({ root, workspace }) => {
    const info = fileInfoTool(workspace);
    Deno.writeTextFileSync(`${root}/a.json`, "abc".repeat(500_000));
    const { structured } = await answerOf(info, { filename: "a.json" });
    assert.deepEqual([structured["kind"], structured["size_bytes"], structured["mime_type"]], [
      "file",
      1_500_000,
      "application/json",
    ]);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc".repeat(500_000)));
    assert.equal(structured["sha256"], new Uint8Array(digest).toHex());
    assert.equal((await answerOf(info, { filename: "." })).structured["kind"], "directory");
    assert.equal((await failureOf(info, { filename: "" })).message, "filename parameter is required");
  }));

Deno.test("file_move, file_copy, file_delete and directory_create do what they say, to links themselves too", () =>
  withWorkspace(async ({ root, outside, workspace }) => {
    await answerOf(directoryCreateTool(workspace), { path: "d/e" });
    Deno.writeTextFileSync(`${root}/a`, "text");
    Deno.symlinkSync("../outside", `${root}/l`);
    assert.equal(
      (await answerOf(fileCopyTool(workspace), { filename: "a", destination: "d/b" })).text,
      "Copied a to d/b (4 bytes)",
    );
    assert.equal(
      (await answerOf(fileMoveTool(workspace), { filename: "d/b", destination: "d/e/c" })).text,
      "Moved d/b to d/e/c",
    );
    await answerOf(fileMoveTool(workspace), { filename: "l", destination: "m" });
    assert.equal(Deno.readLinkSync(`${root}/m`), "../outside");
    assert.equal(
      (await failureOf(fileCopyTool(workspace), { filename: "m/secret.txt", destination: "s" })).code,
      "denied_outside_link",
    );
    assert.equal(
      (await failureOf(fileDeleteTool(workspace), { filename: "m/secret.txt" })).code,
      "denied_outside_link",
    );
    assert.equal(
      (await failureOf(fileMoveTool(workspace), { filename: "a", destination: "m/a" })).code,
      "denied_outside_link",
    );
    assert.equal((await failureOf(fileDeleteTool(workspace), { filename: "d" })).code, "not_empty");
    Deno.symlinkSync("../../outside", `${root}/d/l`);
    assert.equal(
      (await answerOf(fileDeleteTool(workspace), { filename: "d", recursive: true })).text,
      "Deleted d (4 entries)",
    );
    assert.equal((await answerOf(fileDeleteTool(workspace), { filename: "m" })).text, "Deleted m");
    assert.ok(Deno.statSync(`${outside}/secret.txt`).isFile, "what the links led to is still there");
    assert.equal(
      (await failureOf(fileDeleteTool(workspace), { filename: "." })).message,
      "Failed to delete: it is the workspace itself",
    );
  }));
