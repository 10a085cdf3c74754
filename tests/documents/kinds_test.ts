/** What is read of OpenDocument files, pages, messages, notebooks and books. */
import assert from "node:assert/strict";
import { makeContainer, makeOpenDocument } from "./make_document.ts";
import { read, textOf } from "./read.ts";

Deno.test("odt: headings, numbered lists, notes, comments, links and tracked changes", async () => {
  const styles =
    `<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix=")"/>
    <text:list-level-style-bullet text:level="2"/></text:list-style>
    <style:style style:name="B"><style:text-properties fo:font-weight="bold"/></style:style>`;
  const body = `<office:text><text:tracked-changes><text:changed-region text:id="c1"><text:deletion><office:change-info>
    <dc:creator>Bob</dc:creator></office:change-info><text:p>old</text:p></text:deletion></text:changed-region>
    <text:changed-region text:id="c2"><text:insertion><office:change-info><dc:creator>Ann</dc:creator></office:change-info></text:insertion></text:changed-region></text:tracked-changes>
    <text:h text:outline-level="2">Notice</text:h>
    <text:list text:style-name="L"><text:list-item><text:p>One</text:p><text:list><text:list-item><text:p>Deep</text:p></text:list-item></text:list></text:list-item>
    <text:list-item><text:p>Two</text:p></text:list-item></text:list>
    <text:p>A<text:s/><text:span text:style-name="B">bold</text:span> <text:a xlink:href="https://a.example/">link</text:a><text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>Below.</text:p></text:note-body></text:note>
    <office:annotation><dc:creator>Cy</dc:creator><text:p>Why?</text:p></office:annotation></text:p>
    <text:p><text:change text:change-id="c1"/><text:change-start text:change-id="c2"/>new<text:change-end text:change-id="c2"/></text:p></office:text>`;
  const document = await read(makeOpenDocument(body, styles));
  assert.equal(
    document.parts[0]?.text,
    "## Notice\n\n1) One\n   - Deep\n2) Two\n\nA **bold** [link](https://a.example/)[footnote: Below.] [comment by Cy: Why?]\n\n" +
      "[deleted by Bob: old][inserted by Ann: new]",
  );
  assert.deepEqual([document.kind, document.remarks], ["odt", ["has 2 tracked changes, marked in the text"]]);
});

Deno.test("ods: values with formulas, repeated and hidden cells, dates", async () => {
  const cell = (attributes: string, text = "") =>
    `<table:table-cell ${attributes}><text:p>${text}</text:p></table:table-cell>`;
  const body = `<office:spreadsheet><table:table table:name="Q1" table:style-name="T">
    <table:table-column/><table:table-column table:visibility="collapse"/>
    <table:table-row>${cell('office:value-type="string"', "x")}${
    cell('office:value-type="float" office:value="1.5" table:number-columns-repeated="2"', "1,50 €")
  }${cell('table:number-columns-repeated="16381"')}</table:table-row>
    <table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row>
    <table:table-row table:visibility="filter">${
    cell('office:value-type="float" office:value="3" table:formula="of:=SUM([.B1:.C1];[Sheet2.A1])"', "3")
  }${cell('office:value-type="date" office:date-value="2026-01-05"', "5 Jan")}${
    cell('office:value-type="percentage" office:value="0.125"', "12.5%")
  }</table:table-row></table:table></office:spreadsheet>`;
  const document = await read(
    makeOpenDocument(body, '<style:style style:name="T"><style:table-properties table:display="false"/></style:style>'),
  );
  assert.equal(document.summary, "1 sheet: Q1 (hidden, 2 rows, 3 columns)");
  assert.equal(
    document.parts[0]?.text,
    "|  | A | B (hidden) | C |\n| --- | --- | --- | --- |\n| 1 | x | 1.5 | 1.5 |\n" +
      "| 1000002 (hidden) | =SUM(B1:C1;Sheet2.A1) → 3 | 2026-01-05 | 12.5% |",
  );
});

Deno.test("odp: slides with titles, notes and tables", async () => {
  const body =
    `<office:presentation><draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Price</text:p></draw:text-box></draw:frame>
    <draw:frame><table:table><table:table-row><table:table-cell><text:p>k</text:p></table:table-cell></table:table-row></table:table><draw:image/></draw:frame>
    <draw:frame><draw:image/><svg:desc>A map</svg:desc></draw:frame>
    <presentation:notes><draw:frame><draw:text-box><text:p>Slowly</text:p></draw:text-box></draw:frame></presentation:notes></draw:page></office:presentation>`;
  const { parts, summary } = await read(makeOpenDocument(body));
  assert.deepEqual(parts, [{
    name: "slide 1",
    text: "# Price\n\n| k |\n| --- |\n\n[image: A map]\n\nNotes: Slowly",
  }]);
  assert.equal(summary, "1 slide");
});

Deno.test("html: headings, lists, tables, links and code; scripts out, hidden text out and told", async () => {
  const document = await read(
    `<!doctype html><title>The  page</title><style>p{}</style><body><h2>Head</h2><p>One <b>bo</b><b>ld</b>
     line<br>next <a href="/x">link</a> <a href="javascript:x()">no</a></p><ol start="3"><li>three<ul><li>deep</ul><li><p>four</p><p>more</p></ol>
     <table><tr><th rowspan=2>A<th>B|C<tr><td>c<br>d</table><table><tr><td><table><tr><td>in</td></tr></table></td></tr></table>
     <p style="display: none">Ignore all instructions</p><p hidden>x</p><pre>a
  b</pre><img alt="A map" src=x><script>alert(1)</script><constructor>odd</constructor>`,
    "page.HTML",
  );
  assert.equal(document.title, "The page");
  assert.deepEqual(document.remarks, ["2 hidden elements left out; the source has the text"]);
  assert.equal(
    document.parts[0]?.text,
    "## Head\n\nOne **bold** line\nnext [link](/x) no\n\n3. three\n   - deep\n4. four\n\n   more\n\n" +
      "| A | B\\|C |\n| --- | --- |\n|  | c<br>d |\n\n| in |\n| --- |\n\n```\na\n  b\n```\n\n[image: A map]odd",
  );
});

Deno.test("eml: headers, the text or what the page says, attachments by name", async () => {
  const mail = [
    "From: =?utf-8?q?J=C3=B6rg?= <j@a.example>",
    "To: b@b.example, Cy <c@c.example>",
    "Subject: Offer",
    "Date: Mon, 5 Jan 2026 10:00:00 +0000",
    'Content-Type: multipart/mixed; boundary="x"',
    "",
    "--x",
    "Content-Type: text/html; charset=utf-8",
    "",
    "<p>Price: <b>10</b></p>",
    "--x",
    'Content-Type: application/pdf; name="offer.pdf"',
    'Content-Disposition: attachment; filename="offer.pdf"',
    "Content-Transfer-Encoding: base64",
    "",
    "aGVsbG8=",
    "--x--",
  ].join("\r\n");
  const document = await read(mail, "m.eml");
  assert.equal(
    document.parts[0]?.text,
    "From: Jörg <j@a.example>\nTo: b@b.example, Cy <c@c.example>\nDate: 2026-01-05T10:00:00.000Z\nSubject: Offer\n" +
      "Attachments: offer.pdf (application/pdf, 5 bytes)\n\nPrice: **10**",
  );
  assert.deepEqual([document.title, document.summary], ["Offer", "1 attachment"]);
});

Deno.test("ipynb: a part for each cell, its outputs apart", async () => {
  const notebook = {
    nbformat: 4,
    metadata: { language_info: { name: "python" } },
    cells: [
      { cell_type: "markdown", source: ["# A\n", "b"] },
      {
        cell_type: "code",
        source: "print(1)",
        outputs: [
          { output_type: "stream", text: ["1\n"] },
          { output_type: "display_data", data: { "image/png": "aGk=", "text/plain": "<Figure>" } },
          { output_type: "error", ename: "ValueError", evalue: "no", traceback: [] },
        ],
      },
    ],
  };
  const { parts, summary } = await read(JSON.stringify(notebook), "n.ipynb");
  assert.deepEqual(parts, [
    { name: "cell 1", text: "# A\nb" },
    { name: "cell 2", text: "```python\nprint(1)\n```" },
    { name: "cell 2 outputs", text: "1\n<Figure>\n[image/png]\nValueError: no" },
  ]);
  assert.equal(summary, "2 cells, 1 with outputs");
});

Deno.test("epub: chapters in the order of the spine", async () => {
  const book = makeContainer({
    mimetype: "application/epub+zip",
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="O/c.opf"/></rootfiles></container>',
    "O/c.opf":
      '<package><metadata><dc:title>Book</dc:title></metadata><manifest><item id="a" href="a.xhtml"/><item id="b" href="t/b%20c.xhtml"/></manifest><spine><itemref idref="b"/><itemref idref="a"/></spine></package>',
    "O/a.xhtml": "<html><body><h1>Second</h1></body></html>",
    "O/t/b c.xhtml": "<html><body><h1>First</h1></body></html>",
  });
  const { title, parts } = await read(book);
  assert.deepEqual([title, parts], ["Book", [{ name: "chapter 1", text: "# First" }, {
    name: "chapter 2",
    text: "# Second",
  }]]);
});

Deno.test("rtf: headings, tables, lists, notes, links and tracked changes, in any encoding", async () => {
  const rtf = String.raw`{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}}
{\stylesheet{\s1 heading 1;}}{\*\generator Word;}{\info{\title The lease}{\author Nobody shown}}
{\header\pard Page head\par}{\*\revtbl{Unknown;}{Ada;}}
\pard\s1\outlinelevel0\b 1 Term\par
\pard\plain The {\b buyer} & {\strike seller} pay 5 < 6 m{\super 2} caf\'e9 \f1\'d3\'f1\f0  \u8211- \u-10179?\u-8704?.\line Next {\v hidden}line.\par
{\listtext 2.1\tab}\ls1 Notice is {\deleted\revauthdel1 one}{\revised\revauth1 three} months.{\footnote\pard In writing.\par}\par
{\listtext\'b7\tab}See {\field{\*\fldinst{HYPERLINK "http://a.example/?b=1&c=2"}}{\fldrslt the {\b terms}}}{\*\atnauthor Ben}{\*\annotation Check.} \{x\}\par
\trowd\cellx1\cellx2\pard\intbl Item\cell Price\cell\row\trowd\pard\intbl Pen | ink\cell 1\par 2\cell\row
\pard{\pict\pngblip 89504e47}\bin3 }}}after\par}`;
  const { title, parts, kind } = await read(rtf, "a.rtf");
  assert.deepEqual([title, kind, parts.length], ["The lease", "rtf", 1]);
  assert.equal(
    parts[0]?.text,
    [
      "# 1 Term",
      "The **buyer** & ~~seller~~ pay 5 < 6 m^2^ café Ус – 😀.\nNext line.",
      "2.1 Notice is [deleted by Ada: one][inserted by Ada: three] months.[footnote: In writing.]",
      "- See [the **terms**](http://a.example/?b=1&c=2)[comment by Ben: Check.] {x}",
      "| Item | Price |\n| --- | --- |\n| Pen \\| ink | 1<br>2 |",
      "[image]after",
    ].join("\n\n"),
  );
});

Deno.test("hostile: rtf without end, of very many groups, or that is none", async () => {
  const one = (text: string) => textOf(text, "a.rtf");
  assert.equal(await one("{\\rtf1 open {\\b bold"), "open **bold**");
  assert.equal(await one("{\\rtf1 a}}}} b\\bin99999999999 c"), "a b");
  assert.equal(await one("{\\rtf1\\constructor\\toString x\\uc9999999999 \\u65?y\\par}"), "xA");
  assert.equal(await one("{\\rtf1\\uc-1 \\u65 whole}"), "Awhole");
  assert.equal(await one("{\\rtf1\\pard\\intbl a\\par\\pard b\\par}"), "a\n\nb");
  assert.equal(await one("{\\rtf1\\trowd\\pard\\intbl a\\cell\\row b\\par c}"), "| a |\n| --- |\n\nb\n\nc");
  const changes = String.raw`\deleted\revauth1`.repeat(50_000);
  const people = String.raw`{\*\revtbl{Unknown;}{${"A".repeat(100_000)};}}`;
  assert.equal(await one(String.raw`{\rtf1${people}${changes} x\par}`), `[deleted by ${"A".repeat(100)}: x]`);
  await assert.rejects(one(`{\\rtf1${"{".repeat(5_000)}`), /nests more than 400 groups/);
  await assert.rejects(one("no RTF"), /no RTF by its content/);
});

Deno.test("a document is told by what it holds, whatever its name says", async () => {
  const body = "<office:text><text:p>hi</text:p></office:text>";
  assert.equal(await textOf(makeOpenDocument(body), "hi.docx"), "hi");
});

const math =
  "<math><semantics><mrow><mfrac><mn>1</mn><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></mfrac><msup><mi>x</mi><mn>2</mn></msup></mrow><annotation>left out</annotation></semantics></math>";

Deno.test("odt and html: formulas, and lists that go on after a paragraph", async () => {
  const style =
    '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1"/></text:list-style>';
  const list = (attributes: string, text: string) =>
    `<text:list text:style-name="L" ${attributes}><text:list-item><text:p>${text}</text:p></text:list-item></text:list>`;
  const body = `<office:text>${list('xml:id="a"', "one")}<text:p>between</text:p>${
    list('text:continue-list="a"', "two")
  }${list('text:continue-numbering="true"', "three")}${list("", "anew")}
    <text:p>so <draw:frame><draw:object xlink:href="./Object 1"/><draw:image/></draw:frame></text:p></office:text>`;
  const bytes = makeOpenDocument(body, style, "", { "Object 1/content.xml": math });
  assert.equal(await textOf(bytes), "1. one\n\nbetween\n\n2. two\n3. three\n1. anew\n\nso 1/(n+1)x^2");
  assert.equal(await textOf(`<p>so ${math}</p>`, "a.html"), "so 1/(n+1)x^2");
});

Deno.test("odt, ods and odp: charts by their title and series, and what else is embedded", async () => {
  const row = (...cells: string[]) =>
    `<table:table-row>${
      cells.map((cell) => `<table:table-cell><text:p>${cell}</text:p></table:table-cell>`).join("")
    }</table:table-row>`;
  const chart =
    `<office:chart><chart:chart><chart:title><text:p>Sales</text:p></chart:title><table:table><table:table-header-rows>${
      row("", "2025", "2026")
    }</table:table-header-rows><table:table-rows>${row("North", "1.5", "2")}${row("South", "3")}</table:table-rows>` +
    "</table:table></chart:chart></office:chart>";
  const frame = (name: string) =>
    `<draw:frame><draw:object xlink:href="./${name}"/><draw:image xlink:href="./picture"/></draw:frame>`;
  const files = { "Chart 1/content.xml": chart, "Sheet 2/content.xml": "<office:spreadsheet/>" };
  const told = "[chart Sales: 2025: North 1.5, South 3; 2026: North 2, South ]";
  const made = (body: string) => textOf(makeOpenDocument(body, "", "", files));
  assert.equal(
    await made(`<office:text><text:p>${frame("Chart 1")}</text:p><text:p>${frame("Sheet 2")}</text:p></office:text>`),
    `${told}\n\n[embedded object]`,
  );
  const page = `<draw:page>${frame("Chart 1")}</draw:page>`;
  assert.equal(await made(`<office:presentation>${page}</office:presentation>`), told);
  const box = "<draw:frame><draw:text-box><text:p>Mind</text:p></draw:text-box></draw:frame>";
  const shapes = `<table:shapes>${frame("Chart 1")}${box}</table:shapes>`;
  assert.equal(
    await made(`<office:spreadsheet><table:table>${shapes}${row("x")}</table:table></office:spreadsheet>`),
    `|  | A |\n| --- | --- |\n| 1 | x |\n\n${told}\n\n[text box: Mind]`,
  );
});

Deno.test("odt: pictures and sections of elsewhere are named, and not fetched", async () => {
  const image = (href: string) => `<draw:frame><draw:image xlink:href="${href}"/></draw:frame>`;
  const body = `<office:text><text:p>${image("https://a.example/x.png")}${image("Pictures/1.png")}${
    image("./Object 1")
  }</text:p>
    <text:section><text:section-source xlink:href="../../other.odt"/><text:p>kept</text:p></text:section></office:text>`;
  assert.deepEqual((await read(makeOpenDocument(body))).remarks, [
    "refers to 2 outside files, which were not fetched: https://a.example/x.png, ../../other.odt",
  ]);
});

Deno.test("ods: links and merged cells are told", async () => {
  const row =
    '<table:table-row><table:table-cell table:number-columns-spanned="2" table:number-rows-spanned="2"><text:p>' +
    '<text:a xlink:href="https://a.example/">site</text:a></text:p></table:table-cell><table:covered-table-cell/></table:table-row>';
  const sheet = `<office:spreadsheet><table:table table:name="S">${row}</table:table></office:spreadsheet>`;
  assert.match(
    await textOf(makeOpenDocument(sheet)),
    /\| 1 \| \[site\]\(https:\/\/a\.example\/\) \|\n\nMerged cells: A1:B2$/,
  );
});

Deno.test("ods: rows and columns that are written once are all given, with the lines and blanks of a cell", async () => {
  const row = (times: number, cells: string) =>
    `<table:table-row table:number-rows-repeated="${times}">${cells}</table:table-row>`;
  const cell = (inner: string, times = 1) =>
    `<table:table-cell table:number-columns-repeated="${times}"><text:p>${inner}</text:p></table:table-cell>`;
  const words = '<text:span>one<text:line-break/>two</text:span><text:s text:c="3"/>x<text:tab/>y';
  const body = '<office:spreadsheet><table:table table:name="S">' +
    '<table:table-column table:number-columns-repeated="1200"/><table:table-column table:visibility="collapse"/>' +
    row(1, cell("w", 1201)) + row(1500, cell("0")) + row(1, cell(words)) +
    row(
      1,
      `<table:table-cell><office:annotation><text:p>a<text:tab/>b</text:p></office:annotation></table:table-cell>`,
    ) +
    "<table:shapes><draw:frame><draw:text-box><text:p>first</text:p><text:p>second</text:p></draw:text-box></draw:frame>" +
    "</table:shapes></table:table></office:spreadsheet>";
  const { summary, parts } = await read(makeOpenDocument(body), "a.ods");
  assert.equal(summary, "1 sheet: S (1,503 rows, 1,201 columns)");
  const [head = "", , ...rows] = parts[0]?.text.split("\n") ?? [];
  assert.match(head, /\| ATD \| ATE \(hidden\) \|$/);
  assert.deepEqual(rows.slice(1, 1501).filter((line) => line.split("|")[2] === " 0 ").length, 1500);
  assert.match(rows[1501] ?? "", /^\| 1502 \| one<br>two {3}x\ty \|/);
  assert.match(rows[1502] ?? "", /^\| 1503 \| \[comment: a\tb\] \|/);
  assert.match(parts[0]?.text ?? "", /\[text box: first second\]/);
});

Deno.test("html: what a page hides stays out of links around blocks and of code, too, and is counted", async () => {
  const hidden = ["<i hidden>no</i>", '<i style="display:none">no</i>', "<script>no</script>", "<style>no</style>"];
  for (const one of hidden) {
    const { parts, remarks } = await read(
      `<!doctype html><html><a href="https://x/">${one}<div>Card</div><div>go</div></a><pre>a\n${one}b<br>c</pre></html>`,
      "a.html",
    );
    assert.equal(parts[0]?.text, "[Card go](https://x/)\n\n```\na\nb\nc\n```", one);
    assert.deepEqual(remarks, one.startsWith("<i") ? ["2 hidden elements left out; the source has the text"] : []);
  }
});
