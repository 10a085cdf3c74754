/** What a search finds, or says, where a text is written otherwise than the query. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

const [nfc, nfd] = ["Der Größe nach: café, naïve Ångström", "Der Größe nach: café, naïve Ångström".normalize("NFD")];

Deno.test("a text is found in either Unicode form, whatever the form of the query", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    const files = { "composed.txt": nfc, "decomposed.txt": nfd, "plain.txt": "Der Grosse nach: cafe" };
    for (const [name, text] of Object.entries(files)) Deno.writeTextFileSync(`${root}/${name}`, `${text}\n`);
    const queries: readonly (readonly [string, Record<string, unknown>])[] = [
      ["Größe", {}],
      ["größe NACH", { ignore_case: true }],
      ["café", { whole_word: true }],
      ["CAFÉ", { whole_word: true, ignore_case: true }],
      ["Größe.*café", { regex: true }],
      ["(na|ma)ïve+ (Å|X)", { regex: true }],
      ["GRÖSSE|ÅNGSTRÖM$", { regex: true, ignore_case: true }],
      ["Der", { all: ["naïve", "Größe"] }],
      ["der", { all: ["NAÏVE"], ignore_case: true }],
    ];
    for (const [query, more] of queries) {
      for (const form of ["NFC", "NFD"]) {
        const all = (more["all"] as string[] | undefined)?.map((text) => text.normalize(form));
        const input = { ...more, ...all && { all }, query: query.normalize(form) };
        const { structured } = await answerOf(search, input);
        const found = (structured["matches"] as { readonly filename: string }[]).map(({ filename }) => filename);
        assert.deepEqual(found, ["composed.txt", "decomposed.txt"], `${query} in ${form}`);
      }
    }
    for (const form of ["NFC", "NFD"]) {
      const without = await answerOf(search, { query: "Der", without: ["café".normalize(form)] });
      assert.equal(without.structured["lines"], 1);
      const class_ = await answerOf(search, { query: `caf[${"é".normalize("NFC")}x]|\\Q(é)\\E`, regex: true });
      assert.match(class_.text, /^composed\.txt/);
    }
    assert.match((await answerOf(search, { query: "cafe", whole_word: true })).text, /1 line in 1 file/);
  }));

Deno.test("matches in either Unicode form are counted, in long lines too", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    const [one, other] = ["é".normalize("NFC"), "é".normalize("NFD")];
    Deno.writeTextFileSync(`${root}/short`, `${one} ${other} ${one}\n`);
    for (const [name, repeats] of [["long", 20_000], ["longer", 600_000]] as const) {
      Deno.writeTextFileSync(`${root}/${name}`, `${one} ${other} `.repeat(repeats));
    }
    const { text } = await answerOf(search, { query: one, show: "count" });
    assert.match(text, /^long: 40000 \(1 line\)\nlonger: 1200000 \(1 line\)\nshort: 3 \(1 line\)\n/);
  }));

Deno.test("names are found in either Unicode form, as patterns and as the query", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    for (const form of ["NFC", "NFD"]) Deno.writeTextFileSync(`${root}/${form}-résumé.md`.normalize(form), "x\n");
    for (const form of ["NFC", "NFD"]) {
      const { structured } = await answerOf(search, { pattern: "*résumé*".normalize(form) });
      assert.equal((structured["matches"] as unknown[]).length, 2);
      const { text } = await answerOf(search, { query: "NFC-résumé.md".normalize(form) });
      assert.match(text, /files of that name: NFC-/);
    }
  }));

Deno.test("a search that finds nothing says what of the query fits no line, and the form that works", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    Deno.mkdirSync(`${root}/node_modules`);
    Deno.writeTextFileSync(`${root}/a.ts`, "settle the fare\nfunction f() {\n  return 1;\n}\n");
    const cases: readonly (readonly [Record<string, unknown>, RegExp, Record<string, unknown>])[] = [
      [{ query: "/SETTLE.*fare/i" }, /without slashes: query SETTLE\.\*fare, regex: true, ignore_case: true/, {
        query: "SETTLE.*fare",
        regex: true,
        ignore_case: true,
      }],
      [{ query: "/settle.*fare/", regex: true }, /without slashes: query settle\.\*fare, regex: true\)/, {
        query: "settle.*fare",
        regex: true,
      }],
      [{ query: "/set\\w+/", regex: true }, /query set\\w\+, regex: true/, { query: "set\\w+", regex: true }],
      [{ query: "/settle/gi", regex: true }, /query settle, regex: true, ignore_case: true/, {
        query: "settle",
        regex: true,
        ignore_case: true,
      }],
      [{ query: "f\\(\\) \\{\\n\\s*return", regex: true }, /each line is searched separately.*one of its lines/, {
        query: "f\\(\\) \\{$",
        regex: true,
        context: 1,
      }],
      [{ query: "fare\\nfunction", regex: true }, /each line is searched separately/, { query: "fare" }],
      [{ query: "(?s)function.*return", regex: true }, /each line is searched separately/, { query: "function" }],
      [{ query: "f\\(\\) \\{\\s+return", regex: true }, /each line is searched separately/, { query: "return" }],
      [{ query: "\\{[^}]*return", regex: true }, /each line is searched separately/, { query: "return" }],
      [{ query: "*.ts" }, /\(give \*\.ts as pattern to find files by name\)/, { pattern: "*.ts" }],
      [{ query: "**/*.{ts,js}" }, /give \*\*\/\*\.\{ts,js\} as pattern/, { pattern: "**/*.{ts,js}" }],
      [{ query: "fare\\t" }, /searched as plain text; pass regex: true/, { query: "fare" }],
      [{ query: "f() {\\n  return" }, /each line is searched separately/, { query: "f() {" }],
    ];
    for (const [input, words, works] of cases) {
      const { text } = await answerOf(search, input);
      assert.match(text, words, JSON.stringify(input));
      const mayBeIgnored = /\\s|\[\^/.test(String(input["query"])) && !/\\n/.test(String(input["query"]));
      assert.equal(text.includes("set include_ignored"), mayBeIgnored, JSON.stringify(input));
      assert.doesNotMatch((await answerOf(search, works)).text, /nothing found/, JSON.stringify(works));
    }
    for (const query of ["/usr/lib/none", "none\\d"]) {
      assert.doesNotMatch((await answerOf(search, { query })).text, /without slashes|searched separately/, query);
    }
    assert.match((await answerOf(search, { query: "none" })).text, /set include_ignored/);
    assert.doesNotMatch((await answerOf(search, { query: "none", pattern: "py" })).text, /set include_ignored/);
  }));

Deno.test("expressions of JavaScript, Python and PCRE are taken where RE2 writes the same otherwise", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeTextFileSync(`${root}/a`, "caf\u00e9 one\nfox \u{1f98a} $5 \\u00e9\nend Z\n");
    const search = fileSearchTool(() => workspace);
    for (
      const [query, line] of [
        ["caf\\u00e9", 1],
        ["[\\u00e0-\\u00ff]", 1],
        ["\\u{1F98A}", 2],
        ["\\\\u00e9", 2],
        ["\\Q\\u00e9\\E", 2],
        ["d Z\\Z", 3],
        ["(?u)caf\\w*", 1],
        ["(?iu)CAF", 1],
      ] as const
    ) {
      const { structured } = await answerOf(search, { query, regex: true });
      assert.deepEqual((structured["matches"] as { line: number }[]).map(({ line }) => line), [line], query);
    }
    assert.match((await answerOf(search, { query: "\\<one\\>", regex: true })).text, /write \\b for the end of a word/);
    const refused = await failureOf(search, { query: "fox(?! hen)", regex: true });
    assert.match(refused.message, /search without it: all and without take texts/);
  }));

Deno.test("text that holds a NUL is searched where its file is named, as it is read and edited", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    for (const text of ["a\0b\nneedle\n", `${"x\n".repeat(50_000)}\0\nneedle\n`]) {
      for (const [encoding, mark] of [["utf8", ""], ["utf8", "\ufeff"], ["utf16le", "\ufeff"]] as const) {
        Deno.writeFileSync(`${root}/f`, Buffer.from(mark + text, encoding));
        const named = await answerOf(search, { query: "needle", path: "f" });
        assert.equal(named.structured["hits"], 1, named.text);
        assert.match((await answerOf(search, { query: "needle" })).text, /skipped: 1 binary: f\)/);
      }
    }
    Deno.writeFileSync(`${root}/f`, new Uint8Array(300).map((_, index) => index * 7));
    assert.match((await answerOf(search, { query: "needle", path: "f" })).text, /skipped: 1 binary: f\)/);
  }));
