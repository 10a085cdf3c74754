import assert from "node:assert/strict";
import { directoryCreateTool } from "../../src/tools/files/directory_create.ts";
import { fileDeleteTool } from "../../src/tools/files/file_delete.ts";
import { fileEditTool } from "../../src/tools/files/file_edit.ts";
import { fileInfoTool } from "../../src/tools/files/file_info.ts";
import { fileCopyTool, fileMoveTool } from "../../src/tools/files/file_move.ts";
import { fileWriteTool } from "../../src/tools/files/file_write.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_edit replaces the one occurrence and answers with the diff", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(workspace);
    Deno.writeTextFileSync(`${root}/a.txt`, "one\ntwo\nthree\n");
    const answer = await answerOf(edit, { filename: "a.txt", old_text: "two", new_text: "2" });
    const diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    assert.equal(answer.text, diff);
    assert.equal(answer.structured["diff"], diff);
    assert.deepEqual([answer.structured["replacements"], answer.structured["changed"]], [1, true]);
    assert.equal(Deno.readTextFileSync(`${root}/a.txt`), "one\n2\nthree\n");
  }));

Deno.test("file_edit replaces all only when asked, and says how often the text is there", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(workspace);
    Deno.writeTextFileSync(`${root}/a`, "x y x");
    const request = { filename: "a", old_text: "x", new_text: "z" };
    assert.equal(
      (await failureOf(edit, request)).message,
      "Failed to edit file: old_text is there 2 times; add text around it, or set replace_all to replace all of them",
    );
    const answer = await answerOf(edit, { ...request, replace_all: true });
    assert.equal(answer.structured["replacements"], 2);
    assert.equal(Deno.readTextFileSync(`${root}/a`), "z y z");
  }));

Deno.test("file_edit cuts a diff that would be larger than the file", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "a\n".repeat(400_000));
    const request = { filename: "a", old_text: "a", new_text: "b", replace_all: true };
    const answer = await answerOf(fileEditTool(workspace), request);
    assert.equal(answer.structured["replacements"], 400_000);
    assert.ok(answer.text.length < 51_000 && answer.text.endsWith("(the diff is longer and cut here)\n"));
    assert.equal(Deno.readTextFileSync(`${root}/a`), "b\n".repeat(400_000));
  }));

Deno.test("file_edit with dry_run changes nothing", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "x");
    const request = { filename: "a", old_text: "x", new_text: "long", dry_run: true };
    const answer = await answerOf(fileEditTool(workspace), request);
    assert.deepEqual([answer.structured["changed"], answer.structured["size_bytes"]], [false, 4]);
    assert.equal(Deno.readTextFileSync(`${root}/a`), "x");
  }));

Deno.test("file_edit says why a text is not found or a file cannot be edited", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(workspace);
    Deno.writeTextFileSync(`${root}/crlf`, "a\r\nb\r\n");
    Deno.writeFileSync(`${root}/binary`, Uint8Array.of(0xff));
    const reason = async (filename: string, old_text: string, new_text = "n"): Promise<string> =>
      (await failureOf(edit, { filename, old_text, new_text })).code;
    assert.equal(await reason("crlf", "a\nb"), "not_there");
    assert.match((await failureOf(edit, { filename: "crlf", old_text: "a\nb", new_text: "" })).message, /CRLF/);
    assert.equal(await reason("crlf", "z"), "not_there");
    assert.equal(await reason("crlf", ""), "empty_old_text");
    assert.equal(await reason("crlf", "a", "a"), "same_text");
    assert.equal(await reason("crlf", "a", "\ud800"), "content_not_unicode");
    assert.equal(await reason("binary", "a"), "not_text");
    assert.equal(await reason("none", "a"), "not_found");
    assert.equal(await reason("../a", "a"), "path_leaves_workspace");
  }));

Deno.test("20 concurrent edits of different lines all take effect; with if_match exactly one does", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(workspace);
    const lines = Array.from({ length: 5 }, (_, n) => `line ${n};`);
    Deno.writeTextFileSync(`${root}/a`, lines.join("\n"));
    await Promise.all(lines.map((line) => answerOf(edit, { filename: "a", old_text: line, new_text: `${line}!` })));
    assert.equal(Deno.readTextFileSync(`${root}/a`), lines.map((line) => `${line}!`).join("\n"));
    const { structured } = await answerOf(fileInfoTool(workspace), { filename: "a" });
    const outcomes = await Promise.allSettled(
      lines.map((line) =>
        answerOf(edit, { filename: "a", old_text: line, new_text: "x", if_match: structured["sha256"] })
      ),
    );
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  }));

Deno.test("file_write creates, appends and honours if_match", () =>
  withWorkspace(async ({ root, workspace }) => {
    const write = fileWriteTool(workspace);
    const first = await answerOf(write, { filename: "a", content: "one", mode: "create" });
    assert.equal(first.text, "Created a (3 bytes)");
    const again = await failureOf(write, { filename: "a", content: "x", mode: "create" });
    assert.equal(again.message, "Failed to write file: there is something of this name already (a)");
    const more = await answerOf(write, { filename: "a", content: "+", mode: "append" });
    assert.equal(more.text, "Appended to a (4 bytes)");
    const stale = { filename: "a", content: "x", if_match: first.structured["sha256"] };
    assert.equal((await failureOf(write, stale)).code, "conflict");
    await answerOf(write, { ...stale, if_match: more.structured["sha256"] });
    assert.equal(Deno.readTextFileSync(`${root}/a`), "x");
    assert.equal((await failureOf(write, { ...stale, if_match: "short" })).code, "invalid_input");
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
