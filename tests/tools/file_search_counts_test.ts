/** What `file_search` counts: lines, the matches in them, and matched texts. */
import assert from "node:assert/strict";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { answerOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_search counts what file_edit replaces, in lines of any length", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    const edit = fileEditTool(() => workspace);
    const texts = {
      short: "var a=1,var,vary; var\nnone\nvar\n",
      odd: `${"é".repeat(300)} var var ${"x".repeat(300)}var\n`,
      long: `${"var é=1;".repeat(6_999)}\nvar\n`,
      longer: `${"x".repeat(100_000)}${"varvar, ".repeat(20_000)}end\nvar\n`,
    };
    for (const [name, text] of Object.entries(texts)) {
      Deno.writeTextFileSync(`${root}/${name}`, text);
      const isShort = text.length < 2_000;
      for (const whole_word of [false, ...isShort ? [true] : []]) {
        const { structured, text: shown } = await answerOf(search, {
          query: "var",
          path: name,
          show: "count",
          whole_word,
        });
        const replaced = await answerOf(edit, {
          ...{ path: name, old_text: "var", new_text: "x", replace_all: true, whole_word, dry_run: true },
        });
        assert.equal(structured["hits"], replaced.structured["replacements"], `${name} ${whole_word}`);
        assert.equal(structured["lines"], name === "odd" ? 1 : 2);
        assert.match(shown, new RegExp(`^${name}: ${structured["hits"]} \\(\\d lines?\\)\\n`));
      }
    }
    const { text } = await answerOf(search, { query: "var", path: "long" });
    assert.match(
      text,
      / \(also at :9, :17, :25, :33, :41, \.\.\. 6999 in all\)\n2: var\n\(2 lines, 7000 matches in 1 file/,
    );
    const first = await answerOf(search, { query: "var", path: "longer" });
    const [match] = first.structured["matches"] as { readonly columns: readonly number[] }[];
    for (const column of match?.columns ?? assert.fail()) {
      const there = await answerOf(fileReadTool(() => workspace), { filename: `longer:1:${column}-${column + 2}` });
      assert.equal(there.structured["content"], "var");
    }
    // an expression may look at a whole long line for each match: shown lines say that there may be more
    const some = await answerOf(search, { query: "var|end", regex: true, path: "longer" });
    assert.match(some.text, /2 lines, at least \d+ matches in 1 file/);
  }, { limits: { maxReadBytes: 64 * 1024 } }));

Deno.test("file_search counts every match of an expression in a long line, and tells all its texts", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    const words = Array.from(
      { length: 3_600 },
      (_, index) => index % 9 < 5 ? "open" : index % 3 === 0 ? "schloß" : "shut",
    );
    for (const line of [words.join(" "), `${words.join(" ")} `, words.join("\u{1f512}")]) {
      for (const end of ["", "\r\n"]) {
        Deno.writeTextFileSync(`${root}/states`, line + end);
        for (const query of ["open|shut", "\\w+", "shut|$", "(?i)SHUT", "^open|n$|t$", "o?"]) {
          const { structured } = await answerOf(search, { query, regex: true, path: "states", show: "count" });
          const flags = query.startsWith("(?i)") ? "giu" : "gu";
          const all = [...line.matchAll(new RegExp(query.replace("(?i)", ""), flags))].map(([text]) => text);
          assert.equal(structured["hits"], all.length, `${query} in ${line.slice(0, 20)}`);
          const told = await answerOf(search, { query, regex: true, path: "states", show: "texts" });
          const texts = told.structured["texts"] as readonly { readonly text: string; readonly count: number }[];
          assert.deepEqual(
            new Map(texts.map(({ text, count }) => [text, count])),
            new Map([...new Set(all)].map((text) => [text, all.filter((each) => each === text).length])),
          );
        }
        const whole = await answerOf(search, { query: "shut", whole_word: true, path: "states", show: "count" });
        assert.equal(whole.structured["hits"], words.filter((each) => each === "shut").length);
      }
    }
  }));

Deno.test("file_search counts how often which text matched, the most frequent first", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    const states = ["open", "closed", "open", "held", "open", "closed"];
    Deno.writeTextFileSync(
      `${root}/a.json`,
      states.map((state) => `{"status":"${state}"} {"status":"new"}\n`).join(""),
    );
    const { text, structured } = await answerOf(search, { query: '"status":"\\w+"', regex: true, show: "texts" });
    assert.deepEqual(text.split("\n"), [
      '6: "status":"new"',
      '3: "status":"open"',
      '2: "status":"closed"',
      '1: "status":"held"',
      "(6 lines, 12 matches in 1 file; 1 searched)",
    ]);
    assert.deepEqual((structured["texts"] as unknown[])[1], { text: '"status":"open"', count: 3 });
    const most = await answerOf(search, { query: '"status":"\\w+"', regex: true, show: "texts", limit: 1 });
    assert.match(most.text, /^6: "status":"new"\n6: \(other texts\)\n/);
    // texts of any number and length
    Deno.writeTextFileSync(
      `${root}/many`,
      Array.from({ length: 1_500 }, (_, n) => `k${n}=${"v".repeat(500)}\n`).join(""),
    );
    const many = await answerOf(search, { query: "k\\d+=v+", regex: true, path: "many", show: "texts", limit: 1000 });
    assert.match(many.text, /\n500: \(other texts\)\n\(1500 lines in 1 file/);
    assert.match((await answerOf(search, { query: "none", show: "texts" })).text, /^\(nothing found\)\n/);
  }));

Deno.test("file_search names the texts that are there most often, wherever they stand among very many different ones", () =>
  withWorkspace(async ({ root, workspace }) => {
    const search = fileSearchTool(() => workspace);
    const rare = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `id=u${from + at}`);
    const [robot, second] = [new Array<string>(500).fill("id=ROBOT"), new Array<string>(300).fill("id=SECOND")];
    const among = (often: readonly string[]) =>
      rare(0, 6_000).flatMap((each, at) => at % 20 === 0 ? [each, often[at / 20] ?? each] : [each]);
    const logs: Readonly<Record<string, readonly string[]>> = {
      last: [...rare(0, 6_000), ...second, ...robot],
      first: [...robot, ...second, ...rare(0, 6_000)],
      among: [...among(second), ...robot],
      apart: [...rare(0, 2_500), ...robot, ...rare(2_500, 6_000), ...second],
      few: [...rare(0, 1_200), ...second, ...robot],
    };
    for (const [name, lines] of Object.entries(logs)) {
      Deno.writeTextFileSync(`${root}/${name}`, lines.join("\n"));
      const input = { path: name, query: "id=\\w+", regex: true, show: "texts", limit: 2 };
      const { text, structured } = await answerOf(search, input);
      assert.deepEqual(structured["texts"], [
        { text: "id=ROBOT", count: 500 },
        { text: "id=SECOND", count: 300 },
      ], name);
      const others = name === "few"
        ? /\n1200: \(other texts\)\n/
        : /\n6000: \(other texts, and earlier ones of these\)\n/;
      assert.match(text, others, name);
    }
  }));

Deno.test("file_search names the texts that are there most often, though few of them stand close to each other", () =>
  withWorkspace(async ({ root, workspace }) => {
    const lines = Array.from({ length: 1_200 * 8 }, (_, at) => `id=v${at >> 3}`);
    for (let at = 0; at < 100_000; at++) {
      lines.push(`id=u${at}`, ...at % 200 === 0 ? ["id=ROBOT"] : [], ...at % 400 === 0 ? ["id=SECOND"] : []);
    }
    Deno.writeTextFileSync(`${root}/log`, lines.join("\n"));
    const input = { query: "id=\\w+", regex: true, show: "texts", limit: 2 };
    const { text, structured } = await answerOf(fileSearchTool(() => workspace), input);
    const [robot, second] = structured["texts"] as { readonly text: string; readonly count: number }[];
    assert.deepEqual([robot?.text, second?.text], ["id=ROBOT", "id=SECOND"], text);
    const missed = [500 - (robot?.count ?? 0), 250 - (second?.count ?? 0)];
    assert.ok(missed.every((each) => each >= 0 && each <= lines.length / 1_000), text);
  }));
