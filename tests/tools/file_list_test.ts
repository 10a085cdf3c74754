import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { parseToolInput } from "../../src/mcp/tool_call.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_list gives trees, patterns, details, and pages that join without gap or overlap", () =>
  withWorkspace(async ({ root, workspace }) => {
    const list = fileListTool(() => workspace);
    for (const directory of ["a", "a/b", "a/b/c", "d"]) Deno.mkdirSync(`${root}/${directory}`);
    for (const file of ["a/1.txt", "a/b/2.txt", "a/b/c/3.md", "d/4.txt", "5.txt", "a.txt"]) {
      Deno.writeTextFileSync(`${root}/${file}`, file);
    }
    Deno.symlinkSync("a", `${root}/l`);
    const names = async (options: Record<string, unknown>): Promise<unknown> =>
      (await answerOf(list, options)).text.split("\n");
    const whole = [
      "5.txt",
      "a/",
      "  1.txt",
      "  b/",
      "    2.txt",
      "    c/",
      "      3.md",
      "a.txt",
      "d/",
      "  4.txt",
      "l (link)",
    ];
    const paths = ["5.txt", "a", "a/1.txt", "a/b", "a/b/2.txt", "a/b/c", "a/b/c/3.md", "a.txt", "d", "d/4.txt", "l"];
    assert.deepEqual(await names({ depth: 64 }), whole);
    assert.deepEqual(await names({ depth: 2 }), whole.filter((name) => !name.startsWith("    ")));
    // what a pattern finds are paths, which the next call takes
    assert.deepEqual(await names({ pattern: "*.txt" }), ["5.txt", "a/1.txt", "a/b/2.txt", "a.txt", "d/4.txt"]);
    assert.deepEqual(await names({ path: "a", pattern: "*.txt" }), ["a/1.txt", "a/b/2.txt"]);
    assert.deepEqual(await names({ pattern: "a/**/*.{md,txt}" }), ["a/1.txt", "a/b/2.txt", "a/b/c/3.md"]);
    assert.deepEqual(await names({ path: "a", pattern: "b/*" }), ["a/b/2.txt", "a/b/c/"]);
    assert.deepEqual(await names({ pattern: "*.txt", exclude: ["a", "5*"] }), ["a.txt", "d/4.txt"]);
    assert.deepEqual(await names({ path: "l" }), ["1.txt", "b/"]);
    for (let limit = 1; limit < 12; limit++) {
      const seen: unknown[] = [];
      let cursor: unknown;
      do {
        const { structured } = await answerOf(list, { depth: 64, limit, ...cursor === undefined ? {} : { cursor } });
        const entries = structured["entries"] as { readonly name: string }[];
        assert.ok(entries.length <= limit);
        seen.push(...entries.map(({ name }) => name));
        cursor = structured["next_cursor"];
      } while (cursor !== undefined);
      assert.deepEqual(seen, paths);
    }
    const [file] = (await answerOf(list, { pattern: "5.txt", show: "details" })).structured["entries"] as Record<
      string,
      unknown
    >[];
    assert.equal(file?.["size_bytes"], 5);
    assert.match(String(file?.["modified_at"]), /^\d{4}-\d\d-\d\dT/);
    assert.equal((await failureOf(list, { pattern: "" })).code, "invalid_arguments");
    assert.equal((await failureOf(list, { cursor: "bm8" })).code, "invalid_arguments");
    const climbing = btoa(JSON.stringify([true, ".."])).replaceAll("=", "");
    assert.equal((await failureOf(list, { cursor: climbing, depth: 2 })).code, "invalid_arguments");
  }));

Deno.test("file_list gives as many entries as asked for, up to maxListEntries, and a cursor for the rest", () =>
  withWorkspace(async ({ root, workspace }) => {
    const list = fileListTool(() => workspace);
    for (let n = 0; n < 30; n++) Deno.writeTextFileSync(`${root}/${n}`, "");
    const lengthOf = async (options: Record<string, unknown>): Promise<number> => {
      const { structured } = await answerOf(list, options);
      assert.ok("next_cursor" in structured);
      return (structured["entries"] as unknown[]).length;
    };
    assert.equal(await lengthOf({}), 20);
    assert.equal(await lengthOf({ limit: 10_000 }), 20);
    assert.equal(await lengthOf({ limit: 7 }), 7);
  }, { limits: { maxListEntries: 20 } }));

Deno.test("file_list sorts by size and time, and filters by time", () =>
  withWorkspace(async ({ root, workspace }) => {
    const list = fileListTool(() => workspace);
    Deno.mkdirSync(`${root}/d`);
    for (const [index, name] of ["a", "d/b", "d/c", "e"].entries()) {
      Deno.writeTextFileSync(`${root}/${name}`, "x".repeat([1_234, 10, 98_765_4, 340][index] ?? 0));
      Deno.utimeSync(`${root}/${name}`, 0, Date.UTC(2026, 10, 1 + index) / 1000);
    }
    Deno.utimeSync(`${root}/d`, 0, 0);
    const largest = await answerOf(list, { sort: "size", limit: 3 });
    assert.deepEqual(largest.text.split("\n"), [
      "d/c 988K 2026-11-03",
      "a 1.2K 2026-11-01",
      "e 340 2026-11-04",
      "(the first 3 of 4)",
    ]);
    assert.deepEqual([largest.structured["total"], (largest.structured["entries"] as unknown[]).length], [4, 3]);
    const newest = await answerOf(list, { sort: "modified", limit: 2 });
    assert.deepEqual(newest.text.split("\n").map((line) => line.split(" ")[0]), ["e", "d/c", "(the"]);
    const since = await answerOf(list, { modified_after: "2026-11-02T12:00Z" });
    assert.deepEqual(since.text.split("\n"), ["d/", "  c 988K 2026-11-03", "e 340 2026-11-04"]);
    const soon = fileListTool(() => workspace, { clock: () => Date.parse("2026-11-08T12:00Z") });
    const tree = await answerOf(soon, { path: ".", depth: 2, show: "details", pattern: "{a,d,**/c}" });
    assert.deepEqual(tree.text.split("\n"), ["a 1.2K 2026-11-01", "d/", "d/c 988K 2026-11-03T00:00"]);
    const exactly = await answerOf(list, { modified_after: "2026-11-03T00:00Z" });
    assert.deepEqual(exactly.text, since.text);
    for (const date of ["yesterday", "01/02/2026", "7d", "1.2.2026", "-7", "last 7", "now-1", "since 2", "week 3"]) {
      assert.equal((await failureOf(list, { modified_after: date })).code, "invalid_arguments", date);
    }
  }));

Deno.test("modified_after takes a time as a listing shows it, in UTC unless it names a zone, wherever the server is", () =>
  withWorkspace(async ({ root }) => {
    for (const time of ["2026-11-27T23:59", "2026-11-28T00:00", "2026-11-28T15:04", "2026-11-28T15:05"]) {
      Deno.writeTextFileSync(`${root}/${time.slice(8).replaceAll(/\D/g, "")}`, "");
      Deno.utimeSync(`${root}/${time.slice(8).replaceAll(/\D/g, "")}`, 0, Date.parse(`${time}Z`) / 1000);
    }
    const moment = "2026-11-28T15:05";
    const sameMoment = [
      ...[moment, `${moment}:00`, `${moment}:00.000`, `${moment}Z`, `${moment}z`, moment.replace("T", " ")],
      ...["2026-11-28T16:05+01:00", "2026-11-28T16:05+0100", "2026-11-28 10:05 -0500", "2026-11-28 10:05 EST"],
      ...["Nov 28 2026 15:05", "Nov 28, 2026 3:05 pm", "Sat 28 Nov 2026 15:05", "Nov 28 2026 15:05 UTC"],
      ...["Sat, 28 Nov 2026 16:05:00 +0100", "Sat Nov 28 2026 16:05:00 GMT+0100 (CET)", "Sat, 28 Nov 2026 15:05 GMT"],
    ];
    const sameDay = ["2026-11-28", "Nov 28 2026", "Sat 28 Nov 2026", "Nov 28, 2026", "Sat 28-Nov-2026"];
    const program = `
      import { fileListTool } from "${import.meta.resolve("../../src/files/tools/file_list.ts")}";
      import { openDiskWorkspace } from "${import.meta.resolve("../../src/files/disk/disk_workspace.ts")}";
      import { callTool } from "${import.meta.resolve("../workspace/call_tool.ts")}";
      const workspace = openDiskWorkspace({ root: Deno.args[0] });
      for (const modified_after of JSON.parse(Deno.args[1])) {
        const outcome = await callTool(fileListTool(() => workspace), { modified_after });
        const names = outcome.ok ? outcome.structuredContent.entries.map(({ name, path }) => name ?? path) : [outcome.message];
        console.log(modified_after + ": " + names.join(" "));
      }
      await workspace.close();`;
    const expected = [
      ...sameMoment.map((text) => `${text}: 281505`),
      ...sameDay.map((text) => `${text}: 280000 281504 281505`),
    ];
    for (const zone of ["America/New_York", "Asia/Tokyo", "UTC"]) {
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          "eval",
          "--no-check",
          "--config",
          "deno.dev.json",
          program,
          root,
          JSON.stringify([...sameMoment, ...sameDay]),
        ],
        env: { TZ: zone, NO_COLOR: "1" },
      }).output();
      assert.deepEqual(
        new TextDecoder().decode(stdout).trim().split("\n"),
        expected,
        zone + new TextDecoder().decode(stderr),
      );
    }
  }));

Deno.test("file_list sorts either way, however that is written, or refuses with the form that works", () =>
  withWorkspace(async ({ root, workspace }) => {
    const registered = createToolRegistry([fileListTool(() => workspace)]).get("file_list") ?? assert.fail();
    for (const [index, name] of ["b", "a", "d", "c"].entries()) {
      Deno.writeTextFileSync(`${root}/${name}`, "x".repeat([10, 40, 30, 20][index] ?? 0));
      Deno.utimeSync(`${root}/${name}`, 0, Date.UTC(2026, 10, [3, 2, 1, 4][index]) / 1000);
    }
    const forms: Record<string, readonly unknown[]> = {
      abcd: ["name", "name asc", "NAME:ASC", "+name", "filename", ["name"], { field: "name", direction: "asc" }],
      dcba: ["-name", "name desc", "name_desc", "name:desc", "name-descending", ["-name"], { name: "desc" }],
      adcb: ["size", "size desc", "size,desc", "largest", { by: "size", order: "descending" }],
      bcda: ["size asc", "size:ascending", "smallest", "+size"],
      cbad: ["modified", "mtime desc", "modified_at_desc", "newest", "date-desc"],
      dabc: ["modified asc", "oldest", "mtime:asc", "last_modified ascending"],
    };
    const list = async (args: Record<string, unknown>) => {
      const parsed = parseToolInput(registered, args);
      if (!parsed.ok) return parsed.error;
      return (await answerOf(registered.tool, parsed.value)).text.split("\n").map((line) => line[0]).join("");
    };
    for (const [expected, sorts] of Object.entries(forms)) {
      for (const sort of sorts) {
        assert.equal(await list({ sort }), expected, JSON.stringify(sort));
        assert.equal(await list({ order_by: sort }), expected, JSON.stringify(sort));
      }
    }
    for (
      const [sort, order, expected] of [["name", "desc", "dcba"], ["size", "ASC", "bcda"], ["size", "desc", "adcb"]]
    ) {
      assert.equal(await list({ sort, sort_order: order }), expected);
    }
    assert.equal(await list({ sort: "modified", descending: false }), "dabc");
    for (const sort of ["-size", "-modified", "--name", "-"]) {
      const refused = "sort: give order, asc or desc, in place of -; sort must be one of: name, size, modified";
      assert.equal(await list({ sort }), refused);
    }
    for (const sort of ["name up", "name,size", "desc"]) {
      assert.equal(await list({ sort }), "sort must be one of: name, size, modified");
    }
    assert.match(String(await list({ sort: "size", reverse: true })), /give order, asc or desc/);
  }));

Deno.test("file_list counts files, bytes and lines by extension", () =>
  withWorkspace(async ({ root, workspace }) => {
    const list = fileListTool(() => workspace);
    Deno.mkdirSync(`${root}/d`);
    const files: Record<string, string> = {
      "a.ts": "1\n2\n",
      "d/b.ts": "1\n2",
      "d/c.TS": "",
      Makefile: "x:\n",
      ".env": "A=1\n",
      "image.png": "\0\n\n",
      "long.log": "line\n".repeat(200_000),
    };
    for (const [name, text] of Object.entries(files)) Deno.writeTextFileSync(`${root}/${name}`, text);
    for (const order of ["le", "be"]) { // U+010A and U+0A00 are no line ends
      const wide = Buffer.from("\ufeffa\r\n\u010a\u0a00\nb", "utf16le");
      Deno.writeFileSync(`${root}/wide.${order}`, order === "le" ? wide : wide.swap16());
    }
    const { text, structured } = await answerOf(list, { show: "summary" });
    assert.deepEqual(text.split("\n"), [
      "9 files in 1 directory, 1.0M bytes, 200012 lines",
      ".log: 1 file, 1.0M, 200000 lines",
      ".be: 1 file, 16, 3 lines",
      ".le: 1 file, 16, 3 lines",
      "(none): 2 files, 7, 2 lines",
      ".ts: 3 files, 7, 4 lines",
      ".png: 1 file, 3, 0 lines",
    ]);
    assert.equal(structured["lines"], 200_012);
    const some = await answerOf(list, { show: "summary", pattern: "*.ts" });
    assert.equal(some.structured["files"], 2);
    assert.match(some.text, /^2 files, \d+ bytes, /, "no directories, which were not counted");
  }));

Deno.test("a summary names files whose lines it could not count, and has no lines where it did not look at all files", async () => {
  await withWorkspace(async ({ root, outside, workspace }) => {
    Deno.writeTextFileSync(`${outside}/a.js`, "1\n");
    Deno.linkSync(`${outside}/a.js`, `${root}/a.js`);
    Deno.linkSync(`${root}/a.js`, `${root}/b.js`);
    Deno.writeTextFileSync(`${root}/c.js`, "1\n2\n");
    const { text } = await answerOf(fileListTool(() => workspace), { show: "summary" });
    assert.deepEqual(text.split("\n"), [
      "3 files in 0 directories, 8 bytes, 2 lines",
      ".js: 3 files, 8, 2 lines",
      "(lines not counted, since they cannot be read: 2 files: a.js, b.js)",
    ]);
  });
  await withWorkspace(async ({ root, workspace }) => {
    for (let n = 0; n < 30; n++) Deno.writeTextFileSync(`${root}/${n}.js`, "x\n");
    const { text, structured } = await answerOf(fileListTool(() => workspace, { maxVisits: 20 }), { show: "summary" });
    assert.match(text, /^at least 20 files in 0 directories/);
    assert.doesNotMatch(text, /\d lines?/);
    assert.match(text, /\n\(lines were not counted\)\n\(the tree is larger/);
    assert.equal(structured["lines"], undefined);
    assert.deepEqual(Object.keys((structured["extensions"] as object[])[0] ?? {}), [
      "extension",
      "files",
      "size_bytes",
    ]);
  });
});

Deno.test("file_list finds equal files, and reads only those of one size", () =>
  withWorkspace(async ({ root, workspace }) => {
    const list = fileListTool(() => workspace);
    Deno.mkdirSync(`${root}/d`);
    const large = "x".repeat(600_000);
    const files = { a: large, "d/b": large, c: `${large.slice(1)}y`, e: "same", f: "same", g: "diff", h: "", i: "" };
    for (const [name, text] of Object.entries(files)) Deno.writeTextFileSync(`${root}/${name}`, text);
    const { text, structured } = await answerOf(list, { show: "duplicates" });
    assert.deepEqual(text.split("\n"), ["2 files of 600K: a, d/b", "2 files of 4: e, f"]);
    assert.deepEqual(structured["duplicates"], [
      { size_bytes: 600_000, names: ["a", "d/b"] },
      { size_bytes: 4, names: ["e", "f"] },
    ]);
    assert.equal((await answerOf(list, { show: "duplicates", pattern: "g" })).text, "(1 file, none equal to another)");
  }));

Deno.test("file_list says which files it had no time to compare, and not that they differ", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let n = 0; n < 6; n++) Deno.writeTextFileSync(`${root}/${n}.bin`, "x".repeat(600_000));
    for (const lasts of [8, 12, 16, 24]) {
      let ticks = 0;
      const list = fileListTool(() => workspace, { maxListMilliseconds: lasts, clock: () => ++ticks });
      const { text, structured } = await answerOf(list, { show: "duplicates" });
      assert.doesNotMatch(text, /none equal/);
      assert.match(text, /not compared, for lack of time or .*: \d+ files?: |the tree is larger/);
      assert.equal(structured["incomplete"], true);
    }
  }));

Deno.test("file_list passes over what is ignored when it goes below a directory, and says so", () =>
  withWorkspace(async ({ root, workspace }) => {
    const list = fileListTool(() => workspace);
    for (const directory of ["node_modules/x", "src", ".git"]) {
      Deno.mkdirSync(`${root}/${directory}`, { recursive: true });
    }
    for (const name of ["node_modules/x/a.js", "src/a.ts", "src/a.tmp"]) Deno.writeTextFileSync(`${root}/${name}`, "");
    Deno.writeTextFileSync(`${root}/.gitignore`, "*.tmp\n");
    const tree = await answerOf(list, { depth: 9 });
    assert.deepEqual(tree.text.split("\n"), [
      ".gitignore",
      "src/",
      "  a.ts",
      "(3 ignored entries skipped: .git/, node_modules/, src/a.tmp; set include_ignored to see them)",
    ]);
    assert.deepEqual(tree.structured["skipped"], { count: 3, directories: [".git", "node_modules"] });
    assert.deepEqual((await answerOf(list, {})).text.split("\n"), [".git/", ".gitignore", "node_modules/", "src/"]);
    assert.match((await answerOf(list, { depth: 9, include_ignored: true })).text, /a\.js/);
    assert.equal((await answerOf(list, { path: "node_modules", depth: 9 })).text, "x/\n  a.js");
  }));

Deno.test("a sorted listing, a summary and a search for equal files say when the tree is too large for them", () =>
  withWorkspace(async ({ root, workspace }) => {
    const list = fileListTool(() => workspace, { maxVisits: 20 });
    for (const directory of ["many", "other"]) Deno.mkdirSync(`${root}/${directory}`);
    for (let n = 0; n < 30; n++) Deno.writeTextFileSync(`${root}/many/${n}`, "x");
    Deno.writeTextFileSync(`${root}/other/largest`, "xxx");
    for (const request of [{ sort: "size" }, { show: "summary" }, { show: "duplicates" }]) {
      const { text, structured } = await answerOf(list, request);
      assert.match(
        text,
        /\(the tree is larger than what was looked at: name a directory in it, or exclude some\)/,
      );
      assert.equal(structured["incomplete"], true);
    }
    const { text } = await answerOf(list, { sort: "size", exclude: ["many"] });
    assert.match(text, /^other\/largest 3 \S+$/);
  }));

Deno.test("a sorted listing is that of the whole tree, however many entries come before the largest", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let n = 0; n < 6_000; n++) Deno.writeTextFileSync(`${root}/${n}`, n % 500 === 0 ? "xx".repeat(n) : "x");
    const { structured } = await answerOf(fileListTool(() => workspace), { sort: "size", limit: 3 });
    assert.deepEqual((structured["entries"] as { name: string }[]).map(({ name }) => name), ["5500", "5000", "4500"]);
    assert.equal(structured["total"], 6_000);
    const summary = await answerOf(fileListTool(() => workspace), { show: "summary" });
    assert.match(summary.text, /^6000 files in 0 directories, \S+ bytes, 5999 lines\n/);
  }));

Deno.test("what exclude names is not entered, so that it uses up none of a listing's or a search's visits", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (const directory of ["a/many", "b"]) Deno.mkdirSync(`${root}/${directory}`, { recursive: true });
    for (let index = 0; index < 60; index++) Deno.writeTextFileSync(`${root}/a/many/${index}`, "x");
    Deno.writeTextFileSync(`${root}/b/last.txt`, "hit");
    const list = fileListTool(() => workspace, { maxVisits: 30 });
    assert.equal((await answerOf(list, { sort: "size", exclude: ["many"] })).structured["incomplete"], undefined);
    assert.equal((await answerOf(list, { sort: "size" })).structured["incomplete"], true);
    const search = fileSearchTool(() => workspace);
    const found = await answerOf(search, { query: "hit", exclude: ["a/*"] });
    assert.deepEqual([found.structured["hits"], found.structured["next_cursor"]], [1, undefined]);
    assert.ok((await answerOf(search, { query: "hit" })).structured["next_cursor"] !== undefined);
  }, { limits: { maxTreeEntries: 30 } }));
