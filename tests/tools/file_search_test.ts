import assert from "node:assert/strict";
import { fileSearchTool } from "../../src/tools/files/file_search.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { principalOf } from "../workspace/call_tool.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_search finds lines by text and by expression, with context, and files by name", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(workspace);
    Deno.mkdirSync(`${root}/d`);
    Deno.writeTextFileSync(`${root}/d/a.txt`, "zero\none fox\ntwo Fox\nthree\n");
    Deno.writeTextFileSync(`${root}/b.md`, "fox.fox\r\nno\r\n");
    Deno.writeFileSync(`${root}/c.bin`, Uint8Array.of(0xff, 0x66, 0x6f, 0x78));
    Deno.symlinkSync("../outside", `${root}/l`);
    assert.equal((await answerOf(search, { query: "fox" })).text, "b.md:1: fox.fox\r\nd/a.txt:2: one fox");
    assert.equal((await answerOf(search, { query: "fox", path: "d" })).text, "d/a.txt:2: one fox");
    assert.equal(
      (await answerOf(search, { query: "FOX", ignore_case: true, pattern: "*.txt" })).text,
      "d/a.txt:2: one fox\nd/a.txt:3: two Fox",
    );
    assert.equal((await answerOf(search, { query: "^t\\w+$", regex: true })).text, "d/a.txt:4: three");
    assert.equal((await answerOf(search, { query: "x.f", regex: false })).text, "b.md:1: fox.fox\r");
    assert.equal((await answerOf(search, { query: "TOPSECRET" })).text, "(nothing found)");
    assert.equal((await answerOf(search, { pattern: "*.{md,bin}" })).text, "b.md\nc.bin");
    const { structured } = await answerOf(search, { query: "one", context: 1 });
    assert.deepEqual(structured["matches"], [
      { filename: "d/a.txt", line: 2, text: "one fox", before: ["zero"], after: ["two Fox"] },
    ]);
    assert.deepEqual([structured["files_searched"], structured["files_passed_over"]], [3, 1]);
  }));

Deno.test("file_search gives pages that join to the whole, also within a file and across reads", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(workspace);
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
    for (const options of [{ clock: () => now += 2, maxSearchMilliseconds: 1 }, {}]) {
      const search = fileSearchTool(workspace, options);
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
    const search = fileSearchTool(workspace);
    Deno.writeTextFileSync(`${root}/a`, `${"a".repeat(50_000)}\n${"x".repeat(50_000)}\n`);
    // An engine that backtracks would need longer than anybody waits: 2^50,000 steps, or 50,000^3.
    for (const query of ["(a+)+$b", "(x+x+)+y", "(a|aa)+c", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*(.*)*z"]) {
      assert.equal((await answerOf(search, { query, regex: true })).text, "(nothing found)");
    }
  }));

Deno.test("file_search refuses what it cannot search for", () =>
  withWorkspace(async ({ workspace }) => {
    const search = fileSearchTool(workspace);
    const refusal = async (request: unknown): Promise<string> => (await failureOf(search, request)).message;
    assert.equal(await refusal({}), "Failed to search: give query, pattern or both");
    assert.equal(await refusal({ query: "" }), "Failed to search: query is empty");
    assert.equal(
      await refusal({ query: "a\nb" }),
      "Failed to search: query holds a line end; files are searched line by line",
    );
    assert.match(await refusal({ query: "(?=a)", regex: true }), /no regular expression in RE2 syntax/);
    assert.match(await refusal({ query: "\\1", regex: true }), /no regular expression in RE2 syntax/);
    assert.match(await refusal({ query: "a", pattern: "" }), /the pattern is empty/);
    assert.equal(await refusal({ query: "a", path: "../" }), "Invalid path - path traversal not allowed");
    assert.equal(await refusal({ query: "a", path: "none" }), "Failed to search: no such file or directory (none)");
    assert.match(await refusal({ query: "a", cursor: btoa("[null]") }), /cursor/);
  }));

Deno.test("file_search hands a search that takes long out as a task, once, and a quick one not at all", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (let n = 0; n < 5; n++) Deno.writeTextFileSync(`${root}/${n}`, "hit\n");
    for (const [stepMilliseconds, expected] of [[0, 0], [600, 1]] as const) {
      let now = 0;
      let handedOut = 0;
      const search = fileSearchTool(workspace, { clock: () => now += stepMilliseconds });
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
    const search = fileSearchTool(counting);
    const context = { ...quietCaller, principal: principalOf("owner"), signal: caller.signal, progress: () => {} };
    setTimeout(() => caller.abort(), 0);
    const outcome = await search.run(search.input.parse({ query: "needle" }) as never, context);
    assert.ok(outcome.ok && caller.signal.aborted);
    assert.ok(outcome.structuredContent?.["next_cursor"] !== undefined);
    assert.ok(afterwards <= 1, `${afterwards} further reads`);
  }));
