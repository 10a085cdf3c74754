import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import { fileWriteTool, previewWrite } from "../../src/files/tools/file_write.ts";
import { workspaceFilesResource } from "../../src/files/tools/workspace_files.ts";
import { differenceOf } from "../../src/files/text/diff.ts";
import { showText } from "../../src/files/workspace/path.ts";
import { denied } from "../../src/files/workspace/port.ts";
import type { ToolContext } from "../../src/mcp/tool.ts";
import { callTool, principalOf } from "../workspace/call_tool.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_write creates, appends and changes only the version that the caller saw", () =>
  withWorkspace(async ({ root, workspace }) => {
    const write = fileWriteTool(() => workspace);
    const first = await answerOf(write, { filename: "a", content: "one", mode: "create" });
    assert.match(first.text, /^Created a \(3 bytes, version [0-9a-f]{12}\)$/);
    const again = await failureOf(write, { filename: "a", content: "x", mode: "create" });
    assert.equal(
      again.message,
      "Failed to write file: there is something of this name already; leave mode out to replace it, or use file_edit (a)",
    );
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

for (const trash of [{ keepMs: 1e9, maxBytes: 1e9 }, null]) {
  Deno.test(`file_write writes several files or none of them, and names all that is in the way, ${trash === null ? "without" : "with"} a trash`, () =>
    withWorkspace(async ({ root, workspace }) => {
      const write = fileWriteTool(() => workspace);
      Deno.mkdirSync(`${root}/d`);
      const names = (): string[] =>
        Array.from(Deno.readDirSync(root), ({ name }) => name).filter((name) => !name.startsWith(".")).sort();
      const files = [{ filename: "b/c/d", content: "2" }, { filename: "e", content: "+" }];
      Deno.writeTextFileSync(`${root}/e`, "4");
      const { text, structured } = await answerOf(write, {
        filename: "a",
        content: "1",
        files: [...files, { filename: "e", content: "5", mode: "append" }],
      });
      assert.deepEqual(text.replace(/, version \w+/g, "").split("\n"), [
        "Created a (1 byte)",
        "Created b/c/d (1 byte)",
        "Replaced e (1 byte)",
        "Appended to e (2 bytes); its last line had no line end, so the added text continues it",
      ]);
      assert.equal((structured["files"] as { readonly version: string }[]).length, 3);
      const version = structured["version"];

      // seen before anything is written
      const refused = await failureOf(write, {
        filename: "f/g/h",
        content: "",
        files: [
          { filename: "../g", content: "" },
          { filename: "d", content: "" },
          { filename: "a", content: "", mode: "create" },
          { filename: "e", content: "", if_version: version },
          { filename: "none", content: "", if_version: version },
          { filename: "h", content: "\ud800" },
        ],
      });
      for (
        const words of [
          /path traversal not allowed \(\.\.\/g\)/,
          /directory.*\(d\)/,
          /already.*\(a\)/,
          /expected.*\(e\)/,
          /\(none\)/,
          /Unicode/,
        ]
      ) {
        assert.match(refused.message, words);
      }
      assert.match(refused.message, /\nnothing was changed$/);
      assert.deepEqual(names(), ["a", "b", "d", "e"]);

      // seen only when it is written: what was written before is put back, and the directories made for it go
      for (const readOnly of ["p", "q"]) {
        Deno.writeTextFileSync(`${root}/${readOnly}`, readOnly);
        Deno.chmodSync(`${root}/${readOnly}`, 0o444);
      }
      const late = await failureOf(write, {
        filename: "f/g/h",
        content: "new",
        files: [
          { filename: "p", content: "" },
          { filename: "a", content: "x" },
          { filename: "b/x", content: "x" },
          { filename: "e", content: "x" },
          { filename: "e", content: "y" },
          { filename: "q", content: "" },
        ],
      });
      assert.match(late.message, /read-only.*\(p\)\n.*read-only.*\(q\)\nnothing was changed$/);
      assert.deepEqual(names(), ["a", "b", "d", "e", "p", "q"]);
      assert.deepEqual(Array.from(Deno.readDirSync(`${root}/b`), ({ name }) => name), ["c"]);
      for (const [name, content] of [["a", "1"], ["e", "+5"], ["p", "p"], ["q", "q"]] as const) {
        assert.equal(Deno.readTextFileSync(`${root}/${name}`), content);
      }
    }, trash === null ? {} : { trash }));
}

Deno.test("what file_write adds to Latin-1 is Latin-1, and refused where Latin-1 lacks it", () =>
  withWorkspace(async ({ root, workspace }) => {
    const write = fileWriteTool(() => workspace);
    const file = `${root}/latin`;
    Deno.writeFileSync(file, Buffer.from("Köln\n", "latin1"));
    await answerOf(write, { filename: "latin", content: "München\n", mode: "append" });
    await answerOf(write, { filename: "latin", content: "plain\n", mode: "append" });
    assert.equal(Buffer.from(Deno.readFileSync(file)).toString("latin1"), "Köln\nMünchen\nplain\n");
    const refusal = await failureOf(write, { filename: "latin", content: "東京", mode: "append" });
    assert.equal(refusal.code, "not_encodable");
    assert.match(
      refusal.message,
      /encoding \(latin1\) has no "東"; leave that out, or delete the file first to have UTF-8 \(latin\)$/,
    );
    for (const [name, before] of [["plain", "Rome\n"], ["wide", "Köln\n"], ["none", ""]] as const) {
      if (before !== "") Deno.writeTextFileSync(`${root}/${name}`, before);
      await answerOf(write, { filename: name, content: "東京\n", mode: "append" });
      assert.equal(Deno.readTextFileSync(`${root}/${name}`), `${before}東京\n`);
    }
  }));

Deno.test("file_write keeps line ends, byte order mark and encoding of the file, and says so", () =>
  withWorkspace(async ({ root, workspace }) => {
    const write = fileWriteTool(() => workspace);
    const plain = "line\n".repeat(100_000); // the first letter beyond ASCII is far from the beginning
    const cases: [
      before: Buffer,
      input: { content: string; mode?: string },
      note: string | undefined,
      after?: Buffer,
    ][] = [
      [
        Buffer.from("a\r\nb\r\n"),
        { content: "a\nc\n" },
        "it keeps its CRLF line ends",
        Buffer.from("a\r\nc\r\n"),
      ],
      [Buffer.from("a\rb\r"), { content: "a\nc\n" }, "it keeps its CR line ends", Buffer.from("a\rc\r")],
      ...[20_000, 16_383, 16_384, 32_766, 32_767].map((length): typeof cases[number] => [
        Buffer.from(`${"h".repeat(length)}\r\n1\r\n`),
        { content: "h\n1\n" },
        "it keeps its CRLF line ends",
        Buffer.from("h\r\n1\r\n"),
      ]),
      [Buffer.from(`${"50 %\r".repeat(4_000)}done\nlast\n`), { content: "a\nb\n" }, undefined],
      [Buffer.from(`${"50 %\r".repeat(4_000)}done\nlast\n`), { content: "a\nb\n", mode: "append" }, undefined],
      [
        Buffer.from("50 %\r".repeat(10_000)),
        { content: "a\n", mode: "append" },
        "it keeps its CR line ends",
        Buffer.from(`${"50 %\r".repeat(10_000)}a\r`),
      ],
      [Buffer.from("a\n"), { content: "a\r\nb\n" }, "its line ends were LF, those written are mixed line ends"],
      [
        Buffer.from("a\r\n"),
        { content: "b\n", mode: "append" },
        "it keeps its CRLF line ends",
        Buffer.from("a\r\nb\r\n"),
      ],
      [
        Buffer.from("\ufeffa\r\n", "utf16le"),
        { content: "b\n" },
        "it keeps its encoding UTF-16LE, byte order mark, CRLF line ends",
        Buffer.from("\ufeffb\r\n", "utf16le"),
      ],
      [
        Buffer.from("a b c\n", "utf16le").swap16(),
        { content: "ü\n" },
        "it keeps its encoding UTF-16BE; too little of it shows UTF-16BE: file_read needs encoding utf-16be to read it",
        Buffer.from("ü\n", "utf16le").swap16(),
      ],
      [
        Buffer.from("Köln\n", "latin1"),
        { content: "Bonn ü\n" },
        "it keeps its encoding LATIN1",
        Buffer.from("Bonn ü\n", "latin1"),
      ],
      [Buffer.from("Köln\n", "latin1"), { content: "\ufeffBonn €\n" }, undefined, Buffer.from("\ufeffBonn €\n")],
      [
        Buffer.from(`${plain}Köln\r\n`, "latin1"),
        { content: "ü\r\n" },
        "its line ends were LF, those written are CRLF; it keeps its encoding LATIN1",
        Buffer.from("ü\r\n", "latin1"),
      ],
      [
        Buffer.from("Köln\n", "latin1"),
        { content: "ü\r\n", mode: "append" },
        "its line ends were LF, those added are CRLF",
      ],
      [
        Buffer.from("\ufeffa\n"),
        { content: "b\n" },
        "it keeps its byte order mark",
        Buffer.from("\ufeffb\n"),
      ],
      [
        Buffer.from("a\nb"),
        { content: "c\n", mode: "append" },
        "its last line had no line end, so the added text continues it",
      ],
      [
        Buffer.from("x"),
        { content: "y", mode: "append" },
        "its last line had no line end, so the added text continues it",
      ],
      [
        Buffer.from("\ufeffa", "utf16le"),
        { content: "b", mode: "append" },
        "its last line had no line end, so the added text continues it",
      ],
      [Buffer.from("\ufeffa\n", "utf16le"), { content: "b", mode: "append" }, undefined],
      [Buffer.from("\ufeffa\n", "utf16le").swap16(), { content: "b", mode: "append" }, undefined],
      [Buffer.from("a"), { content: "\nb", mode: "append" }, undefined],
      [Buffer.from(""), { content: "b", mode: "append" }, undefined],
      [Buffer.from("\ufeffa\n"), { content: "\ufeffb\n" }, undefined],
      [Buffer.from("\ufeffa\n"), { content: "b\n", mode: "append" }, undefined],
      [Buffer.from("Köln\n", "latin1"), { content: "Bonn\n" }, undefined],
      [Buffer.from(`${"a".repeat(16_383)}ü\n`), { content: "ü\n" }, undefined],
      [Buffer.from("a\r\n"), { content: "b\r\n" }, undefined],
      [Buffer.from("a"), { content: "b\r\n" }, undefined],
      [Buffer.of(0, 0xff), { content: "ü\n" }, undefined],
    ];
    for (const [before, input, note, after] of cases) {
      Deno.writeFileSync(`${root}/f`, before);
      const answer = await answerOf(write, { filename: "f", ...input });
      assert.equal(answer.structured["note"], note, JSON.stringify(input));
      assert.ok(answer.text.endsWith(note ?? ")"), answer.text);
      if (after !== undefined) assert.deepEqual(Buffer.from(Deno.readFileSync(`${root}/f`)), after);
    }
    const large = Buffer.from(`${"plain line\n".repeat(200_000)}Köln\n`, "latin1");
    Deno.writeFileSync(`${root}/large.log`, large);
    await answerOf(write, { filename: "large.log", content: "München\n", mode: "append" });
    assert.equal(Buffer.from(Deno.readFileSync(`${root}/large.log`)).toString("latin1").slice(-13), "Köln\nMünchen\n");
  }));

Deno.test("a write is shown to who approves it in the form in which it is then made", () =>
  withWorkspace(async ({ root, workspace }) => {
    const context = { principal: principalOf("owner"), signal: new AbortController().signal } as ToolContext;
    const before = ["a\r\nb\r\n", "a\rb\r", "\ufeffa\nb\n", "\ufeffa\r\nb\r\n", "a\nb", "a\r\nb", ""];
    for (const text of before) {
      for (const encoding of ["utf8", "utf16le"] as const) {
        for (const input of [{ content: "a\nB\n" }, { content: "c\n", mode: "append" }] as const) {
          if (encoding === "utf16le" && !text.startsWith("\ufeff")) continue;
          Deno.writeFileSync(`${root}/f`, Buffer.from(text, encoding));
          const shown = await previewWrite(() => workspace, { filename: "f", ...input }, context);
          await answerOf(fileWriteTool(() => workspace), { filename: "f", ...input });
          const after = Buffer.from(Deno.readFileSync(`${root}/f`)).toString(encoding);
          const made = await differenceOf(text, after);
          assert.equal(shown.slice(shown.indexOf("\n") + 1), showText(made), JSON.stringify([text, input]));
        }
      }
    }
  }));

Deno.test("what file_write puts in place of UTF-16, or adds to it, is UTF-16", () =>
  withWorkspace(async ({ root, workspace }) => {
    const write = fileWriteTool(() => workspace);
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

Deno.test("file_move moves, copies, makes directories, and treats links themselves", () =>
  withWorkspace(async ({ root, outside, workspace }) => {
    const [move, remove] = [fileMoveTool(() => workspace), fileDeleteTool(() => workspace)];
    assert.equal((await answerOf(move, { destination: "d/e" })).text, "d/e/ created");
    assert.equal((await answerOf(move, { destination: "d/e" })).text, "d/e/ is there already");
    Deno.writeTextFileSync(`${root}/a`, "text");
    Deno.symlinkSync("../outside", `${root}/l`);
    const copied = await answerOf(move, { path: "a", destination: "d/b", copy: true });
    assert.equal(copied.text, "Copied a to d/b (4 bytes)");
    assert.equal((await answerOf(move, { path: "d/b", destination: "d/e/c" })).text, "Moved d/b to d/e/c");
    await answerOf(move, { path: "l", destination: "m" });
    assert.equal(Deno.readLinkSync(`${root}/m`), "../outside");
    const through: [Record<string, unknown>, typeof move][] = [
      [{ path: "m/secret.txt", destination: "s", copy: true }, move],
      [{ path: "a", destination: "m/a" }, move],
      [{ path: "m/secret.txt" }, remove],
    ];
    for (const [request, tool] of through) {
      assert.equal((await failureOf(tool, request)).code, "denied_outside_link", JSON.stringify(request));
    }
    assert.equal((await failureOf(remove, { path: "d" })).code, "not_empty");
    Deno.symlinkSync("../../outside", `${root}/d/l`);
    assert.equal((await answerOf(remove, { path: "d", recursive: true })).text, "Deleted d (4 entries)");
    assert.equal((await answerOf(remove, { path: "m" })).text, "Deleted m");
    assert.ok(Deno.statSync(`${outside}/secret.txt`).isFile, "what the links led to is still there");
    assert.equal((await failureOf(remove, { path: "." })).message, "Failed to delete: it is the workspace itself");
  }));

Deno.test("file_move copies a directory with what is in it, and leaves links out", () =>
  withWorkspace(async ({ root, workspace }) => {
    const move = fileMoveTool(() => workspace);
    for (const directory of ["d/e", "d/empty"]) Deno.mkdirSync(`${root}/${directory}`, { recursive: true });
    for (const name of ["d/a", "d/e/b"]) Deno.writeTextFileSync(`${root}/${name}`, name);
    Deno.symlinkSync("../../outside", `${root}/d/l`);
    const { text, structured } = await answerOf(move, { path: "d", destination: "copy/of/d", copy: true });
    assert.equal(text, "Copied d/ to copy/of/d/ (2 files, 8 bytes)\n(d: 1 link or special file left out)");
    assert.deepEqual([structured["files"], structured["size_bytes"]], [2, 8]);
    assert.equal(Deno.readTextFileSync(`${root}/copy/of/d/e/b`), "d/e/b");
    assert.deepEqual(Array.from(Deno.readDirSync(`${root}/copy/of/d`), ({ name }) => name).sort(), ["a", "e", "empty"]);
    assert.equal((await failureOf(move, { path: "d", destination: "copy", copy: true })).code, "is_directory");
    assert.equal((await failureOf(move, { path: "d", destination: "d/e/d", copy: true })).code, "into_itself");
    assert.equal((await failureOf(move, { path: "d", destination: "../d", copy: true })).code, "path_leaves_workspace");
  }));

Deno.test("what lies deeper than a search goes is copied too, and a search and a listing say where they did not look", () =>
  withWorkspace(async ({ root, workspace }) => {
    const deep = Array(66).fill("d").join("/");
    Deno.mkdirSync(`${root}/${deep}`, { recursive: true });
    Deno.writeTextFileSync(`${root}/${deep}/f.txt`, "needle");
    const { text } = await answerOf(fileMoveTool(() => workspace), { path: "d", destination: "c", copy: true });
    assert.equal(text, "Copied d/ to c/ (1 file, 6 bytes)");
    assert.equal(Deno.readTextFileSync(`${root}/c${deep.slice(1)}/f.txt`), "needle");
    const unread = [`c/${Array(63).fill("d").join("/")}`, Array(64).fill("d").join("/")];
    const calls = [[fileSearchTool, { query: "needle" }], [fileListTool, { pattern: "*.txt" }]] as const;
    for (const [tool, input] of calls) {
      const { text, structured } = await answerOf(tool(() => workspace), input);
      assert.match(text, /\(could not look into c\/d[d/]+, d[d/]+\)/);
      assert.deepEqual(structured["unread_directories"], unread);
    }
    assert.match((await answerOf(fileListTool(() => workspace), { show: "summary" })).text, /could not look into/);
    const asked = await answerOf(fileListTool(() => workspace), { path: ".", depth: 3 });
    assert.doesNotMatch(asked.text, /could not look into/, "the caller asked for no more");
  }));

Deno.test("the files that are offered as resources are all there, however deep they lie", () =>
  withWorkspace(async ({ root, workspace }) => {
    const deep = Array(70).fill("d").join("/");
    Deno.mkdirSync(`${root}/${deep}`, { recursive: true });
    for (const name of ["a", `${deep}/b`, `${deep}/c`, "d/e"]) Deno.writeTextFileSync(`${root}/${name}`, "");
    const { listPage } = workspaceFilesResource(() => workspace);
    const found: string[] = [];
    for (let position: string | undefined, pages = 0; pages < 5; pages++) {
      const page = await listPage?.(principalOf("owner"), position, 1);
      found.push(...page?.resources.map(({ uri }) => uri.replace("workspace:///", "")) ?? []);
      if (page?.next === undefined) break;
      position = page.next;
    }
    assert.deepEqual(found, ["a", `${deep}/b`, `${deep}/c`, "d/e"]);
  }));

Deno.test("a copy of a directory that holds one that cannot be read is refused, and leaves nothing behind", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (const name of ["d/a", "d/b"]) Deno.mkdirSync(`${root}/${name}`, { recursive: true });
    Deno.writeTextFileSync(`${root}/d/b/f`, "");
    const closed: typeof workspace = {
      ...workspace,
      begin: () => closed,
      list: (path, options) =>
        path.text === "d/b" ? Promise.resolve(denied("permission")) : workspace.list(path, options),
    };
    const refused = await failureOf(fileMoveTool(() => closed), { path: "d", destination: "new/e", copy: true });
    assert.match(refused.message, /^Failed to copy: could not look into d\/b\/; nothing was copied$/);
    assert.throws(() => Deno.lstatSync(`${root}/new`), Deno.errors.NotFound);
  }));

Deno.test("a copy of a directory that cannot be finished leaves nothing behind", () =>
  withWorkspace(async ({ root, workspace }) => {
    const move = fileMoveTool(() => workspace);
    Deno.mkdirSync(`${root}/d`);
    for (const name of ["a", "b", "c"]) Deno.writeTextFileSync(`${root}/d/${name}`, "x".repeat(40));
    const refused = await failureOf(move, { path: "d", destination: "new/e", copy: true });
    assert.equal(refused.code, "copy_incomplete");
    assert.match(refused.message, /200 bytes \(new\/e\/c\); nothing was copied$/);
    assert.throws(() => Deno.lstatSync(`${root}/new`), Deno.errors.NotFound);
  }, { limits: { maxTotalBytes: 200 } }));

Deno.test("file_move onto a directory names the path in it, and with a slash at the end takes that path, as mv does", () =>
  withWorkspace(async ({ root, workspace }) => {
    const move = fileMoveTool(() => workspace);
    Deno.mkdirSync(`${root}/d`);
    Deno.writeTextFileSync(`${root}/a`, "a");
    Deno.writeTextFileSync(`${root}/b`, "b");
    for (const copy of [false, true]) {
      const { message } = await failureOf(move, { path: "a", destination: "d", copy });
      assert.match(message, /\(d\); did you mean d\/a\?$/);
    }
    assert.equal((await answerOf(move, { path: "a", destination: "d/", copy: true })).structured["destination"], "d/a");
    const taken = await failureOf(move, { path: "a", destination: "d/" });
    assert.match(taken.message, /something of this name already; .* \(d\/a\)$/);
    assert.equal((await answerOf(move, { path: "b", destination: "new/" })).structured["destination"], "new/b");
    Deno.writeTextFileSync(`${root}/b`, "b");
    assert.doesNotMatch((await failureOf(move, { path: "a", destination: "b" })).message, /did you mean/);
  }));

Deno.test("a move into a directory that is there, the workspace itself too, names the path that works", () =>
  withWorkspace(async ({ root, workspace }) => {
    const move = fileMoveTool(() => workspace);
    for (const destination of [".", "./", "e"]) {
      for (const copy of [false, true]) {
        Deno.mkdirSync(`${root}/d/e`, { recursive: true });
        Deno.mkdirSync(`${root}/e`, { recursive: true });
        Deno.writeTextFileSync(`${root}/d/a.txt`, "a\n");
        const input = { path: "d/a.txt", destination, copy };
        const outcome = await callTool(move, input, principalOf("ada"));
        const meant = outcome.ok
          ? ""
          : /; did you mean ([^ ]+)\?$/.exec(outcome.message)?.[1] ?? assert.fail(outcome.message);
        if (meant !== "") await answerOf(move, { ...input, destination: meant });
        const to = destination === "e" ? "e/a.txt" : "a.txt";
        assert.equal(Deno.readTextFileSync(`${root}/${to}`), "a\n");
        Deno.removeSync(`${root}/${to}`);
      }
    }
    Deno.writeTextFileSync(`${root}/b.txt`, "b\n");
    const same = await failureOf(move, { path: "b.txt", destination: "." });
    assert.doesNotMatch(same.message, /did you mean/, "it is there already");
  }));

Deno.test("file_delete says that it can be undone where file_undo undoes it, and not where the trash has no room for all", () =>
  withWorkspace(async ({ root, workspace }) => {
    const [remove, undo] = [fileDeleteTool(() => workspace), fileUndoTool(() => workspace)];
    const sizes: Readonly<Record<string, number>> = {
      empty: 0,
      small: 2,
      large: 5_000,
      "d/small": 2,
      "e/large": 5_000,
    };
    for (const paths of [["small"], ["d", "empty"], ["small", "large"], ["large"], ["e", "small"], ["none", "d"]]) {
      for (const name of ["d", "e", "none"]) Deno.mkdirSync(`${root}/${name}`, { recursive: true });
      for (const [name, size] of Object.entries(sizes)) Deno.writeTextFileSync(`${root}/${name}`, "x".repeat(size));
      const isKept = !paths.some((name) => name === "large" || name === "e");
      const { text, structured } = await answerOf(remove, { paths, recursive: true });
      assert.equal(/can be undone with file_undo/.test(text), isKept, text);
      assert.equal(structured["undo_until"] !== undefined, isKept);
      if (isKept) await answerOf(undo, { change: "last" });
      else assert.equal((await failureOf(undo, { change: "last" })).code, "not_kept");
    }
  }, { trash: { keepMs: 1e9, maxBytes: 2_000 } }));

Deno.test("file_undo undoes an edit by its passages where the trash had no room for the old text, and no other change", () =>
  withWorkspace(async ({ root, workspace }) => {
    const [edit, write, undo] = [
      fileEditTool(() => workspace),
      fileWriteTool(() => workspace),
      fileUndoTool(() => workspace),
    ];
    const lines = Array.from({ length: 500 }, (_, at) => `line ${at}`);
    for (const text of [lines.join("\n"), `\ufeff${lines.join("\r\n")}\r\n`, `${lines.join("\n")}\r\nmixed`]) {
      Deno.writeTextFileSync(`${root}/f`, text);
      const edits = [["line 10", "ten"], ["line 400", ""]].map(([from, to]) => ({ old_text: `${from}`, new_text: to }));
      await answerOf(edit, { path: "f", edits: edits.map((each) => ({ ...each, whole_word: true })) });
      assert.doesNotMatch(Deno.readTextFileSync(`${root}/f`), /line 400/);
      await answerOf(undo, { change: "last" });
      assert.equal(new TextDecoder("utf-8", { ignoreBOM: true }).decode(Deno.readFileSync(`${root}/f`)), text);
    }
    await answerOf(edit, { path: "f", old_text: "line 1", new_text: "x".repeat(100), replace_all: true });
    await answerOf(undo, { change: "last" });
    assert.match(Deno.readTextFileSync(`${root}/f`), /\nline 1\n.*\nline 499\r\nmixed$/s);
    await answerOf(write, { filename: "f", content: "new", mode: "overwrite" });
    assert.equal((await failureOf(undo, { change: "last" })).code, "not_kept");
    assert.equal(Deno.readTextFileSync(`${root}/f`), "new");
  }, { trash: { keepMs: 1e9, maxBytes: 2_000 } }));
