/** Arguments as models and their hosts send them to the file tools: other names, other forms, what is left out. */
import assert from "node:assert/strict";
import * as z from "zod";
import { parseToolInput } from "../../src/mcp/tool_call.ts";
import { createToolRegistry, nearestTool, toFlatSchema } from "../../src/mcp/registry.ts";
import { everyTool } from "../fixtures/every_tool.ts";

const registry = createToolRegistry(everyTool);

type Arguments = Record<string, unknown>;

/** What the tool's `run` would get, or the refusal. */
function taken(name: string, args: Arguments): unknown {
  const parsed = parseToolInput(registry.get(name) ?? assert.fail(name), args);
  return parsed.ok ? parsed.value : parsed.error;
}

/** Both mean the same to the tool. */
function assertSame(name: string, sent: Arguments, meant: Arguments): void {
  const expected = taken(name, meant);
  assert.equal(typeof expected, "object", `${name} ${JSON.stringify(meant)}: ${expected}`);
  assert.deepEqual(taken(name, sent), expected, `${name} ${JSON.stringify(sent)}`);
}

Deno.test("what has no text of its own is refused or taken by every parameter, and crashes none", () => {
  const strange = { toString: 1, valueOf: 1 };
  let deep: unknown = 1;
  for (let level = 0; level < 20_000; level++) deep = [deep];
  const asRange = ["start_line", "end_line", "limit"].map((name) => [{ filename: "a", [name]: strange }]);
  for (const { name, input, aliases = {} } of everyTool) {
    const { properties = {} } = z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
    for (const parameter of [...Object.keys(properties), ...Object.keys(aliases)]) {
      for (const value of [strange, [strange], { start: strange }, deep, ...asRange]) {
        assert.doesNotThrow(() => taken(name, { [parameter]: value }), `${name} ${parameter}`);
      }
    }
  }
});

Deno.test("null is absent in every optional parameter of every tool, in entries of lists too", () => {
  const least: Record<string, Arguments> = {
    file_read: { filename: "a" },
    file_write: { filename: "a", content: "b" },
    file_edit: { edits: [{ path: "a", old_text: "b", new_text: "" }] },
    file_list: {},
    file_search: { query: "a" },
    file_move: { destination: "a" },
    file_delete: { path: "a" },
    file_undo: {},
    llm_generate: { prompt: "a" },
    llm_models: {},
    servicenow_search: { table: "incident" },
    servicenow_count: { table: "incident" },
    servicenow_get_record: { id: "a" },
    servicenow_describe: {},
    servicenow_fetch_attachment: { id: "a" },
    servicenow_create: { table: "incident" },
    servicenow_update: { id: "a", values: "b=c" },
    servicenow_add_note: { id: "a", audience: "team", text: "b" },
    servicenow_order: {},
    servicenow_approve: { id: "a", decision: "approve" },
    servicenow_attach: { id: "a", filename: "b" },
  };
  for (const { tool: { name }, parameters } of registry.all()) {
    const args = least[name] ?? assert.fail(name);
    const nulls = Object.fromEntries([...parameters].map((parameter) => [parameter, null]));
    assertSame(name, { ...nulls, ...args }, args);
    for (const required of Object.keys(args)) {
      if (required === "edits" || required === "query" || name === "file_delete") continue;
      assert.equal(taken(name, { ...args, [required]: null }), `${required} parameter is required`);
    }
  }
  const edit = { path: "a", old_text: "b", new_text: "c" };
  assertSame("file_edit", { edits: [{ ...edit, if_version: null, replace_all: null }] }, { edits: [edit] });
  const file = { filename: "a", content: "b" };
  assertSame("file_write", { ...file, files: [{ ...file, if_version: null }] }, { ...file, files: [file] });
});

Deno.test("an empty text is absent where it can mean nothing else; texts keep it", () => {
  assertSame("file_read", { filename: "a", cursor: "", encoding: "", limit: "", numbered: "", files: "" }, {
    filename: "a",
  });
  assertSame("file_list", { path: "a", cursor: "", pattern: "", modified_after: "", show: "", sort: "", depth: "" }, {
    path: "a",
  });
  assertSame("file_search", { query: "a", pattern: "", cursor: "", exclude: "", limit: "" }, { query: "a" });
  assertSame("file_search", { query: "", pattern: "*.ts" }, { pattern: "*.ts" });
  assertSame("file_undo", { change: "" }, {});
  assertSame("file_move", { path: "", destination: "a" }, { destination: "a" });
  assert.deepEqual(taken("file_edit", { path: "a", old_text: "b", new_text: "" }), {
    ...{ path: "a", old_text: "b", new_text: "", dry_run: false },
  });
  assert.match(String(taken("file_read", { filename: "" })), /filename|^\[object/);
});

Deno.test("JSON in the other form is parsed where it can mean nothing else", () => {
  const edits = [{ path: "a", old_text: "1", new_text: "2" }];
  for (const sent of [JSON.stringify(edits), edits[0], JSON.stringify(edits[0]), [JSON.stringify(edits[0])]]) {
    assertSame("file_edit", { edits: sent }, { edits });
  }
  for (const files of ["b", '["b"]', ["b"]]) {
    assertSame("file_read", { filename: "a", files }, { filename: "a", files: ["b"] });
  }
  assertSame("file_search", { query: "x", exclude: "dist" }, { query: "x", exclude: ["dist"] });
  assertSame("file_search", { query: 404, limit: "5", regex: "true" }, { query: "404", limit: 5, regex: true });
  assertSame("file_write", { filename: "a", content: { b: [1] } }, {
    filename: "a",
    content: '{\n  "b": [\n    1\n  ]\n}\n',
  });
  assertSame("file_write", { filename: "a", content: "b", files: { filename: "c", content: "d" } }, {
    ...{ filename: "a", content: "b", files: [{ filename: "c", content: "d" }] },
  });
  assertSame("file_list", { show: "Details", sort: "SIZE" }, { show: "details", sort: "size" });
  assert.equal(taken("file_write", { filename: "a", content: ["b"] }), "content must be a string");
  assert.equal(taken("file_edit", { edits: "[" }), "edits must be a list");
  // a guard and a text to write are no list and no object, and an edit that says nothing is none
  const guarded = [
    ["file_write", { filename: "a", content: "b" }],
    ["file_delete", { path: "a" }],
    ["file_move", {
      ...{ path: "a", destination: "b" },
    }],
    ["file_edit", { path: "a", old_text: "b", new_text: "c" }],
    ["servicenow_update", { id: "a", values: "b=c" }],
  ] as const;
  for (const [name, args] of guarded) {
    for (const guard of [[], {}, [1], { version: "0" }]) {
      assert.match(String(taken(name, { ...args, if_version: guard })), /^if_version must be /, name);
    }
  }
  for (const text of [{}, { a: 1 }, [], [1]]) {
    assert.match(
      String(taken("file_edit", { path: "a", old_text: "b", new_text: text })),
      /^new_text must be a string/,
    );
  }
  const one = { path: "a", old_text: "1", new_text: "2" };
  assertSame("file_edit", { ...one, edits: {} }, { ...one, edits: [] });
  assertSame("file_write", { filename: "a", content: "b", files: {} }, { filename: "a", content: "b", files: [] });
  const deep = JSON.parse('{"a":'.repeat(100_000) + "1" + "}".repeat(100_000));
  assert.equal(taken("file_write", { filename: "a", content: deep }), "content must be a string");
});

Deno.test("what hosts add to every call is passed over, a typing mistake is refused", () => {
  const host = {
    ...{ toolCallId: "call_1", sessionId: "s", action: "sendMessage", chatInput: "hi", tool: "Portcullis" },
    ...{ tool_call_id: "c", wait_for_previous: false, explanation: "why", toolSummary: "s", toolAction: "a" },
    ...{ waitForPreviousTools: true, task_progress: "- [ ] x", _meta: { a: 1 } },
  };
  for (const { tool: { name } } of registry.all()) {
    const answer = taken(name, { ...host, colour: 1 });
    assert.match(String(answer), new RegExp(`^${name} has no colour; `));
    assert.ok(!/toolCallId|chatInput|explanation|_meta/.test(String(answer)), String(answer));
  }
  assertSame("file_read", { filename: "a", ...host }, { filename: "a" });
  assert.match(String(taken("file_read", { filename: "a", toolCalId: 1 })), /^file_read has no toolCalId; /);
  assert.match(
    String(taken("file_edit", { edits: [{ path: "a", toolCallId: "b" }] })),
    /edits\[0\] has no toolCallId; /,
  );
});

Deno.test("the arguments of tools that models know best mean what they mean there", () => {
  const cases: readonly [string, Arguments, Arguments][] = [
    // claude-code Read, Codex, the text editor tool, Cursor, VS Code, the official filesystem server
    ["file_read", { file_path: "a", offset: 5, limit: 2 }, { filename: "a", start_line: 5, limit: 2 }],
    ["file_read", { file_path: "a", offset: 0 }, { filename: "a", start_line: 1 }],
    ["file_read", { path: "a", view_range: [2, 4], command: "view" }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { path: "a", view_range: [2, -1] }, { filename: "a", start_line: 2 }],
    ["file_read", { path: "a", range: { start: 50, length: 3 } }, { filename: "a", start_line: 50, end_line: 52 }],
    ["file_read", { path: "a", range: { startLine: 50, endLine: 52 } }, {
      filename: "a",
      start_line: 50,
      end_line: 52,
    }],
    ["file_read", { path: "a", lines: { from: 3, count: 2 } }, { filename: "a", start_line: 3, end_line: 4 }],
    ["file_read", { path: "a", lines: { start_line: 3, limit: "2" } }, { filename: "a", start_line: 3, end_line: 4 }],
    // some count from 0
    ...[[0, 2], ["0", 2], "0-2", "lines 0 to 2", "0..2", { from: 0, to: 2 }, { start: 0, count: 2 }].flatMap((
      range,
    ): [string, Arguments, Arguments][] => [
      ["file_read", { path: "a", view_range: range }, { filename: "a", start_line: 1, end_line: 2 }],
      ["file_read", { files: [{ path: "a", lines: range }] }, { filename: "a:L1-2" }],
    ]),
    ...[[0, -1], "0-", "from 0 on", "0 to end"].map((range): [string, Arguments, Arguments] => [
      ...["file_read", { path: "a", line_range: range }, { filename: "a", start_line: 1 }] as const,
    ]),
    ["file_read", { path: "a", lines: { from: 3 } }, { filename: "a", start_line: 3 }],
    ["file_read", { path: "a", start_line: 2, end_line: -1 }, { filename: "a", start_line: 2 }],
    ["file_read", { path: "a", encoding: "cp1252" }, { filename: "a", encoding: "windows-1252" }],
    ["file_read", { path: "a", encoding: "ISO-8859-1" }, { filename: "a", encoding: "latin1" }],
    ["file_read", { path: "a", encoding: "SJIS" }, { filename: "a", encoding: "shift_jis" }],
    ["file_read", { path: "a", encoding: "ascii" }, { filename: "a" }],
    ["file_read", { path: "a", view_range: "[2, 4]" }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { path: "a", lines: "2-4" }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { path: "a", lines: "L2-L4" }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { path: "a", lines: "2,4" }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { path: "a", lines: "2-" }, { filename: "a", start_line: 2 }],
    ["file_read", { path: "a", lines: "lines 2 to 4" }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { path: "a", line_range: "2 through 4" }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { path: "a", range: "first 50 lines" }, { filename: "a", start_line: 1, end_line: 50 }],
    ["file_read", { path: "a", lines: "the last 20" }, { filename: "a", tail: 20 }],
    ["file_read", { path: "a", lines: { from: 2, to: 4 } }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { path: "a", files: [{ path: "b", lines: "last 20" }] }, { filename: "a", files: ["b:-20"] }],
    ["file_read", { path: "a", range: { start: 2 } }, { filename: "a", start_line: 2 }],
    ["file_read", { path: "a", encoding: "UTF8" }, { filename: "a", encoding: "utf-8" }],
    ["file_read", { path: "a", encoding: "Shift-JIS" }, { filename: "a", encoding: "shift_jis" }],
    ["file_read", { filename: '["a", "b"]' }, { filename: "a", files: ["b"] }],
    ["file_read", { path: "a", range: { start: 2, end: 4 } }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { filePath: "a", startLine: 2, endLine: 4 }, { filename: "a", start_line: 2, end_line: 4 }],
    ["file_read", { AbsolutePath: "a", StartLine: 2, EndLine: 4 }, { filename: "a", start_line: 2, end_line: 4 }],
    [
      "file_read",
      {
        target_file: "a",
        start_line_one_indexed: 2,
        end_line_one_indexed_inclusive: 4,
        should_read_entire_file: false,
      },
      { filename: "a", start_line: 2, end_line: 4 },
    ],
    ["file_read", { path: "a", head: 3 }, { filename: "a", limit: 3 }],
    ["file_read", { path: "a", tail: 3, "-n": true }, { filename: "a", tail: 3, numbered: true }],
    ["file_read", { paths: ["a", "b"] }, { filename: "a", files: ["b"] }],
    ["file_read", { files: ["a"] }, { filename: "a" }],
    ["file_read", { filename: ["a", "b"] }, { filename: "a", files: ["b"] }],
    ["file_read", { path: ["a", "b"], files: "c" }, { filename: "a", files: ["b", "c"] }],
    ["file_read", { path: "a", filename: "a", file: null }, { filename: "a" }],
    // claude-code Write, the text editor tool, Desktop Commander
    ["file_write", { file_path: "a", content: "b" }, { filename: "a", content: "b" }],
    ["file_write", { command: "create", path: "a", file_text: "b" }, { filename: "a", content: "b" }],
    ["file_write", { path: "a", content: "b", mode: "rewrite" }, { filename: "a", content: "b", mode: "overwrite" }],
    ["file_write", { path: "a", content: "b", append: true }, { filename: "a", content: "b", mode: "append" }],
    ["file_write", { path: "a", content: "b", append: false }, { filename: "a", content: "b" }],
    ["file_write", { path: "a", content: "b", overwrite: false, encoding: "utf-8" }, {
      ...{ filename: "a", content: "b", mode: "create" },
    }],
    ["file_write", { files: [{ path: "a", content: "b" }] }, { filename: "a", content: "b" }],
    ["file_write", { files: [{ path: "a", content: "b" }, { file_path: "c", text: "d" }] }, {
      ...{ filename: "a", content: "b", files: [{ filename: "c", content: "d" }] },
    }],
    // claude-code Edit and MultiEdit, Gemini CLI, the official filesystem server, VS Code
    ["file_edit", { file_path: "a", old_string: "b", new_string: "c", replace_all: false }, {
      ...{ path: "a", old_text: "b", new_text: "c", replace_all: false },
    }],
    ["file_edit", { file_path: "a", edits: [{ old_string: "b", new_string: "c", replaceAll: true }] }, {
      ...{ path: "a", edits: [{ old_text: "b", new_text: "c", replace_all: true }] },
    }],
    ["file_edit", { path: "a", edits: [{ oldText: "b", newText: "c" }], dryRun: true }, {
      ...{ path: "a", edits: [{ old_text: "b", new_text: "c" }], dry_run: true },
    }],
    ["file_edit", { filePath: "a", oldString: "b", newString: "c", expected_replacements: 1 }, {
      ...{ path: "a", old_text: "b", new_text: "c", expected_replacements: 1 },
    }],
    ["file_edit", { command: "str_replace", path: "a", old_str: "b", new_str: "c" }, {
      ...{ path: "a", old_text: "b", new_text: "c" },
    }],
    ["file_edit", { file_path: "a", old_string: "b", new_string: "c", instruction: "why", expected_replacements: 3 }, {
      ...{ path: "a", old_text: "b", new_text: "c", expected_replacements: 3 },
    }],
    ...["path", "paths", "file_paths", "files"].map((name): [string, Arguments, Arguments] => [
      "file_edit",
      { [name]: ["a", "d"], old_text: "b", new_text: "c" },
      { old_text: "b", new_text: "c", edits: ["a", "d"] },
    ]),
    ["file_edit", { paths: "a", old_text: "b", new_text: "c" }, { path: "a", old_text: "b", new_text: "c" }],
    ["file_edit", { files: [{ file: "a", old: "b", new: "c", expected_occurrences: 2 }] }, {
      edits: [{ path: "a", old_text: "b", new_text: "c", expected_replacements: 2 }],
    }],
    // claude-code Glob and LS, Codex, Gemini CLI, the official filesystem server
    ["file_list", { path: ["a"] }, { path: "a" }],
    ["file_list", { directories: ["a"] }, { path: "a" }],
    ["file_search", { query: "x", paths: ["a"] }, { query: "x", path: "a" }],
    ["file_list", { pattern: "**/*.ts", path: "a" }, { pattern: "**/*.ts", path: "a" }],
    ["file_list", { dir_path: "a", depth: 2, limit: 5, offset: 1 }, { path: "a", depth: 2, limit: 5 }],
    ["file_list", { path: "a", excludePatterns: ["b"], sortBy: "size" }, { path: "a", exclude: ["b"], sort: "size" }],
    ["file_list", { path: "a", ignore: ["b"], respect_git_ignore: false }, {
      ...{ path: "a", exclude: ["b"], include_ignored: true },
    }],
    ["file_list", { path: "a", recursive: true }, { path: "a", depth: 64 }],
    ["file_list", { path: "a", recursive: false, sort: "mtime" }, { path: "a", depth: 1, sort: "modified" }],
    // claude-code Grep, Gemini CLI, Cursor, VS Code, Cline, ripgrep
    [
      "file_search",
      { pattern: "x", path: "a", glob: "*.py", output_mode: "content", "-n": true, head_limit: 5 },
      { query: "x", regex: true, path: "a", pattern: "*.py", show: "lines", limit: 5 },
    ],
    ["file_search", { pattern: "x", "-i": true, "-A": 2, "-B": 3 }, {
      ...{ query: "x", regex: true, ignore_case: true, context: 3 },
    }],
    ["file_search", { pattern: "x", type: "py", output_mode: "files_with_matches", multiline: false }, {
      ...{ query: "x", regex: true, pattern: "*.{py,pyi}", show: "files" },
    }],
    ["file_search", { pattern: "x", is_regex: false }, { query: "x", regex: false }],
    ["file_search", { pattern: "x", include: "*.ts" }, { query: "x", regex: true, pattern: "*.ts" }],
    ["file_search", { pattern: "*.ts", path: "a", excludePatterns: ["b"] }, {
      pattern: "*.ts",
      path: "a",
      exclude: ["b"],
    }],
    ["file_search", { path: "a", regex: "settle.*fare", file_pattern: "*.ts" }, {
      ...{ path: "a", query: "settle.*fare", regex: true, pattern: "*.ts" },
    }],
    ["file_search", { query: "x", case_sensitive: true, include_pattern: "*.ts", exclude_pattern: "b" }, {
      ...{ query: "x", ignore_case: false, pattern: "*.ts", exclude: ["b"] },
    }],
    ["file_search", { query: "x", caseSensitive: false, isRegexp: true, includePattern: "*.ts", maxResults: 3 }, {
      ...{ query: "x", ignore_case: true, regex: true, pattern: "*.ts", limit: 3 },
    }],
    ["file_search", { query: "x", is_regex: true, recursive: true, context_lines: 2, ignoreCase: true }, {
      ...{ query: "x", regex: true, context: 2, ignore_case: true },
    }],
    ["file_search", { query: "x", "-C": 1, "-w": true, "-l": true, fixed_strings: true }, {
      ...{ query: "x", context: 1, whole_word: true, show: "files", regex: false },
    }],
    ["file_search", { query: "x", line_numbers: true, match_case: false, "-F": true, context_before: 2, "-B": 1 }, {
      ...{ query: "x", ignore_case: true, regex: false, context: 2 },
    }],
    ["file_search", { query: "x", files_only: true, substring_pattern: "x" }, {
      query: "x",
      regex: true,
      show: "files",
    }],
    ["file_search", { keyword: "x", path: "a" }, { query: "x", path: "a" }],
    ["file_list", { detail: true, order_by: "bytes" }, { show: "details", sort: "size" }],
    ["file_list", { detailed: true, order_by: "bytes" }, { show: "details", sort: "size" }],
    ["file_list", { detailed: false, show_hidden: true }, {}],
    ...["hidden", "show_hidden", "include_hidden", "includeHidden"].flatMap((
      name,
    ): [string, Arguments, Arguments][] => [
      ["file_list", { [name]: true }, {}],
      ["file_search", { query: "x", [name]: "true" }, { query: "x" }],
      ["file_list", { [name]: "False" }, { exclude: [".*"] }],
      ["file_search", { query: "x", exclude: "a", [name]: false }, { query: "x", exclude: ["a", ".*"] }],
      ["file_search", { query: "x", [name]: false, ignore: [".*"] }, { query: "x", exclude: [".*"] }],
    ]),
    // what says that something that no parameter does is not wanted
    ...["-v", "invert_match", "invertMatch", "newest_first", "multiline", "-U", "-o"].map((
      name,
    ): [string, Arguments, Arguments] => ["file_search", { query: "x", [name]: false }, { query: "x" }]),
    ["file_search", { pattern: "x", "-v": false }, { query: "x", regex: true }],
    // the official filesystem server, mv and cp
    ["file_move", { source: "a", destination: "b" }, { path: "a", destination: "b" }],
    ["file_move", { src: "a", dst: "b" }, { path: "a", destination: "b" }],
    ["file_move", { old_path: "a", new_path: "b", recursive: true }, { path: "a", destination: "b" }],
    ["file_delete", { target_file: "a" }, { path: "a" }],
    ["file_delete", { path: ["a", "b"] }, { paths: ["a", "b"] }],
    ["file_delete", { path: '["a", "b"]' }, { paths: ["a", "b"] }],
    ["file_delete", { dir: "a", "-rf": true }, { path: "a", recursive: true }],
    ["file_move", { directory: "a", new_path: "b" }, { path: "a", destination: "b" }],
    ["file_read", { uri: "workspace:///a" }, { filename: "workspace:///a" }],
    ["file_undo", { last: true }, { change: "last" }],
    ["file_move", { source: ["a"], to: "b" }, { paths: ["a"], destination: "b" }],
    ["file_delete", { filename: "a", recurse: true }, { path: "a", recursive: true }],
    ["file_undo", { change_id: "a" }, { change: "a" }],
    // Desktop Commander
    ["file_read", { path: "a", offset: -20, isUrl: false }, { filename: "a", tail: 20 }],
    ["file_search", {
      path: "a",
      pattern: "x",
      searchType: "content",
      filePattern: "*.txt",
      literalSearch: true,
      contextLines: 1,
      timeout_ms: 9,
      earlyTermination: true,
      includeHidden: false,
    }, {
      ...{ path: "a", query: "x", pattern: "*.txt", regex: false, context: 1, exclude: [".*"] },
    }],
    ["file_edit", { file_path: "a", needle: "b", repl: "c", mode: "literal", allow_multiple_occurrences: false }, {
      ...{ path: "a", old_text: "b", new_text: "c", replace_all: false },
    }],
    // Windsurf, Antigravity, VS Code, JetBrains, Roo, Gemini CLI, Cursor, Amp
    ["file_search", {
      SearchPath: "a",
      Query: "x",
      MatchPerLine: true,
      Includes: [],
      IsRegex: false,
      CaseSensitive: false,
    }, {
      ...{ path: "a", query: "x", ignore_case: true, regex: false },
    }],
    ["file_search", { SearchPath: "a", Query: "x", MatchPerLine: false }, { path: "a", query: "x", show: "files" }],
    ["file_list", {
      SearchDirectory: "a",
      Pattern: "*.py",
      Excludes: [],
      Type: "any",
      MaxDepth: 3,
      Extensions: [],
      FullPath: false,
    }, {
      ...{ path: "a", pattern: "*.py", depth: 3, exclude: [] },
    }],
    ["file_edit", {
      TargetFile: "a",
      CodeMarkdownLanguage: "ts",
      Instruction: "w",
      ReplacementChunks: [{ TargetContent: "b", ReplacementContent: "c", AllowMultiple: false }],
    }, {
      ...{ path: "a", edits: [{ old_text: "b", new_text: "c", replace_all: false }] },
    }],
    ["file_write", {
      TargetFile: "a",
      CodeContent: "b",
      EmptyFile: false,
      Overwrite: true,
      Description: "d",
      Complexity: 1,
    }, {
      ...{ filename: "a", content: "b" },
    }],
    ["file_edit", {
      explanation: "x",
      replacements: [{ filePath: "a", oldString: "b", newString: "c", explanation: "y" }],
    }, {
      edits: [{ path: "a", old_text: "b", new_text: "c" }],
    }],
    ["file_read", { pathInProject: "a", maxLinesCount: 2, truncateMode: "START", projectPath: "/p" }, {
      filename: "a",
      limit: 2,
    }],
    ["file_list", {
      globPattern: "*.py",
      subDirectoryRelativePath: "a",
      addExcluded: true,
      fileCountLimit: 10,
      timeout: 9,
    }, {
      ...{ path: "a", pattern: "*.py", include_ignored: true, limit: 10 },
    }],
    ["file_search", { regexPattern: "x", directoryToSearch: "a", fileMask: "*.py", maxUsageCount: 10 }, {
      ...{ query: "x", regex: true, path: "a", pattern: "*.py", limit: 10 },
    }],
    ["file_read", { files: [{ path: "a", line_ranges: [[1, 2]] }, { path: "b" }] }, {
      filename: "a:L1-2",
      files: ["b"],
    }],
    ["file_read", { files: [{ file_path: "a", offset: 5, limit: 3 }, { path: "b", start_line: 2 }, "c"] }, {
      ...{ filename: "a:L5-7", files: ["b:L2-", "c"] },
    }],
    ["file_delete", { files: [{ path: "a" }] }, { paths: ["a"] }],
    ["file_write", { file_path: "a", content: "b", modified_by_user: false, ai_proposed_content: "b" }, {
      ...{ filename: "a", content: "b" },
    }],
    ["file_search", { query: "x", target_directories: [] }, { query: "x" }],
    ["file_search", { query: "x", target_directories: ["a"] }, { query: "x", path: "a" }],
    ["file_list", { target_directory: "a", ignore_globs: ["b"] }, { path: "a", exclude: ["b"] }],
    ["file_read", { path: "a", read_range: [1, 2] }, { filename: "a", start_line: 1, end_line: 2 }],
    ["file_search", { pattern: "x", path: "a", caseSensitive: true, literal: true }, {
      query: "x",
      path: "a",
      regex: false,
    }],
    ["file_list", { relative_path: "a", recursive: false, skip_ignored_files: true, max_answer_chars: -1 }, {
      path: "a",
      depth: 1,
    }],
    // guards by the names that answers and other servers have for them
    ...["version", "etag", "sha256", "expected_version", "ifVersion", "if_match"].flatMap((
      name,
    ): [string, Arguments, Arguments][] => [
      ["file_write", { filename: "a", content: "b", [name]: "123456789012" }, {
        filename: "a",
        content: "b",
        if_version: "123456789012",
      }],
      ["file_edit", { path: "a", old_text: "b", new_text: "c", [name]: "123456789012" }, {
        ...{ path: "a", old_text: "b", new_text: "c", if_version: "123456789012" },
      }],
      ["file_move", { path: "a", destination: "b", [name]: "123456789012" }, {
        path: "a",
        destination: "b",
        if_version: "123456789012",
      }],
      ["file_delete", { path: "a", [name]: "123456789012" }, { path: "a", if_version: "123456789012" }],
    ]),
    ["file_delete", { path: "a", if_version: 123456789012 }, { path: "a", if_version: "123456789012" }],
    ["file_move", { path: "a", destination: "b", copy: "True", overwrite: "TRUE" }, {
      path: "a",
      destination: "b",
      copy: true,
      overwrite: true,
    }],
    ["file_move", { path: "a", destination: "b", copy: "False", overwrite: "FALSE" }, { path: "a", destination: "b" }],
    ["file_edit", { path: "a", old_text: 42, new_text: 43 }, { path: "a", old_text: "42", new_text: "43" }],
    ["file_edit", { path: "a", old_text: ["b", "c"], new_text: ["d"] }, { path: "a", old_text: "b\nc", new_text: "d" }],
    ["file_search", { query: "x", pattern: [] }, { query: "x" }],
  ];
  for (const [name, sent, meant] of cases) assertSame(name, sent, meant);
});

Deno.test("the local model's and ServiceNow's tools take other names and forms too", () => {
  const schema = { type: "object", properties: { a: { type: "string", default: null } } };
  const cases: readonly [string, Arguments, Arguments][] = [
    ["llm_generate", { question: "a", files: "b", think: "false" }, {
      prompt: "a",
      files: ["b"],
      options: { think: false },
    }],
    ["llm_generate", { prompt: "a", options: { think: "true", seed: "7" } }, {
      prompt: "a",
      options: { think: true, seed: 7 },
    }],
    ["llm_generate", { prompt: "a", options: '{"think":"high","stop":"x"}' }, {
      ...{ prompt: "a", options: { think: "high", stop: ["x"] } },
    }],
    ["llm_generate", { prompt: "a", options: { think: null, top_k: "" } }, { prompt: "a", options: {} }],
    ["llm_generate", { prompt: "a", json_schema: JSON.stringify(schema) }, { prompt: "a", json_schema: schema }],
    ["llm_generate", { prompt: "a", format: "json", maxTokens: 5, stream: false }, {
      ...{ prompt: "a", json_schema: {}, max_tokens: 5 },
    }],
    ["llm_generate", { prompt: "a", messages: { role: "User", content: "b", files: null } }, {
      ...{ prompt: "a", messages: [{ role: "user", content: "b" }] },
    }],
    ["servicenow_search", { table: "incident", where: ["state=New", "assigned_to=me"], fields: ["number", "state"] }, {
      ...{ table: "incident", where: "state=New\nassigned_to=me", fields: "number,state" },
    }],
    ["servicenow_search", { table: "incident", where: { state: ["New", "Open"], active: true } }, {
      ...{ table: "incident", where: "state=New|Open\nactive=true" },
    }],
    ["servicenow_count", { tableName: "incident", filter: "state=New", groupBy: "state" }, {
      ...{ table: "incident", where: "state=New", group_by: "state" },
    }],
    ["servicenow_get_record", { number: "INC1", include: ["journal", "tasks"] }, {
      id: "INC1",
      include: "journal,tasks",
    }],
    ["servicenow_create", { table: "incident", values: { short_description: "a", urgency: 1 } }, {
      ...{ table: "incident", values: '{"short_description":"a","urgency":1}' },
    }],
    ["servicenow_update", { sys_id: "a", fields: { state: "New" }, dryRun: "true" }, {
      ...{ id: "a", values: '{"state":"New"}', dry_run: true },
    }],
    ["servicenow_update", { id: "a", values: ["state=New", "urgency=1"] }, { id: "a", values: "state=New\nurgency=1" }],
    ["servicenow_add_note", { number: "INC1", work_notes: "a" }, { id: "INC1", text: "a", audience: "team" }],
    ["servicenow_add_note", { number: "INC1", text: "a", audience: "work_notes" }, {
      id: "INC1",
      text: "a",
      audience: "team",
    }],
    ["servicenow_approve", { id: "a", decision: "Approved" }, { id: "a", decision: "approve" }],
    ...[
      [{ field: "state", operator: "=", value: "New" }, { name: "urgency", value: 1 }],
      '[{"field":"state","operator":"=","value":"New"},{"name":"urgency","value":1}]',
    ].flatMap((list): [string, Arguments, Arguments][] => [
      ["servicenow_search", { table: "incident", where: list }, {
        table: "incident",
        where: "state = New\nurgency = 1",
      }],
      ["servicenow_update", { id: "a", values: list }, { id: "a", values: '{"state":"New","urgency":1}' }],
    ]),
    ["servicenow_search", { table: "incident", where: '["state=New"]' }, { table: "incident", where: "state=New" }],
    ["servicenow_search", { table: "incident", where: '{"state": ["New", "Open"]}' }, {
      ...{ table: "incident", where: "state=New|Open" },
    }],
    ["servicenow_update", { id: "a", values: "b=c", if_version: 0 }, { id: "a", values: "b=c", if_version: "0" }],
    ["servicenow_create", { table: "incident", short_description: "a", caller: "me" }, {
      ...{ table: "incident", values: '{"short_description":"a","caller":"me"}' },
    }],
    ["servicenow_describe", { table: "incident", field: ["state", "priority"] }, {
      ...{ table: "incident", field: "state,priority" },
    }],
    ["servicenow_order", { item: "a", action: "sendMessage", answers: { size: "L" } }, {
      item: "a",
      answers: '{"size":"L"}',
    }],
    ["servicenow_attach", { id: "a", file_path: "b" }, { id: "a", filename: "b" }],
    ["servicenow_get_record", { ids: '["INC1","INC2"]', fields: '["number"]' }, { id: "INC1,INC2", fields: "number" }],
    ["servicenow_update", { id: "a", values: '[{"state":"New"}]' }, { id: "a", values: '{"state":"New"}' }],
    ["servicenow_order", { item: "a", requested_for: "b" }, { item: "a", answers: '{"requested_for":"b"}' }],
  ];
  for (const [name, sent, meant] of cases) assertSame(name, sent, meant);
  for (const where of [{ state: null }, { state: { is: "New" } }, [1]]) {
    assert.equal(
      taken("servicenow_search", { table: "incident", where }),
      "where must be lines such as state=New|On Hold, assigned_to is empty",
    );
  }
  assert.equal(taken("servicenow_search", { table: "incident", where: { "a\nb": "c\nd=e" } }) instanceof Object, true);
  for (
    const values of [
      [{ field: "state", operator: "!=", value: "New" }],
      [{ field: "state", operator: { is: 1 }, value: "New" }],
      [{ field: "state", value: "New" }, { field: "state", value: "Closed" }],
    ]
  ) {
    assert.equal(
      taken("servicenow_update", { id: "a", values }),
      'values must be a JSON object such as {"state": "Resolved"}',
      JSON.stringify(values),
    );
  }
  const where = [{ field: "state", operator: { is: 1 }, value: "New" }];
  const lines = "where must be lines such as state=New|On Hold, assigned_to is empty";
  assert.equal(taken("servicenow_search", { table: "incident", where }), lines);
});

Deno.test("the listed schemas have no object without properties, no empty required, and are closed at their root", () => {
  const look = (schema: unknown, path: string): void => {
    if (typeof schema !== "object" || schema === null) return;
    const { type, properties, required } = schema as { type?: unknown; properties?: object; required?: unknown[] };
    if (type === "object") {
      assert.ok(properties !== undefined && (path.split(".").length === 1 || Object.keys(properties).length > 0), path);
    }
    assert.ok(required === undefined || required.length > 0, path);
    for (const [name, member] of Object.entries(schema)) look(member, `${path}.${name}`);
  };
  for (const { tool: { name }, inputSchema } of registry.all()) {
    look(inputSchema, name);
    assert.equal(inputSchema["additionalProperties"], false, name);
    look(toFlatSchema(inputSchema), name);
  }
});

Deno.test("no description sends to another tool for what a parameter takes", () => {
  for (const { tool: { name }, inputSchema } of registry.all()) {
    if (!name.startsWith("file_")) continue;
    assert.doesNotMatch(JSON.stringify(inputSchema), /As in |as in |More of them/, name);
  }
});

Deno.test("two names for one parameter with different values are refused and named", () => {
  const cases: readonly [string, Arguments, string][] = [
    [
      "file_read",
      { path: "a", filename: "b" },
      "path and filename are one parameter with different values; give one of them",
    ],
    [
      "file_move",
      { source: "a", from: "b", to: "c" },
      "source and from are one parameter with different values; give one of them",
    ],
    [
      "file_edit",
      { edits: [{ path: "a", old_str: "b", old_text: "c", new_text: "" }] },
      "old_str and old_text are one parameter with different values; give one of them",
    ],
    [
      "file_read",
      { path: "a", lines: "1-2", offset: 3 },
      "lines and offset are one parameter with different values; give one of them",
    ],
    [
      "file_search",
      { query: "a", regex: "b" },
      "query and regex are one parameter with different values; give one of them",
    ],
  ];
  for (const [name, sent, message] of cases) assert.equal(taken(name, sent), message);
  assertSame("file_read", { path: "a", filename: "a", limit: "3", head: 3 }, { filename: "a", limit: 3 });
});

Deno.test("a refusal names the caller's own argument", () => {
  const cases: readonly (readonly [string, Arguments, string])[] = [
    ["file_read", { path: "a", start_line: 1.5 }, "start_line must be an integer"],
    ["file_read", { path: "a", head: "many" }, "head must be a number"],
    ...["top", "50", "50 lines", "first", "1-2, 5-6", "ten to twenty", "half"].map((lines) =>
      ["file_read", { path: "a", lines }, "lines must be two line numbers, such as 2-4"] as const
    ),
    ["file_search", { q: [1] }, "q must be a string"],
    ...["query", "search"].map((name) =>
      [
        ...["file_search", { [name]: ["a", "b"] }] as const,
        `${name}: give query: "a|b" and regex: true for either, or all for lines with each`,
      ] as const
    ),
    ...[
      ...[[0, 0], [3, 0], "0-0", "1-0", "line 0", "first 0 lines", "last 0", { start: 1, count: 0 }],
      ...[[50, -5], [-2, -1], { start: 2, step: 2 }, { start: 2, end: 3, count: 2 }],
      ...[{ start: 2, from: 3 }, { end: 3 }, { start: 2, end: null }],
    ].map((lines) => ["file_read", { path: "a", lines }, "lines must be two line numbers, such as 2-4"] as const),
    ...[{ limit: 0 }, { start_line: "x" }, { end_line: -3 }, { offset: 1.5 }, { tail: 0 }, { limit: {} }].map((range) =>
      ["file_read", { files: ["a", { path: "b", ...range }] }, "files[1] must have line numbers from 1"] as const
    ),
    ["file_list", { sort: `${" ".repeat(200_000)}size_` }, "sort must be one of: name, size, modified"],
    ["file_list", { sort_by: `a${"_".repeat(200_000)}` }, "sort_by must be one of: name, size, modified"],
    ["file_read", { path: "a", view_range: [3, 4, 5] }, "view_range must be two line numbers, such as 2-4"],
    ["file_search", { query: "a", regex: "yes" }, "regex must be true or false"],
    ["file_edit", { changes: [{ path: "a", oldText: [1] }] }, "changes[0].oldText must be a string"],
    ["file_edit", { edits: [{ pth: "a" }] }, "edits[0] has no pth; did you mean path?"],
    ["file_list", { sort_by: "colour" }, "sort_by must be one of: name, size, modified"],
    ["file_search", { query: "a", output_mode: "all" }, "output_mode must be one of: lines, files, count, texts"],
  ];
  for (const [name, sent, message] of cases) assert.equal(taken(name, sent), message);
});

Deno.test("numbers above a bound are lowered, and the answer says so", () => {
  const lowered = (name: string, args: Arguments): readonly string[] => {
    const notes: string[] = [];
    const parsed = parseToolInput(registry.get(name) ?? assert.fail(name), args, notes);
    assert.ok(parsed.ok, parsed.ok ? "" : parsed.error);
    return notes;
  };
  assert.deepEqual(lowered("file_list", { depth: 100, limit: "20000" }), [
    "depth: 64 instead of 100, which is above the limit",
    "limit: 10000 instead of 20000, which is above the limit",
  ]);
  assert.deepEqual(lowered("file_search", { query: "a", head_limit: 9999, "-C": 50 }), [
    "head_limit: 1000 instead of 9999, which is above the limit",
    "-C: 10 instead of 50, which is above the limit",
  ]);
  assert.deepEqual(lowered("file_search", { query: "a", limit: 1000 }), []);
});

Deno.test("llm_generate takes what callers of Ollama's and of OpenAI's interface send", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const talk = [{ role: "user", content: "b" }, { role: "assistant", content: "c" }];
  const block = (text: string) => ({ type: "text", text });
  const cases: readonly (readonly [Arguments, Arguments])[] = [
    // a conversation whose last turn asks
    [{ messages: [{ role: "user", content: "a" }] }, { prompt: "a", messages: [] }],
    [{ messages: [...talk, { role: "user", content: "a" }] }, { prompt: "a", messages: talk }],
    [{ messages: JSON.stringify([...talk, { role: "human", content: "a", images: ["d.png"] }]), files: "e" }, {
      ...{ prompt: "a", messages: talk, files: ["e", "d.png"] },
    }],
    [{ prompt: "a", messages: [{ role: "developer", content: "b" }, { role: "model", content: "c" }] }, {
      ...{ prompt: "a", messages: [{ role: "system", content: "b" }, { role: "assistant", content: "c" }] },
    }],
    // content blocks
    [{ prompt: [block("a")] }, { prompt: "a" }],
    [{ prompt: "a", system: [block("b"), block("c")] }, { prompt: "a", system: "b\nc" }],
    [{ prompt: "a", messages: [{ role: "user", content: [block("b"), block("c")] }] }, {
      ...{ prompt: "a", messages: [{ role: "user", content: "b\nc" }] },
    }],
    ...["content", "user_prompt", "userMessage"].map((
      name,
    ): [Arguments, Arguments] => [{ [name]: "a" }, { prompt: "a" }]),
    // what Ollama has in options, and what it has beside them
    [{ prompt: "a", options: { num_predict: 5, model: "tiny", format: "json", stream: false, seed: 1 } }, {
      ...{ prompt: "a", max_tokens: 5, model: "tiny", json_schema: {}, options: { seed: 1 } },
    }],
    [{ prompt: "a", options: { temperature: 1 }, temperature: 1 }, { prompt: "a", options: { temperature: 1 } }],
    [{ prompt: "a", options: [] }, { prompt: "a" }],
    [{ prompt: "a", system: "", messages: "", options: "" }, { prompt: "a" }],
    ...["0.20", ".2", "0.2"].map((text): [Arguments, Arguments] => [{ prompt: "a", temperature: text }, {
      ...{ prompt: "a", options: { temperature: 0.2 } },
    }]),
    [{ prompt: "a", reasoning_effort: "none" }, { prompt: "a", options: { think: false } }],
    [{ prompt: "a", thinking: "true", stop_sequences: "x" }, { prompt: "a", options: { think: true, stop: ["x"] } }],
    // schemas, in each of the covers that they have
    ...[
      { name: "n", strict: true, schema },
      { type: "json_schema", schema },
      { type: "json_object", schema },
      { type: "json_schema", json_schema: { name: "n", schema } },
      JSON.stringify({ type: "json_schema", json_schema: { name: "n", schema } }),
    ].map((
      format,
    ): [Arguments, Arguments] => [{ prompt: "a", response_format: format }, { prompt: "a", json_schema: schema }]),
    ...["JSON", "json_object", { type: "json_object" }, "{}"].map((format): [Arguments, Arguments] => [
      { prompt: "a", format },
      { prompt: "a", json_schema: {} },
    ]),
    [{ prompt: "a", json: true }, { prompt: "a", json_schema: {} }],
    [{ prompt: "a", json: "false" }, { prompt: "a" }],
    // one list by two names
    [{ prompt: "a", images: ["b.png"], files: ["c", "b.png"] }, { prompt: "a", files: ["b.png", "c"] }],
    [{ prompt: "a", files: "[]" }, { prompt: "a", files: [] }],
  ];
  for (const [sent, meant] of cases) assertSame("llm_generate", sent, meant);
  assert.equal((taken("llm_generate", { prompt: "a", format: "text" }) as Arguments)["json_schema"], undefined);
  const refused: readonly (readonly [Arguments, RegExp])[] = [
    [{ messages: talk }, /^prompt parameter is required$/],
    [
      { prompt: "a", options: { temperature: 1 }, temperature: 0 },
      /options\.temperature and temperature are one parameter/,
    ],
    [{ prompt: "a", max_tokens: 5, options: { num_predict: 6 } }, /max_tokens and num_predict are one parameter/],
    [{ prompt: "a", format: "xml" }, /^format must be an object$/],
    [{ prompt: "a", temprature: 1 }, /has no temprature; did you mean temperature\?/],
    [{ prompt: "a", context: "b" }, /^context: put the text into prompt, or name its file in files$/],
    [{ prompt: "a", options: { mirostat: 1 } }, /^options has no mirostat; it takes temperature, /],
  ];
  for (const [sent, says] of refused) assert.match(String(taken("llm_generate", sent)), says);
});

Deno.test("what is unlike a text is read as one where its form is certain", () => {
  const meant: readonly (readonly [string, Arguments, Arguments])[] = [
    ["file_search", { query: "x", pattern: ["*.ts", "*.py"] }, { query: "x", pattern: "{*.ts,*.py}" }],
    ["file_list", { glob: ["*.ts"] }, { pattern: "*.ts" }],
    ["llm_generate", { prompt: "x", response_format: { type: "json_object" } }, { prompt: "x", json_schema: {} }],
    [
      "llm_generate",
      { prompt: "x", response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "array" } } } },
      { prompt: "x", json_schema: { type: "array" } },
    ],
    ["servicenow_get_record", { id: ["INC0010001", "INC0010002"] }, { id: "INC0010001,INC0010002" }],
    ["servicenow_update", { id: ["INC0010001"], values: "a=b" }, { id: "INC0010001", values: "a=b" }],
    ["servicenow_count", { table: "incident", group_by: ["state"] }, { table: "incident", group_by: "state" }],
    [
      "servicenow_search",
      { table: "t", sysparm_query: "active=true", sysparm_limit: "2", sysparm_fields: "a,b", sysparm_offset: 3 },
      { table: "t", where: "active=true", limit: 2, fields: "a,b", cursor: "3" },
    ],
  ];
  for (const [name, sent, same] of meant) assertSame(name, sent, same);
  const plain = taken("llm_generate", { prompt: "x", response_format: { type: "text" } }) as Arguments;
  assert.equal(plain["json_schema"], undefined);
  assertSame("file_delete", { path: "a", recursive: true, force: true }, { path: "a", recursive: true });
  assertSame("file_search", { query: "a", max_count: 2, top: 2 }, { query: "a", limit: 2 });
  assert.match(String(taken("file_search", { pattern: [1] })), /pattern must be a string/);
});

Deno.test("a tool's name is found in another order of its words, and without those that every file tool has", () => {
  const principal = { scopes: new Set(["files:read", "files:write"]) } as never;
  for (
    const [asked, nearest] of [
      ["file_copy", "file_move"],
      ["files_copy", "file_move"],
      ["copyFile", "file_move"],
      ["file_grep", "file_search"],
      ["file_create", "file_write"],
      ["directory_list", "file_list"],
      ["file_cat", "file_read"],
      ["get_file_info", "file_list"],
      ["mcp__fs__read_media_file", "file_read"],
      ["listDirectory", "file_list"],
      ["textSearch", "file_search"],
      ...[["text_editor", "file_edit"], ["search_and_replace", "file_edit"], [
        "replace_text_in_file",
        "file_edit",
      ]] as const,
      ...[["read_file_range", "file_read"], ["get_file_text_by_path", "file_read"], ["get_file", "file_read"]] as const,
      ...[["list_directory_tree", "file_list"], ["find_files_by_glob", "file_list"], [
        "file_exists",
        "file_list",
      ]] as const,
      ...[["search_in_files_by_regex", "file_search"], ["find_files_by_name_keyword", "file_search"]] as const,
      ...[["copy_path", "file_move"], ["create_dir", "file_move"], ["remove_folder", "file_delete"]] as const,
      ...[["delete_path", "file_delete"], ["restore_file", "file_undo"], ["insert_content", "file_edit"]] as const,
      ...[["run_command", null], ["write_pdf", null], ["fetch", null], ["list_code_definition_names", null]] as const,
      ["file", null],
      ["rm_rf", null],
    ] as const
  ) {
    assert.equal(nearestTool(asked, registry, principal), nearest, asked);
  }
});
