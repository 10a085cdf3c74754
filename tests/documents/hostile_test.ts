/** Documents that are damaged, encrypted or made to harm: each is refused in a sentence, within its bounds. */
import assert from "node:assert/strict";
import { DocumentBudget, DocumentRefusal } from "../../src/files/documents/document.ts";
import { readDocument } from "../../src/files/documents/readers.ts";
import { makeContainer, makeExcel, makeOpenDocument, makePowerPoint, makeWord } from "./make_document.ts";
import { read, textOf } from "./read.ts";

const refusal = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof DocumentRefusal, String(error));
  assert.match(error.message, pattern);
  return true;
};
const refused = (bytes: Uint8Array | string, pattern: RegExp, name?: string) =>
  assert.rejects(read(bytes, name), refusal(pattern));
const paragraph = "<w:p><w:r><w:t>word</w:t></w:r></w:p>";

Deno.test("hostile: what is made of a zip bomb is counted before it is made", async () => {
  const budget = new DocumentBudget(1_000_000);
  const bomb = makeWord(paragraph, { "word/styles.xml": " ".repeat(5_000_000) });
  const related = makeContainer({
    "_rels/.rels":
      '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="word/document.xml"/></Relationships>',
    "word/document.xml": " ".repeat(5_000_000),
  });
  await assert.rejects(readDocument(related, "a.docx", budget), refusal(/too large/));
  assert.equal(await textOf(bomb), "word"); // a part that nobody asks for costs nothing
});

Deno.test("hostile: an entry that holds more than it says is refused", async () => {
  const bytes = makeWord(" ".repeat(100_000) + paragraph);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at + 46 < bytes.length; at++) {
    if (view.getUint32(at, true) === 0x02014b50) view.setUint32(at + 24, 100, true);
  }
  await refused(bytes, /damaged/);
});

Deno.test("hostile: entities, deep nesting and names of Object's own are no way in", async () => {
  const xml = (text: string) => makeContainer({ mimetype: "m", "content.xml": text });
  await refused(xml('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><office:document-content/>'), /entities/);
  await refused(makeWord("<w:sdt>".repeat(5_000)), /nests/);
  await refused("<div>".repeat(5_000), /nests/, "a.html");
  const odd = "<w:constructor/><w:__proto__/><w:toString>x</w:toString><w:hasOwnProperty/>";
  assert.equal(await textOf(makeWord(odd + paragraph)), "word");
});

Deno.test("a text that ends within a tag gives what was read before", async () => {
  assert.equal(await textOf("<body><h1>Head</h1><table border", "a.html"), "# Head");
  assert.equal(await textOf(makeWord(`${paragraph}<w:p><w:r w:x=`)), "word");
});

Deno.test("hostile: spans and repeats of millions make no millions of cells", async () => {
  const cell = '<w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>';
  assert.ok((await textOf(makeWord(`<w:tbl><w:tr>${cell}</w:tr></w:tbl>`))).length < 1_000);
  const row =
    '<table:table-row table:number-rows-repeated="1000000000"><table:table-cell table:number-columns-repeated="1000000000"' +
    "><text:p>x</text:p></table:table-cell></table:table-row>";
  const sheet = makeOpenDocument(`<office:spreadsheet><table:table>${row}</table:table></office:spreadsheet>`);
  await assert.rejects(readDocument(sheet, "a", new DocumentBudget(1_000_000)), refusal(/./));
});

Deno.test("a sheet whose cells are not kept as a tree may be large, and names its relationships by any prefix", async () => {
  const row = (at: number) => `<row r="${at}"><c r="A${at}"><v>${at}.5</v></c></row>`;
  const sheet = makeExcel({
    S: `<sheetData>${Array.from({ length: 3_000 }, (_, at) => row(at + 1)).join("")}</sheetData>`,
  });
  const { parts } = await readDocument(sheet, "a.xlsx", new DocumentBudget(1_000_000)); // 9,000 elements would be 1.8 MB
  assert.ok(parts[0]?.text.endsWith("| 3000 | 3000.5 |"));
  const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const other = makeContainer({
    "_rels/.rels":
      `<Relationships><Relationship Id="a" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    "xl/workbook.xml":
      `<x:workbook xmlns:x="x" xmlns:d3p1="${office}"><x:sheets><x:sheet name="S" d3p1:id="b"/></x:sheets></x:workbook>`,
    "xl/_rels/workbook.xml.rels":
      '<Relationships><Relationship Id="b" Type="x/worksheet" Target="/xl/s.xml"/></Relationships>',
    "xl/s.xml": "<x:worksheet><x:sheetData><x:row><x:c><x:v>7</x:v></x:c></x:row></x:sheetData></x:worksheet>",
  });
  assert.equal(await textOf(other), "|  | A |\n| --- | --- |\n| 1 | 7 |");
});

Deno.test("hostile: encrypted and old files are refused by what they are", async () => {
  const old = new Uint8Array(2_048);
  old.set([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
  await refused(old, /old binary format/);
  old.set(new Uint8Array(Uint16Array.from([..."EncryptedPackage"].map((letter) => letter.charCodeAt(0))).buffer), 512);
  await refused(old, /encrypted with a password/);
  await refused(
    makeOpenDocument("<office:text/>", "", "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"),
    /encrypted/,
  );
  await refused(makeContainer({ "xl/workbook.bin": "x" }), /binary workbook/);
  await refused(makeContainer({ "a.txt": "x" }), /no document/);
  await refused("{}", /notebook/, "a.ipynb");
  await refused("not json", /damaged/, "a.ipynb");
});

/** Numbers that are the same each time. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

const copies = Number(Deno.env.get("DAMAGED_COPIES") ?? 100);

/** Documents by what lies inside them: damaged text in a whole container reaches the readers. */
const makers: readonly (readonly [name: string, inside: string, make: (inside: string) => Uint8Array])[] = [
  [
    "a.docx",
    `<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>${paragraph}</w:tc></w:tr></w:tbl><w:p><w:pPr><w:outlineLvl w:val="1"/>
     <w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:ins w:author="A"><w:r><w:t>x</w:t></w:r></w:ins></w:p>`,
    (inside) => makeWord(inside),
  ],
  [
    "a.xlsx",
    `<cols><col min="1" max="3" hidden="1"/></cols><sheetData><row r="1"><c r="A1" s="1"><f t="shared" si="0" ref="A1">B1</f><v>1</v></c>
     <c t="s"><v>0</v></c><c><f t="shared" si="0"/></c></row></sheetData><hyperlinks><hyperlink ref="A1" r:id="rId1"/></hyperlinks>`,
    (inside) => makeExcel({ S: inside }),
  ],
  [
    "a.pptx",
    '<p:sld show="0"><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><a:p><a:pPr lvl="1"><a:buAutoNum type="alphaLcPeriod"/></a:pPr><a:r><a:t>x</a:t></a:r></a:p></p:sp></p:sld>',
    (inside) => makePowerPoint([inside]),
  ],
  [
    "a.odt",
    '<office:text><text:h text:outline-level="2">h</text:h><text:list text:style-name="L"><text:list-item><text:p>x</text:p></text:list-item></text:list><table:table><table:table-row table:number-rows-repeated="3"><table:table-cell table:number-columns-repeated="2"/></table:table-row></table:table></office:text>',
    (inside) => makeOpenDocument(inside),
  ],
  [
    "a.rtf",
    String
      .raw`{\rtf1\ansi{\fonttbl{\f1\fcharset204 A;}}{\info{\title T}}\pard\outlinelevel1\b x\u65?\'e9\par\trowd\pard\intbl a\cell\row{\field{\*\fldinst{HYPERLINK "http://a"}}{\fldrslt l}}{\footnote n}\bin2 zz\par}`,
    toBytes,
  ],
  ["a.html", "<table><tr><td colspan=2>x<ol start=3 type=a><li><a href=y>z</a></ol></table>", toBytes],
  ["a.eml", "From: a@b\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nhi\r\n--x--", toBytes],
  ["a.ipynb", '{"cells":[{"cell_type":"code","source":["x"],"outputs":[{"text":"y"}]}]}', toBytes],
];

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

Deno.test(`hostile: ${copies} damaged copies of each kind are read or refused in a sentence`, async () => {
  const random = createRandom(29);
  for (const [name, inside, make] of makers) {
    const original = make(inside);
    for (let copy = 0; copy < copies; copy++) {
      let bytes: Uint8Array = original.slice(0, random(4) === 0 ? random(original.length) : original.length);
      if (copy % 2 === 0) bytes = make(damageText(inside, random));
      else for (let change = random(8); change >= 0; change--) bytes[random(bytes.length)] = random(256);
      try {
        await readDocument(bytes, name, new DocumentBudget(20_000_000));
      } catch (error) {
        assert.ok(error instanceof DocumentRefusal, `${name}, copy ${copy}: ${error}`);
      }
    }
  }
});

/** Pieces taken out, put elsewhere, or made numbers that no reader expects. */
function damageText(text: string, random: (below: number) => number): string {
  const [from, length, to] = [random(text.length), random(40), random(text.length)];
  const piece = text.slice(from, from + length);
  const rest = random(2) === 0 ? text : text.slice(0, from) + text.slice(from + length);
  const moved = rest.slice(0, to) + piece.repeat(random(4)) + rest.slice(to);
  const numbers = ["-1", "1e99", "NaN", "99999999999", "0.5", ""];
  return random(3) === 0
    ? moved.replace(/\d+/g, (digits) => random(3) === 0 ? numbers[random(6)] ?? digits : digits)
    : moved;
}
