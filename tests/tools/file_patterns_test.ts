/** Name patterns, ranges and filters of listings and searches, and what they say where nothing is found. */
import assert from "node:assert/strict";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { parseToolInput } from "../../src/mcp/tool_call.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

function fill(root: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    Deno.mkdirSync(`${root}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(`${root}/${path}`, text);
  }
}

const tree = {
  "config/app.json": "needle\n",
  "config/tls/key.pem": "needle\n",
  "config/config/deep.json": "needle\n",
  "src/Main.java": "needle\n",
  "src/a.ts": "needle\n",
  "src/b.tsx": "needle\n",
};

Deno.test("patterns count from path and from the workspace, and those that fit nothing are named", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, tree);
    const [list, search] = [fileListTool(() => workspace), fileSearchTool(() => workspace)];
    const found = async (input: Record<string, unknown>): Promise<readonly string[]> => {
      const { structured } = await answerOf(search, { query: "needle", path: "config", show: "files", ...input });
      const names = (structured["matches"] as { readonly filename: string }[]).map(({ filename }) => filename);
      const { text } = await answerOf(list, { path: "config", depth: 9, ...input });
      for (const name of names) assert.ok(text.includes(name.split("/").at(-1) ?? ""), `${name} in ${text}`);
      return names;
    };
    const [app, deep, key] = ["config/app.json", "config/config/deep.json", "config/tls/key.pem"];
    assert.deepEqual(await found({ exclude: ["config/tls"] }), [app, deep]);
    assert.deepEqual(await found({ exclude: ["tls/*"] }), [app, deep]);
    assert.deepEqual(await found({ pattern: "config/tls/*" }), [key]);
    assert.deepEqual(await found({ pattern: "tls/*" }), [key]);
    assert.deepEqual(await found({ pattern: "config/*.json" }), [app, deep]);
    for (const [tool, input] of [[list, { depth: 9 }], [search, { query: "nothing" }]] as const) {
      const { text } = await answerOf(tool, { ...input, exclude: ["src/a.ts", "conf/tls", "dist"] });
      assert.match(text, /\n\(exclude fits nothing: conf\/tls, dist\)$/);
      assert.doesNotMatch((await answerOf(tool, { ...input, pattern: "*.ts", limit: 1 })).text, /fits nothing/);
    }
  }));

Deno.test("a pattern that fits nothing is named with the form that works", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, tree);
    const [list, search] = [fileListTool(() => workspace), fileSearchTool(() => workspace)];
    for (
      const [pattern, working] of [
        [".*\\.java$", "*.java"],
        ["^.*\\.(ts|tsx)$", "*.{ts,tsx}"],
        ["\\.java$", "*.java"],
        ["(java|pem)$", "*{java,pem}"],
        ["src/{a.ts,b.tsx", "src/{a.ts,b.tsx}"],
        ["src/", "src/**"],
        ["java", "*.java"],
        [".pem", "*.pem"],
        ["*.java,*.ts", "{*.java,*.ts}"],
        ["*.java, *.ts", "{*.java,*.ts}"],
        ["src\\*.ts", "src/*.ts"],
        ["SRC/*.TS", "src/*.ts"],
        ["*.JAVA", "*.java"],
        ["SRC/A.TS", "src/a.ts"],
        ["/.*\\.java$/", "*.java"],
        ["/\\.(ts|tsx)$/i", "*.{ts,tsx}"],
        ["^src/.*\\.ts$", "src/*.ts"],
        ["\\*.java", "*.java"],
        ["src\\/a.ts", "src/a.ts"],
        ["  *.java ", "*.java"],
        ["`src/*.java`", "src/*.java"],
        ["~/src/*.java", "src/*.java"],
        ["file:///src/*.java", "src/*.java"],
        ["@(a|b).*", "{a,b}.*"],
        ["*.@(java|pem)", "*.{java,pem}"],
        ["'*.java','*.ts'", "{*.java,*.ts}"],
        ["main.java", "src/Main.java"],
        ["*.(java|ts)", "*.{java,ts}"],
        ["@(a|b)*", "{a,b}*"],
        ["+(a).ts", "a.ts"],
        ["*.java|*.ts", "{*.java,*.ts}"],
        ["*.java;*.ts", "{*.java,*.ts}"],
        ["*.java *.ts", "{*.java,*.ts}"],
        ["%.java", "*.java"],
        ["tls/*", "**/tls/*"],
        ["tls", "**/tls/**"],
        ["Main", "*Main*"],
        ['"*.java"', "*.java"],
        ["'src/*.ts'", "src/*.ts"],
        ["{**/*.java}", "**/*.java"],
        ["../src/*.ts", "src/*.ts"],
        ["../../*.java", "*.java"],
        ["config/*.pem", "config/**/*.pem"],
      ] as const
    ) {
      for (const [tool, input] of [[search, { query: "needle" }], [search, {}], [list, {}]] as const) {
        if (tool === list && ["src/", "tls"].includes(pattern)) continue; // the directory
        const { text } = await answerOf(tool, { ...input, pattern });
        assert.ok(text.endsWith(`fits nothing; did you mean ${working}?)`), `${pattern}: ${text}`);
        const again = await answerOf(tool, { ...input, pattern: working });
        assert.doesNotMatch(again.text, /nothing|no entries/, working);
      }
    }
    for (
      const [pattern, exclude] of [
        ["!**/*.tsx", "**/*.tsx"],
        ["!(*.tsx)", "*.tsx"],
        ["!(a|b)*", "{a,b}*"],
        ["**/!(*.tsx)", "**/*.tsx"],
        ["src/*.!(tsx|ts)", "src/*.{tsx,ts}"],
      ]
    ) {
      const { text } = await answerOf(search, { query: "needle", pattern });
      assert.ok(text.endsWith(`did you mean exclude ${exclude}?)`), text);
      const again = await answerOf(search, { query: "needle", exclude: [exclude] });
      assert.doesNotMatch(again.text, /b\.tsx|fits nothing/);
    }
    for (const pattern of ["{*.ts,!b.*}", "*.ts,!a.ts", "{!a.ts,*.ts}"]) {
      const { text } = await answerOf(search, { query: "needle", pattern });
      assert.match(text, /\(! is no sign in a pattern: give exclude\)/, pattern);
    }
    for (
      const [pattern, said] of [
        ["**/none.rb", ""],
        ["none", ", nor does *.none"],
        ["*.rb,*.py", ", nor does {*.rb,*.py}"],
        [".*\\.rb$", ", nor does *.rb"],
        ["*.TS$", "; did you mean *.ts?"],
      ]
    ) {
      const { text } = await answerOf(search, { pattern });
      assert.ok(text.endsWith(`(pattern ${pattern} fits nothing${said})`), text);
    }
  }));

Deno.test("a pattern that ends with a slash is about directories alone", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, { ...tree, "src/tls": "a file\n" });
    const list = fileListTool(() => workspace);
    for (
      const [input, expected] of [
        [{ pattern: "*/" }, ["config/", "  config/", "  tls/", "src/"]],
        [{ pattern: "**/" }, ["config/", "  config/", "  tls/", "src/"]],
        [{ pattern: "*/", depth: 1 }, ["config/", "src/"]],
        [{ pattern: "tls/" }, ["config/tls/"]],
        [{ pattern: "tls" }, ["config/tls/", "src/tls"]],
      ] as const
    ) {
      assert.deepEqual((await answerOf(list, input)).text.split("\n"), expected, JSON.stringify(input));
    }
  }));

Deno.test("what was to be excluded and was not is named beside what was found, with the form that works", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, tree);
    const [list, search] = [fileListTool(() => workspace), fileSearchTool(() => workspace)];
    for (
      const [exclude, working] of [
        ["*.ts,*.tsx", "{*.ts,*.tsx}"],
        ["*.(ts|tsx)", "*.{ts,tsx}"],
        ["tls/*", "**/tls/*"],
        [".ts", "*.ts"],
      ] as const
    ) {
      const shows = [{ query: "needle" }, { query: "needle", show: "files" }, {
        query: "needle",
        show: "count",
      }] as const;
      const calls = [...shows.map((each) => [search, each] as const), [search, { pattern: "*" }] as const];
      for (const [tool, input] of [...calls, [list, { depth: 9 }] as const]) {
        const { text } = await answerOf(tool, { ...input, exclude: [exclude] });
        assert.ok(text.endsWith(`\n(exclude fits nothing: ${exclude}; did you mean ${working}?)`), text);
        assert.doesNotMatch((await answerOf(tool, { ...input, exclude: [working] })).text, /fits nothing/);
      }
    }
    const { text } = await answerOf(search, { query: "needle", exclude: ["*.ts"] });
    assert.doesNotMatch(text, /fits nothing/);
    const page = await answerOf(search, { query: "needle", exclude: ["*.none"], limit: 1 });
    assert.doesNotMatch(page.text, /fits nothing/, "not all was looked at");
  }));

Deno.test("what is hidden is left out at every depth where a caller says so, and a path that is itself hidden is not", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, { ".git2/a.ts": "needle\n", "src/.cache/a.ts": "needle\n", "src/a.ts": "needle\n", ".env": "needle\n" });
    const [list, search] = [fileListTool(() => workspace), fileSearchTool(() => workspace)];
    const ask = async (tool: Tool, args: Record<string, unknown>): Promise<string> => {
      const parsed = parseToolInput(createToolRegistry([tool]).get(tool.name) ?? assert.fail(), args);
      return parsed.ok ? (await answerOf(tool, parsed.value)).texts.join("\n") : assert.fail(parsed.error);
    };
    for (const hidden of [{ include_hidden: false }, { show_hidden: 0 }]) {
      for (
        const text of [await ask(list, { depth: 9, ...hidden }), await ask(search, { query: "needle", ...hidden })]
      ) {
        assert.match(text, /src/, text);
        assert.doesNotMatch(text, /env|cache|git2|exclude/, text);
      }
      assert.doesNotMatch(await ask(search, { query: "needle", path: "src", pattern: "a.ts", ...hidden }), /exclude/);
      for (const path of [".git2", "src/.cache"]) assert.match(await ask(list, { path, ...hidden }), /a\.ts/);
      for (const path of [".git2", ".env"]) {
        assert.match(await ask(search, { query: "needle", path, ...hidden }), /needle/);
      }
    }
  }));

Deno.test("a search that finds nothing says where it almost is, and that a file has the name", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, { "d/a.md": "one\nIt’s the “Plan” – Foo.bar\n", "d/notes.txt": "", "e/notes.txt": "" });
    const search = fileSearchTool(() => workspace);
    for (
      const input of [
        { query: "it's" },
        { query: 'the "plan"' },
        { query: "foo.bar" },
        { query: "Plan” -" },
        {
          query: "It's",
          ignore_case: true,
          path: "d/a.md",
        },
        { query: "Pla", whole_word: true },
        ...["foo.  bar", "it's\tthe", "foo-.bar", "'Foo.bar'", " Foo.bar ", "foo .bar"].map((
          query,
        ) => ({ query })),
        { query: "`Foo.bar`" },
        { query: "plan\u201d_-_foo" },
      ]
    ) {
      const { text } = await answerOf(search, input);
      assert.match(
        text,
        /\(but for case, blanks, quotes, dashes or longer words it is at d\/a\.md:2\)$/,
        JSON.stringify(input),
      );
    }
    fill(root, { "n.md": "one\u00a0word\u202fhere wait\u2026\n" });
    for (const query of ["one word here", "wait...", "here wait..."]) {
      assert.match((await answerOf(search, { query })).text, /\(but for case, .* it is at n\.md:1\)$/, query);
    }
    for (const input of [{ query: "fooxbar" }, { query: "FOO.+Bat", regex: true }]) {
      assert.doesNotMatch((await answerOf(search, input)).text, /but for/);
    }
    for (const input of [{ query: "FOO.+BAR" }, { query: "oo", whole_word: true }]) {
      assert.match(
        (await answerOf(search, { ...input, regex: true })).text,
        /\(but for case, .* it is at d\/a\.md:2\)$/,
      );
    }
    const { text } = await answerOf(search, { query: "notes.txt" });
    assert.match(text, /\n\(files of that name: d\/notes\.txt, e\/notes\.txt\)$/);
    const path = await answerOf(search, { query: "e/notes.txt" });
    assert.match(path.text, /\n\(files of that name: e\/notes\.txt\)$/);
    for (
      const [query, remedy] of [
        ["/bar/", /without slashes: query bar, regex: true/],
        ["fox OR hen", /give "a\|b" and regex: true/],
        ["fox AND hen", /all for lines with each/],
        ["*fox*", /\* is itself; leave it out/],
      ] as const
    ) {
      assert.match((await answerOf(search, { query })).text, remedy);
    }
    assert.doesNotMatch((await answerOf(search, { query: "one" })).text, /of that name|but for/);
  }));

Deno.test("lines must hold all of some texts and none of others, with a query or without", () =>
  withWorkspace(async ({ root, workspace }) => {
    const lines = ["ERROR timeout db", "ERROR declined", "INFO timeout", "", "Error DB timeout"];
    fill(root, { "a.log": `${lines.join("\n")}\n`, "b.log": `${"x".repeat(70_000)} ERROR timeout\n` });
    const search = fileSearchTool(() => workspace);
    const cases: readonly (readonly [Record<string, unknown>, readonly number[]])[] = [
      [{ query: "ERROR", all: ["timeout"] }, [1]],
      [{ all: ["timeout", "ERROR"] }, [1]],
      [{ all: ["db", "error"], ignore_case: true }, [1, 5]],
      [{ query: "ERROR", without: ["timeout"] }, [2]],
      [{ query: "^E", regex: true, all: ["timeout"], without: ["db"] }, [5]],
      [{ without: ["timeout", "ERROR"] }, [4]],
      [{ without: ["error", "info"], ignore_case: true }, [4]],
    ];
    for (const [input, expected] of cases) {
      const { structured } = await answerOf(search, { path: "a.log", ...input });
      const found = (structured["matches"] as { readonly line: number }[]).map(({ line }) => line);
      assert.deepEqual(found, expected, JSON.stringify(input));
    }
    const long = await answerOf(search, { query: "ERROR", all: ["timeout"], path: "b.log" });
    assert.match(long.text, /a match may be missed: 1 line: b\.log:1/);
    const counted = await answerOf(search, {
      query: "t\\w+",
      regex: true,
      without: ["INFO"],
      path: "a.log",
      show: "texts",
    });
    assert.match(counted.text, /^2: timeout\n/);
    assert.match((await failureOf(search, { all: [] })).message, /give query, pattern or both/);
  }));

Deno.test("a search for several texts that finds nothing says which of them is not there", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, { "a.txt": "red fox\nblue hen and red cow\n", "b.txt": "Green\n" });
    const search = fileSearchTool(() => workspace);
    for (
      const [input, said] of [
        [{ query: "red", all: ["zebra"] }, "found nowhere: zebra"],
        [{ query: "red", all: ["zebra", "green"] }, "found nowhere: zebra, green"],
        [{ query: "red", all: ["zebra", "green"], ignore_case: true }, "found nowhere: zebra"],
        [{ all: ["red", "yak"] }, "found nowhere: yak"],
        [{ query: "r.d", regex: true, all: ["yak"] }, "found nowhere: yak"],
        [{ all: ["fox", "hen"] }, "each of these texts is there, but no line has them all"],
        [{ query: "red", without: ["fox", "hen"] }, "but for without it is at a.txt:1"],
        [{ query: "^red", regex: true, without: ["fox"] }, "but for without it is at a.txt:1"],
        [{ all: ["red", "cow"], without: ["hen"] }, "but for without it is at a.txt:2"],
        [{ query: "red hen" }, "its words are apart at a.txt:2: give them in all, as a list"],
        [{ query: "fox Green" }, "each of its words is there, but no line has them all"],
        [{ query: "red elk" }, "found nowhere: elk"],
      ] as const
    ) {
      const { text } = await answerOf(search, input);
      assert.ok(text.endsWith(`\n(${said})`), `${JSON.stringify(input)}: ${text}`);
    }
    assert.match((await answerOf(search, { all: ["red", "hen"] })).text, /^a\.txt\n2: /);
    for (const input of [{ query: "elk" }, { query: "e[l]k", regex: true }, { without: ["e", "o"] }]) {
      assert.doesNotMatch((await answerOf(search, input)).text, /nowhere|each of|but for/);
    }
  }));

Deno.test("a search of some lines of a file takes the range as file_read does", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, { "a.txt": Array.from({ length: 100 }, (_, n) => `line ${n + 1}\n`).join(""), "bb:3": "line\n" });
    const search = fileSearchTool(() => workspace);
    const found = async (path: string, more = {}): Promise<readonly number[]> => {
      const { structured } = await answerOf(search, { query: "line", path, ...more });
      assert.equal(structured["next_cursor"], undefined);
      return (structured["matches"] as { readonly line: number }[]).map(({ line }) => line);
    };
    assert.deepEqual(await found("a.txt:10-12"), [10, 11, 12]);
    assert.deepEqual(await found("a.txt:99-"), [99, 100]);
    assert.deepEqual(await found("a.txt:7"), [7]);
    assert.deepEqual(await found("a.txt:10-50", { last: true, limit: 2 }), [49, 50]);
    assert.deepEqual(await found("bb:3"), [1], "a file may be called so");
    assert.match((await answerOf(search, { query: "line", path: "a.txt:10-19", show: "count" })).text, /^a\.txt: 10\n/);
    const first = await answerOf(search, { query: "line", path: "a.txt:10-14", limit: 3 });
    const cursor = first.structured["next_cursor"];
    const { structured } = await answerOf(search, { query: "line", path: "a.txt:10-14", limit: 3, cursor });
    assert.deepEqual((structured["matches"] as { line: number }[]).map(({ line }) => line), [13, 14]);
    assert.equal((await failureOf(search, { query: "line", path: "none.txt:1-2" })).code, "not_found");
  }));

Deno.test("a search of lines behind a file's end says how many lines there are, and others do not", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, {
      "two.txt": "line\nline",
      "one.txt": "line\n",
      "none.txt": "",
      "blank.txt": "\n\n\n",
      "nul.txt": "a\0\nb\n",
    });
    Deno.writeFileSync(
      `${root}/wide.txt`,
      new Uint8Array([0xff, 0xfe, ...[..."a\nb\nc\n"].flatMap((each) => [each.charCodeAt(0), 0])]),
    );
    Deno.writeTextFileSync(`${root}/long.txt`, `${"x".repeat(300_000)}\n`.repeat(3));
    const search = fileSearchTool(() => workspace);
    const ask = async (input: Record<string, unknown>): Promise<string> => (await answerOf(search, input)).text;
    const there = {
      two: "2 lines",
      one: "1 line",
      none: "0 lines",
      blank: "3 lines",
      nul: "2 lines",
      wide: "3 lines",
      long: "3 lines",
    };
    for (const [name, lines] of Object.entries(there)) {
      for (const range of ["500-600", "4-", "9"]) {
        for (
          const more of [{ query: "line" }, { query: "l.ne", regex: true, show: "files" }, { all: ["a", "b"] }, {
            without: ["q"],
            last: true,
          }]
        ) {
          const words = await ask({ path: `${name}.txt:${range}`, ...more });
          assert.ok(words.endsWith(`\n(${name}.txt has ${lines})`), `${JSON.stringify(more)} ${words}`);
        }
      }
      for (const range of [":1-600", ""]) {
        assert.doesNotMatch(await ask({ path: `${name}.txt${range}`, query: "none" }), /has \d/);
      }
    }
    assert.doesNotMatch(await ask({ path: "two.txt:2", query: "none" }), /has \d/);
    assert.doesNotMatch(await ask({ path: "two.txt:5", query: "line", pattern: "*.md" }), /has \d/);
    Deno.writeFileSync(`${root}/binary`, Uint8Array.from({ length: 5_000 }, (_, at) => at * 37));
    assert.doesNotMatch(await ask({ path: "binary:5000", query: "line" }), /has \d/);
  }));

Deno.test("file_list lists one file, and sizes to the byte where they are asked for", () =>
  withWorkspace(async ({ root, workspace }) => {
    fill(root, { "d/a.txt": "x".repeat(12_345), "d/b.txt": "x\ny\n" });
    const list = fileListTool(() => workspace, { clock: () => Date.parse("2030-01-01T00:00Z") });
    Deno.utimeSync(`${root}/d/a.txt`, new Date("2026-11-01"), new Date("2026-11-01"));
    const text = async (input: Record<string, unknown>): Promise<string> => (await answerOf(list, input)).text;
    assert.equal(await text({ path: "d/a.txt", show: "details" }), "a.txt 12.3K 2026-11-01".replace("12.3K", "12K"));
    assert.equal(await text({ path: "d/a.txt", show: "bytes" }), "a.txt 12345 2026-11-01");
    assert.match(await text({ path: "d", sort: "size", show: "bytes" }), /^a\.txt 12345 .*\nb\.txt 4 .*$/);
    assert.match(await text({ path: "d/b.txt", show: "summary" }), /1 file.*2 lines/);
    assert.equal(await text({ path: "d/a.txt", pattern: "*.txt" }), "d/a.txt");
    assert.equal(await text({ path: "d/a.txt", pattern: "*.md" }), "(no entries)\n(pattern *.md fits nothing)");
    assert.equal(await text({ path: "d/a.txt", exclude: ["a.*"] }), "(no entries)");
    assert.equal((await failureOf(list, { path: "d/a.txt/x" })).code, "not_a_directory");
  }));

Deno.test("copies of the tree that coding agents make are passed over, as ignored directories are", () =>
  withWorkspace(async ({ root, workspace }) => {
    const paths = ["src/a.ts", ".worktrees/x/src/a.ts", ".claude/worktrees/y/src/a.ts", "docs/worktrees/a.ts"];
    fill(root, Object.fromEntries(paths.map((path) => [path, "needle\n"])));
    const { text, structured } = await answerOf(fileSearchTool(() => workspace), { query: "needle" });
    assert.equal(structured["hits"], 2);
    assert.match(text, /2 ignored entries skipped: \.claude\/worktrees\/, \.worktrees\/; set include_ignored/);
    const all = await answerOf(fileSearchTool(() => workspace), { query: "needle", include_ignored: true });
    assert.equal(all.structured["hits"], 4);
    assert.equal(
      (await answerOf(fileSearchTool(() => workspace), { query: "needle", path: ".worktrees/x" })).structured["hits"],
      1,
    );
  }));

Deno.test("of the binary files that a search passed over those are named first that matter", () =>
  withWorkspace(async ({ root, workspace }) => {
    const paths = [".git/a", ".git/b", ".git/c", ".git/d", "node_modules/e", "src/f.dat"];
    fill(root, Object.fromEntries(paths.map((path) => [path, "\0"])));
    const { text } = await answerOf(fileSearchTool(() => workspace), { query: "x", include_ignored: true });
    assert.match(text, /6 binary: src\/f\.dat, \.git\/b, \.git\/c, \.\.\./);
  }));
