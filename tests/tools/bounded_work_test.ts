/** What a call may have done is bounded before it begins: refusals come before the work, and searches end where nothing is. */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { inStoredForm } from "../../src/files/tools/near_names.ts";
import { parseFilePath } from "../../src/files/workspace/path.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { callTool, principalOf } from "../workspace/call_tool.ts";
import { quietCaller } from "../fixtures/quiet_context.ts";
import { createDocuments } from "../../src/files/documents/reading.ts";
import { makeExcel } from "../documents/make_document.ts";
import { timeTurnsBy } from "../../src/lib/turns.ts";
import { answerOf, withWorkspace } from "./with_workspace.ts";

/** The workspace, and how often it was asked for something. */
function counted(workspace: Workspace): { readonly workspace: Workspace; readonly asked: () => number } {
  let asked = 0;
  const counting = new Proxy(workspace, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        asked++;
        return value.apply(target, given);
      };
    },
  });
  return { workspace: counting, asked: () => asked };
}

function spentMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

const deep = Array.from({ length: 500 }, () => "é").join("/");

Deno.test("a path of 500 names that are not there is looked for up to the first of them", async () => {
  await withWorkspace(async ({ workspace }) => {
    const { workspace: counting, asked } = counted(workspace);
    const path = parseFilePath(deep);
    assert.ok(path.ok);
    assert.equal((await inStoredForm(counting, path.value)).text, deep);
    assert.ok(asked() <= 5, `${asked()} looks at the workspace`);
  });
});

Deno.test("file_edit refuses more files than it edits before it looks for one", async () => {
  await withWorkspace(async ({ workspace }) => {
    const { workspace: counting, asked } = counted(workspace);
    const edits = Array.from(
      { length: 100 },
      (_, index) => ({ path: `${deep}${index}`, old_text: "a", new_text: "b" }),
    );
    const outcome = await callTool(fileEditTool(() => counting), { edits });
    assert.match(outcome.ok ? "" : outcome.message, /edits at most 50 files/);
    assert.equal(asked(), 1, "to begin a change");
  });
});

Deno.test("file_read reads a few files that are no text, and leaves the others to calls of their own", async () => {
  await withWorkspace(async ({ root, workspace }) => {
    Deno.writeFileSync(
      join(root, "binary"),
      new Uint8Array(1_000).map((_, index) => Math.imul(index, 2_654_435_761) >>> 13),
    );
    Deno.writeTextFileSync(join(root, "text"), "words\n");
    const files = [...Array(49).fill("binary")];
    const outcome = await callTool(fileReadTool(() => workspace), { filename: "text", files });
    assert.ok(outcome.ok);
    const told = JSON.stringify(outcome.structuredContent);
    assert.equal(told.split("this answer is full").length - 1, 41);
  });
});

Deno.test("a walk that passes over everything ends when the time is over", async () => {
  await withWorkspace(async ({ root, workspace }) => {
    for (let index = 0; index < 3_000; index++) Deno.writeTextFileSync(join(root, `${index}${"a".repeat(200)}`), "");
    let now = 0;
    const tool = fileListTool(() => workspace, { maxListMilliseconds: 0, clock: () => now++ });
    const outcome = await callTool(tool, { depth: 2, exclude: [...Array(15).fill(`*${"?a".repeat(90)}b`), "*"] });
    assert.match(outcome.ok ? JSON.stringify(outcome.structuredContent) : "", /"next_cursor"/);
  });
});

Deno.test("what a pattern may mean that fits nothing is looked for in turns, and not for long", async () => {
  await withWorkspace(async ({ root, workspace }) => {
    for (let index = 0; index < 2_200; index++) Deno.writeTextFileSync(join(root, `${"a".repeat(240)}${index}`), "");
    const began = spentMicroseconds(); // processor time: other programs do not count
    let [last, longest, isOver] = [began, 0, false];
    const look = (): void => {
      const now = spentMicroseconds();
      longest = Math.max(longest, now - last);
      last = now;
      if (!isOver) setImmediate(look);
    };
    look();
    const list = fileListTool(() => workspace, { maxListMilliseconds: Infinity });
    const outcome = await callTool(list, { depth: 2, pattern: `*${"?a".repeat(118)},%(x)\\;` });
    look();
    isOver = true;
    assert.match(outcome.ok ? JSON.stringify(outcome.content) : "", /fits nothing/);
    assert.ok(longest < (last - began) / 4, `${longest} of ${last - began} µs in one turn`);
  });
});

Deno.test("a line of megabytes is looked through in turns, whatever is looked for", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/line.txt`, `${"a".repeat(15 * 1024 * 1024)}needle`);
    const search = fileSearchTool(() => workspace, { maxSearchMilliseconds: Infinity }); // whatever else the machine does
    let passes = 0;
    let isOver = false;
    const pass = (): void => {
      passes++;
      if (!isOver) setImmediate(pass);
    };
    pass();
    const odd = (characters: number): string => `${"a".repeat(characters / 2)}b${"a".repeat(characters / 2)}`;
    for (const input of [{ query: odd(900) }, { query: odd(200), regex: true }]) {
      const before = passes;
      const { texts } = await answerOf(search, { ...input, path: "line.txt" });
      assert.match(texts.join(), /[Nn]o (?:line|match)|0 matches|nothing/, JSON.stringify(texts).slice(0, 200));
      assert.ok(
        passes - before >= 10,
        `${passes - before} passes of the event loop for ${JSON.stringify(input).slice(0, 20)}`,
      );
    }
    isOver = true;
    const { text } = await answerOf(search, { query: "needle", path: "line.txt" });
    assert.match(text, /needle/);
  }));

const manyNames = Array.from({ length: 50 }, (_, index) => `names/m\u00e9${index}stakxn.md`);
const callsOnManyNames:
  readonly (readonly [name: string, tool: (source: () => Workspace) => Tool, input: Record<string, unknown>])[] = [
    ["file_delete", fileDeleteTool, { paths: manyNames }],
    ["file_move", fileMoveTool, { paths: manyNames, destination: "elsewhere" }],
    ["file_read", fileReadTool, { filename: "there.md", files: manyNames.slice(0, 49) }],
    ["file_edit", fileEditTool, { edits: manyNames.map((path) => ({ path, old_text: "a", new_text: "b" })) }],
    ["file_write", fileWriteTool, {
      filename: "new.md",
      content: "",
      files: manyNames.slice(0, 49).map((filename) => ({ filename, content: "", if_version: "0123456789ab" })),
    }],
  ];

for (const [name, toolOf, input] of callsOnManyNames) {
  Deno.test(`${name} of fifty names that are not there lists their directory and the tree once`, () =>
    withWorkspace(async ({ root, workspace }) => {
      Deno.mkdirSync(join(root, "names"));
      for (let index = 0; index < 3_000; index++) {
        Deno.writeTextFileSync(join(root, `names/r\u00e9al ${index}.txt`), "");
      }
      Deno.writeTextFileSync(join(root, "there.md"), "there");
      let listings = 0;
      const counting: Workspace = {
        ...workspace,
        begin: (...given) => ({ ...workspace.begin(...given), list }),
        list,
      };
      function list(...given: Parameters<Workspace["list"]>): ReturnType<Workspace["list"]> {
        listings++;
        return workspace.list(...given);
      }
      await callTool(toolOf(() => counting), input);
      assert.ok(listings > 0 && listings <= 12, `${listings} listings`);
    }));
}

/** Milliseconds on a clock that no call sets back. */
let steps = 0;

/** Runs the tool for a caller who goes when it has had so many turns; `null` where it answered all the same. */
async function turnsUntilEnd(tool: Tool, input: unknown, turnsUntilGone: number): Promise<number | null> {
  const gone = new AbortController();
  let turns = 0;
  const context = {
    ...quietCaller,
    principal: principalOf("owner"),
    progress: () => {},
    get signal() {
      if (++turns >= turnsUntilGone) gone.abort();
      return gone.signal;
    },
  };
  timeTurnsBy(() => steps += 10); // each step takes a turn
  try {
    const run = Promise.resolve(tool.run(tool.input.parse(input) as never, context));
    return await run.then(() => null, (error) => error === gone.signal.reason ? turns : Promise.reject(error));
  } finally {
    timeTurnsBy(() => performance.now());
  }
}

Deno.test("long work of a caller who has gone ends at its next turn, and changes nothing", async () => {
  await withWorkspace(async ({ root, workspace }) => {
    const text = "one line\r\nanother line\r\n".repeat(20_000);
    const names = ["a.txt", "b.txt", "c.txt"];
    for (const name of names) Deno.writeTextFileSync(join(root, name), text);
    const replaced = { old_text: "line", new_text: "row", replace_all: true };
    const edits = [...names, ...names].map((path, at) => ({
      ...replaced,
      path,
      old_text: "linerow".slice(at < 3 ? 0 : 4, at < 3 ? 4 : 7),
      new_text: at < 3 ? "row" : "line",
    }));
    const works: readonly [Tool, unknown][] = [
      [fileEditTool(() => workspace), { path: "a.txt", ...replaced }],
      [fileEditTool(() => workspace), { path: "a.txt", ...replaced, dry_run: true }],
      [fileEditTool(() => workspace), { path: "a.txt", old_text: "nowhere", new_text: "" }],
      [fileEditTool(() => workspace), { edits }],
      [fileReadTool(() => workspace), { filename: "a.txt", files: ["b.txt", "c.txt"] }],
      [fileReadTool(() => workspace), { filename: "a.txt", against: "one.txt" }],
    ];
    Deno.writeTextFileSync(join(root, "one.txt"), `${text}end`);
    for (const [tool, input] of works) {
      for (const turns of [1, 2]) {
        const what = `${tool.name} ${JSON.stringify(input).slice(0, 80)}`;
        assert.equal(await turnsUntilEnd(tool, input, turns), turns, what);
      }
    }
    for (const name of names) assert.equal(Deno.readTextFileSync(join(root, name)), text);
  });
});

Deno.test("a range of a long sheet is picked in turns, and not for a caller who has gone", async () => {
  await withWorkspace(async ({ root, workspace }) => {
    const rows = Array.from({ length: 3_000 }, (_, at) => {
      const cells = ["A", "B", "C"].map((letter) => `<c r="${letter}${at + 1}"><v>${at}</v></c>`);
      return `<row r="${at + 1}">${cells.join("")}</row>`;
    });
    Deno.writeFileSync(join(root, "long.xlsx"), makeExcel({ S: `<sheetData>${rows.join("")}</sheetData>` }));
    const read = fileReadTool(() => workspace, null, createDocuments({ readingMs: 120_000 }));
    await answerOf(read, { filename: "long.xlsx:S!A1:A2" }); // it is kept from here on
    for (const range of ["A:B", "A1:C3000", "B2999:B3000", "2:2999"]) {
      await new Promise((resolve) => setImmediate(resolve)); // a pass of the event loop ends the turn so far
      assert.equal(await turnsUntilEnd(read, { filename: `long.xlsx:S!${range}` }, 5), 5, range);
    }
    const { structured } = await answerOf(read, { filename: "long.xlsx:S!B2999:C3000" });
    assert.match(
      String(structured["content"]),
      /\| {2}\| B \| C \|\n.*\n\| 2999 \| 2998 \| 2998 \|\n\| 3000 \| 2999 \| 2999 \|\n$/,
    );
  });
});
