/** What is read of docx, xlsx and pptx: what the words are, and what must be told beside them. */
import assert from "node:assert/strict";
import { read, textOf } from "./read.ts";
import { makeExcel, makePowerPoint, makeWord, relationships } from "./make_document.ts";

const p = (text: string, properties = "") => `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;
const item = (text: string, level: number, list = 1) =>
  p(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`);
const styles = `<w:styles>
  <w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>
  <w:style w:styleId="Mine"><w:name w:val="Clause"/><w:basedOn w:val="H2"/></w:style>
  <w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style></w:styles>`;
const level = (at: number, format: string, text: string) =>
  `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`;
const numbering = `<w:numbering>
  <w:abstractNum w:abstractNumId="7">${level(0, "decimal", "%1.")}${level(1, "decimal", "%1.%2")}${
  level(2, "lowerRoman", "(%3)")
}</w:abstractNum>
  <w:abstractNum w:abstractNumId="8">${level(0, "bullet", "")}</w:abstractNum>
  <w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>
  <w:num w:numId="3"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num></w:numbering>`;

Deno.test("docx: headings by style and by what a style inherits, lists counted as Word counts them", async () => {
  const body = p("Terms", '<w:pStyle w:val="H1"/>') + p("Notice", '<w:pStyle w:val="Mine"/>') + item("One", 0) +
    item("Inner", 1) + item("Next", 1) + item("Deep", 2) + item("Two", 0) + item("Again", 1) + item("Dot", 0, 2) +
    item("Anew", 0, 3) + item("On", 0, 3);
  const text = await textOf(makeWord(body, {
    "word/_rels/document.xml.rels": relationships({ styles: "styles.xml", numbering: "numbering.xml" }),
    "word/styles.xml": styles,
    "word/numbering.xml": numbering,
  }));
  assert.deepEqual(
    text,
    "# Terms\n\n## Notice\n\n1. One\n  1.1 Inner\n  1.2 Next\n    (i) Deep\n2. Two\n  2.1 Again\n- Dot\n5. Anew\n6. On",
  );
});

Deno.test("docx: tracked changes, comments and footnotes stand where they belong, with who made them", async () => {
  const run = (text: string, tag = "t") => `<w:r><w:${tag} xml:space="preserve">${text}</w:${tag}></w:r>`;
  const body = `<w:p>${run("Pay in ")}<w:del w:author="Bob">${run("thirty", "delText")}</w:del><w:ins w:author="Ann">${
    run("six")
  }</w:ins><w:ins w:author="Ann">${run("ty")}</w:ins>${
    run(" days")
  }<w:r><w:commentReference w:id="4"/></w:r>.${'<w:r><w:footnoteReference w:id="2"/></w:r>'}</w:p>`;
  const document = await read(makeWord(body, {
    "word/_rels/document.xml.rels": relationships({ comments: "comments.xml", footnotes: "footnotes.xml" }),
    "word/comments.xml": `<w:comments><w:comment w:id="4" w:author="Cy" w:date="2026-01-02T03:04:05Z">${
      p("Too long?")
    }</w:comment></w:comments>`,
    "word/footnotes.xml": `<w:footnotes><w:footnote w:id="2">${
      p("In writing.").replace("</w:p>", '<w:r><w:footnoteReference w:id="2"/></w:r></w:p>')
    }</w:footnote></w:footnotes>`,
  }));
  assert.deepEqual(
    document.parts[0]?.text,
    "Pay in [deleted by Bob: thirty][inserted by Ann: sixty] days" +
      "[comment by Cy, 2026-01-02: Too long?][footnote: In writing.]",
  );
  assert.deepEqual(document.remarks, ["has tracked changes, marked in the text: 1 deleted by Bob, 2 inserted by Ann"]);
});

Deno.test("docx: a cell with a pipe, a line break or a list stays one cell, merged ones keep their columns", async () => {
  const cell = (inner: string, properties = "") => `<w:tc><w:tcPr>${properties}</w:tcPr>${inner}</w:tc>`;
  const rows = [
    cell(p("Wide"), '<w:gridSpan w:val="2"/>') + cell(p("C")),
    cell(p("a|b") + p("second")) + cell(item("x", 0, 2) + item("y", 0, 2)) +
    cell(`<w:tbl><w:tr>${cell(p("in"))}</w:tr></w:tbl>`),
  ];
  const text = await textOf(makeWord(`<w:tbl>${rows.map((row) => `<w:tr>${row}</w:tr>`).join("")}</w:tbl>`));
  assert.deepEqual(
    text,
    "| Wide |  | C |\n| --- | --- | --- |\n| a\\|b<br>second | x<br>y | \\| in \\|<br>\\| --- \\| |",
  );
});

Deno.test("docx: a row that begins further right keeps its columns, and what a list has chosen is given", async () => {
  const cell = (text: string, properties = "") => `<w:tc><w:tcPr>${properties}</w:tcPr>${p(text)}</w:tc>`;
  const row = (before: string, ...cells: string[]) =>
    `<w:tr><w:trPr><w:gridBefore w:val="${before}"/></w:trPr>${cells.join("")}</w:tr>`;
  const table = [
    `<w:tr>${cell("a")}${cell("b")}${cell("c")}</w:tr>`,
    row("1", cell("d"), cell("e")),
    row("2", cell("f")),
    row("", cell("g")),
    row("-1", cell("h")),
    row("x", cell("i")),
    row("0.5", cell("j")),
  ];
  const rows = ["a | b | c", "--- | --- | ---", " | d | e", " |  | f", "g", "h", "i", "j"];
  assert.equal(
    await textOf(makeWord(`<w:tbl>${table.join("")}</w:tbl>`)),
    rows.map((each) => `| ${each} |`).join("\n"),
  );
  const wide = await textOf(makeWord(`<w:tbl>${row("999999999", cell("z"))}</w:tbl>`));
  assert.ok(wide.includes("| z |") && wide.length < 1_000);
  const list = (chosen: string) =>
    `<w:p><w:r><w:fldChar><w:ffData><w:ddList>${chosen}<w:listEntry w:val="red"/><w:listEntry w:val="blue"/>` +
    "</w:ddList></w:ffData></w:fldChar></w:r></w:p>";
  const lists = ["", '<w:result w:val="1"/>', '<w:result w:val="9"/>'].map(list).join("");
  assert.equal(await textOf(makeWord(lists)), "red\n\nblue");
});

Deno.test("docx: links, pictures by their words, bold, struck and hidden text", async () => {
  const body = `<w:p><w:hyperlink r:id="rId1"><w:r><w:t>site</w:t></w:r></w:hyperlink>` +
    `<w:r><w:rPr><w:b/></w:rPr><w:t>bo</w:t></w:r><w:r><w:rPr><w:b w:val="1"/></w:rPr><w:t>ld</w:t></w:r>` +
    `<w:r><w:rPr><w:b w:val="0"/><w:strike/></w:rPr><w:t>gone</w:t></w:r>` +
    `<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r><w:r><w:drawing><wp:inline><wp:docPr descr="A map"/>` +
    `<a:graphic><pic:pic/></a:graphic></wp:inline></w:drawing></w:r></w:p>`;
  const text = await textOf(makeWord(body, {
    "word/_rels/document.xml.rels": relationships({ hyperlink: "https://a.example/" }),
  }));
  assert.deepEqual(text, "[site](https://a.example/)**bold**~~gone~~[image: A map]");
});

Deno.test("docx: symbols, hyphens, tabs, boxes to tick and readings are neither lost nor run together", async () => {
  const run = (inner: string) => `<w:r>${inner}</w:r>`;
  const sym = (font: string, char: string) => run(`<w:sym w:font="${font}" w:char="${char}"/>`);
  const box = (inner: string) => run(`<w:fldChar><w:ffData><w:checkBox>${inner}</w:checkBox></w:ffData></w:fldChar>`);
  const rows: readonly (readonly [string, string])[] = [
    [`${sym("Symbol", "F061")}${sym("symbol", "F0B1")}${sym("Symbol", "00D6")}${run("<w:t>2</w:t>")}`, "α±√2"],
    [`${sym("Wingdings", "F0FE")}${sym("Wingdings", "F0A8")}${sym("Wingdings", "F0E0")}`, "☑☐→"],
    [`${sym("Segoe UI Symbol", "2610")}${sym("Arial", "00E9")}`, "☐é"],
    [
      `${sym("Webdings", "F04E")}${sym("Symbol", "F0FF")}${sym("Symbol", "F07F")}`,
      "[symbol Webdings F04E][symbol Symbol F0FF][symbol Symbol F07F]",
    ],
    [
      `${sym("Arial", "110000")}${sym("Arial", "D800")}${sym("Arial", "x")}${run("<w:sym/>")}`,
      "[symbol Arial 110000][symbol Arial D800][symbol Arial x][symbol]",
    ],
    [run("<w:t>no</w:t><w:noBreakHyphen/><w:t>break so</w:t><w:softHyphen/><w:t>ft</w:t>"), "no-break soft"],
    [
      run("<w:t>a</w:t><w:tab/><w:t>b</w:t><w:ptab/><w:t>c</w:t><w:br/><w:t>d</w:t><w:cr/><w:t>e</w:t>"),
      "a\tb\tc\nd\ne",
    ],
    [box('<w:default w:val="0"/>') + box('<w:default w:val="1"/>'), "☐☒"],
    [box('<w:default w:val="0"/><w:checked/>') + box('<w:default/><w:checked w:val="0"/>'), "☒☐"],
    [
      run("<w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>K</w:t></w:r></w:rubyBase></w:ruby>"),
      "[kan]K",
    ],
  ];
  for (const [xml, text] of rows) assert.deepEqual(await textOf(makeWord(`<w:p>${xml}</w:p>`)), text);
});

Deno.test("office: macros and outside files are named, not run and not fetched", async () => {
  const { remarks } = await read(makeWord(p("x"), {
    "word/vbaProject.bin": "x",
    "word/_rels/document.xml.rels": relationships({ attachedTemplate: "http://evil.example/t.dotm" }),
  }));
  assert.deepEqual(remarks, [
    "contains macros, which were not run",
    "refers to 1 outside file, which was not fetched: http://evil.example/t.dotm",
  ]);
});

Deno.test("docx: other documents that stand in the text are read there, or said to be left out", async () => {
  const mail = "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b; type=text/html\r\n\r\n" +
    "--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" +
    "<html><body><p>a =C3=A9</p></body></html>\r\n--b--\r\n";
  const inner = makeWord(p("inner") + '<w:altChunk r:id="rId1"/>', {
    "word/_rels/document.xml.rels": relationships({ aFChunk: "deep.htm" }),
    "word/deep.htm": "<p>deep</p>",
    "word/vbaProject.bin": "x",
  });
  const rows: readonly (readonly [name: string, content: string | Uint8Array, text: string | null])[] = [
    ["a.htm", "\ufeff<html><body><h1>Terms</h1><ul><li>one<li>two</ul></body></html>", "# Terms\n\n- one\n- two"],
    ["a.mht", mail, "a é"],
    ["a.txt", "plain a < b\r\nsecond", "plain a < b\nsecond"],
    ["a.rtf", "{\\rtf1\\ansi bold}", "bold"],
    ["a.docx", inner, "inner\n\ndeep"],
    ["a.dat", "<p>by its content</p>", "by its content"],
    ["a.xml", '<pkg:package xmlns:pkg="p"><pkg:part/></pkg:package>', null],
    ["a.bin", new Uint8Array([0x89, 0x50, 0, 1, 2]), null],
    ["broken.docx", "PK\x03\x04 and nothing", null],
    ["empty.htm", "", null],
  ];
  for (const [name, content, text] of rows) {
    const chunk = `${p("before")}<w:altChunk r:id="rId1"/><w:altChunk r:id="rId1"/>${p("after")}`;
    const document = await read(makeWord(chunk, {
      "word/_rels/document.xml.rels": relationships({ aFChunk: name }),
      [`word/${name}`]: content,
    }));
    const shown = text ?? "[another document, not read]";
    assert.equal(document.parts[0]?.text, `before\n\n${shown}\n\n${shown}\n\nafter`, name);
    const remarks = text === null
      ? [`holds another document in its text, which was not read: word/${name}`]
      : content === inner
      ? ["contains macros, which were not run"]
      : [];
    assert.deepEqual(document.remarks, remarks, name);
  }
  const outside = await read(makeWord('<w:altChunk r:id="rId1"/>', {
    "word/_rels/document.xml.rels": relationships({ aFChunk: "http://evil.example/a.htm" }),
  }));
  assert.match(outside.remarks.join(), /^refers to 1 outside file, which was not fetched/);
  assert.equal(outside.parts[0]?.text, "[another document, not read]");
});

const cell = (name: string, inner: string, attributes = "") => `<c r="${name}" ${attributes}>${inner}</c>`;

Deno.test("xlsx: values with their formulas, shared ones moved with their cells", async () => {
  const rows = [
    `<row r="1">${cell("A1", "<v>0</v>", 't="s"')}${cell("B1", "<is><t>in|line</t></is>", 't="inlineStr"')}</row>`,
    `<row r="2">${cell("A2", "<v>0.30000000000000004</v>")}${
      cell("B2", '<f t="shared" ref="B2:B4" si="0">A2*$A$2+Q3!A2+"A2"</f><v>1</v>')
    }${cell("C2", "<v>1</v>", 't="b"')}</row>`,
    `<row r="4">${cell("B4", '<f t="shared" si="0"/><v>2</v>')}${cell("C4", "<f>SUM(B2:B4)</f>")}</row>`,
  ];
  const document = await read(makeExcel({ Q1: `<sheetData>${rows.join("")}</sheetData>`, Empty: "" }, {
    parts: { "xl/sharedStrings.xml": "<sst><si><r><t>Na</t></r><r><t>me</t></r><rPh><t>x</t></rPh></si></sst>" },
  }));
  assert.deepEqual(document.summary, "2 sheets: Q1 (3 rows, 3 columns), Empty (0 rows, 0 columns)");
  assert.deepEqual(
    document.parts[0]?.text,
    [
      "|  | A | B | C |",
      "| --- | --- | --- | --- |",
      "| 1 | Name | in\\|line |  |",
      '| 2 | 0.3 | =A2*$A$2+Q3!A2+"A2" → 1 | TRUE |',
      '| 4 |  | =A4*$A$2+Q3!A4+"A2" → 2 | =SUM(B2:B4) → (no value kept) |',
    ].join("\n"),
  );
});

Deno.test("xlsx: dates, times, durations and percents by their format, in both calendars", async () => {
  const codes = ["General", "yyyy\\-mm\\-dd", "h:mm", "[h]:mm", "0.0%", '0.00" days"', "[Red]#,##0", "[$-407]d. mmmm"];
  const book = (date1904: string) => ({
    book: `<workbookPr date1904="${date1904}"/>`,
    parts: {
      "xl/styles.xml": `<styleSheet><numFmts>${
        codes.map((code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${code.replaceAll('"', "&quot;")}"/>`).join(
          "",
        )
      }</numFmts><cellXfs>${
        codes.map((_, at) => `<xf numFmtId="${164 + at}"/>`).join("")
      }<xf numFmtId="14"/></cellXfs></styleSheet>`,
    },
  });
  const row = (...cells: [value: number, style: number][]) =>
    `<sheetData><row>${
      cells.map(([value, style]) => `<c s="${style}"><v>${value}</v></c>`).join("")
    }</row></sheetData>`;
  const shown = async (date1904: string, xml: string) =>
    (await textOf(makeExcel({ S: xml }, book(date1904)))).split("\n").at(-1);
  const cells: [number, number][] = [
    [46027, 1],
    [46027.5, 1],
    [0.25, 2],
    [1.5, 3],
    [0.125, 4],
    [3, 5],
    [5, 6],
    [46027, 7],
    [
      46027,
      8,
    ],
    [1, 1],
    [46027, 0],
  ];
  assert.deepEqual(
    await shown("0", row(...cells)),
    "| 1 | 2026-01-05 | 2026-01-05 12:00 | 06:00:00 | 36:00:00 | 12.5% | 3 | 5 | 2026-01-05 | 2026-01-05 | 1900-01-01 | 46027 |",
  );
  assert.deepEqual(await shown("1", row([44565, 1])), "| 1 | 2026-01-05 |");
});

Deno.test("xlsx: time that passed is given in hours, in each of Excel's formats for it, whatever its last digit", async () => {
  const codes = ["[h]:mm", "[hh]:mm:ss", "[mm]:ss", "[s]", "[Red][h]:mm", "h:mm", "yyyy\\-mm\\-dd"];
  const formats = codes.map((code, at) => `<numFmt numFmtId="${164 + at}" formatCode="${code}"/>`).join("");
  const styles = [46, ...codes.keys().map((at) => 164 + at)].map((id) => `<xf numFmtId="${id}"/>`).join("");
  const parts = {
    "xl/styles.xml": `<styleSheet><numFmts>${formats}</numFmts><cellXfs>${styles}</cellXfs></styleSheet>`,
  };
  const shown = async (days: string) => {
    const cells = [...codes.keys(), 7].map((style) => `<c s="${style}"><v>${days}</v></c>`).join("");
    const text = await textOf(makeExcel({ S: `<sheetData><row>${cells}</row></sheetData>` }, { parts }));
    return text.split("\n").at(-1)?.split(" | ").slice(1).map((cell) => cell.replace(/ \|$/, ""));
  };
  for (
    const [days, hours, date] of [
      ["1.5625", "37:30:00", "1900-01-01 13:30"],
      ["1.9999999999999998", "48:00:00", "1900-01-02"],
      ["0.99999999999999989", "24:00:00", "1900-01-01"],
      ["0.0625", "1:30:00", "01:30:00"],
      ["4.1666666666666664E-2", "1:00:00", "01:00:00"],
      ["100.5", "2412:00:00", "1900-04-09 12:00"],
    ] as const
  ) assert.deepEqual(await shown(days), [...Array(6).fill(hours), date, date], days);
});

Deno.test("xlsx: hidden sheets, rows and columns, merged cells, links and comments are told", async () => {
  const xml =
    `<cols><col min="2" max="2" hidden="1"/></cols><sheetData><row r="1">${cell("A1", "<v>1</v>")}${
      cell("B1", "<v>2</v>")
    }</row><row r="9" hidden="1">${cell("A9", "<v>3</v>")}</row></sheetData>` +
    '<mergeCells><mergeCell ref="A1:A3"/></mergeCells><hyperlinks><hyperlink ref="B1" r:id="rId1"/></hyperlinks>';
  const document = await read(makeExcel({ S: xml, T: "" }, {
    states: { S: "veryHidden" },
    parts: {
      "xl/worksheets/_rels/sheet1.xml.rels": relationships({
        hyperlink: "https://a.example/",
        comments: "../comments1.xml",
      }),
      "xl/comments1.xml":
        '<comments><authors><author>Ann</author></authors><commentList><comment ref="A9" authorId="0"><text><r><t>why</t></r></text></comment></commentList></comments>',
    },
  }));
  assert.ok(document.summary.includes("S (hidden, 2 rows, 2 columns)"));
  assert.deepEqual(
    document.parts[0]?.text,
    "|  | A | B (hidden) |\n| --- | --- | --- |\n| 1 | 1 | [2](https://a.example/) |\n" +
      "| 9 (hidden) | 3 [comment by Ann: why] |  |\n\nMerged cells: A1:A3",
  );
});

Deno.test("xlsx: one cell in the last column of the last row costs no million of empty ones", async () => {
  const xml = `<sheetData><row r="1048576">${cell("XFD1048576", "<v>7</v>")}</row></sheetData>`;
  assert.deepEqual(await textOf(makeExcel({ S: xml })), "|  | XFD |\n| --- | --- |\n| 1048576 | 7 |");
});

Deno.test("pptx: title, levels, tables, notes and comments of each slide, hidden ones said", async () => {
  const frame = (type: string, paragraphs: string) =>
    `<p:sp><p:nvSpPr><p:nvPr>${
      type === "" ? "" : `<p:ph type="${type}"/>`
    }</p:nvPr></p:nvSpPr><p:txBody>${paragraphs}</p:txBody></p:sp>`;
  const line = (text: string, properties = "") => `<a:p><a:pPr ${properties}/><a:r><a:t>${text}</a:t></a:r></a:p>`;
  const slide = (inner: string, show = "1") =>
    `<p:sld show="${show}"><p:cSld><p:spTree>${inner}</p:spTree></p:cSld></p:sld>`;
  const table = `<p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody>${
    line("k")
  }</a:txBody></a:tc><a:tc hMerge="1"/></a:tr></a:tbl></p:graphicFrame>`;
  const document = await read(makePowerPoint([
    slide(
      frame("ctrTitle", line("Price")) + frame("body", line("one") + line("two", 'lvl="1"')) + frame("", line("free")) +
        table,
    ),
    slide(frame("sldNum", line("2")), "0"),
  ], {
    "ppt/slides/_rels/slide1.xml.rels": relationships({
      notesSlide: "../notesSlides/notesSlide1.xml",
      comments: "../comments/comment1.xml",
    }),
    "ppt/notesSlides/notesSlide1.xml": `<p:notes>${frame("body", line("Say it slowly"))}${
      frame("sldNum", line("1"))
    }</p:notes>`,
    "ppt/comments/comment1.xml": "<p:cmLst><p:cm><p:text>Cheaper?</p:text></p:cm></p:cmLst>",
  }));
  assert.deepEqual(document.parts, [
    {
      name: "slide 1",
      text:
        "# Price\n\n- one\n  - two\n\nfree\n\n| k |  |\n| --- | --- |\n\nNotes: Say it slowly\n\n[comment: Cheaper?]",
    },
    { name: "slide 2", text: "(hidden slide)" },
  ]);
  assert.ok(document.summary === "2 slides");
});

Deno.test("docx and pptx: a fraction, a root and an index of a formula stay what they are", async () => {
  const r = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`;
  const formula = `<m:oMath><m:f><m:num>${r("a")}${r("+")}${r("b")}</m:num><m:den>${r("2")}</m:den></m:f>${r("=")}` +
    `<m:rad><m:radPr/><m:deg/><m:e><m:sSup><m:e>${r("x")}</m:e><m:sup>${r("2")}</m:sup></m:sSup></m:e></m:rad>` +
    `<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>${r("i")}</m:sub><m:sup/><m:e>${r("i")}</m:e></m:nary>` +
    `<m:d><m:e>${r("n")}</m:e></m:d></m:oMath>`;
  assert.equal(await textOf(makeWord(`<w:p>${formula}</w:p>`)), "(a+b)/2=√(x^2) ∑_i i (n)");
  assert.match(await textOf(makePowerPoint([`<p:sld><p:sp><a:p>${formula}</a:p></p:sp></p:sld>`])), /\(a\+b\)\/2=/);
  const roots = "<m:rad><m:deg>".repeat(120) + r("x") + "</m:deg></m:rad>".repeat(120);
  assert.match(await textOf(makeWord(`<w:p><m:oMath>${roots}</m:oMath></w:p>`)), /^√\(√/);
  const deep = "<m:sSup><m:e>".repeat(150) + r("x") + "</m:e></m:sSup>".repeat(150);
  assert.equal(await textOf(makeWord(`<w:p><m:oMath>${deep}</m:oMath></w:p>`)), "x");
});

Deno.test("docx: the words of a diagram are given", async () => {
  const body =
    '<w:p><w:r><w:drawing><wp:inline><a:graphic><dgm:relIds r:dm="rId1"/></a:graphic></wp:inline></w:drawing></w:r></w:p>';
  const point = (text: string) => `<dgm:pt><dgm:t><a:p><a:r><a:t>${text}</a:t></a:r></a:p></dgm:t></dgm:pt>`;
  const files = {
    "word/_rels/document.xml.rels": relationships({ diagramData: "data.xml" }),
    "word/data.xml": `<dgm:dataModel><dgm:ptLst>${point("Plan")}<dgm:pt/>${point("Do")}</dgm:ptLst></dgm:dataModel>`,
  };
  assert.equal(await textOf(makeWord(body, files)), "[diagram: Plan; Do]");
});

Deno.test("charts: a value stands beside its own label, pairs of numbers are given, and what is cut is said", async () => {
  const points = (values: readonly (string | null)[]) =>
    `<c:ptCount val="9"/>${
      values.map((value, at) => value === null ? "" : `<c:pt idx="${at}"><c:v>${value}</c:v></c:pt>`).join("")
    }`;
  const axis = (name: string, values: readonly (string | null)[]) =>
    `<c:${name}><c:strRef><c:strCache>${points(values)}</c:strCache></c:strRef></c:${name}>`;
  const name = (text: string) => axis("tx", [text]);
  const many = Array.from({ length: 60 }, (_, at) => `${at}`);
  const shown = async (series: readonly string[]) => {
    const parts = {
      "xl/worksheets/_rels/sheet1.xml.rels": relationships({ drawing: "../drawings/drawing1.xml" }),
      "xl/drawings/_rels/drawing1.xml.rels": relationships({ chart: "../charts/chart1.xml" }),
      "xl/drawings/drawing1.xml": '<xdr:wsDr><c:chart r:id="rId1"/></xdr:wsDr>',
      "xl/charts/chart1.xml": `<c:chartSpace><c:chart>${
        series.map((one) => `<c:ser>${one}</c:ser>`).join("")
      }</c:chart></c:chartSpace>`,
    };
    return (await textOf(makeExcel({ S: "" }, { parts }))).replace("(empty)\n\n", "");
  };
  const cat = axis("cat", ["Jan", "Feb", "Mar", null, "May"]);
  assert.equal(
    await shown([name("A") + cat + axis("val", ["1", null, "3", "4", "5"]), cat + axis("val", [null, "2"])]),
    "[chart: A: Jan 1, Mar 3, 4, May 5; : Feb 2]",
  );
  assert.equal(
    await shown([name("XY") + axis("xVal", ["0.5", "1", null]) + axis("yVal", ["10", null, "30"])]),
    "[chart: XY: 0.5 10, 30]",
  );
  assert.match(await shown([name("M") + axis("cat", many) + axis("val", many)]), /, 49 49, 10 more\]$/);
  assert.match(await shown(many.map((text) => name(text) + axis("val", ["1"]))), /; 49: 1; 10 more series\]$/);
});

Deno.test("xlsx: text boxes and charts over a sheet are told after its cells", async () => {
  const run = (text: string) => `<a:r><a:t>${text}</a:t></a:r>`;
  const chart = `<c:chartSpace><c:chart><c:title>${run("Sales")}</c:title><c:ser><c:tx><c:v>2026</c:v></c:tx>` +
    '<c:cat><c:pt idx="0"><c:v>Q1</c:v></c:pt></c:cat><c:val><c:pt idx="0"><c:v>5</c:v></c:pt></c:val>' +
    "</c:ser></c:chart></c:chartSpace>";
  const parts = {
    "xl/worksheets/_rels/sheet1.xml.rels": relationships({ drawing: "../drawings/drawing1.xml" }),
    "xl/drawings/_rels/drawing1.xml.rels": relationships({ chart: "../charts/chart1.xml" }),
    "xl/drawings/drawing1.xml":
      `<xdr:wsDr><xdr:sp><xdr:txBody><a:p>${run("Draft ")}${run("only")}</a:p></xdr:txBody></xdr:sp>` +
      '<xdr:graphicFrame><c:chart r:id="rId1"/></xdr:graphicFrame></xdr:wsDr>',
    "xl/charts/chart1.xml": chart,
  };
  const sheet = '<sheetData><row r="1"><c r="A1"><v>5</v></c></row></sheetData>';
  assert.equal(
    await textOf(makeExcel({ S: sheet }, { parts })),
    "|  | A |\n| --- | --- |\n| 1 | 5 |\n\n[text box: Draft only]\n\n[chart Sales: 2026: Q1 5]",
  );
});

Deno.test("docx: the text of a shape that is grouped with a picture is given beside it", async () => {
  const box = `<wps:wsp><wps:txbx><w:txbxContent>${p("valve must stay shut")}</w:txbxContent></wps:txbx></wps:wsp>`;
  for (const place of ["inline", "anchor"]) {
    const shown = (inner: string) =>
      textOf(makeWord(
        `<w:p><w:r><w:t>See </w:t></w:r><w:r><w:drawing><wp:${place}><wp:docPr descr="A map"/>${inner}` +
          `</wp:${place}></w:drawing></w:r></w:p>`,
      ));
    assert.equal(await shown(`<wpg:wgp><pic:pic/>${box}</wpg:wgp>`), "See [image: A map]\n\nvalve must stay shut");
    assert.equal(await shown("<pic:pic/>"), "See [image: A map]");
    assert.equal(await shown(box), "See\n\nvalve must stay shut");
  }
});
