import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_read of a whole file is exactly its text, and what there is to say about it follows", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const cases: [string, RegExp][] = [
      ["one\ntwo\n", /^\(a\.txt: 2 lines, 8 bytes, version [0-9a-f]{12}; untrusted file text\)$/],
      ["", /^\(a\.txt: 0 lines, 0 bytes, /],
      ["one\r\ntwo", /^\(a\.txt: 2 lines, 8 bytes, CRLF, /],
      ["one\r\ntwo\n", /^\(a\.txt: 2 lines, 9 bytes, mixed line ends, /],
    ];
    for (const [text, notice] of cases) {
      Deno.writeTextFileSync(`${root}/a.txt`, text);
      const { texts, structured } = await answerOf(read, { filename: "a.txt" });
      assert.deepEqual([texts.length, texts[0]], [2, text]);
      assert.match(texts[1] ?? "", notice);
      assert.equal(structured["content"], text);
      assert.ok((texts[1] ?? "").includes(String(structured["version"])), "both halves name the version");
    }
    Deno.writeTextFileSync(`${root}/a.txt`, "two\u202e\u0007");
    const { texts } = await answerOf(read, { filename: "a.txt" });
    assert.equal(texts[0], "two\\u{202E}\\u{7}");
    assert.match(texts[1] ?? "", /, 2 characters shown as \\u\{\.\.\.\}, /);
  }));

Deno.test("file_read of a part says first which part, how much of it is the file's, and how to go on", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a.txt`, Array.from({ length: 100 }, (_, n) => `line ${n + 1}\n`).join(""));
    const [notice, text] = (await answerOf(read, { filename: "a.txt", start_line: 40, end_line: 42 })).texts;
    assert.match(
      notice ?? "",
      /^\(a\.txt: lines 40 to 42 of 100; the next 3 lines, 24 bytes, are untrusted file text, of 792 bytes in all, version /,
    );
    assert.equal(text, "40\tline 40\n41\tline 41\n42\tline 42\n");
    const plain = await answerOf(read, { filename: "a.txt", start_line: 40, end_line: 40, numbered: false });
    assert.equal(plain.texts[1], "line 40\n");
    const whole = await answerOf(read, { filename: "a.txt", numbered: true, max_bytes: 30 });
    assert.match(
      whole.texts[0] ?? "",
      /lines 1 to 4 of 100; .*; there is more: call again with cursor [\w-]+, or a larger max_bytes\)$/,
    );
    assert.equal(whole.texts[1], "1\tline 1\n2\tline 2\n3\tline 3\n4\tline 4\n");
    const past = await answerOf(read, { filename: "a.txt", start_line: 101 });
    assert.deepEqual(past.texts.length, 1);
    assert.match(past.texts[0] ?? "", /^\(a\.txt: it has 100 lines, so there is nothing at line 101; no text, of 792 /);
  }));

Deno.test("a file name may end in the lines that are wanted, unless a file is called so", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a.txt`, "1\n2\n3\n4\n5\n");
    const contentOf = async (filename: string) => (await answerOf(read, { filename })).structured["content"];
    assert.equal(await contentOf("a.txt:2-3"), "2\n3\n");
    assert.equal(await contentOf("a.txt:4-"), "4\n5\n");
    assert.equal(await contentOf("a.txt:5"), "5\n");
    assert.equal(await contentOf("a.txt:-2"), "4\n5\n");
    assert.equal(await contentOf("a.txt:0-1"), "1\n");
    assert.equal(await contentOf("a.txt:3-2"), "2\n3\n");
    Deno.writeTextFileSync(`${root}/a.txt:2-3`, "the file of this name");
    assert.equal(await contentOf("a.txt:2-3"), "the file of this name");
    for (const filename of ["a.txt:x", "a.txt:1-2-3", "none:2", "a.txt:12345678901", "a.txt:2-0"]) {
      assert.equal((await failureOf(read, { filename })).code, "not_found", filename);
    }
  }));

Deno.test("file_read of several files gives each with its notice, and says of the rest why not", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a`, "one\n");
    Deno.writeTextFileSync(`${root}/b`, "two\nthree\n");
    Deno.writeFileSync(`${root}/binary`, Uint8Array.of(0, 0xff));
    Deno.symlinkSync("../outside/secret.txt", `${root}/l`);
    const files = ["none", "b:2", "../x", "binary", "l", ""];
    const { texts, structured } = await answerOf(read, { filename: "a", files });
    assert.deepEqual(texts.map((text) => text.replace(/, version.*/, "")), [
      "(a: 1 line, 4 bytes",
      "one\n",
      "Failed to read file: no such file or directory (none)",
      "(b: line 2 of 2; the next 1 line, 6 bytes, are untrusted file text, of 10 bytes in all",
      "2\tthree\n",
      "Invalid filename - path traversal not allowed (../x)",
      "Failed to read file: it is binary: no text, and no known image or audio format (binary)",
      "Failed to read file: access denied - a link in the path leads outside the workspace (l)",
      "filename parameter is required ()",
    ]);
    const further = structured["files"] as { readonly filename: string; readonly content?: string }[];
    assert.deepEqual(further.map(({ filename }) => filename), ["none", "b", "../x", "binary", "l", ""]);
    assert.equal(further[1]?.content, "three\n");
    const none = await failureOf(read, { filename: "none", files: ["neither"] });
    assert.deepEqual([none.code, none.message.split("\n").length], ["not_found", 2]);
  }));

Deno.test("all files of one call share its page", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    for (const name of ["a", "b", "c"]) Deno.writeTextFileSync(`${root}/${name}`, `${name.repeat(39)}\n`.repeat(2));
    const { texts } = await answerOf(read, { filename: "a", files: ["b", "c"], max_bytes: 120 });
    assert.match(texts[2] ?? "", /^\(b: line 1 of 2; .* cursor /);
    assert.equal(texts[4], "this answer is full; read it in a separate call (c)");
  }));

Deno.test("all files of one call hold no more than one read may, whatever is asked for, images included", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...Array(392).fill(1)]);
    for (const name of ["a", "b", "c"]) {
      Deno.writeFileSync(`${root}/${name}.png`, png);
      Deno.writeTextFileSync(`${root}/${name}.txt`, `${name.repeat(399)}\n`);
    }
    const images = await answerOf(read, { filename: "a.png", files: ["b.png", "c.png"] });
    assert.deepEqual(images.blocks.map(({ type }) => type), ["text", "image", "text", "image", "text"]);
    assert.equal(images.texts.at(-1), "this answer is full; read it in a separate call (c.png)");
    const texts = await answerOf(read, { filename: "a.txt", files: ["b.txt", "c.txt"], max_bytes: 1_000_000 });
    assert.ok(texts.texts.join("").length < 2_000);
    assert.match(texts.texts.at(-2) ?? "", /^\(c\.txt: line 1 of 1; .*200 bytes.* cursor /);
  }, { limits: { maxReadBytes: 1_000 } }));

Deno.test("UTF-16 and Latin-1 are told apart from binary files, and read as the text they hold", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const text = "Grüße\nzweite Zeile\n";
    const files: Record<string, [Uint8Array, string, string]> = {
      le: [Buffer.from(`\ufeff${text}`, "utf16le"), `\ufeff${text}`, "utf-16le"],
      be: [Buffer.from(`\ufeff${text}`, "utf16le").swap16(), `\ufeff${text}`, "utf-16be"],
      latin1: [Buffer.from(text, "latin1"), text, "latin1"],
    };
    for (const [name, [bytes, content, encoding]] of Object.entries(files)) {
      Deno.writeFileSync(`${root}/${name}`, bytes);
      const { texts, structured } = await answerOf(read, { filename: name });
      assert.deepEqual([structured["content"], structured["encoding"]], [content, encoding]);
      assert.match(texts.at(-1) ?? "", new RegExp(`, ${encoding.toUpperCase()}, `));
      assert.equal((await answerOf(read, { filename: `${name}:2` })).structured["content"], "zweite Zeile\n");
      const short = await answerOf(read, { filename: name, max_bytes: 12 });
      const rest = await answerOf(read, { filename: name, cursor: short.structured["next_cursor"] });
      assert.equal(`${short.structured["content"]}${rest.structured["content"]}`, content);
    }
    Deno.writeFileSync(`${root}/unmarked`, Buffer.from("ab", "utf16le"));
    assert.equal((await answerOf(read, { filename: "unmarked", encoding: "utf-16le" })).texts[0], "ab");
    Deno.writeFileSync(`${root}/odd`, Uint8Array.of(0xff, 0xfe, 0x41));
    assert.equal((await failureOf(read, { filename: "odd" })).code, "not_text");
  }));

Deno.test("pages of a file join to the whole, whatever its encoding, lines and the size of a page", async () => {
  const line = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", "\r", "\t"), maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 10 }),
      fc.integer({ min: 4, max: 60 }),
      fc.constantFrom("utf8", "utf16le"),
      async (lines, maxBytes, encoding) => {
        await withWorkspace(async ({ root, workspace }) => {
          const read = fileReadTool(() => workspace);
          const whole = (encoding === "utf8" ? "" : "\ufeff") + lines.join("\n");
          Deno.writeFileSync(`${root}/a`, new Uint8Array(Buffer.from(whole, encoding as "utf8")));
          const parts: unknown[] = [];
          let request: Record<string, unknown> = {};
          for (;;) {
            const { structured } = await answerOf(read, { filename: "a", max_bytes: maxBytes, ...request });
            parts.push(structured["content"]);
            if (structured["next_cursor"] === undefined) break;
            request = { cursor: structured["next_cursor"] };
          }
          assert.equal(parts.join(""), whole);
        });
      },
    ),
    { numRuns: 100 },
  );
});
