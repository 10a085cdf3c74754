/** PDF by pdf.js: the text of each page in the order in which it was written, with headings, simple tables and links. */
import { getDocument } from "unpdf/pdfjs";
import { DocumentRefusal, maxDocumentCharacters, titleOf } from "./document.ts";
import type { DocumentBudget, DocumentPart, DocumentText } from "./document.ts";
import { countOf, oneLine, toTable } from "./markdown.ts";

/** Further pages are read where one of them is asked for. */
const maxPages = 10_000;
/** As long as it is read; the pages that are read until then are given. */
const maxReadMs = 10_000;
/** Of one table: from each line of a page on, one is looked for. */
const maxTableLines = 1_000;
/** Links and comments of one page. */
const maxNotes = 200;

interface TextItem {
  readonly str: string;
  /** `[scale x, skew, skew, scale y, x, y]`: the place is that of the baseline's beginning, up from the page's foot. */
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly dir?: string;
}

/** A run of words without a wide gap. */
interface Cell {
  x: number;
  end: number;
  text: string;
}

interface Line {
  y: number;
  size: number;
  /** Whether it runs from right to left. */
  readonly isRtl: boolean;
  readonly cells: Cell[];
}

/** Reads from `firstPage` on for about `maxMs`, but one page at least. */
export async function readPdf(
  bytes: Uint8Array,
  _: DocumentBudget,
  firstPage: number,
  maxMs = maxReadMs,
): Promise<DocumentText> {
  const options = { data: bytes, isEvalSupported: false, useSystemFonts: false, disableFontFace: true, verbosity: 0 };
  const deadline = performance.now() + maxMs;
  const task = getDocument({ ...options, stopAtErrors: false, enableXfa: false, maxImageSize: 1 });
  const document = await task.promise.catch((error: unknown) => {
    void task.destroy();
    const isLocked = error instanceof Error && error.name === "PasswordException";
    throw new DocumentRefusal(isLocked ? "it is a PDF that is locked with a password" : "it is a damaged PDF");
  });
  const { info } = await document.getMetadata().catch(() => ({ info: {} }));
  const title = Reflect.get(info, "Title");
  const parts: DocumentPart[] = [];
  const without: number[] = [];
  let characters = 0;
  const first = Math.min(firstPage, document.numPages);
  const last = Math.min(document.numPages, first + maxPages - 1);
  for (let number = first; number <= last && characters < maxDocumentCharacters; number++) {
    if (number > first && performance.now() > deadline) break;
    const text = await document.getPage(number).then(textOfPage).catch(() => null);
    if (text === "") without.push(number);
    const shown = text === null
      ? "(this page is damaged, or too large when unpacked)"
      : text === ""
      ? "(no text on this page: it is a picture, such as a scan, its letters have no map to text, or it is empty)"
      : text;
    parts.push({ name: `p${number}`, text: shown });
    characters += shown.length;
  }
  await task.destroy(); // what it still does would take the next document's time
  const isCut = parts.length < document.numPages;
  const end = first + parts.length - 1;
  const further = end < document.numPages ? `: p${end + 1}- gives the next ones` : "";
  const which = end === first ? `p${first} is read` : `p${first}-${end} are read`;
  const cut = isCut ? `, of which ${which}${further}` : "";
  return {
    kind: "pdf",
    title: titleOf(typeof title === "string" ? title : ""),
    summary: `${countOf(document.numPages, "page")}${cut}`,
    remarks: without.length === 0 ? [] : [`without text, perhaps scanned: ${rangesOf(without)}`],
    isCut,
    pages: document.numPages,
    parts,
  };
}

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocument>["promise"]>["getPage"]>>;

async function textOfPage(page: Page): Promise<string> {
  const { items } = await page.getTextContent();
  const lines = toLines(items as TextItem[]);
  const notes = (await page.getAnnotations()).flatMap(noteOf).slice(0, maxNotes);
  page.cleanup();
  return [...toMarkdown(lines), ...notes].join("\n");
}

/** Words on one height, in the order of the page's own instructions, which is nearly always that of reading. */
function toLines(items: readonly TextItem[]): readonly Line[] {
  const lines: Line[] = [];
  for (const { str, transform, width, height, dir } of items) {
    if (str.trim() === "" || transform === undefined) continue;
    const [, skew = 0, , , x = 0, y = 0] = transform;
    const size = height || Math.abs(transform[3] ?? 0) || Math.abs(skew) || 1;
    const line = lines.at(-1);
    const cell = line?.cells.at(-1);
    const end = x + width;
    const isRtl = dir === "rtl" || line?.isRtl === true;
    const gap = cell === undefined ? 0 : isRtl && end <= cell.x + size ? cell.x - end : x - cell.end;
    // an index stands close to what it belongs to, and higher or lower than half its own size
    const isIndex = line !== undefined && Math.abs(gap) < Math.max(size, line.size) / 4 && size !== line.size;
    const mark = isIndex && size < line.size && y > line.y ? "^" : "";
    const isSameLine = line !== undefined && cell !== undefined && gap >= -size &&
      Math.abs(line.y - y) < (isIndex ? Math.max(size, line.size) : Math.min(size, line.size)) / 2;
    if (!isSameLine) {
      lines.push({ y, size, isRtl: dir === "rtl", cells: [{ x, end, text: str.trim() }] });
      continue;
    }
    if (size > line.size) [line.y, line.size] = [y, size];
    if (gap > size) line.cells.push({ x, end, text: str.trim() });
    else {
      const isApart = gap > size * 0.15 || /^\s/.test(str) || cell.text.endsWith(" ");
      cell.text = `${cell.text}${isApart && !cell.text.endsWith(" ") ? " " : ""}${mark}${str.trimStart()}`;
      [cell.x, cell.end] = [Math.min(cell.x, x), Math.max(cell.end, end)];
    }
  }
  for (const { cells } of lines) {
    for (const cell of cells) cell.text = cell.text.trim();
    const [mark, text] = cells;
    const isItem = text !== undefined && cells.length === 2 &&
      /^(?:[•◦▪‣·–-]|(?:\d{1,3}|[a-z])[.)])$/i.test(mark?.text ?? "");
    if (isItem) cells.splice(0, 2, { ...text, text: `${mark?.text} ${text.text}` });
    for (const cell of cells) cell.text = cell.text.replace(/^[•◦▪‣·–] /, "- ");
  }
  return lines;
}

function toMarkdown(lines: readonly Line[]): readonly string[] {
  const usual = usualSize(lines);
  const written: string[] = [];
  for (let at = 0; at < lines.length;) {
    const table = tableAt(lines, at, usual);
    if (table !== null) {
      written.push("", table.text, "");
      at = table.end;
      continue;
    }
    const line = lines[at];
    if (line === undefined) break;
    const before = lines[at - 1];
    const text = line.cells.map((cell) => cell.text).join("   ");
    const isHeading = line.size > usual * 1.2 && line.cells.length === 1 && text.length < 120 && /\p{L}/u.test(text);
    if (!isHeading && goesOn(lines, at)) {
      written.push(`${written.pop() ?? ""} ${text}`);
      at++;
      continue;
    }
    const isApart = before !== undefined && Math.abs(before.y - line.y) > 1.8 * Math.max(line.size, before.size);
    if (isApart || isHeading) written.push("");
    written.push(isHeading ? `${line.size > usual * 1.6 ? "#" : "##"} ${text}` : text);
    at++;
  }
  return written.filter((text, at) => text !== "" || (at > 0 && written[at - 1] !== ""));
}

/** Lines around that show how wide a column is. */
const linesAround = 8;

/** Whether this line goes on with the paragraph of the one before: its first word would not have fitted there. */
function goesOn(lines: readonly Line[], at: number): boolean {
  const [before, line] = [lines[at - 1], lines[at]];
  const [last, cell] = [before?.cells[0], line?.cells[0]];
  if (before?.cells.length !== 1 || line?.cells.length !== 1 || last === undefined || cell === undefined) return false;
  const { size } = line;
  const drop = before.y - line.y;
  const isNear = Math.abs(before.size - size) < size / 20 && drop > 0 && drop < 1.8 * size;
  const isColumn = ({ x }: Cell): boolean => Math.abs(x - cell.x) < 3 * size;
  if (!isNear || !isColumn(last) || last.end - last.x < 18 * size) return false;
  if (
    !/[\p{Lu}\p{Ll}\p{N},)”"’]$/u.test(last.text) ||
    !/^(?!(?:\d{1,3}|[a-z])[.)] )[\p{Lu}\p{Ll}\p{N}(“„"€$]/iu.test(cell.text)
  ) {
    return false;
  }
  const around = lines.slice(Math.max(0, at - linesAround), at + linesAround).flatMap(({ cells }) => cells);
  const edge = Math.max(...around.filter(isColumn).map(({ end }) => end));
  const [word = ""] = cell.text.split(" ", 1);
  return last.end + (cell.end - cell.x) * (word.length + 1) / cell.text.length > edge;
}

/** The height of most letters. */
function usualSize(lines: readonly Line[]): number {
  const letters = new Map<number, number>();
  for (const { size, cells } of lines) {
    const rounded = Math.round(size * 2) / 2;
    const count = cells.reduce((sum, { text }) => sum + text.length, 0);
    letters.set(rounded, (letters.get(rounded) ?? 0) + count);
  }
  return [...letters].reduce((most, each) => each[1] > most[1] ? each : most, [Infinity, 0])[0];
}

/** A range of a page's width that the cells of a column lie in. */
type Band = readonly [start: number, end: number];

/**
 * From this line on, cells that lie in columns, with nothing across two of them: a table, if two of its rows have cells
 * side by side. What stands below each other in one column is one cell, until a cell further left begins the next row.
 */
function tableAt(lines: readonly Line[], start: number, usual: number): { text: string; end: number } | null {
  const first = lines[start];
  let bands: readonly Band[] = [];
  let end = start;
  let lowest = first?.y ?? 0;
  for (let line = first; first && line && end - start < maxTableLines; line = lines[++end]) {
    const { y, size, cells: [{ text } = { text: "" }] } = line;
    const isOther = size > usual * 1.2 || y > first.y + 4 * size || lowest - y > 4 * size || text.startsWith("- ");
    const wider = withCells(bands, line);
    if (isOther || wider.length < Math.max(bands.length, end - start > 2 ? 2 : 1)) break;
    bands = wider;
    lowest = Math.min(lowest, y);
  }
  const rows: { cells: string[]; end: number }[] = [];
  let [column, bottom] = [Infinity, 0];
  for (let at = start; at < end; at++) {
    const { y, size, cells } = lines[at] ?? { y: 0, size: 0, cells: [] };
    for (const { x, end, text } of cells) {
      const own = bands.findIndex(([from, to]) => x < to && end > from);
      const isBelow = own === column && bottom - y < 1.6 * size;
      if (own < column || (own === column && !isBelow)) rows.push({ cells: bands.map(() => ""), end: at });
      const row = rows.at(-1);
      if (row === undefined) continue;
      row.cells[own] = `${row.cells[own] ?? ""} ${text}`.trim();
      row.end = at + 1;
      [column, bottom] = [own, y];
    }
  }
  const isFull = ({ cells }: { readonly cells: readonly string[] }): boolean => cells.filter((text) => text).length > 1;
  const last = rows.findLastIndex(isFull); // what follows in one column is text
  if (rows.filter(isFull).length < 2 || rows[0] === undefined || !isFull(rows[0])) return null;
  const kept = rows.slice(0, last + 1);
  const columns = bands.map((_, at) => at).filter((at) => kept.some(({ cells }) => cells[at] !== ""));
  const text = toTable(kept.map(({ cells }) => columns.map((at) => cells[at] ?? "")));
  return { text, end: kept.at(-1)?.end ?? start };
}

/** The columns with the cells of a further line: those that a cell touches become one. */
function withCells(bands: readonly Band[], { cells, size }: Line): readonly Band[] {
  const all: Band[] = [...bands, ...cells.map(({ x, end }): Band => [x, end])];
  const merged: [number, number][] = [];
  for (const [from, to] of all.sort(([one], [other]) => one - other)) {
    const band = merged.at(-1);
    if (band !== undefined && from < band[1] + size / 3) band[1] = Math.max(band[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

/** What people added to a page: where a link leads, what a comment says, what a form has in a field. */
function noteOf(annotation: Record<string, unknown>): readonly string[] {
  const text = (name: string): string => {
    const value = annotation[name];
    const said = typeof value === "object" && value !== null ? Reflect.get(value, "str") : value;
    return typeof said === "string" ? oneLine(said).slice(0, 2_000) : "";
  };
  const subtype = text("subtype");
  if (subtype === "Link") return text("url") === "" ? [] : [`Link: ${text("url")}`];
  if (subtype === "Widget") {
    return text("fieldValue") === "" ? [] : [`Field ${text("fieldName")}: ${text("fieldValue")}`];
  }
  const by = text("titleObj") === "" ? "" : ` by ${text("titleObj")}`;
  return text("contentsObj") === "" ? [] : [`Comment${by}: ${text("contentsObj")}`];
}

/** `p1-3, p7`. */
function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] === number - 1) range[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => first === last ? `p${first}` : `p${first}-${last}`).join(", ");
}
