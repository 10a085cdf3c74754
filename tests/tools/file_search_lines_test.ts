/** What file_search says of long lines, of plain text that looks like an expression, and of cursors; in each workspace. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { systemClock } from "../../src/lib/time.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { defaultWorkspaceLimits, type Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { at } from "../workspace/contract.ts";
import { diskModes } from "../workspace/disk_modes.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

/** Runs the body in a workspace of each kind. */
async function inEachWorkspace(body: (workspace: Workspace) => Promise<void>): Promise<void> {
  const limits = { ...defaultWorkspaceLimits, maxWriteBytes: 8_000_000 };
  for (const { kernel } of diskModes) await withWorkspace(({ workspace }) => body(workspace), { kernel, limits });
  const directory = Deno.makeTempDirSync({ prefix: "portcullis-" });
  const storage = openSqliteStorage({ path: `${directory}/store.sqlite`, clock: systemClock });
  try {
    await body(openStoreWorkspace({ storage, name: "shared", limits }));
  } finally {
    await storage.close();
    Deno.removeSync(directory, { recursive: true });
  }
}

async function write(workspace: Workspace, path: string, content: string | Uint8Array): Promise<void> {
  const written = await workspace.write(at(path), typeof content === "string" ? Buffer.from(content) : content);
  assert.ok(written.ok, path);
}

const mebibyte = 1024 * 1024;
/** A line of 3 MB whose hits lie over and beyond the first MiB, which one read gives. */
const longLine = `start ${"abcdefé,".repeat(mebibyte / 9)}`.slice(0, mebibyte - 60_000).padEnd(mebibyte - 3, "é") +
  "needle" + "xy ".repeat(600_000) + "needle tail";

Deno.test("file_search finds in a line of megabytes what a look at the whole line does, once, and where", () => {
  let isFirst = true;
  return inEachWorkspace(async (workspace) => {
    const encodings: Record<string, (text: string) => Uint8Array> = {
      utf8: (text) => Buffer.from(text),
      crlf: (text) => Buffer.from(text.replaceAll("\n", "\r\n")),
      utf16: (text) => Buffer.from(`\ufeff${text}`, "utf16le"),
    };
    const names = isFirst ? Object.keys(encodings) : ["crlf"];
    isFirst = false;
    for (const [name, encode] of Object.entries(encodings)) {
      await write(workspace, name, encode(`first\n${longLine}\nafter tail\nend`));
    }
    const search = fileSearchTool(() => workspace);
    const read = fileReadTool(() => workspace);
    const column = Array.from(longLine.slice(0, longLine.indexOf("needle"))).length + 1;
    const cases: readonly (readonly [Record<string, unknown>, readonly number[]])[] = [
      [{ query: "needle" }, [2]],
      [{ query: "NEEDLE", ignore_case: true }, [2]],
      [{ query: "needle", whole_word: true }, [2]],
      [{ query: "tail$", regex: true }, [2, 3]],
      [{ query: "^start.*needle.*tail$", regex: true }, []], // longer than the parts in which it is searched
      [{ query: "^(abc|xy|needle)", regex: true }, []],
      [{ query: "(abc|xy|,)$", regex: true }, []],
      [{ query: "^end$", regex: true }, [4]],
    ];
    for (const path of names) {
      for (const [request, lines] of cases) {
        for (const more of path === "crlf" ? [{ show: "count" }, { last: true, context: 1 }] : [{}]) {
          const { structured } = await answerOf(search, { path, ...request, ...more });
          const matches = structured["matches"] as { line?: number; lines?: number; before?: string[] }[];
          const found = "show" in more ? matches.map(({ lines = 0 }) => lines) : matches.map(({ line }) => line);
          const expected = "show" in more ? (lines.length === 0 ? [] : [lines.length]) : lines;
          assert.deepEqual(found, expected, `${path} ${JSON.stringify({ ...request, ...more })}`);
          assert.equal("partly_searched" in structured, String(request["query"]).includes(".*"));
        }
      }
      const { text, structured } = await answerOf(search, { path, query: "needle", context: 1 });
      const [match] = structured["matches"] as { column: number; before: string[]; after: string[] }[];
      assert.deepEqual([match?.column, match?.before, match?.after], [column, ["first"], ["after tail"]]);
      assert.match(text, new RegExp(`\n2:${column}: …`));
      assert.match(text, /file_read NAME:LINE:COLUMN/);
      if (path === "utf16") continue; // larger than what is read of such a text
      const around = await answerOf(read, { filename: `${path}:2:${column}` });
      assert.match(around.texts[0] ?? "", /line 2, characters \d+ to \d+/);
      assert.equal((around.texts[1] ?? "").indexOf("needle"), 1_000, path);
      const exact = await answerOf(read, { filename: `${path}:2:${column}-${column + 5}` });
      assert.equal(exact.texts[1], "needle");
    }
  });
});

Deno.test("file_read gives characters of a line, and says where there are none", () =>
  inEachWorkspace(async (workspace) => {
    const read = fileReadTool(() => workspace);
    await write(workspace, "short", "abc\n\u{1f600}éf\n");
    await write(workspace, "latin1", Buffer.from(`x\n${"ä".repeat(2 * mebibyte)}Größe`, "latin1"));
    const textOf = async (filename: string): Promise<string> =>
      (await answerOf(read, { filename })).texts.slice(1).join();
    assert.equal(await textOf("short:2:1-2"), "\u{1f600}é");
    await write(workspace, "large", `${"é".repeat(600_001)}\r\n${"é\n".repeat(600_000)}`);
    assert.match(
      (await answerOf(read, { filename: "large:1:599999-700000" })).text,
      /line 1 ends at character 600001;/,
    );
    assert.equal(await textOf("large:1:599999-700000"), "ééé");
    await write(workspace, "cut", `${"a".repeat(mebibyte - 1)}\r\nb${"\nc".repeat(mebibyte)}`);
    assert.equal(await textOf(`cut:1:${mebibyte - 2}-${mebibyte + 9}`), "aa");
    assert.equal(await textOf("cut:2:1-9"), "b");
    assert.equal(await textOf("short:2:2"), "\u{1f600}éf");
    assert.equal(await textOf(`latin1:2:${2 * mebibyte + 1}-${2 * mebibyte + 5}`), "Größe");
    assert.match((await textOf(`latin1:2:${2 * mebibyte}`)).slice(-6), /äGröße/);
    assert.match((await answerOf(read, { filename: "short:1:9-12" })).text, /line 1 ends at character 3/);
    assert.match((await answerOf(read, { filename: "short:7:1" })).text, /nothing at line 7/);
    assert.equal(await textOf("short:1:0"), "abc");
    assert.equal(await textOf("short:1:3-2"), "bc");
    assert.equal((await failureOf(read, { filename: "none:1:5" })).code, "not_found");
    const { structured } = await answerOf(read, { filename: "short:2:2-2" });
    assert.deepEqual([structured["content"], structured["start_line"], structured["start_column"]], ["é", 2, 2]);
  }));

Deno.test("file_search says so where a line is too long for an expression or for the time", () =>
  withWorkspace(async ({ root, workspace }) => {
    const random = Array.from({ length: 200_000 }, (_, n) => (n * 245_489 ^ n >> 3) % 7 < 3 ? "a" : "b").join("");
    Deno.writeTextFileSync(`${root}/dense`, `short\nb${random}abbbbbbbbbbbbbbx\nlast\n`);
    const search = fileSearchTool(() => workspace);
    const dense = await answerOf(search, { query: "^b(a|b)*a(a|b){14}x", regex: true });
    assert.match(dense.text, /\(too long to search whole, a match may be missed: 1 line: dense:2\)/);
    assert.deepEqual(dense.structured["partly_searched"], [{ filename: "dense", line: 2 }]);
    const text = await answerOf(search, { query: "last" });
    assert.ok(!("partly_searched" in text.structured));

    Deno.writeTextFileSync(`${root}/dense`, "hit\n");
    Deno.writeTextFileSync(`${root}/long`, `hit\n${"é".repeat(2_000_000)}\nhit\n${"short\n".repeat(300_000)}hit\n`);
    let now = 0;
    const hasty = fileSearchTool(() => workspace, { clock: () => now += 2, maxSearchMilliseconds: 1 });
    const seen: string[] = [];
    let cursor: unknown;
    for (let calls = 0; calls < 200; calls++) {
      const { structured } = await answerOf(hasty, { query: "hit", ...cursor === undefined ? {} : { cursor } });
      const matches = structured["matches"] as { filename: string; line: number }[];
      seen.push(...matches.map(({ filename, line }) => `${filename}:${line}`));
      if ((cursor = structured["next_cursor"]) === undefined) break;
    }
    assert.deepEqual([cursor, seen], [undefined, ["dense:1", "long:1", "long:3", "long:300004"]]);
  }, { limits: { maxReadBytes: 64 * 1024 } }));

Deno.test("file_search says what a query that finds nothing may have meant", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "TODO one\nfoo and bar\nx 12\n");
    const search = fileSearchTool(() => workspace);
    const hinted = async (request: Record<string, unknown>): Promise<boolean> => {
      const { text, structured } = await answerOf(search, request);
      assert.equal(structured["hint"] !== undefined, /\n\((?:searched as|in RE2)[^\n]*\)$/.test(text));
      return structured["hint"] !== undefined;
    };
    const expressions = ["TODO|FIXME", "foo.*bar", "\\d+", "^x", "2$", "[0-9]", "x{2}", "o+d.?", "(?i)todo", "fo\\.o"];
    for (const query of expressions) {
      assert.ok(await hinted({ query }), query);
      assert.ok(await hinted({ query, ignore_case: true, show: "count" }), query);
      assert.ok(await hinted({ query, whole_word: true, show: "files" }), query);
    }
    for (
      const query of [
        "none",
        "a.b",
        "call()",
        "x = y;",
        "C:\\",
        "a || b",
        "{ none }",
        "f(x)",
        "list[i]",
        "D:\\none",
        "$",
        "^",
        "1 + 2",
      ]
    ) {
      assert.equal(await hinted({ query }), false, query);
    }
    assert.ok(!await hinted({ query: "TODO|FIXME", regex: true }));
    assert.ok(await hinted({ query: "TODO\\|FIXME", regex: true }));
    assert.ok(!await hinted({ query: "call\\(x\\)", regex: true }));
    Deno.writeTextFileSync(`${root}/b`, "a TODO|FIXME b\n");
    assert.ok(!await hinted({ query: "TODO|FIXME" }));
    assert.match((await failureOf(search, { query: "f(x", regex: true })).message, /leave out regex/);
  }));

Deno.test("a cursor goes with the arguments of its call alone", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.mkdirSync(`${root}/d`);
    for (const name of ["a", "b", "d/c", "d/e"]) Deno.writeTextFileSync(`${root}/${name}`, "hit\nhit\n");
    const search = fileSearchTool(() => workspace);
    const list = fileListTool(() => workspace);
    const { structured: found } = await answerOf(search, { query: "hit", limit: 3 });
    const { structured: listed } = await answerOf(list, { pattern: "**", limit: 2 });
    const [searched, walked] = [found["next_cursor"], listed["next_cursor"]];
    assert.ok((await answerOf(search, { query: "hit", cursor: searched, limit: 9, context: 1 })).structured["hits"]);
    assert.ok((await answerOf(list, { pattern: "**", cursor: walked, show: "details" })).structured["entries"]);
    assert.ok((await answerOf(list, { pattern: "**", cursor: walked, exclude: [] })).structured["entries"]);
    const others = [{ query: "hi" }, { regex: true }, { path: "d" }, { pattern: "*" }, { exclude: ["b"] }];
    const further = [{ ignore_case: true }, { whole_word: true }, { include_ignored: true }];
    for (const other of [...others, ...further, { last: true }, { show: "count" }]) {
      const refused = await failureOf(search, { query: "hit", cursor: searched, ...other });
      assert.match(refused.message, /the cursor is of a call with other arguments/, JSON.stringify(other));
    }
    for (
      const other of [{ pattern: "*" }, { path: "d" }, { exclude: ["b"] }, { depth: 1 }, { include_ignored: true }, ...[
        { sort: "size" },
        { order: "desc" },
        { show: "summary" },
        { show: "duplicates" },
      ]]
    ) {
      const refused = await failureOf(list, { pattern: "**", cursor: walked, ...other });
      assert.match(refused.message, /the cursor is of a call with other arguments/, JSON.stringify(other));
    }
    assert.match((await failureOf(search, { query: "hit", cursor: walked })).message, /not one of an earlier result/);
    assert.match((await failureOf(list, { cursor: searched })).message, /not one of an earlier result/);
  }));

Deno.test("whole words are those of any alphabet, in each encoding", () =>
  withWorkspace(async ({ root, workspace }) => {
    const text = "Größe\r\ndarüber hinaus\r\nüber allem\r\nGr\r\ncafe\u0301\r\n";
    Deno.writeTextFileSync(`${root}/utf8`, text);
    Deno.writeFileSync(`${root}/utf16`, Buffer.from(`\ufeff${text}`, "utf16le"));
    Deno.writeFileSync(`${root}/latin1`, Buffer.from(text.replace("\u0301", ""), "latin1"));
    const search = fileSearchTool(() => workspace);
    const found = async (request: Record<string, unknown>): Promise<string[]> =>
      ((await answerOf(search, { whole_word: true, ...request })).structured["matches"] as {
        filename: string;
        line: number;
      }[]).map(({ filename, line }) => `${filename}:${line}`);
    const everywhere = (line: number): string[] => ["latin1", "utf16", "utf8"].map((name) => `${name}:${line}`);
    assert.deepEqual(await found({ query: "Gr" }), everywhere(4));
    assert.deepEqual(await found({ query: "über" }), everywhere(3));
    assert.deepEqual(await found({ query: "ÜBER", ignore_case: true }), everywhere(3));
    assert.deepEqual(await found({ query: "[Gg]r|über$", regex: true }), everywhere(4));
    assert.deepEqual(await found({ query: "cafe" }), ["latin1:5"]);
    assert.deepEqual(await found({ query: "\\Qcafe", regex: true }), ["latin1:5"]);
    assert.deepEqual(await found({ query: "\\Qca\\Efe|\\QGr\\E", regex: true }), [
      ...["latin1:4", "latin1:5", "utf16:4", "utf8:4"],
    ]);
    assert.deepEqual(await found({ query: "hinaus$", regex: true }), everywhere(2));
  }));

Deno.test("the last names and counts keep to the limit and say so", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let n = 0; n < 30; n++) {
      Deno.writeTextFileSync(`${root}/f${n + 10}`, "hit\nhit\n");
    }
    const search = fileSearchTool(() => workspace);
    const linesOf = async (request: Record<string, unknown>): Promise<string[]> =>
      (await answerOf(search, request)).text.split("\n");
    const last = { last: true, limit: 2 };
    assert.deepEqual(await linesOf({ query: "hit", show: "files", ...last }), [
      "f38",
      "f39",
      "(the last 2 of 30 files; 30 searched)",
    ]);
    assert.deepEqual((await linesOf({ query: "hit", show: "count", ...last })).slice(0, 2), ["f38: 2", "f39: 2"]);
    assert.deepEqual(await linesOf({ pattern: "f*", ...last }), ["f38", "f39", "(the last 2 of 30 files found)"]);
  }));
