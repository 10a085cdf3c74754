/** Calls of file tools that are refused, and how each is repeated as its refusal says. */
import { toWalkCursorText } from "../../src/files/tools/input.ts";

export type Arguments = Record<string, unknown>;
/** From the refusal's text to the arguments that it names, and perhaps another tool. */
type Repeat = (found: RegExpExecArray, args: Arguments) => Arguments | readonly [string, Arguments];

/** The value of an unknown name under the parameter that the refusal names. */
const renamed: Repeat = ([, name = "", meant = ""], args) => {
  const { [name]: value, ...others } = args;
  return { ...others, [meant]: value };
};
const without = (name: string): Repeat => (_found, { [name]: _left, ...args }) => args;
const set = (more: Arguments): Repeat => (_found, args) => ({ ...args, ...more });
const call = (tool: string, args: Arguments): Repeat => () => [tool, args];
/** The number that it names, for the argument that it names. */
const bounded: Repeat = ([, name = "", bound = ""], args) => ({ ...args, [name]: Number(bound) });
const oneOf: Repeat = ([, name = "", first = ""], args) => ({ ...args, [name]: first });
const toPath = (name: string): Repeat => ([, path = ""], args) => ({ ...args, [name]: path });

const edit = { path: "notes/a.txt", old_text: "one", new_text: "1" };
const unknown = /has no (\S+); did you mean (\w+)\?/;
const least = /^(\S+) must be at least (\d+)/;
const values = /^(\S+) must be one of: (\w+)/;
const meantPath = /did you mean ([^ ?]+)\?/;
const relative = /paths are relative to the workspace: (\S+)/;
/** A call, what its refusal says, and the repeat. */
export const refusedFileCalls: readonly (readonly [string, Arguments, RegExp, Repeat])[] = [
  // arguments
  ["file_read", { filname: "notes/a.txt" }, unknown, renamed],
  ["file_write", { filename: "new.txt", contnt: "a" }, unknown, renamed],
  ["file_edit", { ...edit, replace_al: true }, unknown, renamed],
  ["file_list", { pth: "notes" }, unknown, renamed],
  ["file_search", { query: "one", limt: 3 }, unknown, renamed],
  ["file_move", { path: "notes/a.txt", destinaton: "notes/z.txt" }, unknown, renamed],
  ["file_delete", { pah: "notes/a.txt" }, unknown, renamed],
  ["file_read", { file_pth: "notes/a.txt" }, unknown, renamed], // another name of filename
  ["file_list", { path: ".", extensions: ["txt"] }, /give pattern, such as \*\.ts/, () => ({ pattern: "*.txt" })],
  ["file_list", { sort: "-size" }, /give order, asc or desc/, () => ({ sort: "size", order: "asc" })],
  ["file_list", { name: "a.txt" }, /give pattern to find names/, () => ({ pattern: "a.txt" })],
  ["file_list", { path: ".", type: "directory" }, /give pattern \*\//, () => ({ path: ".", pattern: "*/" })],
  [
    "file_search",
    { query: "one", newest_first: true },
    /file_list with pattern and sort/,
    call("file_list", {
      ...{ pattern: "*.txt", sort: "modified" },
    }),
  ],
  ["file_search", { query: "one", multiline: true }, /search for one, with context/, without("multiline")],
  ["file_search", { queries: ["one", "two"] }, /give query: "a\|b" and regex: true/, () => ({
    ...{ query: "one|two", regex: true },
  })],
  ["file_search", { queries: ["one", "two"] }, /or all for lines with each/, () => ({ all: ["one", "two"] })],
  ["file_search", { query: "one", "-v": true }, /give the text in without/, () => ({ without: ["one"] })],
  ["file_search", { query: "one", extensions: ["txt"] }, /give pattern, such as \*\.ts/, () => ({
    ...{ query: "one", pattern: "*.txt" },
  })],
  [
    "file_search",
    { query: "one", path: "notes/a.txt", lines: "1-2" },
    /name lines behind the path: a\.ts:10-50/,
    () => ({
      ...{ query: "one", path: "notes/a.txt:1-2" },
    }),
  ],
  ["file_search", { query: "one", recursive: false }, /give pattern, such as src\/\*/, () => ({
    ...{ query: "one", pattern: "notes/*" },
  })],
  ["file_read", { files: [{ path: "notes/a.txt:1", limit: 3 }] }, /leave out one of the two/, () => ({
    files: [{ path: "notes/a.txt", limit: 3 }],
  })],
  ["file_read", { filename: "notes/a.txt:1-1", limit: 3 }, /leave out one of the two/, without("limit")],
  ["file_search", { query: "one", offset: 5 }, /a larger limit/, () => ({ query: "one", limit: 500 })],
  ["file_read", { filename: "notes/a.txt", pages: "1" }, /name pages behind the path: a\.pdf:p3/, without("pages")],
  ["file_read", { filename: "notes/a.txt", files: ["notes/b.txt"], cursor: "WyJhIiwxLDEsMF0" }, /leave out files/, (
    _found,
    { filename },
  ) => ({ filename })],
  ["file_read", { filename: "notes/a.txt", end_line: 1, limit: 1 }, /only one of end_line and limit/, without("limit")],
  ["file_read", { filename: "notes/a.txt", start_line: 2, end_line: 1 }, /end_line is before/, without("end_line")],
  ["file_read", { filename: "notes/a.txt", embed: true, tail: 1 }, /leave it out to get a part/, without("embed")],
  ["file_read", { filename: "notes/a.txt", against: "notes/b.txt", tail: 1 }, /leave out the rest/, without("tail")],
  [
    "file_read",
    { filename: "data.bin", encoding: "utf-8" },
    /leave encoding out/,
    call("file_list", { path: "data.bin" }),
  ],
  ["file_read", { filename: "notes/a.txt", against: "notes/c.txt" }, meantPath, toPath("against")],
  ["file_read", { filename: "notes/a.txt,notes/b.txt" }, /more than one path: (\S+) and (\S+)/, ([, one, other]) => ({
    ...{ filename: one, files: [other] },
  })],
  ["file_read", { filename: "notes%2Fa.txt" }, meantPath, toPath("filename")],
  ["file_read", { filename: "notes/a.txt\n" }, meantPath, toPath("filename")],
  ["file_delete", { path: "notes/a.txt\nnotes/b.txt" }, /give several paths as a list/, () => ({
    paths: ["notes/a.txt", "notes/b.txt"],
  })],
  [
    "file_edit",
    { if_version: "00000000", edits: [edit, { ...edit, path: "notes/b.txt", old_text: "two" }] },
    /in each edit/,
    (
      _found,
      { edits },
    ) => ({ edits }),
  ],
  ["file_edit", { ...edit, old_text: "1\tone\n2\ttwo" }, /leave them out/, set({ old_text: "one\ntwo" })],
  ["file_edit", { ...edit, old_text: "one\\ntwo" }, /send the characters/, set({ old_text: "one\ntwo" })],
  ["file_edit", { ...edit, old_text: "ONE" }, /at line \d+; copy the passage/, set({ old_text: "one" })],
  ["file_edit", { edits: [edit, edit] }, /give what they leave/, () => ({
    edits: [edit, { ...edit, old_text: "1", new_text: "2" }],
  })],
  ["file_edit", { path: "a.docx", old_text: "a", new_text: "b" }, /write (\S+), or upload/, ([, filename]) => [
    "file_write",
    { filename, content: "a" },
  ]],
  ["file_write", { filename: "a.pdf", content: "a" }, /write (a\.md)/, toPath("filename")],
  ["file_write", { filename: "latin.txt", content: "\u65e5" }, /leave that out/, set({ content: "\u00e9" })],
  [
    "file_write",
    { filename: "latin.txt", content: "\u65e5" },
    /delete the file first/,
    call("file_delete", { path: "latin.txt" }),
  ],
  [
    "file_delete",
    { paths: ["notes/a.txt", "notes/b.txt"], if_version: "00000000" },
    /leave it out/,
    without("if_version"),
  ],
  [
    "file_move",
    { path: "notes/*.txt", destination: "d" },
    /file_list and file_search take pattern/,
    call("file_list", {
      ...{ path: "notes", pattern: "*.txt" },
    }),
  ],
  ["file_read", { filename: "notes/a.txt", head: 0 }, least, bounded],
  ["file_list", { depth: 0 }, least, bounded],
  ["file_search", { query: "one", "-C": -1 }, least, bounded],
  ["file_write", { filename: "new.txt", content: "a", mode: "insert" }, values, oneOf],
  ["file_list", { sort: "colour" }, values, oneOf],
  ["file_search", { query: "one", output_mode: "all" }, values, oneOf],
  ["file_read", {}, /^filename parameter is required$/, set({ filename: "notes/a.txt" })],
  ["file_read", { files: [] }, /^filename parameter is required$/, set({ filename: "notes/a.txt" })],
  ["file_write", { filename: "new.txt" }, /^content parameter is required$/, set({ content: "a" })],
  ["file_move", { path: "notes/a.txt" }, /^destination parameter is required$/, set({ destination: "b" })],
  ["file_search", {}, /give query, pattern or both/, set({ pattern: "*.txt" })],
  ["file_read", { path: "notes/a.txt", filename: "b" }, /give one of them/, without("filename")],
  [
    "file_read",
    { filename: "notes/a.txt", lines: "top" },
    /such as (\d-\d)/,
    ([, lines], args) => ({ ...args, lines }),
  ],
  ["file_read", { filename: "notes/a.txt", tail: 1, offset: 1 }, /use only one of tail/, without("tail")],
  ["file_edit", { path: "notes/a.txt", new_text: "1" }, /give old_text/, set({ old_text: "one" })],
  ...["path", "paths", "folders"].flatMap((name): typeof refusedFileCalls =>
    [["file_search", { query: "one" }], ["file_list", {}]].map(([tool, args]) => [
      tool as string,
      { ...args as Arguments, [name]: ["notes", "full/c.txt"] },
      /call once for each, or leave it out and give a pattern such as \{a,a\/\*\*,b,b\/\*\*\}/,
      () => ({ ...args as Arguments, pattern: "{notes,notes/**,full/c.txt,full/c.txt/**}" }),
    ])
  ),
  ...[{ insert_line: 1, new_str: "zero\n" }, { command: "insert", insert_line: 0, insert_text: "zero\n" }].map(
    (sent): typeof refusedFileCalls[number] => [
      "file_edit",
      { path: "notes/a.txt", ...sent },
      /give a line that is there as old_text, and that line with the new ones as new_text/,
      () => ({ path: "notes/a.txt", old_text: "one\n", new_text: "one\nzero\n" }),
    ],
  ),
  [
    "file_edit",
    { path: "notes/a.txt", start_line: 1, end_line: 1, new_text: "1" },
    /give the lines themselves as old_text/,
    () => edit,
  ],
  [
    "file_edit",
    { path: "notes/a.txt", content: "a" },
    /file_write writes a whole file/,
    call("file_write", { filename: "b", content: "a" }),
  ],
  ["file_edit", { ...edit, regex: true }, /file_edit finds exact text/, without("regex")],
  [
    "file_edit",
    { ...edit, old_text: "two", expected_replacements: 3 },
    /old_text is there 2 times; with expected_replacements (\d)/,
    ([, number], args) => ({ ...args, expected_replacements: Number(number) }),
  ],
  [ // a number holds beside replace_all, also 1, which clients send unasked
    "file_edit",
    { ...edit, old_text: "two", replace_all: true, expected_replacements: 1 },
    /old_text is there 2 times; with expected_replacements (\d)/,
    ([, number], args) => ({ ...args, expected_replacements: Number(number) }),
  ],
  [
    "file_edit",
    { ...edit, if_version: "" },
    /that of notes\/a\.txt is (\w{12})/,
    ([, if_version], args) => ({ ...args, if_version }),
  ],
  [
    "file_write",
    { filename: "notes/a.txt", content: "a", if_version: "" },
    /is (\w{12})/,
    ([, if_version], args) => ({ ...args, if_version }),
  ],
  [
    "file_move",
    { path: "notes/a.txt", destination: "z", if_version: "" },
    /is (\w{12})/,
    ([, if_version], args) => ({ ...args, if_version }),
  ],
  [
    "file_delete",
    { path: "notes/a.txt", if_version: "" },
    /is (\w{12})/,
    ([, if_version], args) => ({ ...args, if_version }),
  ],
  [
    "file_edit",
    { edits: [{ ...edit, if_version: "" }] },
    /is (\w{12})/,
    ([, if_version]) => ({ edits: [{ ...edit, if_version }] }),
  ],
  ["file_write", { filename: "new.txt", content: "a", if_version: "" }, /leave it out/, without("if_version")],
  ["file_search", { query: "one(", regex: true }, /leave out regex/, without("regex")],
  ["file_search", { query: "one(?!two)", regex: true }, /all and without take texts/, () => ({
    ...{ query: "one", without: ["two"] },
  })],
  ["file_search", { query: ["one", "two"] }, /or all for lines with each/, () => ({ all: ["one", "two"] })],
  ["file_search", { query: "one\ntwo" }, /search for one of its lines/, set({ query: "one" })],
  [
    "file_list",
    { modified_after: "soon" },
    /write it as (\S+)/,
    ([, modified_after], args) => ({ ...args, modified_after }),
  ],
  ["file_list", { cursor: "x" }, /is not one of an earlier result/, without("cursor")],
  ["file_undo", { change: "x" }, /call file_undo without change/, without("change")],
  // paths
  ["file_read", { filename: "/notes/a.txt" }, relative, toPath("filename")],
  ["file_read", { filename: "/home/me/notes/a.txt" }, relative, toPath("filename")],
  ["file_read", { filename: "back\\slash" }, meantPath, toPath("filename")],
  ["file_read", { filename: "a\\ b.txt" }, /did you mean (a b\.txt)\?/, toPath("filename")],
  ["file_edit", { path: "notes\\in\\it", old_text: "i", new_text: "j" }, meantPath, toPath("path")],
  ["file_read", { filename: "C:\\notes\\a.txt" }, relative, toPath("filename")],
  ["file_read", { filename: "notes/../notes/a.txt" }, /write it without \.\.: (\S+)/, toPath("filename")],
  ["file_list", { path: "/" }, /the workspace itself is (\S+)/, toPath("path")],
  ["file_read", { filename: "notes/A.TXT" }, meantPath, toPath("filename")],
  ["file_read", { filename: "a.txt" }, meantPath, toPath("filename")],
  ["file_edit", { ...edit, path: "nots/a.txt" }, meantPath, toPath("path")],
  ["file_delete", { path: "notes/a.txd" }, meantPath, toPath("path")],
  ["file_search", { query: "one", path: "notse" }, meantPath, toPath("path")],
  ["file_list", { path: "note" }, meantPath, toPath("path")],
  ["file_read", { filename: "report-2026.md" }, meantPath, toPath("filename")],
  ["file_read", { filename: "notes" }, /file_list lists it/, call("file_list", { path: "notes" })],
  [
    "file_read",
    { filename: "data.bin" },
    /no known image or audio format \(data\.bin\)$/,
    call("file_list", { path: ".", show: "details", pattern: "data.bin" }),
  ],
  ["file_write", { filename: "notes", content: "a" }, /name a file in it/, set({ filename: "notes/new" })],
  ["file_write", { filename: "notes/a.txt", content: "a", mode: "create" }, /leave mode out/, without("mode")],
  ["file_move", { path: "notes/a.txt", destination: "notes/b.txt" }, /or set overwrite/, set({ overwrite: true })],
  ["file_move", { path: "notes/a.txt", destination: "full" }, meantPath, toPath("destination")],
  [
    "file_move",
    { path: "full/c.txt", new_name: "d.txt" },
    /give destination, the new path with its directory/,
    () => ({ path: "full/c.txt", destination: "full/d.txt" }),
  ],
  [
    "file_search",
    { query: "one", ext: "txt" },
    /give pattern, such as \*\.ts/,
    () => ({ query: "one", pattern: "*.txt" }),
  ],
  ["file_move", { paths: ["full", "full/c.txt"], destination: "new" }, /leave it out/, set({ paths: ["full"] })],
  ["file_write", { filename: "notes%2Fnew.txt", content: "a" }, meantPath, toPath("filename")],
  ["file_write", { filename: " new.txt", content: "a" }, meantPath, toPath("filename")],
  ["file_delete", { path: "full" }, /set recursive/, set({ recursive: true })],
  [
    "file_read",
    { filename: "dangling" },
    /there is a link of this name, but nothing where it leads/,
    () => ["file_delete", {
      path: "dangling",
    }],
  ],
  // edits
  ["file_edit", { ...edit, old_text: "two" }, /set replace_all/, set({ replace_all: true })],
  [
    "file_edit",
    { ...edit, old_text: "" },
    /append with file_write/,
    call("file_write", { filename: "notes/a.txt", content: "x", mode: "append" }),
  ],
  ["file_edit", { ...edit, old_text: "on", whole_word: true }, /leave whole_word out/, without("whole_word")],
  [
    "file_edit",
    { ...edit, path: "new.txt" },
    /file_write creates files/,
    call("file_write", { filename: "new.txt", content: "x" }),
  ],
  [
    "file_list",
    { pattern: "*.txt", cursor: toWalkCursorText("other", { segments: ["notes"], isDirectory: true }) },
    /of a call with other arguments; .* leave the cursor out/,
    without("cursor"),
  ],
  [
    "file_write",
    {
      filename: "notes/a.txt",
      content: "x",
      mode: "append",
      files: [{ filename: "notes/a.txt", content: "y", mode: "overwrite" }],
    },
    /appends to it before; name it once/,
    without("files"),
  ],
  [
    "file_write",
    { filename: "new.txt", content: "a", if_version: "000000000000" },
    /leave if_version out to create it/,
    without("if_version"),
  ],
  ["file_write", { filename: "new.txt", content: "x".repeat(2_000) }, /write the rest with mode append/, (
    _found,
    { content },
  ) => ({ filename: "new.txt", content: String(content).slice(0, 1_000) })],
  ["file_edit", { ...edit, new_text: "x".repeat(2_000) }, /replace less at a time/, set({ new_text: "x" })],
  [
    "file_edit",
    { ...edit, path: "huge" },
    /file_write with mode append adds at its end/,
    call("file_write", { filename: "huge", content: "x", mode: "append" }),
  ],
  [
    "file_edit",
    { path: "full/c.txt", old_text: "three\nfour", new_text: "3" },
    /line is line \d+; copy what follows/,
    set({
      old_text: "three",
    }),
  ],
  ["file_edit", { ...edit, case_sensitive: false }, /finds text in its case; file_search shows it/, () => [
    "file_search",
    { query: "ONE", ignore_case: true },
  ]],
  ["file_edit", { ...edit, if_version: "000000000000" }, /not as expected: .*; read it again/, () => [
    "file_read",
    { filename: "notes/a.txt" },
  ]],
  [
    "file_search",
    { query: "(?:a{500}){500}", regex: true },
    /use fewer or smaller repetitions/,
    set({ query: "a{5}" }),
  ],
  [
    "file_delete",
    { path: "many", recursive: true },
    /take its directories one at a time/,
    set({
      path: "many/one",
    }),
  ],
  [
    "file_read",
    { filename: "notes/a.txt/x" },
    /leave out what follows the file's name/,
    set({
      filename: "notes/a.txt",
    }),
  ],
  ["file_list", { path: "notes/a.txt/x" }, /leave out what follows the file's name/, set({ path: "notes/a.txt" })],
  [
    "file_search",
    { query: "one", path: "notes/a.txt/x" },
    /leave out what follows the file's name/,
    set({
      path: "notes/a.txt",
    }),
  ],
  ["file_move", { destination: "notes/a.txt" }, /; choose another name/, set({ destination: "notes/new" })],
  // ways that stand in the refusal's first words
  ...[() => ({ ...edit }), () => ({ edits: [edit] })].flatMap((repeat): typeof refusedFileCalls => [
    ["file_edit", { edits: [{ old_text: "one", new_text: "1" }] }, /give path, or a path in each of edits/, repeat],
    ["file_edit", { path: "notes/a.txt" }, /give path, old_text and new_text, or edits/, repeat],
    [
      "file_edit",
      { path: "notes/a.txt", patch: "@@ -1 +1 @@" },
      /give each place as old_text and new_text, several of them in edits/,
      repeat,
    ],
  ]),
  ...[["file_read", {}], ["file_write", { content: "a" }], ["file_edit", { ...edit }]].map((
    [tool, args],
  ): typeof refusedFileCalls[number] => [
    "file_edit",
    { path: "notes/a.txt", command: "undo_all" },
    /file_read views, file_write creates, file_edit replaces and inserts: old_text and new_text say what/,
    call(tool as string, { ...args as Arguments, path: "notes/a.txt" }),
  ]),
  ["file_edit", { ...edit, old_text: "nine" }, /it must match exactly, with blanks/, set({ old_text: "one\n" })],
  ["file_search", { query: "one", "-o": true }, /show: texts counts what matched/, () => ({
    ...{ query: "one", show: "texts" },
  })],
  ["file_search", { query: "a.txt", search_type: "files" }, /give pattern without query to find files/, () => ({
    pattern: "a.txt",
  })],
  ["file_search", { cursor: "x" }, /a cursor goes with the arguments of the call that gave it/, () => ({
    query: "one",
  })],
  ["file_search", { query: "x".repeat(1_001) }, /query is too long: (\d+) characters of plain text/, ([, most]) => ({
    query: "x".repeat(Number(most)),
  })],
  [
    "file_search",
    { query: "x".repeat(251), ignore_case: true },
    /query is too long: .*, (\d+) with regex or ignore_case/,
    ([, most], args) => ({ ...args, query: "x".repeat(Number(most)) }),
  ],
  ["file_read", { filename: "paper" }, /a PDF, which is read as text where its name ends in \.pdf/, () => [
    "file_move",
    { path: "paper", destination: "paper.pdf" },
  ]],
  ["file_write", { filename: "notes\\u{5c}new.txt", content: "a" }, /may not hold a backslash; \/ separates/, () => ({
    ...{ filename: "notes/new.txt", content: "a" },
  })],
  ["file_write", { filename: "/new/", content: "a" }, relative, toPath("filename")],
  ["file_write", { filename: "new.txt/", content: "a" }, /a file name does not end in a slash/, () => ({
    ...{ filename: "new.txt", content: "a" },
  })],
];
