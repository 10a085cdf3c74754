/** Documents by `file_read`: as text that pages like any file, by parts, and never the end of the server. */
import assert from "node:assert/strict";
import { createDocuments, type Documents } from "../../src/files/documents/reading.ts";
import { success } from "../../src/lib/result.ts";
import { openDocuments } from "../../src/files/documents/view.ts";
import { parseFilePath } from "../../src/files/workspace/path.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { makeExcel, makePowerPoint, makeWord } from "./make_document.ts";
import { makePdf } from "../fixtures/pdf.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { parseToolInput } from "../../src/mcp/tool_call.ts";
import { answerOf, failureOf, withWorkspace } from "../tools/with_workspace.ts";

interface Place {
  readonly root: string;
  readonly read: Tool;
  readonly search: Tool;
  readonly list: Tool;
  readonly workspace: Workspace;
}

async function withDocuments(work: (place: Place) => Promise<void>): Promise<void> {
  await withWorkspace(async ({ root, workspace }) => {
    const documents = createDocuments({ readingMs: 120_000 });
    try {
      const [read, search] = [
        fileReadTool(() => workspace, null, documents),
        fileSearchTool(() => workspace, { documents, clock: () => 0 }),
      ];
      await work({ root, workspace, read, search, list: fileListTool(() => workspace, { documents }) });
    } finally {
      documents.close();
    }
  });
}

Deno.test("lines of a page are read alike, whether they are asked for beside its name, behind it, or in a list", () =>
  withDocuments(async ({ root, read }) => {
    const registered = createToolRegistry([read]).get("file_read") ?? assert.fail();
    const inputOf = (given: Record<string, unknown>): unknown => {
      const parsed = parseToolInput(registered, given);
      return parsed.ok ? parsed.value : assert.fail(parsed.error);
    };
    Deno.writeFileSync(`${root}/a.pdf`, makePdf([1, 2].map((page) => [`#Chapter ${page}`, ...lines(page)])));
    Deno.writeFileSync(
      `${root}/b.xlsx`,
      makeExcel({ Q1: "", Q2: rows([1, 2, 3, 4].map((row) => [row, `row ${row}`])) }),
    );
    for (const name of ["a.pdf:p2", "b.xlsx:Q2", "b.xlsx:Q2!A2:A4", "b.xlsx:Q2!2:4"]) {
      const ranges = [[{ limit: 3 }, "L1-3"], [{ start_line: 2 }, "2-"], [{ start_line: 2, end_line: 3 }, "2-3"], [
        { tail: 2 },
        "-2",
      ]] as const;
      for (const [range, written] of ranges) {
        const { content } = (await answerOf(read, { filename: name, ...range })).structured;
        assert.equal(typeof content, "string");
        const others = [
          [`${name}:${written}`],
          [{ path: name, ...range }],
          ["a.pdf", { path: name, ...range }],
        ];
        for (const files of others) {
          const { structured } = await answerOf(read, inputOf({ files }));
          const last = [structured, structured["files"] ?? []].flat().at(-1) as { content?: string };
          assert.equal(last.content, content, JSON.stringify(files));
        }
      }
    }
    const { message } = await failureOf(read, { filename: "a.pdf:p2:L1-3", limit: 3 });
    assert.match(message, /has a range of its own/);
  }));

Deno.test("file_read gives a PDF as text, by pages, lines and cursors, with what there is in its head", () =>
  withDocuments(async ({ root, read }) => {
    const pages = [1, 2, 3, 4].map((page) => [`#Chapter ${page}`, ...lines(page)]);
    Deno.writeFileSync(`${root}/report.pdf`, makePdf(pages, "/Title (Yearly report)"));
    const whole = await answerOf(read, { filename: "report.pdf" });
    assert.match(whole.texts.join("\n"), /^--- p1 ---\n# Chapter 1\nline 1 of page 1\n/);
    assert.match(
      whole.texts.join("\n"),
      /\(report\.pdf: PDF, 4 pages, “Yearly report”; its text: \d+ lines, .*untrusted file text\)$/,
    );
    assert.equal(whole.structured["size_bytes"], Deno.statSync(`${root}/report.pdf`).size);
    for (const [part, there] of [["p2", "2"], ["p2-3", "23"], ["3-", ""], ["pages 3-4", "34"], ["P4", "4"]] as const) {
      const { structured } = await answerOf(read, { filename: `report.pdf:${part}` });
      const found = String(structured["content"]).match(/(?<=^--- p)\d/gm)?.join("");
      if (there !== "") assert.equal(found, there, part); // 3- alone is from line 3 on, as in every file
    }
    const some = await answerOf(read, { filename: "report.pdf:1-2" });
    assert.equal(some.structured["content"], "--- p1 ---\n# Chapter 1\n");
    const { structured: first } = await answerOf(read, { filename: "report.pdf", max_bytes: 100 });
    const { structured: next } = await answerOf(read, { filename: "report.pdf", cursor: first["next_cursor"] });
    assert.equal(`${first["content"]}${next["content"]}`, whole.structured["content"]);
    assert.match((await failureOf(read, { filename: "report.pdf:p9" })).message, /no part "p9": it has p1, p2, p3, p4/);
    Deno.writeTextFileSync(`${root}/report.pdf:p2`, "a file of this very name");
    assert.equal(
      (await answerOf(read, { filename: "report.pdf:p2" })).structured["content"],
      "a file of this very name",
    );
  }));

function lines(page: number): readonly string[] {
  return Array.from({ length: 5 }, (_, index) => `line ${index + 1} of page ${page}`);
}

Deno.test("what is no PDF, is damaged or is named otherwise is refused in a sentence", () =>
  withDocuments(async ({ root, read }) => {
    Deno.writeTextFileSync(`${root}/text.pdf`, "only text\n");
    assert.equal((await answerOf(read, { filename: "text.pdf" })).structured["content"], "only text\n");
    Deno.writeFileSync(`${root}/cut.pdf`, makePdf([["x"]]).subarray(0, 300));
    assert.match((await failureOf(read, { filename: "cut.pdf" })).message, /it is a damaged PDF \(cut\.pdf\)/);
    Deno.writeFileSync(`${root}/a.bin`, new Uint8Array([...makePdf([["x"]]), 0, 0xff]));
    assert.match((await failureOf(read, { filename: "a.bin" })).message, /read as text where its name ends in \.pdf/);
    const scanned = makePdf([[], ["words"]]);
    Deno.writeFileSync(`${root}/scan.pdf`, scanned);
    assert.match(
      (await answerOf(read, { filename: "scan.pdf" })).texts.join(),
      /2 pages; without text, perhaps scanned: p1;/,
    );
  }));

Deno.test("100 damaged copies of a PDF end nothing, and one caller's wait keeps no other from reading", () =>
  withDocuments(async ({ root, read }) => {
    const good = makePdf([["words that are there"], ["more"]]);
    Deno.writeTextFileSync(`${root}/plain.txt`, "plain\n");
    let seed = 1;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let copy = 0; copy < 100; copy++) {
      const damaged = new Uint8Array(good);
      for (let flip = 0; flip < 1 + copy % 20; flip++) damaged[9 + random(good.length - 9)] = random(256);
      Deno.writeFileSync(`${root}/${copy}.pdf`, damaged);
    }
    for (let copy = 0; copy < 100; copy += 4) {
      const names = [0, 1, 2, 3].map((each) => `${copy + each}.pdf`);
      const all = await Promise.all([
        ...names.map((filename) => answerOf(read, { filename }).catch((error: Error) => error)),
        answerOf(read, { filename: "plain.txt" }),
      ]);
      assert.equal((all.at(-1) as { text: string }).text.split("\n")[0], "plain");
    }
    Deno.writeFileSync(`${root}/good.pdf`, good);
    assert.match((await answerOf(read, { filename: "good.pdf" })).text, /words that are there/);
  }));

Deno.test("file_search finds text in documents with the page, and says which documents of a large tree it passed over", () =>
  withDocuments(async ({ root, search }) => {
    for (let number = 0; number < 24; number++) {
      const page = [`offer ${number}`, "notice is three months"];
      Deno.writeFileSync(`${root}/${String(number).padStart(2, "0")}.pdf`, makePdf([["cover"], page]));
    }
    Deno.writeTextFileSync(`${root}/notes.txt`, "no notice here\n");
    const tree = await answerOf(search, { query: "notice", show: "files" });
    assert.match(tree.text, /notes\.txt/);
    assert.equal(tree.structured["files_searched"], 21, "what is not opened is not searched");
    assert.match(tree.text, /4 documents \(name them by pattern, such as \*\*\/\*\.pdf, to have all read\)/);
    const named = await answerOf(search, { query: "offer 2", pattern: "*.pdf" });
    assert.match(named.text, /23\.pdf\n5: \[p2\] offer 23|23\.pdf[^]*\[p2\] offer 23/);
    assert.equal(named.structured["hits"], 5, "2, and 20 to 23");
    const one = await answerOf(search, { query: "months", path: "07.pdf" });
    assert.match(one.text, /\[p2\] notice is three months/);
  }));

Deno.test("file_read shows how two documents differ, and how a document differs from a text", () =>
  withDocuments(async ({ root, read }) => {
    Deno.writeFileSync(`${root}/old.pdf`, makePdf([["notice is one month", "the rest"]]));
    Deno.writeFileSync(`${root}/new.pdf`, makePdf([["notice is three months", "the rest"]]));
    const { text } = await answerOf(read, { filename: "new.pdf", against: "old.pdf" });
    assert.match(text, /-notice is one month\n\+notice is three months/);
  }));

Deno.test("a part of what is no document is refused by what it is", () =>
  withDocuments(async ({ root, read }) => {
    Deno.writeTextFileSync(`${root}/plain.pdf`, "plain\n");
    const words = /it is no document by its content, and has no part "p3"; leave that out to read it as it is/;
    assert.match((await failureOf(read, { filename: "plain.pdf:p3" })).message, words);
    assert.equal((await answerOf(read, { filename: "plain.pdf" })).text, "plain\n");
    assert.match((await failureOf(read, { filename: "none.pdf:p3" })).message, /no such file/);
  }));

Deno.test("file_read shows how a document differs from what a change replaced", () =>
  withWorkspace(async ({ root, workspace }) => {
    const documents = createDocuments({ readingMs: 120_000 });
    try {
      const read = fileReadTool(() => workspace, null, documents);
      for (const [name, months] of [["a.pdf", "one"], ["b.pdf", "three"]] as const) {
        Deno.writeFileSync(`${root}/${name}`, makePdf([[`notice is ${months} months`, "the rest"]]));
      }
      const old = (await answerOf(read, { filename: "a.pdf" })).structured["version"];
      await answerOf(fileMoveTool(() => workspace), { path: "b.pdf", destination: "a.pdf", overwrite: true });
      for (const against of ["last", old]) {
        const { text } = await answerOf(read, { filename: "a.pdf", against });
        assert.match(text, /-notice is one months\n\+notice is three months/);
      }
    } finally {
      documents.close();
    }
  }, { trash: { keepMs: 1e9, maxBytes: 1e9 } }));

Deno.test("a text is not written or edited into a document; moving, copying and deleting one work, and mail stays text", () =>
  withDocuments(async ({ root, workspace, read }) => {
    const [write, edit, move] = [
      fileWriteTool(() => workspace),
      fileEditTool(() => workspace),
      fileMoveTool(() => workspace),
    ];
    Deno.writeFileSync(`${root}/a.pdf`, makePdf([["words"]]));
    const { size } = Deno.statSync(`${root}/a.pdf`);
    for (const name of ["a.pdf", "new.docx", "b/c.XLSX", "d.odt"]) {
      const beside = name.replace(/\.\w+$/, ".md");
      const words = new RegExp(`are read, not written: write ${beside}, `);
      assert.match((await failureOf(write, { filename: name, content: "text" })).message, words);
      assert.match((await failureOf(write, { filename: name, content: "text", mode: "append" })).message, words);
      assert.match((await failureOf(edit, { path: name, old_text: "words", new_text: "others" })).message, words);
    }
    assert.equal(Deno.statSync(`${root}/a.pdf`).size, size);
    await answerOf(move, { path: "a.pdf", destination: "e.pdf" });
    assert.match((await answerOf(read, { filename: "e.pdf" })).text, /words/);
    await answerOf(write, { filename: "m.eml", content: "Subject: Offer\nFrom: a@example.test\n\nAbove 10,000.\n" });
    assert.match((await answerOf(read, { filename: "m.eml" })).texts.join(), /Above 10,000/);
    assert.match((await answerOf(read, { filename: "m.eml:source" })).text, /^Subject: Offer\nFrom/);
    await answerOf(edit, { path: "m.eml", old_text: "10,000", new_text: "20,000" });
    await answerOf(write, { filename: "p.html", content: "<h1>Title</h1><p>One <b>two</b></p>" });
    assert.match((await answerOf(read, { filename: "p.html" })).text, /^<h1>/, "a page is read as it is written");
    assert.match((await answerOf(read, { filename: "p.html:text" })).texts.join(), /# Title\n\nOne \*\*two\*\*/);
  }));

Deno.test("sheets are read by name and by cells, cells of notebooks without outputs unless they are asked for", () =>
  withDocuments(async ({ root, read }) => {
    Deno.writeFileSync(
      `${root}/plan.xlsx`,
      makeExcel({ Q1: rows([[1]]), Q3: rows([["alpha", 1, 10], ["beta", 2, 20], ["gamma", 3, 30]]) }),
    );
    const sheet = await answerOf(read, { filename: "plan.xlsx:Q3" });
    assert.match(sheet.text, /\| 2 \| beta \|/);
    const cells = (await answerOf(read, { filename: "plan.xlsx:Q3!B1:C2" })).text;
    assert.match(
      cells,
      /^--- Q3!B1:C2 ---\n\|\s*\| B \| C \|\n\|[ -|]+\n\| 1 \| 1 \|[^\n]*\n\| 2 \| 2 \|[^\n]*\n$/,
      cells,
    );
    assert.match((await failureOf(read, { filename: "plan.xlsx:Q9" })).message, /it has no part "Q9": it has Q1, Q3/);
    const cellsOf = [{
      cell_type: "code",
      source: "1+1",
      outputs: [{ output_type: "execute_result", data: { "text/plain": "2" } }],
    }];
    Deno.writeTextFileSync(
      `${root}/n.ipynb`,
      JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: cellsOf }),
    );
    const notebook = await answerOf(read, { filename: "n.ipynb" });
    assert.match(notebook.texts.join(), /cell 1 ---\n```\n1\+1\n```/);
    assert.doesNotMatch(notebook.texts[0] ?? "", /^2$/m);
    assert.match((await answerOf(read, { filename: "n.ipynb:cell 1 outputs" })).text, /^2$/m);
    assert.match((await answerOf(read, { filename: "n.ipynb:source" })).text, /^\{"nbformat":4/);
  }));

function rows(values: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number, place: string): string =>
    typeof value === "number"
      ? `<c r="${place}"><v>${value}</v></c>`
      : `<c r="${place}" t="inlineStr"><is><t>${value}</t></is></c>`;
  const row = (cells: readonly (string | number)[], at: number): string =>
    `<row r="${at + 1}">${cells.map((value, column) => cell(value, `${"ABC"[column]}${at + 1}`)).join("")}</row>`;
  return `<sheetData>${values.map(row).join("")}</sheetData>`;
}

Deno.test("file_list tells the kind and the pages of one document whose details are asked for, and no word of its text", () =>
  withDocuments(async ({ root, list }) => {
    Deno.writeFileSync(`${root}/a.pdf`, makePdf([["x"], ["y"]], "/Title (Secret)"));
    Deno.writeFileSync(`${root}/cut.pdf`, makePdf([["x"]]).subarray(0, 200));
    assert.match(
      (await answerOf(list, { path: "a.pdf", show: "details" })).texts.join("\n"),
      /^a\.pdf \d+ .*\n\(PDF, 2 pages\)$/,
    );
    for (const input of [{ path: "a.pdf" }, { path: "cut.pdf", show: "details" }, { show: "details" }]) {
      assert.equal((await answerOf(list, input)).texts.length, 1, JSON.stringify(input));
    }
  }));

Deno.test("notebooks, mail and pages say how to get their source, and damaged ones are read as text", () =>
  withDocuments(async ({ root, read }) => {
    const notebook = JSON.stringify({ cells: [{ cell_type: "code", source: ["x = 1"] }], metadata: {}, nbformat: 4 });
    Deno.writeTextFileSync(`${root}/a.ipynb`, notebook);
    Deno.writeTextFileSync(`${root}/cut.ipynb`, notebook.slice(0, 40));
    Deno.writeTextFileSync(`${root}/a.html`, "<h1>Head</h1>\n");
    assert.match((await answerOf(read, { filename: "a.ipynb" })).texts.join(), /x = 1[^]*:source at the end/);
    assert.equal((await answerOf(read, { filename: "a.ipynb:source" })).structured["content"], notebook);
    assert.equal((await answerOf(read, { filename: "cut.ipynb" })).structured["content"], notebook.slice(0, 40));
    assert.match((await failureOf(read, { filename: "cut.ipynb:cell 1" })).message, /damaged/);
    const page = await answerOf(read, { filename: "a.html" });
    assert.equal(page.structured["content"], "<h1>Head</h1>\n");
    assert.match(page.texts.join(), /:text at the end of the name gives it without markup/);
    assert.equal((await answerOf(read, { filename: "a.html:text" })).structured["content"], "# Head\n");
  }));

Deno.test("a phrase is found in a PDF over the end of its line, and only there where a paragraph goes on", () =>
  withDocuments(async ({ root, read, search }) => {
    const pages = [[
      "#4. Term",
      "This agreement runs for two years. Either party may end it by giving a notice of three",
      "months to the end of a quarter. Notice is given in writing, and an electronic letter is not",
      "enough.",
      "1) first of a list of things that is as long as a line of this page can be, before words",
      "2) second of a list of things that is as long as a line of this page can be, and end.",
      "Northwind Ltd",
      "5 Market Street",
    ]];
    Deno.writeFileSync(`${root}/contract.pdf`, makePdf(pages));
    const { structured } = await answerOf(read, { filename: "contract.pdf" });
    const lines = String(structured["content"]).trim().split("\n");
    assert.deepEqual(lines.slice(2).map((line) => line.slice(0, 14)), [
      "This agreement",
      "1) first of a ",
      "2) second of a",
      "Northwind Ltd",
      "5 Market Stree",
    ]);
    const { text } = await answerOf(search, { query: "notice of three months to the end" });
    assert.match(text, /contract\.pdf\n3: \[p1\] This agreement/);
  }));

Deno.test("a PDF is compared by its sentences, so that line breaks, pages and headings hide no change", () =>
  withDocuments(async ({ root, read }) => {
    const clause = (months: string) =>
      [
        "# 4. Term\n\nThis agreement runs for two years. Either party may end it with a notice of",
        `${months} months to the end of a quarter. Nothing else ends it.\n\n| Fee | Sum |\n| --- | --- |\n| A | 5 |\n`,
      ].join(" ");
    Deno.writeTextFileSync(`${root}/old.md`, clause("three"));
    const pages = [
      ["#4. Term", "This agreement runs for two years. Either party may"],
      ["end it with a notice of six months to the end of a quarter. Nothing", "else ends it."],
    ];
    const table = ["@72,500 Fee", "@300,500 Sum", "@72,484 A", "@300,484 5"];
    Deno.writeFileSync(`${root}/new.pdf`, makePdf([pages[0] ?? [], [...pages[1] ?? [], ...table]]));
    const { text } = await answerOf(read, { filename: "new.pdf", against: "old.md" });
    assert.match(text, /compared and numbered by sentences/);
    assert.deepEqual(text.split("\n").filter((line) => /^[+-]/.test(line)), [
      "-Either party may end it with a notice of three months to the end of a quarter.",
      "+Either party may end it with a notice of six months to the end of a quarter.",
    ]);
    Deno.writeTextFileSync(`${root}/same.md`, clause("six"));
    const same = await answerOf(read, { filename: "new.pdf", against: "same.md" });
    assert.match(same.text, /: equal but for line breaks, pages and headings\)$/);
  }));

Deno.test("cells are given by columns, rows and without the name of a single sheet; what is refused names the way", () =>
  withDocuments(async ({ root, read }) => {
    const row = (number: number) =>
      `<row r="${number}">${
        ["A", "B", "C"].map((letter) => `<c r="${letter}${number}"><v>${number}0${letter.charCodeAt(0)}</v></c>`).join(
          "",
        )
      }</row>`;
    const sheet = `<sheetData>${[1, 2, 3, 4].map(row).join("")}</sheetData>`;
    Deno.writeFileSync(`${root}/one.xlsx`, makeExcel({ Orders: sheet }));
    Deno.writeFileSync(`${root}/two.xlsx`, makeExcel({ Orders: sheet, Other: sheet }));
    const table = [
      ["one.xlsx:Orders!B:C", 4, "| B | C |"],
      ["one.xlsx:Orders!C:B", 4, "| B | C |"],
      ["one.xlsx:Orders!B", 4, "| B |"],
      ["one.xlsx:Orders!B3:C", 2, "| B | C |"],
      ["two.xlsx:Other!2:3", 2, "| A | B | C |"],
      ["one.xlsx:B2:C4", 3, "| B | C |"],
    ] as const;
    for (const [filename, rows, letters] of table) {
      const { structured } = await answerOf(read, { filename });
      const lines = String(structured["content"]).split("\n").filter((line) => line.startsWith("|"));
      assert.deepEqual([lines.length - 2, lines[0]], [rows, `|  ${letters}`], filename);
    }
    const { message } = await failureOf(read, { filename: "two.xlsx:B2:C4" });
    const [, ...ways] = /it has Orders, (Other); cells are named (Orders!B2:F40) or (Orders!D:F)/.exec(message) ?? [];
    assert.equal(ways.length, 3, message);
    for (const way of ways) await answerOf(read, { filename: `two.xlsx:${way}` });
  }));

Deno.test("pages that one reading does not reach are read where they are asked for, and kept", () =>
  withWorkspace(async ({ root, workspace }) => {
    Deno.writeFileSync(`${root}/long.pdf`, makePdf([["x"]]));
    const asked: number[] = [];
    const inner = createDocuments({ readingMs: 120_000 });
    const [pages, reach] = [1_000, 30];
    const documents: Documents = { // reads few pages at a time, as of a document of very dense ones
      ...inner,
      read: (_, { firstPage = 1 }) => {
        asked.push(firstPage);
        const parts = Array.from({ length: Math.min(reach, pages - firstPage + 1) }, (_, at) => ({
          name: `p${firstPage + at}`,
          text: `text ${firstPage + at}`,
        }));
        const document = { kind: "pdf", summary: "1,000 pages", remarks: [], isCut: true, pages, parts };
        return Promise.resolve(success({ document, sha256: "" }));
      },
    };
    const read = fileReadTool(() => workspace, null, documents);
    const contentOf = async (part: string) =>
      (await answerOf(read, { filename: `long.pdf:${part}` })).structured["content"];
    assert.equal(await contentOf("p12"), "--- p12 ---\ntext 12\n");
    assert.equal(await contentOf("p402-403"), "--- p402 ---\ntext 402\n--- p403 ---\ntext 403\n");
    assert.equal(await contentOf("pages 960"), "--- p960 ---\ntext 960\n");
    for (const page of ["p1001", "page 99999", "pages 1001-1005"]) { // one reading each
      assert.match((await failureOf(read, { filename: `long.pdf:${page}` })).message, /it has p1 to p30; 1,000 pages/);
    }
    assert.deepEqual(asked, [1, 1, 401, 1, 901, 960, 1, 1, 1]);
  }));

Deno.test("the five jobs of an office: each is one call", () =>
  withDocuments(async ({ root, read, search }) => {
    const paragraphs = (lines: readonly string[]) => lines.map((line) => `<w:p><w:r><w:t>${line}</w:t></w:r></w:p>`);
    const term = ["2 Notice", "Notice is three months to the end of a quarter."];
    Deno.writeFileSync(`${root}/contract.docx`, makeWord(paragraphs(term).join("")));
    Deno.writeFileSync(`${root}/contract.pdf`, makePdf([["2 Notice", "Notice is six weeks to the end of a quarter."]]));
    const rows = [["A", "OPEN", 100], ["B", "CLOSED", 200], ["C", "OPEN", 300]].map(([name, state, value], at) =>
      `<row r="${at + 1}"><c r="A${at + 1}" t="inlineStr"><is><t>${name}</t></is></c><c r="D${at + 1}" t="inlineStr">` +
      `<is><t>${state}</t></is></c><c r="F${at + 1}"><v>${value}</v></c></row>`
    );
    Deno.writeFileSync(`${root}/plan.xlsx`, makeExcel({ Q3: `<sheetData>${rows.join("")}</sheetData>` }));
    const slide = (text: string) => `<p:sld><p:sp><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sp></p:sld>`;
    Deno.writeFileSync(`${root}/deck.pptx`, makePowerPoint([slide("Intro"), slide("The price is 4,200 euros")]));
    Deno.writeFileSync(`${root}/offer.pdf`, makePdf([["Offer"], ["In all 12,500 euros"]]));

    const notice = await answerOf(search, { query: "notice", ignore_case: true });
    assert.match(notice.text, /contract\.docx\n.*2 Notice[^]*three months[^]*\[p1\] Notice is six weeks/);
    const { structured } = await answerOf(read, { filename: "plan.xlsx:Q3!D:F" });
    const open = String(structured["content"]).matchAll(/\| OPEN \| (\d+) \|/g);
    assert.equal(open.reduce((sum, [, value]) => sum + Number(value), 0), 400);
    assert.match((await answerOf(search, { query: "price" })).text, /deck\.pptx\n\d+: \[slide 2\] The price is 4,200/);
    const offers = await answerOf(search, { query: String.raw`\b[1-9]\d,\d{3}\b`, regex: true });
    assert.match(offers.text, /offer\.pdf\n\d+: \[p2\] In all 12,500 euros\n\(1 line in 1 file/);
    const difference = await answerOf(read, { filename: "contract.docx", against: "contract.pdf" });
    assert.match(difference.text, /-.*six weeks[^]*\+.*three months/);
  }));

Deno.test("hits in a document without pages are given without a name of its part", () =>
  withDocuments(async ({ root, search }) => {
    Deno.writeTextFileSync(`${root}/m.eml`, "Subject: Offer\nFrom: a@example.test\n\nAbove 10,000.\n");
    assert.match((await answerOf(search, { query: "10,000" })).text, /m\.eml\n\d+: Above 10,000\./);
  }));

Deno.test("a search says where only the beginning of a document was searched", () =>
  withDocuments(async ({ root, search }) => {
    const source = `${"x".repeat(99)}\n`.repeat(90_000) + "the last\n";
    const notebook = { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [{ cell_type: "markdown", source }] };
    Deno.writeTextFileSync(`${root}/long.ipynb`, JSON.stringify(notebook));
    const { text } = await answerOf(search, { query: "the last" });
    assert.match(text, /a match may be missed: 1 line: long\.ipynb:1\)/);
  }));

Deno.test("what is kept of one caller's document is never another's, were path and version equal", () =>
  withWorkspace(async ({ root, workspace }) => {
    const documents = createDocuments({ readingMs: 120_000 });
    const path = parseFilePath("a.pdf");
    assert.ok(path.ok);
    const asVersion1: Workspace = {
      ...workspace,
      read: async (...given) => {
        const read = await workspace.read(...given);
        return read.ok ? { ...read, value: { ...read.value, version: "1" } } : read;
      },
    };
    const textFor = async (caller: string): Promise<string> => {
      const read = await openDocuments(asVersion1, { documents, caller }).view.read(path.value);
      return read.ok ? new TextDecoder().decode(read.value.bytes) : read.error.reason;
    };
    try {
      Deno.writeFileSync(`${root}/a.pdf`, makePdf([["of ada"]]));
      assert.match(await textFor("ada"), /of ada/);
      Deno.writeFileSync(`${root}/a.pdf`, makePdf([["of ben"]]));
      assert.match(await textFor("ben"), /of ben/);
      assert.match(await textFor("ada"), /of ada/, "kept by the version");
    } finally {
      documents.close();
    }
  }));
