/** A refusal names the call that works, or what is in the way: each call that is named is made. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { withFileServer } from "../fixtures/file_server.ts";
import { postMcp } from "../fixtures/mcp_call.ts";

type Input = Record<string, unknown>;
/** What is asked, what the refusal says, and the call that it names. */
type Row = readonly [tool: string, input: Input, words: RegExp, then?: readonly [tool: string, input: Input]];

const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(1_100_000)]);
const wide = "zeile größe\r\n".repeat(60_000);

function fill(root: string): void {
  Deno.mkdirSync(`${root}/d`);
  Deno.writeTextFileSync(`${root}/d/a.ts`, "one\n  two\nthree\n");
  Deno.writeTextFileSync(`${root}/README.md`, "read me\n");
  Deno.writeTextFileSync(`${root}/crlf.bat`, "a\r\nb\r\n");
  Deno.writeTextFileSync(`${root}/d/re\u0301sume\u0301.md`, "composed or not\n");
  Deno.writeFileSync(`${root}/binary`, Uint8Array.of(0, 0xff, 0x80));
  Deno.writeFileSync(`${root}/large.bin`, Buffer.alloc(1_100_000));
  Deno.writeFileSync(`${root}/large.png`, png);
  Deno.writeFileSync(`${root}/latin.txt`, Buffer.from("Größe\n", "latin1"));
  Deno.writeFileSync(`${root}/wide.txt`, Buffer.from(`\ufeff${wide}`, "utf16le"));
  Deno.writeTextFileSync(`${root}/large.txt`, "line\n".repeat(300_000));
  Deno.writeFileSync(`${root}/huge.log`, Buffer.alloc(70_000_000, "line of a log\n"));
  const outside = `${root}/../linked-${crypto.randomUUID()}`; // in the directory of the test
  Deno.writeTextFileSync(outside, "linked\n");
  Deno.linkSync(outside, `${root}/one.md`);
  Deno.linkSync(`${root}/one.md`, `${root}/two.md`);
}

const refused: readonly Row[] = [
  ["file_read", { filename: "d" }, /is a directory; file_list lists it \(d\)$/, ["file_list", { path: "d" }]],
  ["file_list", { path: "/" }, /the workspace itself is \.$/, ["file_list", { path: "." }]],
  ["file_read", { filename: "/README.md" }, /paths are relative to the workspace: README\.md/, ["file_read", {
    filename: "README.md",
  }]],
  ["file_read", { filename: "d/../README.md:1" }, /path traversal not allowed; write it without \.\.: README\.md$/, [
    "file_read",
    { filename: "README.md" },
  ]],
  ["file_read", { filename: "d/../../README.md" }, /path traversal not allowed$/],
  ["file_read", { filename: "readme.md" }, /did you mean README\.md\?/, ["file_read", { filename: "README.md" }]],
  ["file_read", { filename: "a.ts" }, /did you mean d\/a\.ts\?/, ["file_read", { filename: "d/a.ts" }]],
  ["file_read", { filename: "binary" }, /binary: .*link: true gives a URL/, ["file_read", {
    filename: "binary",
    link: true,
  }]],
  [
    "file_read",
    { filename: "large.bin" },
    /binary, of 1100000 bytes, and the limit is 1048576; link: true gives a URL/,
    [
      "file_read",
      { filename: "large.bin", link: true },
    ],
  ],
  [
    "file_read",
    { filename: "large.png" },
    /cannot show the picture: it is damaged: its picture cannot be decoded; link: true gives/,
    [
      "file_read",
      { filename: "large.png", link: true },
    ],
  ],
  ["file_read", { filename: "large.txt", embed: true }, /leave embed out to read text in parts/, ["file_read", {
    filename: "large.txt",
  }]],
  ["file_read", { filename: "latin.txt", encoding: "utf-8" }, /no text in utf-8; leave encoding out/, ["file_read", {
    filename: "latin.txt",
  }]],
  ["file_read", { filename: "huge.log:9000000-" }, /read in the first 67108864; huge\.log:-50 gives its last/, [
    "file_read",
    { filename: "huge.log:-50" },
  ]],
  [
    "file_read",
    { filename: "one.md" },
    /another name of it \(a hard link\) is outside the workspace/,
  ],
  ["file_write", { filename: "README.md", content: "x", mode: "create" }, /leave mode out to replace it/, [
    "file_write",
    { filename: "README.md", content: "read me\n" },
  ]],
  ["file_write", { filename: "d", content: "x" }, /is a directory; name a file in it/, ["file_write", {
    filename: "d/new",
    content: "x",
  }]],
  ["file_write", { filename: "a\nb", content: "x" }, /control characters and line separators are not allowed/],
  ["file_edit", { path: "fresh.ts", old_text: "a", new_text: "b" }, /file_write creates files/, ["file_write", {
    filename: "fresh.ts",
    content: "b",
  }]],
  ["file_edit", { path: "d", old_text: "a", new_text: "b" }, /is a directory; name a file in it/],
  [
    "file_edit",
    { path: "d/a.ts", old_text: "two\n  three", new_text: "x" },
    /but for blanks, case or signs it is at line 2; copy/,
    [
      "file_edit",
      { path: "d/a.ts", old_text: "  two\nthree", new_text: "  two\n  three" },
    ],
  ],
  ["file_edit", { path: "d/a.ts", old_text: "four", new_text: "x" }, /old_text is not in the file; it must match/],
  [
    "file_edit",
    { path: "d/a.ts", old_text: "t", new_text: "x" },
    /is there 2 times \(lines 2, 3\); add text .* or set replace_all/,
  ],
  [
    "file_edit",
    { path: "d/a.ts", old_text: "hre", new_text: "x", whole_word: true },
    /at line 3; leave whole_word out/,
    [
      "file_edit",
      { path: "d/a.ts", old_text: "hre", new_text: "hre ", dry_run: true },
    ],
  ],
  ["file_edit", { path: "d/a.ts", old_text: "One", new_text: "x" }, /but for blanks, case or signs it is at line 1/],
  [
    "file_edit",
    { path: "d/a.ts", old_text: "three\nfour", new_text: "x" },
    /its first line is line 3; copy what follows/,
  ],
  ["file_edit", {
    path: "d/a.ts",
    edits: [{ old_text: "one", new_text: "1" }, { old_text: "one", new_text: "2" }],
  }, /no longer in the file after the edits before this one; give what they leave \(edit 2, d\/a\.ts\); nothing/],
  ["file_undo", { change: "none" }, /call file_undo without change for the list$/, ["file_undo", {}]],
  ["file_edit", { edits: [{ path: "d/a.ts", old_text: "one", new_text: "x", count: 1 }] }, /^edits\[0\] has no count/],
  ["file_search", { query: "one\n  two" }, /search for one of its lines, with context/, ["file_search", {
    query: "two",
    context: 1,
  }]],
  ["file_search", { query: "(?<=o)ne", regex: true }, /RE2 syntax, which has no look-around/],
  ["file_search", { query: "x", path: "a.ts" }, /did you mean d\/a\.ts\?/, ["file_search", {
    query: "x",
    path: "d/a.ts",
  }]],
  ["file_search", { path: "d" }, /give query, pattern or both/, ["file_search", { path: "d", query: "one" }]],
  ["file_move", { path: "README.md", destination: "d" }, /did you mean d\/README\.md\?/, ["file_move", {
    path: "README.md",
    destination: "d/README.md",
  }]],
  ["file_move", { path: "d/README.md", destination: "one.md" }, /choose another, or set overwrite/],
  ["file_move", { path: "d", destination: "d/e" }, /cannot be moved into itself/],
  ["file_move", { path: "*.md", destination: "d" }, /a path is no pattern: file_list and file_search take pattern/, [
    "file_list",
    {
      pattern: "*.md",
    },
  ]],
  ["file_edit", { path: "crlf.bat", old_text: "\r\n", new_text: "\n", replace_all: true }, /file_write changes them/, [
    "file_write",
    { filename: "crlf.bat", content: "a\nb\n" },
  ]],
  ["file_delete", { path: "d" }, /not empty; set recursive/],
];

/** Parameters that are taken and not all listed. "The limit is 5" names none. */
const unlistedNames =
  /\b(start_line|end_line|limit(?! is)|tail|numbered|encoding|embed|link(?=:)|max_bytes|offset|if_match)\b/g;

async function listedParameters(url: string, token: string): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const response = await postMcp(url, { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }, { token });
  const { tools }: { tools: { name: string; inputSchema: { properties: object } }[] } = (await response.json()).result;
  return new Map(tools.map(({ name, inputSchema }) => [name, new Set(Object.keys(inputSchema.properties))]));
}

/** What other servers, and clients' own tools, call a parameter. */
const otherNames: readonly (readonly [tool: string, input: Input, words: RegExp])[] = [
  ["file_read", { file_path: "large.txt", offset: 3, limit: 2 }, /lines 3 to 4/],
  ["file_read", { path: "large.txt", limit: 1 }, /line 1[;,]/],
  ["file_read", { path: "large.txt", head: 2 }, /lines 1 to 2/],
  ["file_read", { filename: "README.md", paths: ["d/a.ts"] }, /three/],
  ["file_edit", { file_path: "d/a.ts", old_string: "one", new_string: "ONE" }, /1 replacement/],
  ["file_edit", { path: "d/a.ts", edits: [{ oldText: "ONE", newText: "one" }], dryRun: false }, /1 replacement/],
  ["file_write", { file_path: "written", text: "x" }, /^Created written/],
  ["file_search", { text: "three", directory: "d" }, /3: three/],
  ["file_list", { dir: "d", max_depth: 1 }, /a\.ts/],
  ["file_move", { old_path: "written", new_path: "moved" }, /^Moved/],
  ["file_move", { source: "moved", target: "again" }, /^Moved/],
  ["file_read", { filename: "d/a.ts:0-2" }, /lines 1 to 2 of 3/],
  ["file_read", { filename: "d/a.ts:3-2" }, /lines 2 to 3 of 3/],
  ["file_move", { path: "again", destination: "d/" }, /^Moved again to d\/again$/],
  ["file_move", { path: "d/again", destination: "new/deep/" }, /^Moved d\/again to new\/deep\/again$/],
  ["file_move", { path: "new/deep/", destination: "d/" }, /^Moved new\/deep to d\/deep$/],
  ["file_move", { path: "d/deep", destination: "other/", copy: true }, /^Copied d\/deep\/ to other\/ \(1 file/],
  ["file_delete", { path: "d/deep", recursive: true }, /^Deleted d\/deep/],
];

needing("workspace directory").test(
  "a refusal names the call that works, and no other server's names stop a call",
  async () => {
    await withFileServer({ fill }, async ({ call, done, server, token }) => {
      for (const [tool, input, words] of otherNames) assert.match((await done(tool, input)).text, words);
      const listed = await listedParameters(server.url, token);
      for (const [tool, input, words, then] of refused) {
        const asked = `${tool} ${JSON.stringify(input)}`;
        const answer = await call(tool, input);
        assert.ok(!answer.ok, asked);
        assert.match(answer.text, words, `${asked} ${answer.text}`);
        const isUnknown = /has no \w+; it takes/.test(answer.text); // it names all that are taken
        for (const [, name = ""] of isUnknown ? [] : answer.text.matchAll(unlistedNames)) {
          const isSeen = listed.get(tool)?.has(name) === true;
          assert.ok(isSeen || name in input || name in (then?.[1] ?? {}), `${asked} names ${name}`);
        }
        if (then !== undefined) await done(...then);
      }
    });
  },
);

needing("workspace directory").test(
  "what is large, in UTF-16, past the end or in another Unicode form is found by the call that says so",
  async () => {
    await withFileServer({ fill }, async ({ done }) => {
      const text = async (filename: string): Promise<string> => (await done("file_read", { filename })).text;
      assert.match(await text("wide.txt:59999-60000"), /59999\tzeile größe\r\n60000\tzeile größe\r\n$/);
      assert.match(await text("wide.txt:-1"), /the last 1 line|line 60000/);
      assert.match(
        await text("wide.txt"),
        /lines 1 to \d+ of 60000; .*UTF-16LE.*; there is more: call again with cursor/,
      );
      assert.match(await text("README.md:9-"), /it has 1 line, so there is nothing at line 9/);
      assert.match(await text("large.txt:300001-"), /nothing from line 300001 on/);
      const found = await done("file_search", { query: "größe", path: "wide.txt", last: true, limit: 1 });
      assert.match(found.text, /^wide\.txt\n60000: zeile größe\n\(the last 1 of 60000 lines/);
      for (const pattern of ["*résumé*", "**/re\u0301sum?.md", "{x,résumé.md}", "r[éè]sumé.md"]) {
        for (const tool of ["file_list", "file_search"]) {
          assert.match((await done(tool, { pattern })).text, /sume\u0301\.md/);
        }
      }
      const same = await done("file_list", { show: "duplicates" });
      assert.match(same.text, /not compared, for lack of time or since they cannot be read: 2 files: one\.md, two\.md/);
    });
  },
);
