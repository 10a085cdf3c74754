/** What a tool answers is bounded as JSON, whatever the files and their names hold. */
import assert from "node:assert/strict";
import { createResourceRegistry } from "../../src/mcp/resource.ts";
import { workspaceFilesResource } from "../../src/files/tools/workspace_files.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { principalWith } from "../mcp/harness.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

const mebibyte = 1024 * 1024;

Deno.test("a text of control characters is no text: it does not grow sixfold in an answer, but goes out as bytes", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/controls.txt`, "\u0001".repeat(mebibyte));
    Deno.writeTextFileSync(`${root}/few.txt`, "\u0001 plain\n".repeat(20_000));
    const read = fileReadTool(() => workspace);
    assert.equal((await failureOf(read, { filename: "controls.txt" })).code, "not_text");
    assert.equal((await failureOf(read, { filename: "controls.txt", start_line: 1 })).code, "not_text");
    assert.equal((await failureOf(read, { filename: "controls.txt", files: ["controls.txt"] })).code, "not_text");
    const few = await answerOf(read, { filename: "few.txt", max_bytes: mebibyte });
    assert.match(few.text, /^\\u\{1\} plain\n/);
    const embedded = await answerOf(read, { filename: "controls.txt", embed: true });
    assert.ok(JSON.stringify(embedded).length < 1.5 * mebibyte);
    const family = createResourceRegistry([workspaceFilesResource(() => workspace)]).get("workspace_files");
    const context = { principal: principalWith(["files:read"]) };
    const resource = await family?.read("workspace:///controls.txt", context as never);
    assert.ok(JSON.stringify(resource).length < 1.5 * mebibyte);
  }));

Deno.test("file_read repeats no name that is too long for a path", () =>
  withWorkspace(async ({ workspace }) => {
    const request = { filename: "\u200b".repeat(300_000), files: ["a".repeat(500_000)] };
    const failure = await failureOf(fileReadTool(() => workspace), request);
    assert.ok(failure.message.length < 100_000);
  }));

Deno.test("file_search and file_list end a page by its size, and go on from there", () =>
  withWorkspace(async ({ root, workspace }) => {
    const directory = Array.from({ length: 14 }, () => "n".repeat(250)).join("/");
    Deno.mkdirSync(`${root}/${directory}`, { recursive: true });
    const lines = `${"x".repeat(200)}\n`.repeat(1_000);
    Deno.writeTextFileSync(`${root}/${directory}/lines.txt`, lines);
    for (let index = 0; index < 700; index++) Deno.writeTextFileSync(`${root}/${directory}/${index}`, "");
    const pagesOf = async (ask: (cursor: Record<string, string>) => Promise<Record<string, unknown>>) => {
      const found: unknown[] = [];
      let pages = 0;
      let next: string | undefined;
      do {
        const page = await ask(next === undefined ? {} : { cursor: next });
        assert.ok(JSON.stringify(page).length < 2 * mebibyte);
        found.push(...(page["matches"] ?? page["entries"]) as unknown[]);
        next = page["next_cursor"] as string | undefined;
        pages++;
      } while (next !== undefined);
      return { found: found.length, unique: new Set(found.map((each) => JSON.stringify(each))).size, pages };
    };
    const search = fileSearchTool(() => workspace);
    const query = { query: "x", context: 10, limit: 1000 };
    const lineMatches = await pagesOf(async (cursor) => (await answerOf(search, { ...query, ...cursor })).structured);
    assert.deepEqual([lineMatches.found, lineMatches.unique], [1_000, 1_000]);
    assert.ok(lineMatches.pages > 10);
    const names = await pagesOf(async (cursor) =>
      (await answerOf(search, { pattern: "*", limit: 1000, ...cursor })).structured
    );
    assert.deepEqual([names.found, names.unique], [701, 701]);
    assert.ok(names.pages > 1);
    const entries = await pagesOf(async (cursor) =>
      (await answerOf(fileListTool(() => workspace), { depth: 64, ...cursor })).structured
    );
    assert.deepEqual([entries.found, entries.unique], [715, 715]);
    assert.ok(entries.pages > 1);
  }));
