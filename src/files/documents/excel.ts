/** Excel workbooks (ECMA-376, part 1, §18): values with their formulas, dates as dates, what is hidden told. */
import { targetWords } from "./container.ts";
import { columnName, columnNumber, type DocumentBudget, type DocumentReader } from "./document.ts";
import { type Sheet, type SheetRow, toNumberText, toSheets, withFormula } from "./markdown.ts";
import { allOf, childOf, type Element, elementsOf, textOf } from "./markup.ts";
import { chartWords, type OfficePackage, openOffice } from "./office.ts";

/** What a sheet may have (Excel's own bounds). */
const maxColumns = 16_384;
const maxDays = 2_958_466;

export const readExcel: DocumentReader = (bytes, budget) => {
  const office = openOffice(bytes, budget);
  const { main, part, related, relations, title, remarks, names } = office;
  const book = childOf(part(main), "workbook");
  const strings: string[] = [];
  part(related(main, "/sharedStrings"), { each: { si: (item) => strings.push(richText(item)) } });
  const formats = readFormats(part(related(main, "/styles")));
  const is1904 = isOn(childOf(book, "workbookPr")?.attributes["date1904"]);
  const sheets = elementsOf(childOf(book, "sheets"), "sheet").map(({ attributes }): Sheet => {
    const name = attributes["name"] ?? "";
    const target = relations(main).get(attributes["r:id"] ?? "")?.target ?? "";
    const isHidden = (attributes["state"] ?? "visible") !== "visible";
    return { name, isHidden, ...readSheet(office, target, { strings, formats, is1904, budget }) };
  });
  const outside = names.filter((name) => /externallinks\/[^/]+\.xml$/.test(name));
  if (outside.length > 0) {
    const targets = targetWords(outside.flatMap((name) => [...relations(name).values()]));
    remarks.push(`formulas refer to other workbooks, which were not read: ${targets}`);
  }
  return { kind: "xlsx", title, remarks, ...toSheets(sheets, budget) };
};

interface Book {
  readonly strings: readonly string[];
  readonly formats: readonly string[];
  readonly is1904: boolean;
  readonly budget: DocumentBudget;
}

function readSheet(office: OfficePackage, name: string, book: Book): Omit<Sheet, "name" | "isHidden"> {
  const { part, relations } = office;
  const comments = readComments(office, name);
  const formulaOf = createFormulas();
  const rows = new Map<number, SheetRow>();
  let last = 0;
  const sheet = childOf(
    part(name, {
      each: {
        row: (row) => {
          const { attributes } = row;
          last = Number(attributes["r"] ?? last + 1) || last + 1;
          let column = 0;
          const cells = new Map<number, string>();
          for (const cell of elementsOf(row, "c")) {
            const at = cell.attributes["r"] ?? "";
            column = parseCell(at)?.column ?? column + 1;
            const value = withFormula(valueOf(cell, book), formulaOf(childOf(cell, "f"), column, last));
            const text = [value, ...(comments.get(at) ?? [])].join(" ").trim();
            if (text === "") continue;
            book.budget.take(text.length);
            cells.set(column, text);
          }
          rows.set(last, { number: last, isHidden: isOn(attributes["hidden"]), cells });
        },
      },
    }),
    "worksheet",
  );
  for (const { attributes } of elementsOf(childOf(sheet, "hyperlinks"), "hyperlink")) {
    const { column = 0, row = 0 } = parseCell(attributes["ref"]?.split(":")[0] ?? "") ?? {};
    const [cells, link] = [rows.get(row)?.cells, relations(name).get(attributes["r:id"] ?? "")?.target];
    const text = cells?.get(column);
    if (text !== undefined && link !== undefined && link !== text) cells?.set(column, `[${text}](${link})`);
  }
  const hiddenColumns = new Set<number>();
  for (const { attributes } of elementsOf(childOf(sheet, "cols"), "col")) {
    const end = Math.min(Number(attributes["max"]), maxColumns);
    for (let at = Number(attributes["min"]); isOn(attributes["hidden"]) && at <= end; at++) hiddenColumns.add(at);
  }
  const merged = elementsOf(childOf(sheet, "mergeCells"), "mergeCell").map(({ attributes }) => attributes["ref"] ?? "");
  const drawn = [...relations(name).values()].filter(({ type }) => type.endsWith("/drawing")).flatMap(({ target }) => [
    ...allOf(part(target), "txBody").map((box) => `[text box: ${allOf(box, "p").map(richText).join(" ").trim()}]`),
    ...allOf(part(target), "chart").map(({ attributes }) =>
      chartWords({ part }, relations(target).get(attributes["r:id"] ?? "")?.target)
    ),
  ]);
  drawn.forEach((words) => book.budget.take(words.length));
  return { rows: [...rows.values()].sort((one, other) => one.number - other.number), hiddenColumns, merged, drawn };
}

/** The column and row of "B7", from 1, or `null`. */
function parseCell(name: string): { column: number; row: number } | null {
  const [, letters, digits] = /^\$?([A-Z]{1,3})\$?(\d{1,7})$/.exec(name) ?? [];
  return letters === undefined ? null : { column: columnNumber(letters), row: Number(digits) };
}

function valueOf(cell: Element, { strings, formats, is1904 }: Book): string {
  const { t: type = "n", s: style } = cell.attributes;
  const value = textOf(childOf(cell, "v"));
  if (type === "s") return strings[Number(value)] ?? "";
  if (type === "inlineStr") return richText(childOf(cell, "is"));
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  const format = formats[Number(style ?? 0)] ?? "";
  const number = Number(value);
  if (type !== "n" || value === "" || Number.isNaN(number)) return value;
  if (format.includes("%")) return `${toNumberText(number * 100)}%`;
  return /[dmyhs]/i.test(format) ? toDateText(number, format, is1904) : toNumberText(number);
}

/** Text with its runs joined, without what says how to pronounce it (§18.4.6). */
function richText(element: Element | undefined): string {
  return elementsOf(element).map((child) =>
    child.name === "t" ? textOf(child) : child.name === "rPh" ? "" : richText(child)
  ).join("") || (element?.name === "text" ? textOf(element) : "");
}

function isOn(value: string | undefined): boolean {
  return value === "1" || value === "true";
}

/** The comments of each cell; the newer threads stand for the older note that says to look at them. */
function readComments({ part, relations }: OfficePackage, name: string): Map<string, string[]> {
  const comments = new Map<string, string[]>();
  for (const { type, target } of relations(name).values()) {
    if (!/\/(comments|threadedComment)$/.test(type)) continue;
    const root = part(target);
    const authors = allOf(root, "author").map(textOf);
    for (const comment of allOf(root, "comment", "threadedComment")) {
      const text = richText(comment).trim();
      if (text.startsWith("[Threaded comment]")) continue;
      const { ref = "", authorId = "" } = comment.attributes;
      const author = authors[Number(authorId)] ?? "";
      comments.set(ref, [...comments.get(ref) ?? [], `[comment${author === "" ? "" : ` by ${author}`}: ${text}]`]);
    }
  }
  return comments;
}

/** The formula of each cell: one that is shared is written once, and moves with its cell (§18.3.1.40). */
function createFormulas() {
  const shared = new Map<string, { formula: string; column: number; row: number }>();
  return (element: Element | undefined, column: number, row: number): string => {
    if (element === undefined) return "";
    const formula = textOf(element);
    const { t: type, si: id = "" } = element.attributes;
    if (type !== "shared") return formula;
    if (formula !== "") shared.set(id, { formula, column, row });
    const origin = shared.get(id);
    return origin === undefined ? "" : moveFormula(origin.formula, column - origin.column, row - origin.row);
  };
}

function moveFormula(formula: string, columns: number, rows: number): string {
  return formula.replace(
    /"[^"]*"|'[^']*'|(?<![\w.])(\$?)([A-Z]{1,3})(\$?)(\d{1,7})(?![\w(!])/g,
    (whole, fixedColumn, letters, fixedRow, digits) => {
      const at = letters === undefined ? null : parseCell(`${letters}${digits}`);
      if (at === null) return whole;
      const column = fixedColumn === "" ? columnName(at.column + columns) : letters;
      return `${fixedColumn}${column}${fixedRow}${fixedRow === "" ? at.row + rows : digits}`;
    },
  );
}

/** The format code of each cell style, without what is quoted or in brackets; built-in ones by their kind (§18.8.30). */
function readFormats(root: Element): string[] {
  const own = new Map(
    allOf(root, "numFmt").map(({ attributes }) => [attributes["numFmtId"], attributes["formatCode"]]),
  );
  return elementsOf(childOf(root, "styleSheet", "cellXfs"), "xf").map(({ attributes }) => {
    const id = Number(attributes["numFmtId"] ?? 0);
    const isDate = (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
    const code = own.get(String(id)) ?? (id === 46 ? "[h]" : isDate ? "d" : id === 9 || id === 10 ? "%" : "");
    return code.replace(/"[^"]*"|\\.|[_*].|\[(?!(?:h+|m+|s+)\])[^\]]*\]|General/gi, "");
  });
}

/** §18.17.4: days since 1900, or 1904, as a date, a date with its time, a time, or hours that passed. */
function toDateText(days: number, format: string, is1904: boolean): string {
  if (days < 0 || days >= maxDays) return toNumberText(days);
  const seconds = Math.round(days * 86_400); // a sum of hours may be a little less than the day that it makes
  const serial = seconds / 86_400;
  const toText = (days: number) => new Date(Date.UTC(1899, 11, 30) + Math.round(days * 86_400) * 1000).toISOString();
  const time = toText(serial).slice(11, 19);
  if (/\[[hms]/i.test(format)) return `${Math.floor(seconds / 3600)}${time.slice(2)}`;
  if (serial < 1) return time;
  const text = toText(serial + (is1904 ? 1462 : serial < 60 ? 1 : 0));
  return time === "00:00:00" ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
}
