import assert from "node:assert/strict";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_search finds lines by text and by expression, with context, and files by name", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    Deno.mkdirSync(`${root}/d`);
    Deno.writeTextFileSync(`${root}/d/a.txt`, "zero\none fox\ntwo Fox\nthree\n");
    Deno.writeTextFileSync(`${root}/b.md`, "fox.fox\r\nno\r\n");
    Deno.writeFileSync(`${root}/c.bin`, Uint8Array.of(0, 0x66, 0x6f, 0x78));
    Deno.symlinkSync("../outside", `${root}/l`);
    const linesOf = async (request: Record<string, unknown>) => (await answerOf(search, request)).text.split("\n");
    const passed = "skipped: 1 binary: c.bin";
    assert.deepEqual(await linesOf({ query: "fox" }), [
      "b.md",
      "1: fox.fox",
      "d/a.txt",
      "2: one fox",
      `(2 lines, 3 matches in 2 files; 3 searched; ${passed})`,
    ]);
    const below = ["d/a.txt", "2: one fox", "(1 line in 1 file; 1 searched)"];
    assert.deepEqual(await linesOf({ query: "fox", path: "d" }), below);
    assert.deepEqual(await linesOf({ query: "fox", path: "d/a.txt" }), below);
    assert.deepEqual((await linesOf({ query: "FOX", ignore_case: true, pattern: "*.txt" })).slice(0, -1), [
      "d/a.txt",
      "2: one fox",
      "3: two Fox",
    ]);
    // the files with CRLF, and their lines without it
    assert.deepEqual((await linesOf({ query: "\\r$", regex: true, show: "count" }))[0], "b.md: 2");
    assert.deepEqual((await linesOf({ query: "\r", show: "files" }))[0], "b.md");
    assert.deepEqual((await linesOf({ query: "fox$", regex: true })).slice(0, 2), ["b.md", "1: fox.fox"]);
    assert.deepEqual((await linesOf({ query: "^t\\w+$", regex: true })).slice(0, -1), ["d/a.txt", "4: three"]);
    assert.deepEqual((await linesOf({ query: "x.f", regex: false })).slice(0, -1), ["b.md", "1: fox.fox"]);
    assert.deepEqual(await linesOf({ query: "TOPSECRET" }), [
      "(nothing found)",
      `(0 lines in 0 files; 3 searched; ${passed})`,
    ]);
    assert.deepEqual(await linesOf({ pattern: "*.{md,bin}" }), ["b.md", "c.bin", "(2 files found)"]);
    // other tools call the text that they search for a pattern
    assert.deepEqual(await linesOf({ pattern: "zero" }), [
      "(nothing found)",
      "(0 files found; pattern is for names, query for text)",
      "(pattern zero fits nothing, nor does *.zero)",
    ]);
    assert.deepEqual((await linesOf({ query: "o", context: 1, path: "d" })).slice(0, -1), [
      "d/a.txt",
      "1: zero",
      "2: one fox",
      "3: two Fox",
      "4- three",
    ]);
    const { structured } = await answerOf(search, { query: "one", context: 1 });
    assert.deepEqual(structured["matches"], [
      { filename: "d/a.txt", line: 2, text: "one fox", before: ["zero"], after: ["two Fox"] },
    ]);
    assert.deepEqual([structured["files_searched"], structured["files_passed_over"]], [3, 1]);
  }));

Deno.test("file_search gives pages that join to the whole, also within a file and across reads", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    const expected: string[] = [];
    for (const name of ["a", "b", "c"]) {
      Deno.writeTextFileSync(
        `${root}/${name}`,
        Array.from({ length: 30 }, (_, n) => `${n % 3 === 0 ? "hit" : "miss"} ${n}\n`).join(""),
      );
      for (let n = 0; n < 30; n += 3) expected.push(`${name}:${n + 1}`);
    }
    for (const limit of [1, 4, 10, 11, 29, 30, 100]) {
      const seen: string[] = [];
      let cursor: unknown;
      do {
        const { structured } = await answerOf(search, {
          query: "hit",
          limit,
          ...cursor === undefined ? {} : { cursor },
        });
        const matches = structured["matches"] as { readonly filename: string; readonly line: number }[];
        assert.ok(matches.length <= limit);
        seen.push(...matches.map(({ filename, line }) => `${filename}:${line}`));
        cursor = structured["next_cursor"];
      } while (cursor !== undefined);
      assert.deepEqual(seen, expected, `limit ${limit}`);
    }
  }, { limits: { maxReadBytes: 64 } }));

Deno.test("file_search stops at its time and at maxTreeEntries, and goes on from there", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let n = 0; n < 200; n++) Deno.writeTextFileSync(`${root}/f${String(n).padStart(3, "0")}`, "hit\n");
    let now = 0;
    for (
      const options of [
        { clock: () => now += 2, maxSearchMilliseconds: 1 },
        { clock: () => now += 2, toolMilliseconds: 1 },
        {},
      ]
    ) {
      const search = fileSearchTool(() => workspace, options);
      const seen: string[] = [];
      let calls = 0;
      let cursor: unknown;
      do {
        const { structured } = await answerOf(search, {
          query: "hit",
          limit: 1000,
          ...cursor === undefined ? {} : { cursor },
        });
        seen.push(...(structured["matches"] as { readonly filename: string }[]).map(({ filename }) => filename));
        cursor = structured["next_cursor"];
        calls++;
      } while (cursor !== undefined);
      assert.ok(calls > 1);
      assert.equal(seen.length, 200);
      assert.equal(new Set(seen).size, 200);
    }
  }, { limits: { maxTreeEntries: 90 } }));

Deno.test("file_search takes expressions that make backtracking engines hang", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a`, `${"a".repeat(50_000)}\n${"x".repeat(50_000)}\n`);
    // An engine that backtracks would need longer than anybody waits: 2^50,000 steps, or 50,000^3.
    for (const query of ["(a+)+$b", "(x+x+)+y", "(a|aa)+c", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*(.*)*z"]) {
      assert.match((await answerOf(search, { query, regex: true })).text, /^\(nothing found\)\n/);
    }
  }));

Deno.test("whole_word holds for each text of all and without, and an expression among these is told", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "cat dogma\ncat dog\nDog cat.\nbobcat dog\nfoo only\ncat only\n");
    const search = fileSearchTool(() => workspace);
    const found = async (request: Record<string, unknown>) =>
      ((await answerOf(search, request)).structured["matches"] as { line: number }[]).map(({ line }) => line);
    const words = { whole_word: true };
    for (const all of [["cat", "dog"], ["dog", "cat"]]) {
      assert.deepEqual(await found({ all, ...words }), [2]);
      assert.deepEqual(await found({ all, ...words, ignore_case: true }), [2, 3]);
      assert.deepEqual(await found({ all }), [1, 2, 4]);
    }
    assert.deepEqual(await found({ query: "cat", without: ["dogm"], ...words }), [1, 2, 3, 6]);
    assert.deepEqual(await found({ query: "cat", without: ["dogma"], ...words }), [2, 3, 6]);
    const expressions = { query: "only|dogma", regex: true, without: ["cat|foo"] };
    assert.deepEqual(await found(expressions), [1, 5, 6]);
    const told = /all and without hold plain texts, such as cat\|foo/;
    assert.match((await answerOf(search, expressions)).texts.join(""), told);
    assert.doesNotMatch((await answerOf(search, { ...expressions, without: ["cat"] })).texts.join(""), told);
    const said = async (input: Record<string, unknown>): Promise<string | undefined> =>
      /hold plain texts, such as (.*)\)/.exec((await answerOf(search, input)).texts.join("\n"))?.[1];
    // each of them, whether lines are found or not, and with regex or without
    assert.equal(await said({ query: "c.t", regex: true, without: ["q|x", "dog", "z.*"] }), "q|x, z.*");
    assert.equal(await said({ query: "c.t", regex: true, all: ["cat|dog"], without: ["x+?", "q|x"] }), "cat|dog, q|x");
    assert.equal(await said({ all: ["cat.*", "d[a-z]g"] }), "cat.*, d[a-z]g");
    assert.equal(await said({ query: "cat", all: ["^dog"] }), "^dog");
    assert.equal(await said({ query: "cat", without: ["dog$"] }), "dog$");
    assert.equal(await said({ all: ["a|b", "c|d", "e|f", "g|h"] }), "a|b, c|d, e|f");
    Deno.writeTextFileSync(`${root}/b`, "if (one|two)\n");
    assert.equal(await said({ all: ["one|two"] }), undefined, "a line holds it");
    assert.equal(await said({ all: ["one|three"] }), "one|three");
    for (const input of [{ all: ["cat", "elk"] }, { query: "elk", without: ["dog"] }, { query: "a|elk" }]) {
      assert.equal(await said(input), undefined);
    }
  }));

Deno.test("pattern and exclude hold for a single file too, and ignore_case for a pattern alone", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.mkdirSync(`${root}/src`);
    for (const name of ["a.md", "B.MD", "src/c.py"]) Deno.writeTextFileSync(`${root}/${name}`, "needle\n");
    const search = fileSearchTool(() => workspace);
    const found = async (request: Record<string, unknown>) =>
      ((await answerOf(search, request)).structured["matches"] as { filename: string }[]).map((each) => each.filename);
    const one = { query: "needle", path: "src/c.py" };
    for (const fits of [{ pattern: "*.py" }, { pattern: "src/*" }, { exclude: ["*.ts"] }]) {
      assert.deepEqual(await found({ ...one, ...fits }), ["src/c.py"], JSON.stringify(fits));
    }
    for (const fitsNot of [{ pattern: "*.ts" }, { pattern: "lib/*" }, { exclude: ["*.py"] }]) {
      assert.deepEqual(await found({ ...one, ...fitsNot }), [], JSON.stringify(fitsNot));
    }
    assert.match((await answerOf(search, { ...one, pattern: "*.ts" })).texts.join(""), /pattern \*\.ts fits nothing/);
    assert.deepEqual((await found({ pattern: "*.md", ignore_case: true })).sort(), ["B.MD", "a.md"]);
    assert.deepEqual(await found({ pattern: "b.Md", ignore_case: true }), ["B.MD"]);
    assert.deepEqual(await found({ pattern: "*.md" }), ["a.md"]);
  }));

Deno.test("file_search refuses what it cannot search for", () =>
  withWorkspace(async ({ workspace }) => {
    const search = fileSearchTool(() => workspace);
    const refusal = async (request: unknown): Promise<string> => (await failureOf(search, request)).message;
    assert.equal(await refusal({}), "Failed to search: give query, pattern or both");
    assert.match(
      await refusal({ cursor: "W10" }),
      /query, pattern or both; a cursor goes with the arguments of the call that gave it$/,
    );
    assert.equal(await refusal({ query: "" }), "Failed to search: query is empty");
    assert.equal(
      await refusal({ query: "a\nb" }),
      "Failed to search: query holds a line end; search for one of its lines, with context for those around it",
    );
    assert.match(await refusal({ query: "(?=a)", regex: true }), /no regular expression in RE2 syntax/);
    assert.match(await refusal({ query: "\\1", regex: true }), /no regular expression in RE2 syntax/);
    assert.match(await refusal({ query: "a", pattern: "" }), /a pattern is empty/);
    assert.equal(await refusal({ query: "a", path: "../" }), "Invalid path - path traversal not allowed");
    assert.equal(await refusal({ query: "a", path: "none" }), "Failed to search: no such file or directory (none)");
    assert.match(await refusal({ query: "a", cursor: btoa("[null]") }), /cursor/);
  }));

Deno.test("file_search hands a search that takes long out as a task, once, and a quick one not at all", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let n = 0; n < 50; n++) Deno.writeTextFileSync(`${root}/${n}`, "hit\n");
    for (const [stepMilliseconds, expected] of [[0, 0], [600, 1]] as const) {
      let now = 0;
      let handedOut = 0;
      const search = fileSearchTool(() => workspace, { clock: () => now += stepMilliseconds });
      const context = {
        ...quietCaller,
        principal: principalOf("owner"),
        signal: new AbortController().signal,
        progress: () => {},
        handOut: () => Promise.resolve(void handedOut++),
      };
      const outcome = await search.run(search.input.parse({ query: "hit" }) as never, context);
      assert.ok(outcome.ok);
      assert.equal(handedOut, expected);
    }
  }));

Deno.test("file_search ends with the turn in which its caller goes away", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let n = 0; n < 2_000; n++) Deno.writeTextFileSync(`${root}/${n}`, "abc\n");
    const caller = new AbortController();
    let afterwards = 0;
    const counting = {
      ...workspace,
      readInto(...request: Parameters<typeof workspace.readInto>) {
        if (caller.signal.aborted) afterwards++;
        return workspace.readInto(...request);
      },
    };
    const search = fileSearchTool(() => counting);
    const context = { ...quietCaller, principal: principalOf("owner"), signal: caller.signal, progress: () => {} };
    setTimeout(() => caller.abort(), 0);
    const outcome = await search.run(search.input.parse({ query: "needle" }) as never, context);
    assert.ok(outcome.ok && caller.signal.aborted);
    assert.ok(outcome.structuredContent?.["next_cursor"] !== undefined);
    assert.ok(afterwards <= 1, `${afterwards} further reads`);
  }));

Deno.test("file_search tells of another case where a query finds nothing, and reads files again only for that", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let n = 0; n < 50; n++) Deno.writeTextFileSync(`${root}/${n}`, "abc\n");
    let reads = 0;
    const counting = {
      ...workspace,
      readInto(...request: Parameters<typeof workspace.readInto>) {
        reads++;
        return workspace.readInto(...request);
      },
    };
    const search = fileSearchTool(() => counting);
    const rows: readonly (readonly [string, number, RegExp])[] = [
      ["needle", 50, /nothing found/],
      ["ABC", 51, /but for case, .* it is at \d+:1/],
      ["n-dle", 100, /nothing found/],
      ["É", 100, /nothing found/],
    ];
    for (const [query, times, words] of rows) {
      reads = 0;
      const { text } = await answerOf(search, { query });
      assert.match(text, words, query);
      assert.equal(reads, times, query);
    }
  }));

Deno.test("file_search shows names or counts instead of lines, and the last hits", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    for (const [index, name] of ["a", "b", "c"].entries()) {
      Deno.writeTextFileSync(`${root}/${name}`, `hit 1 ${name}\nmiss\n`.repeat(3 - index) + `hit last ${name}\n`);
      Deno.utimeSync(`${root}/${name}`, 0, Date.UTC(2026, 10, 1 + index) / 1000);
    }
    const linesOf = async (request: Record<string, unknown>) =>
      (await answerOf(search, { query: "hit", ...request })).text.split("\n");
    assert.deepEqual(await linesOf({ show: "files" }), ["a", "b", "c", "(3 files; 3 searched)"]);
    assert.deepEqual(await linesOf({ show: "count" }), ["a: 4", "b: 3", "c: 2", "(9 lines in 3 files; 3 searched)"]);
    assert.deepEqual(await linesOf({ last: true, limit: 3 }), [
      "b",
      "5: hit last b",
      "c",
      "1: hit 1 c",
      "3: hit last c",
      "(the last 3 of 9 lines in 3 files; 3 searched)",
    ]);
    assert.deepEqual((await answerOf(search, { query: "hit", show: "count" })).structured["matches"], [
      { filename: "a", count: 4, lines: 4 },
      { filename: "b", count: 3, lines: 3 },
      { filename: "c", count: 2, lines: 2 },
    ]);
  }));

Deno.test("the last hits of a large file are kept within one page, and the others counted", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    Deno.writeTextFileSync(
      `${root}/log`,
      Array.from({ length: 20_000 }, (_, n) => `error ${n} ${"x".repeat(90)}\n`).join(""),
    );
    Deno.writeTextFileSync(`${root}/${"n".repeat(200)}`, "error\n");
    const { text, structured } = await answerOf(search, { query: "error", last: true, limit: 1000 });
    assert.ok(text.length < 45_000);
    const matches = structured["matches"] as { readonly line: number }[];
    assert.ok(matches.length > 300);
    assert.equal(structured["hits"], 20_001);
  }));

Deno.test("file_search finds whole words, leaves out what it is told to, and passes over what is ignored", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    for (const directory of ["node_modules/x", "src/gen", ".git"]) {
      Deno.mkdirSync(`${root}/${directory}`, { recursive: true });
    }
    const files: Record<string, string> = {
      "a.ts": "total totals\nsubtotal\ntotal.x()\n",
      "src/gen/b.ts": "total\n",
      "src/c.test.ts": "total\n",
      "node_modules/x/d.js": "total\n",
      ".git/config": "total\n",
      "e.log": "total\n",
      ".gitignore": "*.log\n",
    };
    for (const [name, text] of Object.entries(files)) Deno.writeTextFileSync(`${root}/${name}`, text);
    const found = async (request: Record<string, unknown>) =>
      ((await answerOf(search, { query: "total", ...request })).structured["matches"] as {
        filename: string;
        line: number;
      }[])
        .map(({ filename, line }) => `${filename}:${line}`);
    assert.deepEqual(await found({ whole_word: true }), ["a.ts:1", "a.ts:3", "src/c.test.ts:1", "src/gen/b.ts:1"]);
    assert.deepEqual(await found({ whole_word: true, query: "total.x()" }), ["a.ts:3"]);
    assert.deepEqual(await found({ whole_word: true, query: "totals?", regex: true, path: "a.ts" }), [
      "a.ts:1",
      "a.ts:3",
    ]);
    assert.deepEqual(await found({ exclude: ["gen", "*.test.ts"] }), ["a.ts:1", "a.ts:2", "a.ts:3"]);
    const { text, structured } = await answerOf(search, { query: "nothing" });
    assert.match(
      text,
      /\n\(3 ignored entries skipped: \.git\/, node_modules\/, [^,]+; set include_ignored to see them\)$/,
    );
    assert.equal((structured["skipped"] as { count: number }).count, 3);
    // it may be in a file that is ignored by itself, behind many directories
    for (const name of ["v", "w", "x", "y", "z"]) Deno.mkdirSync(`${root}/${name}`);
    Deno.writeTextFileSync(`${root}/.gitignore`, "v/\nw/\nx/\ny/\nz/\n.env\n");
    Deno.writeTextFileSync(`${root}/.env`, "SECRET=1\n");
    assert.match(
      (await answerOf(search, { query: "SECRET" })).text,
      /skipped: [^)]*, \.env[^)]*; set include_ignored/,
    );
    assert.equal((await found({ include_ignored: true, show: "files" })).length, 6);
    assert.deepEqual(await found({ path: "node_modules" }), ["node_modules/x/d.js:1"]);
  }));

Deno.test("the rules of a .gitignore hold where it comes late in the listing of its directory", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.mkdirSync(`${root}/d`);
    for (const name of ["!", "#", "%", "a.log"]) Deno.writeTextFileSync(`${root}/d/${name}`, "total");
    Deno.writeTextFileSync(`${root}/d/.gitignore`, "*.log\n!.gitignore\n");
    for (const name of ["e.log", "f"]) Deno.writeTextFileSync(`${root}/${name}`, "total");
    const search = fileSearchTool(() => workspace);
    const found = (await answerOf(search, { query: "total", show: "files" })).text.split("\n").filter((line) =>
      !line.startsWith("(")
    );
    assert.deepEqual(found, ["d/!", "d/#", "d/%", "e.log", "f"]);
  }, { limits: { maxListEntries: 2 } }));

Deno.test("file_search names the files that it could not search, and why", () =>
  withWorkspace(async ({ root, outside, workspace }) => {
    const search = fileSearchTool(() => workspace);
    Deno.writeTextFileSync(`${outside}/a`, "x");
    for (const name of ["a", "b"]) Deno.linkSync(`${outside}/a`, `${root}/${name}`);
    Deno.writeFileSync(`${root}/c`, Uint8Array.of(0));
    Deno.writeTextFileSync(`${root}/large`, "x".repeat(200));
    const { text, structured } = await answerOf(search, { query: "x" });
    assert.equal(
      text,
      "(nothing found)\n(0 lines in 0 files; 4 searched; skipped: 2 with names outside (hard links): a, b; " +
        "1 binary: c; 1 too large: large)",
    );
    assert.deepEqual(structured["passed_over"], [
      { reason: "hard_link", count: 2, filenames: ["a", "b"] },
      { reason: "binary", count: 1, filenames: ["c"] },
      { reason: "too_large", count: 1, filenames: ["large"] },
    ]);
  }, { limits: { maxFileBytes: 100 } }));
