/** Names in a workspace may be anything that a file system takes: no answer holds them raw where that could mislead. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { showName } from "../../src/files/workspace/path.ts";
import { callTool, visibleText } from "./call_tool.ts";
import { checkProperty, quickDirectory } from "./property_runs.ts";
import { openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

/** Names from the characters that terminals, people and JavaScript take for something else. */
const name = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "\n",
      "\r",
      "\t",
      "\x1b",
      "\x7f",
      "\x9b",
      "\u2028",
      "\u2029",
      "\u202e",
      "\u200b",
      "\ufeff",
      "\ufffd",
      "\u00a0",
      "\u3164",
      "\ufe0f",
      "\\",
      "\\u{A}",
      "\\x{E9}",
      ":",
      " ",
      "a",
      "b",
    ),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
  minLength: 1,
  maxLength: 8,
}).filter((text) => text.isWellFormed() && !/[/\0]/.test(text) && text !== "." && text !== "..");
// what an answer may hold besides its own line ends; C0, DEL, C1, line separators and what changes directions
const misleading = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

testInEachMode(
  "no two names are shown alike or misleadingly, and each can be given as it is shown",
  async () => {
    const directory = quickDirectory();
    const workspace = openDiskWorkspace({ root: `${directory}/ws` });
    const tools = [[fileListTool(() => workspace), { depth: 3 }], [fileSearchTool(() => workspace), {
      pattern: "**",
    }]] as const;
    try {
      await checkProperty(
        "shown names",
        fc.asyncProperty(
          fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
          fc.boolean(),
          async (names, isNested) => {
            const parent = isNested ? `${directory}/ws/${names[0]}` : `${directory}/ws`;
            Deno.mkdirSync(parent, { recursive: true });
            const files = isNested ? names.slice(1) : names;
            for (const [index, each] of files.entries()) Deno.writeTextFileSync(`${parent}/${each}`, `file ${index}`);
            const listed = await callTool(fileListTool(() => workspace), {
              path: isNested ? showName(names[0] ?? "") : ".",
            });
            assert.ok(listed.ok);
            const shown = visibleText(listed).split("\n").filter((line) => line !== "(no entries)");
            assert.equal(new Set(shown).size, files.length);
            for (const written of shown) { // as it is shown it can be given
              const path = isNested ? `${showName(names[0] ?? "")}/${written}` : written;
              const read = await callTool(fileReadTool(() => workspace), { filename: path });
              assert.ok(read.ok && /^file \d/.test(visibleText(read)), `${JSON.stringify(files)}: ${path}`);
            }
            for (const [tool, input] of tools) {
              const outcome = await callTool(tool, input);
              assert.ok(outcome.ok, visibleText(outcome));
              for (const line of visibleText(outcome).split("\n")) assert.doesNotMatch(line, misleading);
            }
            for (const each of isNested ? names.slice(0, 1) : names) {
              Deno.removeSync(`${directory}/ws/${each}`, { recursive: true });
            }
          },
        ),
      );
    } finally {
      await workspace.close();
      Deno.removeSync(directory, { recursive: true });
    }
  },
);
