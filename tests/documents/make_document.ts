/** Small documents, made part by part as the programs that write them do. */
import { crc32, deflateRawSync } from "node:zlib";

/** A zip container (APPNOTE.TXT 6.3). */
export function makeContainer(parts: Readonly<Record<string, string | Uint8Array>>): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  const directory: number[] = [];
  const put = (into: number[], ...numbers: [value: number, size: number][]) => {
    for (const [value, size] of numbers) for (let at = 0; at < size; at++) into.push((value >>> (8 * at)) & 0xff);
  };
  for (const [name, content] of Object.entries(parts)) {
    const plain = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const packed = deflateRawSync(plain);
    const label = new TextEncoder().encode(name);
    const facts: [number, number][] = [
      [20, 2],
      [0, 2],
      [8, 2],
      [0, 4],
      [crc32(plain), 4],
      [packed.length, 4],
      [plain.length, 4],
      [label.length, 2],
      [0, 2],
    ];
    const at = bytes.length;
    put(bytes, [0x04034b50, 4], ...facts);
    for (const byte of label) bytes.push(byte);
    for (const byte of packed) bytes.push(byte);
    put(directory, [0x02014b50, 4], [20, 2], ...facts, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]);
    for (const byte of label) directory.push(byte);
  }
  const [start, count] = [bytes.length, Object.keys(parts).length];
  for (const byte of directory) bytes.push(byte);
  put(bytes, [0x06054b50, 4], [0, 4], [count, 2], [count, 2], [directory.length, 4], [start, 4], [0, 2]);
  return new Uint8Array(bytes);
}

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const officeType = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const namespaces =
  `xmlns:r="${officeType}" xmlns:w="w" xmlns:a="a" xmlns:p="p" xmlns:mc="mc" xmlns:wp="wp" xmlns:pic="pic"`;

/** Relationships: `rId1` and so on; a target with ":" is outside. */
export function relationships(targets: Readonly<Record<string, string>>): string {
  const each = Object.entries(targets).map(([type, target], index) =>
    `<Relationship Id="rId${index + 1}" Type="${officeType}/${type.replace(/\d+$/, "")}" Target="${target}"${
      target.includes(":") ? ' TargetMode="External"' : ""
    }/>`
  );
  return `${head}<Relationships xmlns="r">${each.join("")}</Relationships>`;
}

/** A package with a main part; `parts` are further ones. */
function makeOffice(
  main: string,
  xml: string,
  parts: Readonly<Record<string, string | Uint8Array>>,
): Uint8Array<ArrayBuffer> {
  return makeContainer({
    "[Content_Types].xml": `${head}<Types/>`,
    "_rels/.rels": relationships({ officeDocument: main }),
    [main]: head + xml,
    ...parts,
  });
}

export function makeWord(
  body: string,
  parts: Readonly<Record<string, string | Uint8Array>> = {},
): Uint8Array<ArrayBuffer> {
  return makeOffice("word/document.xml", `<w:document ${namespaces}><w:body>${body}</w:body></w:document>`, parts);
}

/** A workbook of sheets by name, each the XML inside `worksheet`. */
export function makeExcel(
  sheets: Readonly<Record<string, string>>,
  { parts = {}, book = "", states = {} }: {
    parts?: Readonly<Record<string, string>>;
    book?: string;
    states?: Readonly<Record<string, string>>;
  } = {},
): Uint8Array<ArrayBuffer> {
  const names = Object.keys(sheets);
  const list = names.map((name, at) =>
    `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}" state="${states[name] ?? "visible"}"/>`
  ).join("");
  return makeOffice("xl/workbook.xml", `<workbook ${namespaces}>${book}<sheets>${list}</sheets></workbook>`, {
    "xl/_rels/workbook.xml.rels": relationships({
      ...Object.fromEntries(names.map((_, at) => [`worksheet${at}`, `worksheets/sheet${at + 1}.xml`])),
      sharedStrings: "sharedStrings.xml",
      styles: "styles.xml",
    }),
    ...Object.fromEntries(
      Object.values(sheets).map((xml, at) => [
        `xl/worksheets/sheet${at + 1}.xml`,
        `${head}<worksheet ${namespaces}>${xml}</worksheet>`,
      ]),
    ),
    ...parts,
  });
}

/** A presentation of slides, each the XML inside `p:sld`. */
export function makePowerPoint(
  slides: readonly string[],
  parts: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const list = slides.map((_, at) => `<p:sldId id="${256 + at}" r:id="rId${at + 1}"/>`).join("");
  return makeOffice(
    "ppt/presentation.xml",
    `<p:presentation ${namespaces}><p:sldIdLst>${list}</p:sldIdLst></p:presentation>`,
    {
      "ppt/_rels/presentation.xml.rels": relationships(
        Object.fromEntries(slides.map((_, at) => [`slide${at}`, `slides/slide${at + 1}.xml`])),
      ),
      ...Object.fromEntries(slides.map((xml, at) => [`ppt/slides/slide${at + 1}.xml`, `${head}${xml}`])),
      ...parts,
    },
  );
}

/** An OpenDocument file of a body and, if given, its automatic styles. */
export function makeOpenDocument(
  body: string,
  styles = "",
  manifest = "",
  files: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  return makeContainer({
    ...files,
    mimetype: "application/vnd.oasis.opendocument.text",
    "content.xml":
      `${head}<office:document-content><office:automatic-styles>${styles}</office:automatic-styles><office:body>${body}</office:body></office:document-content>`,
    "META-INF/manifest.xml": `${head}<manifest:manifest>${manifest}</manifest:manifest>`,
  });
}
