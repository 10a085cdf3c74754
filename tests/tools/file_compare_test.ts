/** `file_read` with `against`: the difference of two files or versions. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { callTool, principalOf } from "../workspace/call_tool.ts";
import { roomyTrash } from "../workspace/contract.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("two long files are compared in 300 tokens, with the lines that differ in three places", () =>
  withWorkspace(async ({ root, workspace }) => {
    const lines = Array.from({ length: 2_000 }, (_, n) => `Clause ${n}: the terms of delivery, part ${n * 7 % 13}.`);
    Deno.writeTextFileSync(`${root}/old.md`, lines.join("\n"));
    const changed = lines.with(17, `${lines[17]} Amended.`).toSpliced(60, 1).with(1_500, "A new clause on returns.");
    Deno.writeTextFileSync(`${root}/new.md`, changed.join("\n"));
    const { text, structured } = await answerOf(fileReadTool(() => workspace), {
      filename: "new.md",
      against: "old.md",
    });
    assert.match(
      text,
      /^\(- old\.md, version \w{12}; \+ new\.md, version \w{12}: what follows is untrusted file text\)\n@@ -18 \+18 @@\n/,
    );
    for (const line of [`-${lines[60]}`, `+${changed[17]}`, "+A new clause on returns."]) {
      assert.ok(text.includes(line));
    }
    assert.equal(text.match(/^@@/gm)?.length, 3);
    assert.ok(countTokens(text) <= 300, String(countTokens(text)));
    assert.ok(text.endsWith(String(structured["diff"])));
  }));

Deno.test("a comparison says whether files are equal, differ in form alone, or hold no text, and stays short", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const write = (name: string, content: string | Buffer) =>
      Deno.writeFileSync(`${root}/${name}`, Buffer.from(content));
    write("a", "one\ntwo\n");
    const cases: readonly (readonly [Buffer, RegExp])[] = [
      [Buffer.from("one\ntwo\n"), /: equal\)$/],
      [Buffer.from("one\r\ntwo\r\n"), /equal but for LF, utf-8 and CRLF, utf-8\)$/],
      [Buffer.from("\ufeffone\ntwo\n"), /equal but for LF, utf-8 and LF, utf-8 with a byte order mark\)$/],
      [Buffer.from("\ufeffone\ntwo\n", "utf16le"), /equal but for LF, utf-8 and LF, utf-16le\)$/],
      [Buffer.from("one\r\n2\r\n"), /CRLF, utf-8; what follows is untrusted file text\)\n@@ -2 \+2 @@\n-two\n\+2$/],
      [Buffer.of(0, 1, 2, 255), /: binary, 8 bytes and 4 bytes, not equal\)$/],
      [
        Buffer.from(Array.from({ length: 5_000 }, (_, n) => `other ${n}\n`).join("")),
        /the difference is too large to show more of it/,
      ],
    ];
    for (const [content, words] of cases) {
      write("b", content);
      const { text } = await answerOf(read, { filename: "b", against: "a" });
      assert.match(text, words);
      assert.ok(text.length < 9_000);
    }
    for (
      const [encoding, words] of [["shift_jis", /: equal but for .*shift_jis.*\)$/], [undefined, /\n-name=/]] as const
    ) {
      write("b", Buffer.of(0x6e, 0x61, 0x6d, 0x65, 0x3d, 0x91, 0xbe, 0x98, 0x59, 10));
      write("c", "name=\u592a\u90ce\n");
      assert.match((await answerOf(read, { filename: "b", against: "c", encoding })).text, words);
    }
    write("beta.txt", "");
    write("large", "x".repeat(2_000_000));
    assert.equal((await failureOf(read, { filename: "large", against: "a" })).code, "too_large");
    assert.match((await failureOf(read, { filename: "a", against: "betta.txt" })).message, /did you mean beta.txt\?/);
    assert.match(
      (await failureOf(read, { filename: "a", against: "../b" })).message,
      /Invalid against - path traversal/,
    );
    assert.match((await failureOf(read, { filename: "a", against: "b", tail: 3 })).message, /two whole files/);
  }));

Deno.test("a file is compared with its version before the caller's own changes, while they are kept", () =>
  withWorkspace(async ({ workspace }) => {
    const read = fileReadTool(() => workspace);
    const versions: string[] = [];
    for (const content of ["one\n", "two\n", "three\n"]) {
      const { structured } = await answerOf(fileWriteTool(() => workspace), { filename: "d/a", content });
      versions.push(String(structured["sha256"]));
    }
    for (const [index, old] of ["one", "two"].entries()) {
      for (const length of [8, 12, 64]) {
        const { text } = await answerOf(read, { filename: "d/a", against: versions[index]?.slice(0, length) });
        assert.match(text, new RegExp(`^\\(- d/a before [^,]+, version .*\\n@@ -1 \\+1 @@\\n-${old}\\n\\+three$`));
      }
    }
    const listed = (await answerOf(fileUndoTool(() => workspace), {})).structured["changes"] as {
      readonly change: string;
    }[];
    for (const [index, old] of ["two", "one"].entries()) {
      const { text } = await answerOf(read, { filename: "d/a", against: listed[index]?.change });
      assert.match(text, new RegExp(`-${old}\n\\+three$`), "by the id that file_undo lists");
    }
    assert.match((await answerOf(read, { filename: "d/a", against: "last" })).text, /-two\n\+three$/);
    const created = await failureOf(read, { filename: "d/a", against: listed[2]?.change });
    assert.equal(created.code, "not_found");
    await answerOf(fileEditTool(() => workspace), { path: "d/a", old_text: "three", new_text: "3" });
    assert.match((await answerOf(read, { filename: "d/a", against: versions[2] })).text, /-three\n\+3$/);
    const other = await callTool(read, { filename: "d/a", against: versions[2] }, principalOf("another"));
    assert.ok(!other.ok && other.code === "not_found");
    await answerOf(fileDeleteTool(() => workspace), { path: "d/a" });
    assert.equal((await failureOf(read, { filename: "d/a", against: versions[2] })).code, "not_found");
  }, { trash: roomyTrash }));
