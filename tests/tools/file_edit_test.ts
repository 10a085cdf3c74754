import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { readWholeFile } from "../../src/files/text/edit.ts";
import { at } from "../workspace/contract.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_edit replaces the one occurrence and answers with count, version and difference", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a.txt`, "one\ntwo\nthree\n");
    const answer = await answerOf(edit, { path: "a.txt", old_text: "two", new_text: "2" });
    assert.match(answer.text, /^a\.txt: 1 replacement, 12 bytes, version [0-9a-f]{12}\n@@ -2 \+2 @@\n-two\n\+2$/);
    assert.equal(answer.structured["diff"], "@@ -2 +2 @@\n-two\n+2");
    assert.deepEqual([answer.structured["replacements"], answer.structured["changed"]], [1, true]);
    assert.equal(Deno.readTextFileSync(`${root}/a.txt`), "one\n2\nthree\n");
  }));

Deno.test("file_edit replaces all only when asked, and says how often the text is there", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a`, "x y x");
    const request = { path: "a", old_text: "x", new_text: "z" };
    assert.equal(
      (await failureOf(edit, request)).message,
      "Failed to edit file: old_text is there 2 times (line 1); add text around it, or set replace_all to replace all of them",
    );
    const answer = await answerOf(edit, { ...request, replace_all: true });
    assert.equal(answer.structured["replacements"], 2);
    assert.equal(Deno.readTextFileSync(`${root}/a`), "z y z");
  }));

Deno.test("an edit that says nothing is the one beside it, and is made once", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "one");
    await answerOf(fileEditTool(() => workspace), { path: "a", old_text: "one", new_text: "one more", edits: [{}] });
    assert.equal(Deno.readTextFileSync(`${root}/a`), "one more");
  }));

Deno.test("file_edit finds a text in either Unicode form, as file_search does", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    const text = "caf\u00e9 \uac00\nx\n";
    for (const [stored, sent] of [["NFD", "NFC"], ["NFC", "NFD"], ["NFD", "NFD"], ["NFC", "NFC"]] as const) {
      Deno.writeTextFileSync(`${root}/a`, text.normalize(stored).replaceAll("\n", "\r\n"));
      await answerOf(edit, { path: "a", old_text: "caf\u00e9 \uac00\nx".normalize(sent), new_text: "tea\nx" });
      assert.equal(Deno.readTextFileSync(`${root}/a`), "tea\r\nx\r\n", `${stored} ${sent}`);
    }
  }));

Deno.test("file_edit says that a text is there without the line numbers or escapes that others put into it", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a`, 'if (a < b && c) {\n  say("x")\n');
    for (
      const [sent, remedy] of [
        ['     1\u2192if (a < b && c) {\n     2\u2192  say("x")', /line numbers it is at line 1; leave them out/],
        ["1|if (a < b && c) {", /line numbers it is at line 1/],
        ["if (a &lt; b &amp;&amp; c) {", /at line 1; send the characters/],
        ["say(&quot;x&quot;)", /at line 2; send the characters/],
      ] as const
    ) {
      assert.match((await failureOf(edit, { path: "a", old_text: sent, new_text: "1" })).message, remedy, sent);
    }
  }));

Deno.test("the answer of a large edit stays short", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "a\n".repeat(400_000));
    const request = { path: "a", old_text: "a", new_text: "b", replace_all: true };
    const answer = await answerOf(fileEditTool(() => workspace), request);
    assert.equal(answer.structured["replacements"], 400_000);
    assert.ok(JSON.stringify(answer).length < 10_000);
    assert.equal(Deno.readTextFileSync(`${root}/a`), "b\n".repeat(400_000));
  }));

Deno.test("file_edit with dry_run changes nothing", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "x");
    const request = { path: "a", old_text: "x", new_text: "long", dry_run: true };
    const answer = await answerOf(fileEditTool(() => workspace), request);
    assert.match(answer.text, /\n\(dry run: nothing was changed\)$/);
    assert.deepEqual([answer.structured["changed"], answer.structured["size_bytes"]], [false, 4]);
    assert.equal(Deno.readTextFileSync(`${root}/a`), "x");
  }));

Deno.test("file_edit says why a text is not found or a file cannot be edited", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    Deno.writeTextFileSync(`${root}/mixed`, "a\r\nb\nc");
    Deno.writeFileSync(`${root}/binary`, Uint8Array.of(0, 0xff));
    const reason = async (path: string, old_text: string, new_text = "n"): Promise<string> =>
      (await failureOf(edit, { path, old_text, new_text })).code;
    assert.equal(await reason("mixed", "z"), "not_there");
    assert.equal(await reason("mixed", ""), "empty_old_text");
    const toAdd = await failureOf(edit, { path: "mixed", old_text: "", new_text: "n" });
    assert.match(toAdd.message, /old_text is empty; to add text, give a line that is there and new_text with it/);
    assert.equal(await reason("mixed", "a", "a"), "same_text");
    assert.equal(await reason("mixed", "a", "\ud800"), "invalid_arguments");
    assert.equal(await reason("binary", "a"), "not_text");
    assert.equal(await reason("none", "a"), "not_found");
    assert.equal(await reason("../a", "a"), "path_leaves_workspace");
    assert.equal((await failureOf(edit, { path: "mixed" })).code, "invalid_arguments");
    assert.equal((await failureOf(edit, { path: "mixed", old_text: "a" })).code, "invalid_arguments");
  }));

Deno.test("file_edit writes UTF-16 and Latin-1 back as they were, and refuses what they cannot hold", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    Deno.writeFileSync(`${root}/utf16`, new Uint8Array(Buffer.from("\ufeffgrün\r\nzwei\r\n", "utf16le")));
    Deno.writeFileSync(`${root}/latin1`, new Uint8Array(Buffer.from("grün\n", "latin1")));
    await answerOf(edit, { path: "utf16", old_text: "grün\nzwei", new_text: "żółty\n2" });
    assert.deepEqual(
      Deno.readFileSync(`${root}/utf16`),
      new Uint8Array(Buffer.from("\ufeffżółty\r\n2\r\n", "utf16le")),
    );
    await answerOf(edit, { path: "latin1", old_text: "grün", new_text: "blaß" });
    assert.deepEqual(Deno.readFileSync(`${root}/latin1`), new Uint8Array(Buffer.from("blaß\n", "latin1")));
    const refused = await failureOf(edit, { path: "latin1", old_text: "blaß", new_text: "żółty" });
    assert.equal(refused.code, "not_encodable");
  }));

Deno.test("several edits are made in their order, each in what the one before left, in one or several files", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a`, "one two\n");
    Deno.writeTextFileSync(`${root}/b`, "total totals\n");
    const { text, structured } = await answerOf(edit, {
      path: "a",
      edits: [
        { old_text: "one", new_text: "two" },
        { old_text: "two two", new_text: "2 2" },
        { path: "b", old_text: "total", new_text: "sum", whole_word: true },
      ],
    });
    assert.equal(Deno.readTextFileSync(`${root}/a`), "2 2\n");
    assert.equal(Deno.readTextFileSync(`${root}/b`), "sum totals\n");
    assert.deepEqual(text.split("\n").filter((line) => line.includes(": ")).map((line) => line.slice(0, 17)), [
      "a: 2 replacements",
      "b: 1 replacement,",
    ]);
    assert.equal((structured["files"] as unknown[]).length, 1);
  }));

Deno.test("when one of several edits cannot be made, nothing is changed, and the refusal names it", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    for (const name of ["a", "b"]) Deno.writeTextFileSync(`${root}/${name}`, "one\n");
    const edits = [
      { old_text: "one", new_text: "1" },
      { path: "b", old_text: "one", new_text: "1" },
      { path: "b", old_text: "two", new_text: "2" },
    ];
    const refused = await failureOf(edit, { path: "a", edits });
    assert.equal(
      refused.message,
      "Failed to edit file: old_text is not in the file; it must match exactly, with blanks (edit 3, b); nothing was changed",
    );
    for (const name of ["a", "b"]) assert.equal(Deno.readTextFileSync(`${root}/${name}`), "one\n");
  }));

for (const trash of [{ keepMs: 1e9, maxBytes: 1e9 }, null]) {
  Deno.test(`when a file cannot be written, those written before are put back, ${trash === null ? "without" : "with"} a trash`, () =>
    withWorkspace(async ({ root, workspace }) => {
      for (const name of ["a", "b", "c"]) Deno.writeTextFileSync(`${root}/${name}`, "one\n");
      const full: Workspace = {
        ...workspace,
        begin(...change) {
          const changing = workspace.begin(...change);
          return {
            ...changing,
            write: (path, bytes, options) =>
              path.text === "c"
                ? Promise.resolve({ ok: false, error: { reason: "no_space" } })
                : changing.write(path, bytes, options),
          };
        },
      };
      const edits = ["a", "b", "c"].map((path) => ({ path, old_text: "one", new_text: "1" }));
      const refused = await failureOf(fileEditTool(() => full), { path: "a", edits });
      assert.equal(
        refused.message,
        "Failed to edit file: no space left on the disk; delete what is not needed, or ask its operator (c); nothing was changed",
      );
      for (const name of ["a", "b", "c"]) assert.equal(Deno.readTextFileSync(`${root}/${name}`), "one\n");
    }, trash === null ? {} : { trash }));
}

Deno.test("of many edits of one file at once none is refused, and few are made again more than once", () =>
  withWorkspace(async ({ root, workspace }) => {
    const lines = Array.from({ length: 50 }, (_, line) => `line ${line} of ${"words ".repeat(500)}\n`);
    Deno.writeTextFileSync(`${root}/a`, lines.join(""));
    let writes = 0;
    const write: Workspace["write"] = (...given) => {
      writes++;
      return workspace.write(...given);
    };
    const written = { ...workspace, write };
    const edit = fileEditTool(() => written);
    const ends = lines.keys().map((line) =>
      answerOf(edit, { path: "a", old_text: `line ${line} of`, new_text: `${line}:` })
    );
    await Promise.all(ends);
    assert.equal(Deno.readTextFileSync(`${root}/a`), lines.join("").replaceAll(/line (\d+) of/g, "$1:"));
    assert.ok(writes < 4 * lines.length, `${writes} writes`);
  }));

Deno.test("concurrent edits of different lines all take effect; of one version exactly one does", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    const lines = Array.from({ length: 12 }, (_, n) => `line ${n};`);
    Deno.writeTextFileSync(`${root}/a`, lines.join("\n"));
    await Promise.all(lines.map((line) => answerOf(edit, { path: "a", old_text: line, new_text: `${line}!` })));
    assert.equal(Deno.readTextFileSync(`${root}/a`), lines.map((line) => `${line}!`).join("\n"));
    const { structured } = await answerOf(edit, { path: "a", old_text: "line 0;!", new_text: "line 0;" });
    const outcomes = await Promise.allSettled(
      lines.map((line) =>
        answerOf(edit, { path: "a", old_text: line, new_text: "x", if_version: structured["version"] })
      ),
    );
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  }));

Deno.test("an edit in a list takes what it leaves out from beside the list", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    for (const name of ["a", "b"]) Deno.writeTextFileSync(`${root}/${name}`, "cat cats cat\n");
    const shared = { old_text: "cat", new_text: "dog", whole_word: true, replace_all: true };
    await answerOf(edit, { ...shared, edits: [{ path: "a" }, { path: "b", whole_word: false }] });
    assert.equal(Deno.readTextFileSync(`${root}/a`), "dog cats dog\n");
    assert.equal(Deno.readTextFileSync(`${root}/b`), "dog dogs dog\n");
    const { structured } = await answerOf(edit, { path: "a", old_text: "cats", new_text: "c" });
    await answerOf(edit, {
      path: "a",
      edits: [{ old_text: "c", new_text: "e", whole_word: true, if_version: structured["version"] }, {
        path: "b",
        old_text: "dogs",
        new_text: "d",
      }],
    });
    assert.equal(Deno.readTextFileSync(`${root}/a`), "dog e dog\n");
    assert.equal(Deno.readTextFileSync(`${root}/b`), "dog d dog\n");
    for (
      const [input, words] of [
        [{ edits: [{ old_text: "dog", new_text: "x" }] }, "give path, or a path in each of edits"],
        [{ path: "a", edits: [{ old_text: "dog" }] }, "give old_text and new_text together"],
        [{ path: "a" }, "give path, old_text and new_text, or edits"],
      ] as const
    ) assert.equal((await failureOf(edit, input)).message, `Failed to edit file: ${words}`);
  }));

Deno.test("a version that is given holds in every form of an edit, and for several files only in each of them", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    for (const name of ["a", "b"]) Deno.writeTextFileSync(`${root}/${name}`, "one two\n");
    const other = { old_text: "two", new_text: "2" };
    const { structured } = await answerOf(edit, { path: "a", old_text: "one", new_text: "1" });
    Deno.writeTextFileSync(`${root}/a`, "1 two three\n"); // another program
    const stale = { if_version: structured["version"] };
    for (
      const form of [
        { ...stale, path: "a", ...other },
        { ...stale, edits: [{ path: "a", ...other }] },
        { ...stale, edits: [{ path: "./a", ...other }, { path: "a", old_text: "three", new_text: "3" }] },
        { ...stale, ...other, edits: ["a"] },
        { ...stale, path: "a", edits: [other] },
        { path: "a", edits: [{ ...stale, ...other }] },
        { path: "b", ...other, edits: [{ ...stale, path: "a" }] },
      ]
    ) {
      const refused = await failureOf(edit, form);
      assert.equal(refused.code, "conflict", JSON.stringify(form));
      assert.equal((await failureOf(edit, { ...form, dry_run: true })).code, "conflict");
    }
    const { message } = await failureOf(edit, { ...stale, ...other, edits: ["a", "b"] });
    assert.match(message, /a version belongs to one file; give it in each edit/);
    assert.equal(Deno.readTextFileSync(`${root}/a`), "1 two three\n");
    assert.equal(Deno.readTextFileSync(`${root}/b`), "one two\n");
  }));

Deno.test("a refusal of several edits names all that is in the way, at most twenty", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    for (const name of ["a", "b"]) Deno.writeTextFileSync(`${root}/${name}`, "one\n");
    Deno.chmodSync(`${root}/b`, 0o444);
    const at = (path: string, old_text: string, new_text = "x") => ({ path, old_text, new_text });
    const { message } = await failureOf(edit, {
      edits: [
        at("a", "zwei", "drei"),
        at("c", "one"),
        at("a", "one", "eins"),
        at("a", "drei"),
        at("../d", "one"),
        at("", "x"),
      ],
    });
    for (
      const words of [/edit 1, a/, /no such file.* \(c\)/, /path traversal not allowed/, /path parameter is required/]
    ) {
      assert.match(message, words);
    }
    assert.doesNotMatch(message, /edit [34]/);
    assert.match(message, /\nnothing was changed$/);
    const many = Array.from({ length: 30 }, (_, index) => at(`none${index}`, "x", "y"));
    const long = await failureOf(edit, { edits: many });
    assert.equal(long.message.match(/no such file/g)?.length, 20);
    assert.match(long.message, /\(and 10 more\)\nnothing was changed$/);
    assert.equal(Deno.readTextFileSync(`${root}/a`), "one\n");
  }));

Deno.test("a refused edit of several files says that nothing was changed, whatever was wrong", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "one\n");
    const missing = { path: "zzz", old_text: "one", new_text: "two" };
    const edits = [{ path: "a", old_text: "one", new_text: "two" }];
    const { message } = await failureOf(fileEditTool(() => workspace), { edits: [...edits, missing] });
    assert.match(message, /^Failed to edit file: no such file or directory \(zzz\); nothing was changed/);
    assert.equal(Deno.readTextFileSync(`${root}/a`), "one\n");
  }));

/** On the disk and in the store. */
async function inBoth(body: (workspace: Workspace) => Promise<void>): Promise<void> {
  await withWorkspace(({ workspace }) => body(workspace));
  const directory = Deno.makeTempDirSync({ prefix: "portcullis-" });
  const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
  const workspace = openStoreWorkspace({ storage, name: "shared" });
  try {
    await body(workspace);
  } finally {
    await workspace.close();
    await storage.close();
    Deno.removeSync(directory, { recursive: true });
  }
}

async function* inPieces(text: string): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let offset = 0; offset < bytes.length; offset += 1_000_000) yield bytes.subarray(offset, offset + 1_000_000);
}

Deno.test("file_edit edits files of up to 16 MiB, which one write could not bring", () =>
  inBoth(async (workspace) => {
    const edit = fileEditTool(() => workspace);
    const put = async (path: string, text: string): Promise<void> => {
      assert.ok((await workspace.receive(at(path), inPieces(text))).ok);
    };
    const textOf = async (path: string): Promise<string> => {
      const whole = await readWholeFile(workspace, at(path), 20_000_000);
      assert.ok(whole.ok);
      return new TextDecoder().decode(whole.value.bytes);
    };
    const rows = Array.from({ length: 100_000 }, (_, row) => `row ${row} of a table\r\n`).join("");
    await put("table.csv", rows);
    const answer = await answerOf(edit, {
      path: "table.csv",
      edits: [{ old_text: "row 5 of", new_text: "row five of" }, {
        old_text: "row 99999 of",
        new_text: "the last of\n",
      }],
    });
    assert.match(answer.text, /2 replacements, \d+ bytes, version [0-9a-f]{12}\n@@ -6 \+6 @@\n-row 5 of/);
    const edited = rows.replace("row 5 of", "row five of").replace("row 99999 of", "the last of\r\n");
    assert.equal(await textOf("table.csv"), edited);

    const line = `${"x".repeat(1_500_000)}old${"y".repeat(1_500_000)}`;
    await put("app.min.js", line);
    const long = await answerOf(edit, { path: "app.min.js", old_text: "old", new_text: "new" });
    assert.ok(long.text.length < 500, long.text);
    assert.equal(await textOf("app.min.js"), line.replace("old", "new"));

    // several files, one of which refuses: none is changed
    const both = {
      edits: [{ path: "table.csv", old_text: "row five", new_text: "x" }, {
        path: "app.min.js",
        old_text: "old",
        new_text: "x",
      }],
    };
    assert.match((await failureOf(edit, both)).message, /old_text is not in the file.*nothing was changed/);
    assert.equal(await textOf("table.csv"), edited);

    const grown = { path: "app.min.js", old_text: "x", new_text: "xx", replace_all: true };
    assert.match((await failureOf(edit, grown)).message, /would have 4500003 bytes and the limit is 4048579/);
    await put("huge.log", "a line\n".repeat(2_400_000));
    assert.match(
      (await failureOf(edit, { path: "huge.log", old_text: "a", new_text: "b" })).message,
      /it has 16800000 bytes and the limit is \d+; file_write with mode append adds at its end \(huge\.log\)$/,
    );
    const two = { edits: ["half.log", "other.log"].map((path) => ({ path, old_text: "the end", new_text: "end" })) };
    await put("half.log", `${"a line\n".repeat(1_300_000)}the end`);
    await put("other.log", `${"a line\n".repeat(1_300_000)}the end`);
    assert.match((await failureOf(edit, two)).message, /it has 9100007 bytes and the limit is 7677209/);
    assert.ok((await answerOf(edit, { path: "half.log", ...two.edits[0] })).text.includes("1 replacement"));
  }));

Deno.test("one change is made in fifty files that are named alone, and in no more of them", () =>
  withWorkspace(async ({ root, workspace }) => {
    const edit = fileEditTool(() => workspace);
    const edits = Array.from({ length: 51 }, (_, index) => `${index}.ts`);
    for (const path of edits) Deno.writeTextFileSync(`${root}/${path}`, 'import "./old";\n');
    const request = { old_text: "./old", new_text: "./new" };
    assert.match((await failureOf(edit, { ...request, edits })).message, /at most 50 files/);
    const { structured } = await answerOf(edit, { ...request, edits: edits.slice(1) });
    assert.equal((structured["files"] as unknown[]).length, 49);
    assert.equal(Deno.readTextFileSync(`${root}/0.ts`), 'import "./old";\n');
    assert.equal(Deno.readTextFileSync(`${root}/50.ts`), 'import "./new";\n');
  }));

Deno.test("file_edit takes one text beside edits for all of them", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a.txt`, "one\ntwo\nthree\n");
    const edits = [{ old_text: "one" }, { old_text: "three" }];
    await answerOf(fileEditTool(() => workspace), { path: "a.txt", new_text: "1", edits });
    assert.equal(Deno.readTextFileSync(`${root}/a.txt`), "1\ntwo\n1\n");
  }));

Deno.test("file_edit says where old_text is, but for escapes that were written twice", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a.ts`, 'one\r\nif (x) {\r\n\treturn "a\\\\b";\r\n}\r\n');
    const edit = fileEditTool(() => workspace);
    for (
      const [wanted, meant, line] of [
        ["if (x) {\\n\\treturn", "if (x) {\n\treturn", 2],
        ["if (x) {\\r\\n", "if (x) {\n", 2],
        ['return \\"a', 'return "a', 3],
      ] as const
    ) {
      const { message } = await failureOf(edit, { path: "a.ts", old_text: wanted, new_text: "x" });
      assert.match(
        message,
        new RegExp(`in place of \\\\n, \\\\t and \\\\" it is at line ${line}; send the characters`),
      );
      await answerOf(edit, { path: "a.ts", old_text: meant, new_text: "x", dry_run: true });
    }
    const { message } = await failureOf(edit, { path: "a.ts", old_text: "none\\n", new_text: "x" });
    assert.doesNotMatch(message, /in place of/);
  }));

Deno.test("the other name of an edited file is read at once, with the old text", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "one\n");
    Deno.linkSync(`${root}/a`, `${root}/b`);
    const read = fileReadTool(() => workspace);
    assert.equal((await answerOf(read, { filename: "a" })).text, "one\n");
    const { text } = await answerOf(fileEditTool(() => workspace), { path: "a", old_text: "one", new_text: "1" });
    assert.match(text, /its other name \(hard link\) keeps the old text/);
    assert.equal((await answerOf(read, { filename: "b" })).text, "one\n");
  }, { trash: { keepMs: 1e9, maxBytes: 1e9 } }));

Deno.test("file_move says of what it replaces, moving or copying, one or several, which names keep the old text", async () => {
  for (const trash of [undefined, { keepMs: 1e9, maxBytes: 1e9 }]) {
    await withWorkspace(async ({ root, workspace }) => {
      const move = fileMoveTool(() => workspace);
      const words = "its other name (hard link) keeps the old text";
      let links = 0;
      const fill = (isLinked: boolean): void => {
        for (const name of ["a", "c", "b", "in/a", "in/c"]) {
          Deno.writeTextFileSync(`${root}/new`, "x");
          Deno.renameSync(`${root}/new`, `${root}/${name}`);
          if (isLinked && /b|in/.test(name)) Deno.linkSync(`${root}/${name}`, `${root}/link${links++}`);
        }
      };
      Deno.mkdirSync(`${root}/in`);
      for (const [copy, said] of [[true, "Copied a to b (1 byte)"], [false, "Moved a to b"]] as const) {
        const answer = async (input: Record<string, unknown>): Promise<string> =>
          (await answerOf(move, { ...input, copy, overwrite: true })).text;
        fill(true);
        assert.equal(await answer({ path: "a", destination: "b" }), `${said}\n(b: ${words})`);
        fill(true);
        const several = await answer({ paths: ["a", "c"], destination: "in" });
        assert.equal(several, `${copy ? "Copied" : "Moved"} a, c into in/\n(in/a: ${words})\n(in/c: ${words})`);
        fill(false);
        assert.equal(await answer({ path: "a", destination: "b" }), said);
        // its other name is the one that was moved
        Deno.removeSync(`${root}/b`);
        fill(false);
        Deno.removeSync(`${root}/b`);
        Deno.linkSync(`${root}/a`, `${root}/b`);
        if (!copy) assert.equal(await answer({ path: "a", destination: "b" }), said);
      }
    }, trash === undefined ? {} : { trash });
  }
});

Deno.test("what an edit before has replaced is told from what never was there, however large it would grow", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/letters.txt`, "a".repeat(100_000));
    const edits = [{ old_text: "a", new_text: "b" }, { old_text: "a", new_text: "c".repeat(100_000) }];
    const refused = await failureOf(fileEditTool(() => workspace), { path: "letters.txt", replace_all: true, edits });
    assert.match(refused.message, /no longer in the file after the edits before/);
  }));
